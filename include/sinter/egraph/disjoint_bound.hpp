// SPDX-License-Identifier: MIT
//
// A lower bound on DAG cost that knows of no sharing but of none that is impossible either: costs
// of children add up where nothing can be common to their terms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include <sinter/egraph/extraction_problem.hpp>
#include <sinter/egraph/strong_components.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// An option costs at least its own cost and those of children no two of which reach a common class
/// that can cost anything, the dearest first. Where a price bound spreads thin over many
/// alternatives this one does not (rover's fir_8_tap: 4197 rather than 484 of 5936). Costs must not
/// be below zero. Derivation as in `derive`, after bit sets of what each class reaches.
class disjoint_bound {
 public:
  explicit disjoint_bound(const extraction_problem& problem)
      : problem_(problem),
        words_((problem.classes() + 63) / 64),
        reach_(problem.classes() * words_, 0),
        cost_(problem.classes(), std::numeric_limits<double>::infinity()),
        covered_(words_) {}

  /// Words touched, about.
  static std::size_t size(const extraction_problem& problem) {
    return 2 * ((problem.classes() + 63) / 64) * (problem.classes() + problem.children.size());
  }

  double compute() {
    collect_reach();
    using item = std::pair<double, std::uint32_t>;
    std::priority_queue<item, std::vector<item>, std::greater<>> queue;
    std::vector<std::uint32_t> missing(problem_.options.size());
    const auto push = [&](std::uint32_t i) {
      classes_.clear();
      for (const auto& d : problem_.children_of(i)) classes_.push_back(d.target);
      queue.emplace(problem_.options[i].cost + together(), i);
    };
    for (std::uint32_t i = 0; i < problem_.options.size(); ++i) {
      missing[i] = problem_.options[i].child_count;
      if (missing[i] == 0) push(i);
    }
    while (!queue.empty()) {
      const auto [cost, i] = queue.top();
      queue.pop();
      const std::uint32_t c = problem_.options[i].owner;
      if (cost_[c] <= cost) continue;
      cost_[c] = cost;
      for (const std::uint32_t user : problem_.users_of(c)) {
        if (--missing[user] == 0) push(user);
      }
    }
    classes_ = problem_.roots;
    return together();
  }

 private:
  span<std::uint64_t> reach(std::uint32_t c) {
    return {reach_.data() + std::size_t{c} * words_, words_};
  }

  // The classes of some cost that each class can need, itself included.
  void collect_reach() {
    const auto component =
        strong_components(problem_.classes(), [&](std::uint32_t c, auto&& visit) {
          for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
            for (const auto& d : problem_.children_of(i)) visit(d.target);
          }
        });
    std::vector<std::uint32_t> order(problem_.classes());
    for (std::uint32_t c = 0; c < order.size(); ++c) order[c] = c;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return component[a] < component[b]; });
    // A component reaches as a whole.
    for (auto first = order.begin(); first != order.end();) {
      const auto last = std::find_if(
          first, order.end(), [&](std::uint32_t c) { return component[c] != component[*first]; });
      std::fill(covered_.begin(), covered_.end(), 0);
      for (auto at = first; at != last; ++at) {
        bool dear = false;
        for (std::uint32_t i = problem_.first_option[*at]; i < problem_.first_option[*at + 1];
             ++i) {
          dear = dear || problem_.options[i].cost > 0;
          for (const auto& d : problem_.children_of(i)) cover(d.target);
        }
        if (dear) covered_[*at / 64] |= std::uint64_t{1} << (*at % 64);
      }
      for (auto at = first; at != last; ++at) std::ranges::copy(covered_, reach(*at).begin());
      first = last;
    }
  }

  void cover(std::uint32_t c) {
    const auto own = reach(c);
    for (std::size_t w = 0; w < words_; ++w) covered_[w] |= own[w];
  }

  // What the classes in `classes_` cost together at least.
  double together() {
    if (classes_.size() == 1) return cost_[classes_[0]];
    std::stable_sort(classes_.begin(), classes_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return cost_[a] > cost_[b]; });
    std::fill(covered_.begin(), covered_.end(), 0);
    double sum = 0;
    for (const std::uint32_t c : classes_) {
      if (cost_[c] == 0) break;
      const auto own = reach(c);
      std::uint64_t common = 0;
      for (std::size_t w = 0; w < words_; ++w) common |= covered_[w] & own[w];
      if (common != 0) continue;
      sum += cost_[c];
      cover(c);
    }
    return sum;
  }

  const extraction_problem& problem_;
  std::size_t words_;
  std::vector<std::uint64_t> reach_;
  std::vector<double> cost_;
  std::vector<std::uint64_t> covered_;
  std::vector<std::uint32_t> classes_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
