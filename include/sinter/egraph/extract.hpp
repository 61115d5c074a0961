// SPDX-License-Identifier: MIT
//
// Extraction: choosing one node per class so that the roots become finite terms of low cost.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/extract_dag.hpp>
#include <sinter/egraph/extract_tree.hpp>
#include <sinter/egraph/extraction_problem.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// What was chosen. Only classes that the roots need have a choice.
struct extraction {
  std::vector<node_id> choice;  ///< by class id (canonical or not): a node of that class, or no_id
  double cost = 0;         ///< infinity if some root has no finite term among the selectable nodes
  double lower_bound = 0;  ///< no extraction of these roots costs less

  node_id choice_of(class_id id) const { return choice[id]; }
  bool found() const { return cost < std::numeric_limits<double>::infinity(); }
  /// How far above the optimum the cost may be, as a fraction of the cost (of the bound where that
  /// is larger, as with costs below zero).
  double gap() const {
    if (!found() || cost <= lower_bound) return 0;
    return std::min(1.0, (cost - lower_bound) / std::max(std::abs(cost), std::abs(lower_bound)));
  }
  /// True if the cost is optimal up to rounding.
  bool proved() const { return gap() <= 1e-12; }
};

/// What is minimised, and how hard.
enum class method {
  tree,   ///< tree cost: a shared sub-term is paid at each use; optimal
  dag,    ///< DAG cost, paid once, which is NP-hard: milliseconds, often proved all the same
  exact,  ///< DAG cost, searched for about a second or until proved
};

struct extract_options {
  static constexpr std::size_t by_method = std::numeric_limits<std::size_t>::max();

  method how = method::dag;
  /// Bounds the search for DAG cost: entries of sets and lists touched, some 2 ns each. The same
  /// work gives the same result on every machine; none leaves the first choice: the cheapest of the
  /// terms of least tree cost and the greedy choice over cost sets.
  std::size_t work = by_method;
  /// A stop for emergencies: what is found by then depends on the machine.
  double seconds = std::numeric_limits<double>::infinity();

  std::size_t work_limit() const {
    if (work != by_method) return work;
    return how == method::exact ? 400'000'000 : 2'000'000;
  }
};

/// Extracts from a problem that need not come from an e-graph.
inline problem_solution solve(const extraction_problem& problem, const extract_options& options) {
  if (options.how == method::tree) return solve_tree(problem);
  return solve_dag(problem, options.work_limit(), options.seconds);
}

/// Chooses a node for each class that the roots need, such that no term contains itself.
/// `cost(class_id, enode_view)` gives the cost of a node alone: any number, or plus infinity if it
/// may not be selected. Only what the roots need is chosen and paid for: a class of negative cost
/// that nothing chosen needs earns nothing, and a cycle is never chosen whatever its cost. Never
/// above the DAG cost of the terms of least tree cost. Throws `sinter::error` for a cost that is no
/// number or minus infinity.
template <class Language, class Cost>
extraction extract(const egraph<Language>& graph, span<const class_id> roots, Cost&& cost,
                   const extract_options& options = {}) {
  const flat_egraph flat = flatten(graph, roots, cost);
  const problem_solution found = solve(flat.problem, options);
  extraction out;
  out.choice.assign(graph.class_id_end(), no_id);
  for (class_id id = 0; id < graph.class_id_end(); ++id) {
    const std::uint32_t option = found.choice[flat.dense[id]];
    if (option != no_id) out.choice[id] = flat.problem.options[option].id;
  }
  out.cost = found.cost;
  out.lower_bound = found.lower_bound;
  return out;
}
template <class Language, class Cost>
extraction extract(const egraph<Language>& graph, std::initializer_list<class_id> roots,
                   Cost&& cost, const extract_options& options = {}) {
  return extract(graph, span<const class_id>(roots.begin(), roots.size()), cost, options);
}

/// `extract` by tree cost; a root given twice is paid twice.
template <class Language, class Cost>
extraction extract_tree(const egraph<Language>& graph, span<const class_id> roots, Cost&& cost) {
  return extract(graph, roots, cost, {.how = method::tree});
}
template <class Language, class Cost>
extraction extract_tree(const egraph<Language>& graph, std::initializer_list<class_id> roots,
                        Cost&& cost) {
  return extract(graph, roots, cost, {.how = method::tree});
}

/// `extract` by DAG cost.
template <class Language, class Cost>
extraction extract_dag(const egraph<Language>& graph, span<const class_id> roots, Cost&& cost,
                       std::size_t work = extract_options::by_method) {
  return extract(graph, roots, cost, {.how = method::dag, .work = work});
}
template <class Language, class Cost>
extraction extract_dag(const egraph<Language>& graph, std::initializer_list<class_id> roots,
                       Cost&& cost, std::size_t work = extract_options::by_method) {
  return extract(graph, roots, cost, {.how = method::dag, .work = work});
}

}  // namespace sinter::inline SINTER_ABI::eqsat
