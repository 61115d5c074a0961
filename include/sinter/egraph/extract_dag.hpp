// SPDX-License-Identifier: MIT
//
// Terms of low DAG cost, where a shared sub-term is paid once: the best of several first choices,
// then branch and bound for as long as the work lasts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include <sinter/egraph/derivation.hpp>
#include <sinter/egraph/exact_search.hpp>
#include <sinter/egraph/exchange.hpp>
#include <sinter/egraph/extract_tree.hpp>
#include <sinter/egraph/extraction_problem.hpp>
#include <sinter/egraph/greedy_dag.hpp>
#include <sinter/egraph/problem_parts.hpp>
#include <sinter/egraph/problem_reduction.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// A bound that takes no search: the dearest chain from a root down, or all that costs less than
/// nothing.
inline double simple_bound(const extraction_problem& problem) {
  double bound = 0;
  if (!problem.has_negative_cost()) {
    const derivations chains = derive(problem, combine::max);
    for (const std::uint32_t root : problem.roots) bound = std::max(bound, chains.cost[root]);
    return bound;
  }
  for (std::uint32_t c = 0; c < problem.classes(); ++c) {
    double cheapest = 0;
    for (std::uint32_t i = problem.first_option[c]; i < problem.first_option[c + 1]; ++i) {
      cheapest = std::min(cheapest, problem.options[i].cost);
    }
    bound += cheapest;
  }
  return bound;
}

/// Reduces the problem, takes the cheapest of the terms of least tree cost (before and after the
/// reduction) and of the greedy choice over cost sets, and searches for a better one. `work` and
/// `seconds` bound the search.
inline problem_solution solve_dag(const extraction_problem& problem, std::size_t work,
                                  double seconds) {
  problem_solution best;
  best.choice = solve_tree(problem).choice;
  best.cost = keep_reachable(problem, best.choice);
  best.lower_bound = std::min(best.cost, simple_bound(problem));
  if (best.cost == std::numeric_limits<double>::infinity()) {
    best.lower_bound = best.cost;
    return best;
  }
  // These come before the work is counted, but for graphs so large that they would take seconds.
  // Linear in the size: without the classes that the roots require, landmarks of a plan of 53,929
  // nests (140,000 options) take 80 times as long.
  const std::size_t reduction_work =
      std::max<std::size_t>(50'000'000, 400 * problem.options.size());
  constexpr std::size_t greedy_work = 1'000'000;
  const reduced_problem reduced = problem_reducer(problem, reduction_work).run();
  const extraction_problem& rest = reduced.problem;
  const auto take = [&](const option_choice& choice) {
    option_choice whole = reduced.expand(problem, choice);
    const double cost = keep_reachable(problem, whole);
    if (!(cost < best.cost)) return;
    best.cost = cost;
    best.choice = std::move(whole);
  };
  if (rest.classes() == 0) {
    take({});
    best.lower_bound = best.cost;
    return best;
  }
  const derivations trees = derive(rest, combine::sum);
  option_choice first = trees.choice, greedy = greedy_dag(rest, greedy_work).run(trees.by_cost);
  if (keep_reachable(rest, greedy) < keep_reachable(rest, first)) first = std::move(greedy);
  const std::size_t most_exchanges = std::min<std::size_t>(work / 2, 1'000'000);
  std::size_t exchange_work = most_exchanges;
  take(option_exchange(rest, std::move(first), trees.choice).run(exchange_work));

  double size = 0;
  for (const std::uint32_t i : best.choice)
    size += i == no_id ? 0 : std::abs(problem.options[i].cost);
  exact_search search(work - (most_exchanges - exchange_work), seconds, cost_grain(problem),
                      1e-12 * size);
  const double limit = best.cost - reduced.constant;
  const exact_search::outcome found = search.run(rest, limit);
  if (!found.choice.empty()) take(found.choice);
  const bool proved = found.bound >= std::min(limit, found.cost);
  const double bound = proved ? best.cost : found.bound + reduced.constant;
  best.lower_bound = std::min(best.cost, std::max(best.lower_bound, bound));
  return best;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
