// SPDX-License-Identifier: MIT
//
// Terms of least tree cost, where a shared sub-term is paid at each use.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/extraction_problem.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// What an extractor found for a problem.
struct problem_solution {
  option_choice choice;  ///< of the classes that the roots need
  double cost = 0;       ///< infinity if a root has no finite term
  double lower_bound = 0;
};

/// Lowers costs along options until none can be lowered (Bellman and Ford). What is left when it
/// ends bounds every term from below, by induction over terms. False if it does not end within a
/// pass per class, or ends in a cycle: there is one of cost below zero, up to rounding.
inline bool relax(const extraction_problem& problem, derivations& trees) {
  bool changed = true;
  for (std::size_t pass = 0; changed && pass <= problem.classes(); ++pass) {
    changed = false;
    for (std::uint32_t i = 0; i < problem.options.size(); ++i) {
      const auto& option = problem.options[i];
      double cost = option.cost, size = std::abs(cost);
      for (const auto& child : problem.children_of(i)) {
        const double part = child.count * trees.cost[child.target];
        cost += part;
        size += std::abs(part);
      }
      // Rounding must not pass for a gain.
      if (!(cost < trees.cost[option.owner] - 1e-12 * size)) continue;
      trees.cost[option.owner] = cost;
      trees.choice[option.owner] = i;
      changed = true;
    }
  }
  return !changed && !has_cycle(problem, trees.choice);
}

/// Optimal in O(n log n) where no cost is negative. With negative costs it takes up to a pass over
/// the options per class; if a cycle of cost below zero exists, going round it once more would pay
/// for ever, least cost over terms without repetition is NP-hard, and the result is a good choice
/// with a lower bound of minus infinity.
inline problem_solution solve_tree(const extraction_problem& problem) {
  derivations trees = derive(problem, combine::sum);
  bool optimal = true;
  if (problem.has_negative_cost()) {
    derivations relaxed = trees;
    optimal = relax(problem, relaxed);
    if (optimal) trees = std::move(relaxed);
  }
  problem_solution out;
  for (std::size_t i = 0; i < problem.roots.size(); ++i) {
    out.cost += problem.root_counts[i] * trees.cost[problem.roots[i]];
  }
  out.choice = std::move(trees.choice);
  keep_reachable(problem, out.choice);
  out.lower_bound = optimal ? out.cost : -std::numeric_limits<double>::infinity();
  return out;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
