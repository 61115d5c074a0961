// SPDX-License-Identifier: MIT
// A nest for every goal, the goals that the outputs need under these nests, and what all needed
// nests cost together. Exchanging a nest updates what it touches and nothing else: the 775 nodes of
// a transformer's training step have 5,900 nests to try, and visiting all needed values for each
// took 87 % of planning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::planning {

// Nests: what there is to choose from, `value_nests` or `epoch_nests`. A goal is a number, and so
// is a nest.
template <class Nests>
class nest_choice {
 public:
  // nest_of[v]: the nest that stores goal v, -1 where there is none.
  nest_choice(const Nests& nests, std::span<const int> roots, std::vector<int> nest_of)
      : nests_(nests),
        roots_(roots.begin(), roots.end()),
        nest_of_(std::move(nest_of)),
        readers_(nest_of_.size(), 0),
        stored_(at(nests.count()), 0),
        source_(nest_of_.size()),
        mark_(nest_of_.size(), 0) {
    for (int v = 0; v < nests.goals(); ++v) source_[at(v)] = nests.is_source(v);
    for (int root : roots_) need(root);
  }

  // Infinite if a needed goal has no nest.
  double cost() const { return missing_ > 0 ? std::numeric_limits<double>::infinity() : cost_; }
  bool needs(int goal) const { return readers_[at(goal)] > 0; }
  // Needed nests that read it, and outputs that are it.
  int readers(int goal) const { return readers_[at(goal)]; }
  int nest_of(int goal) const { return nest_of_[at(goal)]; }
  const std::vector<int>& nests() const { return nest_of_; }

  // Lets a nest (or none: -1) store the goal. May make the choice cyclic: see `is_cyclic_at`.
  void assign(int goal, int nest) {
    const int before = nest_of_[at(goal)];
    if (before == nest) return;
    nest_of_[at(goal)] = nest;
    if (!needs(goal)) return;
    // The new one first, so that what both read stays needed meanwhile.
    attach(nest);
    detach(before);
    settle();
  }

  // Does a goal need itself?
  bool is_cyclic_at(int goal) {
    ++round_;
    open_.assign(1, goal);
    bool found = false;
    while (!open_.empty() && !found) {
      const int nest = nest_of_[at(open_.back())];
      open_.pop_back();
      if (nest < 0) continue;
      nests_.for_each_read(nest, [&](int r) {
        found = found || r == goal;
        if (source_[at(r)] || mark_[at(r)] == round_) return;
        mark_[at(r)] = round_;
        open_.push_back(r);
      });
    }
    return found;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  void need(int goal) {
    attached_.clear();
    require(goal);
    settle();
  }

  void require(int goal) {
    if (source_[at(goal)] || readers_[at(goal)]++ > 0) return;
    attached_.push_back(goal);
  }
  void release(int goal) {
    if (source_[at(goal)] || --readers_[at(goal)] > 0) return;
    detached_.push_back(goal);
  }
  void attach(int nest) {
    if (nest < 0) {
      ++missing_;
      return;
    }
    if (stored_[at(nest)]++ > 0) return;
    cost_ += nests_.cost(nest);
    nests_.for_each_read(nest, [&](int r) { require(r); });
  }
  void detach(int nest) {
    if (nest < 0) {
      --missing_;
      return;
    }
    if (--stored_[at(nest)] > 0) return;
    cost_ -= nests_.cost(nest);
    nests_.for_each_read(nest, [&](int r) { release(r); });
  }
  // Goals whose count went up from or down to 0 bring or drop their nests. A goal may be in both
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

  const Nests& nests_;
  std::vector<int> roots_;
  std::vector<int> nest_of_;
  std::vector<int> readers_;  // by goal
  std::vector<int> stored_;   // by nest: needed goals it stores
  std::vector<std::uint8_t> source_;
  std::vector<int> attached_, detached_, open_;
  std::vector<std::uint32_t> mark_;
  std::uint32_t round_ = 0;
  double cost_ = 0;
  int missing_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::planning
