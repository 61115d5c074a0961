// SPDX-License-Identifier: MIT
// The candidates as a choice sees them: goals are the values, each stored once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sinter/plan/candidate.hpp>

namespace sinter::inline SINTER_ABI::planning {

class value_nests {
 public:
  value_nests(const value_graph& g, const candidate_enumeration& nests)
      : g_(g), nests_(nests.all()), readers_(static_cast<std::size_t>(g.size())) {
    for (int i = 0; i < count(); ++i)
      if (usable(i))
        for (int r : (*this)[i].reads) readers_[static_cast<std::size_t>(r)].push_back(i);
  }

  const candidate& operator[](int nest) const { return nests_[static_cast<std::size_t>(nest)]; }
  const value_graph& values() const { return g_; }

  int count() const { return static_cast<int>(nests_.size()); }
  int goals() const { return g_.size(); }
  bool is_source(int goal) const { return g_[goal].is_source(); }
  bool usable(int nest) const { return !(*this)[nest].refused; }
  double cost(int nest) const { return (*this)[nest].cost; }
  int root(int nest) const { return (*this)[nest].root; }
  bool stores_several(int nest) const { return (*this)[nest].outputs.size() > 1; }

  template <class F>
  void for_each_read(int nest, F f) const {
    for (int r : (*this)[nest].reads) f(r);
  }
  template <class F>
  void for_each_output(int nest, F f) const {
    for (int out : (*this)[nest].outputs) f(out);
  }
  template <class F>
  void for_each_reader(int goal, F f) const {
    for (int nest : readers_[static_cast<std::size_t>(goal)]) f(nest);
  }

 private:
  const value_graph& g_;
  const std::vector<candidate>& nests_;
  std::vector<std::vector<int>> readers_;  // by value
};

}  // namespace sinter::inline SINTER_ABI::planning
