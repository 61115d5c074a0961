// SPDX-License-Identifier: MIT
//
// Landmarks of an extraction problem: sets of options one of which is part of every choice. What
// they cost adds up to a lower bound on DAG cost.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/extraction_problem.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// One of these options is part of every choice.
struct landmark {
  double cost = 0;  ///< what it adds to the bound
  std::vector<std::uint32_t> options;
};

/// LM-cut (Helmert and Domshlak, "Landmarks, critical paths and abstractions: what's the difference
/// anyway?", 2009). Take any set of classes with a root in it: going down from the root, from the
/// option of a class to one of its children, every term leaves the set, by an option with no child
/// inside. These options are a landmark, and every choice pays for the cheapest of them. That much
/// is taken off each, and the set is drawn anew through what is free now, always down to the
/// dearest child, until the roots cost nothing. The bound is the sum of what was taken off. Neither
/// cycles do harm, as a term leaves every set, nor alternatives that share little: of the least
/// cost known of a transformer's training step it is 99.4 %, where prices end at 59 % and the
/// relaxation to linear programming at 18 %. Costs must not be below zero.
class landmark_cuts {
 public:
  explicit landmark_cuts(const extraction_problem& problem)
      : problem_(problem),
        rest_(problem.options.size()),
        dearest_(problem.options.size(), no_id),
        height_(derive(problem, combine::max).cost),
        inside_(problem.classes(), 0) {
    double largest = 0;
    for (std::uint32_t i = 0; i < rest_.size(); ++i) {
      rest_[i] = problem.options[i].cost;
      largest = std::max(largest, rest_[i]);
      find_dearest(i);
    }
    rounding_ = 1e-13 * largest;
  }

  /// Stops once `work` is spent, which it lowers; what was found by then is a bound. Infinity if a
  /// root has no finite term.
  double run(std::size_t& work) {
    const std::size_t limit = work;
    // The root that is dearest now: what is taken off on a long way is shared by the shorter ones
    // (the other way round, 70 % instead of 99).
    using item = std::pair<double, std::uint32_t>;
    std::vector<item> heap;
    for (const std::uint32_t r : problem_.roots) {
      if (height_[r] == infinity) return infinity;
      if (height_[r] > 0) heap.push_back({height_[r], ~r});  // of equals the first
    }
    std::make_heap(heap.begin(), heap.end());
    touched_ = 4 * (problem_.options.size() + problem_.children.size());
    double total = 0;
    while (!heap.empty() && touched_ < limit) {
      std::pop_heap(heap.begin(), heap.end());
      const std::uint32_t r = ~heap.back().second;
      if (heap.back().first == height_[r]) total += take_off(r);
      heap.back().first = height_[r];
      if (height_[r] > 0) {
        std::push_heap(heap.begin(), heap.end());
      } else {
        heap.pop_back();
      }
    }
    work -= std::min(limit, touched_);
    return total;
  }

  /// Found by `run`.
  std::vector<landmark>& found() { return found_; }
  /// By option: its cost less what was taken off.
  const std::vector<double>& rests() const { return rest_; }

  /// By option: what choosing it costs beyond the bound at least. Its own rest, that of the dearest
  /// chain below it and that of the cheapest way to it from a root are paid in no landmark.
  std::vector<double> excesses() const {
    std::vector<double> above(problem_.classes(), infinity);
    using item = std::pair<double, std::uint32_t>;
    std::vector<item> heap;
    const auto reach = [&](std::uint32_t c, double cost) {
      if (!(cost < above[c])) return;
      above[c] = cost;
      heap.push_back({cost, c});
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };
    for (const std::uint32_t r : problem_.roots) reach(r, 0);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      const auto [cost, c] = heap.back();
      heap.pop_back();
      if (cost > above[c]) continue;
      for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
        for (const auto& d : problem_.children_of(i)) reach(d.target, cost + rest_[i]);
      }
    }
    std::vector<double> out(rest_.size());
    for (std::uint32_t i = 0; i < out.size(); ++i) {
      out[i] = above[problem_.options[i].owner] + rest_[i] + height_below(i);
    }
    return out;
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  double height_below(std::uint32_t i) const {
    return dearest_[i] == no_id ? 0 : height_[dearest_[i]];
  }

  void find_dearest(std::uint32_t i) {
    dearest_[i] = no_id;
    for (const auto& d : problem_.children_of(i)) {
      if (dearest_[i] == no_id || height_[d.target] > height_[dearest_[i]]) dearest_[i] = d.target;
    }
  }

  // One landmark of root r, which is not free yet; returns its cost.
  double take_off(std::uint32_t r) {
    ++round_;
    zone_.clear();
    enter(r);
    // All that the set takes in is as dear as the root, so nothing that is free already.
    while (!open_.empty()) {
      const std::uint32_t i = open_.back();
      open_.pop_back();
      if (leaves(i)) enter(dearest_[i]);
    }
    landmark_.clear();
    double least = infinity;
    for (const std::uint32_t c : zone_) {
      for_each_option(c, [&](std::uint32_t i) {
        if (!leaves(i)) return;
        landmark_.push_back(i);
        least = std::min(least, rest_[i]);
      });
    }
    for (const std::uint32_t i : landmark_) {
      rest_[i] -= least;
      if (rest_[i] <= rounding_) rest_[i] = 0;
      lower(problem_.options[i].owner, rest_[i] + height_below(i));
    }
    lower_users();
    found_.push_back({least, landmark_});
    return least;
  }

  template <class Visit>
  void for_each_option(std::uint32_t c, Visit visit) const {
    for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
      if (height_below(i) < infinity) visit(i);
    }
  }

  void enter(std::uint32_t c) {
    inside_[c] = round_;
    zone_.push_back(c);
    for_each_option(c, [&](std::uint32_t i) {
      if (rest_[i] <= 0) open_.push_back(i);
    });
  }

  bool leaves(std::uint32_t i) {
    touched_ += 1 + problem_.options[i].child_count;
    return std::ranges::none_of(problem_.children_of(i),
                                [&](const auto& d) { return inside_[d.target] == round_; });
  }

  void lower(std::uint32_t c, double height) {
    if (!(height < height_[c])) return;
    height_[c] = height;
    lowered_.push_back({height, c});
    std::push_heap(lowered_.begin(), lowered_.end(), std::greater<>());
  }

  void lower_users() {
    while (!lowered_.empty()) {
      std::pop_heap(lowered_.begin(), lowered_.end(), std::greater<>());
      const auto [height, c] = lowered_.back();
      lowered_.pop_back();
      if (height > height_[c]) continue;
      for (const std::uint32_t i : problem_.users_of(c)) {
        ++touched_;
        if (dearest_[i] != c) continue;
        touched_ += problem_.options[i].child_count;
        find_dearest(i);
        lower(problem_.options[i].owner, rest_[i] + height_below(i));
      }
    }
  }

  const extraction_problem& problem_;
  std::vector<landmark> found_;
  std::vector<double> rest_;            // by option
  std::vector<std::uint32_t> dearest_;  // by option: the child whose height is largest
  std::vector<double> height_;          // by class: the dearest chain of its cheapest such term
  std::vector<std::uint32_t> inside_;   // by class: the last round in which the set had it
  std::uint32_t round_ = 0;
  double rounding_ = 0;
  std::size_t touched_ = 0;
  std::vector<std::uint32_t> zone_, open_, landmark_;  // classes; free options; options
  std::vector<std::pair<double, std::uint32_t>> lowered_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
