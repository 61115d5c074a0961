// SPDX-License-Identifier: MIT
// A nest for every value, the values that the outputs need under these nests, and what all needed
// nests cost together. Exchanging a nest updates what it touches and nothing else: the 775 nodes of
// a transformer's training step have 4,900 nests to try, and visiting all needed values for each
// took 87 % of planning.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <sinter/plan/candidate.hpp>

namespace sinter::planning {

class nest_choice {
 public:
  // nest_of[v]: the nest that stores v, -1 where there is none.
  nest_choice(const value_graph& g, const std::vector<candidate>& nests, std::span<const int> roots,
              std::vector<int> nest_of)
      : nests_(nests),
        roots_(roots.begin(), roots.end()),
        nest_of_(std::move(nest_of)),
        readers_(nest_of_.size(), 0),
        stored_(nests.size(), 0),
        source_(nest_of_.size()),
        mark_(nest_of_.size(), 0) {
    for (int v = 0; v < g.size(); ++v) source_[at(v)] = candidate_enumeration::is_source(g[v]);
    for (int root : roots_) need(root);
  }

  // Infinite if a needed value has no nest.
  double cost() const { return missing_ > 0 ? std::numeric_limits<double>::infinity() : cost_; }
  bool needs(int value) const { return readers_[at(value)] > 0; }
  int nest_of(int value) const { return nest_of_[at(value)]; }
  const std::vector<int>& nests() const { return nest_of_; }

  // Lets a nest (or none: -1) store the value. May make the choice cyclic: see `is_cyclic_at`.
  void assign(int value, int nest) {
    const int before = nest_of_[at(value)];
    if (before == nest) return;
    nest_of_[at(value)] = nest;
    if (!needs(value)) return;
    // The new one first, so that what both read stays needed meanwhile.
    attach(nest);
    detach(before);
    settle();
  }

  // Does a value need itself?
  bool is_cyclic_at(int value) {
    ++round_;
    open_.assign(1, value);
    while (!open_.empty()) {
      const int nest = nest_of_[at(open_.back())];
      open_.pop_back();
      if (nest < 0) continue;
      for (int r : nests_[at(nest)].reads) {
        if (r == value) return true;
        if (source_[at(r)] || mark_[at(r)] == round_) continue;
        mark_[at(r)] = round_;
        open_.push_back(r);
      }
    }
    return false;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void need(int value) {
    attached_.clear();
    require(value);
    settle();
  }

  void require(int value) {
    if (source_[at(value)] || readers_[at(value)]++ > 0) return;
    attached_.push_back(value);
  }
  void release(int value) {
    if (source_[at(value)] || --readers_[at(value)] > 0) return;
    detached_.push_back(value);
  }
  void attach(int nest) {
    if (nest < 0) {
      ++missing_;
      return;
    }
    if (stored_[at(nest)]++ > 0) return;
    cost_ += nests_[at(nest)].cost;
    for (int r : nests_[at(nest)].reads) require(r);
  }
  void detach(int nest) {
    if (nest < 0) {
      --missing_;
      return;
    }
    if (--stored_[at(nest)] > 0) return;
    cost_ -= nests_[at(nest)].cost;
    for (int r : nests_[at(nest)].reads) release(r);
  }
  // Values whose count went up from or down to 0 bring or drop their nests. A value may be in both
  // lists; attaching everything first keeps counts from going below zero.
  void settle() {
    while (!attached_.empty() || !detached_.empty()) {
      if (!attached_.empty()) {
        const int v = attached_.back();
        attached_.pop_back();
        attach(nest_of_[at(v)]);
      } else {
        const int v = detached_.back();
        detached_.pop_back();
        detach(nest_of_[at(v)]);
      }
    }
  }

  const std::vector<candidate>& nests_;
  std::vector<int> roots_;
  std::vector<int> nest_of_;
  std::vector<int> readers_;  // by value: needed nests that read it, and outputs that are it
  std::vector<int> stored_;   // by nest: needed values it stores
  std::vector<std::uint8_t> source_;
  std::vector<int> attached_, detached_, open_;
  std::vector<std::uint32_t> mark_;
  std::uint32_t round_ = 0;
  double cost_ = 0;
  int missing_ = 0;
};

}  // namespace sinter::planning
