// SPDX-License-Identifier: MIT
//
// A lower bound on DAG cost from landmarks, what it says of single options, and choices that it
// favours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/extraction_problem.hpp>
#include <sinter/egraph/landmark_cuts.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// What landmarks tell of a problem.
struct landmark_bound {
  double total = 0;
  std::vector<landmark> landmarks;
  std::vector<double> rest;    ///< by option: its cost less that of its landmarks
  std::vector<double> excess;  ///< by option: what choosing it costs beyond the total at least
};

/// Landmarks of each root as if the others were there already, which keeps them apart (a training
/// step of 6,439 nodes: 40 ms rather than 14 s); then, for what is left where roots need each other
/// around a cycle, those of the problem as it is (tensat's vgg: 4.85 rather than 2.64 of 4.85).
/// Lowers `work`.
inline landmark_bound bound_by_landmarks(const extraction_problem& problem, std::size_t& work) {
  std::vector<std::uint8_t> is_root(problem.classes(), 0);
  for (const std::uint32_t r : problem.roots) is_root[r] = 1;
  const auto with_costs = [&](bool roots_are_there, auto&& cost) {
    extraction_problem_builder builder(problem.classes());
    std::vector<std::uint32_t> targets;
    for (std::uint32_t i = 0; i < problem.options.size(); ++i) {
      targets.clear();
      for (const auto& d : problem.children_of(i)) {
        if (!roots_are_there || is_root[d.target] == 0) targets.push_back(d.target);
      }
      builder.add_option(problem.options[i].owner, i, cost(i), targets);
    }
    for (const std::uint32_t r : problem.roots) builder.add_root(r);
    return builder.finish();
  };
  const extraction_problem apart =
      with_costs(true, [&](std::uint32_t i) { return problem.options[i].cost; });
  landmark_cuts each(apart);
  landmark_bound out;
  out.total = each.run(work);
  const extraction_problem left =
      with_costs(false, [&](std::uint32_t i) { return each.rests()[i]; });
  landmark_cuts together(left);
  out.total += together.run(work);
  out.landmarks = std::move(each.found());
  std::ranges::move(together.found(), std::back_inserter(out.landmarks));
  out.rest = together.rests();
  out.excess = together.excesses();
  return out;
}

/// The terms that cost least beyond what landmarks have paid.
inline option_choice guided_choice(const extraction_problem& problem, const landmark_bound& bound) {
  // Of equals the cheapest.
  option_choice out = derive(problem, combine::sum, [&](std::uint32_t i) {
                        return bound.rest[i] + 1e-6 * problem.options[i].cost;
                      }).choice;
  keep_reachable(problem, out);
  return out;
}

/// By class: what a choice pays there and the bound does not, for the rest of an option and for
/// landmarks of which it has several options. If all are zero the choice is optimal.
inline std::vector<double> unpaid(const extraction_problem& problem, const landmark_bound& bound,
                                  const option_choice& choice) {
  std::vector<double> out(problem.classes(), 0);
  for (std::uint32_t c = 0; c < problem.classes(); ++c) {
    if (choice[c] != no_id) out[c] = bound.rest[choice[c]];
  }
  const auto is_chosen = [&](std::uint32_t i) { return choice[problem.options[i].owner] == i; };
  for (const landmark& mark : bound.landmarks) {
    if (std::ranges::count_if(mark.options, is_chosen) < 2) continue;
    for (const std::uint32_t i : mark.options) {
      if (is_chosen(i)) out[problem.options[i].owner] += mark.cost;
    }
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
