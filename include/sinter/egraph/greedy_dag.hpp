// SPDX-License-Identifier: MIT
//
// Greedy extraction over cost sets: a first choice of low DAG cost.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/extraction_problem.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Greedy DAG extraction over cost sets (extraction-gym's faster-greedy-dag): each class keeps the
/// best self-contained solution found so far, a set of {class, option}; a node's solution is the
/// union of its children's and itself. Unlike the gym's, a set keeps the options themselves, and a
/// union prefers the first set's options where two disagree: the first set refers to nothing
/// outside of itself, so the union is complete and free of cycles by construction.
class greedy_dag {
 public:
  /// `work` bounds the number of set entries touched; at the end of it, what was found until then
  /// is returned.
  greedy_dag(const extraction_problem& problem, std::size_t work)
      : problem_(problem),
        work_(work),
        sets_(problem.classes()),
        queued_(problem.options.size(), 0) {}

  /// Returns a choice per class, complete for the roots if there is a solution and the work
  /// sufficed. `order`: options, cheapest first.
  option_choice run(const std::vector<std::uint32_t>& order) {
    queue_ = order;
    for (const std::uint32_t i : queue_) queued_[i] = 1;
    for (std::size_t next = 0; next < queue_.size() && work_ > 0; ++next) {
      const std::uint32_t i = queue_[next];
      queued_[i] = 0;
      if (!improve(i)) continue;
      for (const std::uint32_t user : problem_.users_of(problem_.options[i].owner)) {
        if (queued_[user] != 0) continue;
        queued_[user] = 1;
        queue_.push_back(user);
      }
    }
    option_choice choice(problem_.classes(), no_id);
    for (const std::uint32_t root : problem_.roots) {
      for (const entry& e : sets_[root].entries) {
        if (choice[e.owner] == no_id) choice[e.owner] = e.option;
      }
    }
    return choice;
  }

 private:
  struct entry {
    std::uint32_t owner = 0;
    std::uint32_t option = 0;
  };
  struct cost_set {
    std::vector<entry> entries;  // by class; empty: no solution yet
    double total = std::numeric_limits<double>::infinity();
  };

  void spend(std::size_t amount) { work_ -= std::min(work_, amount); }

  // Makes option `i` the choice of its class if that is cheaper.
  bool improve(std::uint32_t i) {
    const auto& option = problem_.options[i];
    cost_set& own = sets_[option.owner];
    const auto children = problem_.children_of(i);
    spend(1 + children.size());
    double largest = 0;
    std::uint32_t base = no_id;
    for (const auto& child : children) {
      const cost_set& set = sets_[child.target];
      if (set.entries.empty()) return false;
      largest = std::max(largest, set.total);
      if (base == no_id || set.entries.size() > sets_[base].entries.size()) base = child.target;
    }
    // Rounding differs with the order of summation: an improvement must be more than that, or this
    // might not end.
    const double limit = own.total - (own.entries.empty() ? 0.0 : std::abs(own.total) * 1e-12);
    if (!own.entries.empty() && option.cost + largest >= limit) return false;
    for (const auto& child : children) {
      if (contains(sets_[child.target], option.owner)) return false;
    }
    merged_.clear();
    double total = option.cost;
    if (base != no_id) {
      merged_ = sets_[base].entries;
      total += sets_[base].total;
      spend(merged_.size());
    }
    for (const auto& child : children) {
      if (child.target == base) continue;
      merge(sets_[child.target].entries, total);
      if (total >= limit && !own.entries.empty()) return false;
    }
    if (total >= limit && !own.entries.empty()) return false;
    const entry self{option.owner, i};
    merged_.insert(std::lower_bound(merged_.begin(), merged_.end(), self, by_owner), self);
    own.entries = merged_;
    own.total = total;
    return true;
  }

  void merge(const std::vector<entry>& other, double& total) {
    spend(merged_.size() + other.size());
    scratch_.clear();
    auto a = merged_.begin();
    for (const entry& e : other) {
      while (a != merged_.end() && a->owner < e.owner) scratch_.push_back(*a++);
      if (a != merged_.end() && a->owner == e.owner) continue;  // already there
      scratch_.push_back(e);
      total += problem_.options[e.option].cost;
    }
    scratch_.insert(scratch_.end(), a, merged_.end());
    merged_.swap(scratch_);
  }

  static bool by_owner(const entry& a, const entry& b) { return a.owner < b.owner; }
  static bool contains(const cost_set& set, std::uint32_t c) {
    return std::binary_search(set.entries.begin(), set.entries.end(), entry{c, 0}, by_owner);
  }

  const extraction_problem& problem_;
  std::size_t work_;
  std::vector<cost_set> sets_;
  std::vector<std::uint8_t> queued_;
  std::vector<std::uint32_t> queue_;
  std::vector<entry> merged_;
  std::vector<entry> scratch_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
