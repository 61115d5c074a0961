// SPDX-License-Identifier: MIT
//
// Derivations over an extraction problem: the cheapest finite term of every class where costs add
// up along the tree or take the dearest child, and what of a choice the roots need.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <sinter/egraph/extraction_problem.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Option chosen per class, or no_id.
using option_choice = std::vector<std::uint32_t>;

/// Drops the choices that the roots do not need. Returns the DAG cost; infinity if a needed class
/// has no choice.
inline double keep_reachable(const extraction_problem& problem, option_choice& choice) {
  option_choice kept(choice.size(), no_id);
  std::vector<std::uint32_t> open;
  double cost = 0;
  bool complete = true;
  const auto need = [&](std::uint32_t c) {
    if (kept[c] != no_id) return;
    if (choice[c] == no_id) {
      complete = false;
      return;
    }
    kept[c] = choice[c];
    cost += problem.options[choice[c]].cost;
    open.push_back(c);
  };
  for (const std::uint32_t root : problem.roots) need(root);
  while (!open.empty()) {
    const std::uint32_t c = open.back();
    open.pop_back();
    for (const auto& child : problem.children_of(kept[c])) need(child.target);
  }
  choice = std::move(kept);
  return complete ? cost : std::numeric_limits<double>::infinity();
}

/// Whether some chosen term contains itself.
inline bool has_cycle(const extraction_problem& problem, const option_choice& choice) {
  // Takes away classes none of whose users is left: what remains is on a cycle or below one.
  std::vector<std::uint32_t> users(problem.classes(), 0), open;
  const auto children = [&](std::uint32_t c) {
    return choice[c] == no_id ? span<const extraction_problem::child>()
                              : problem.children_of(choice[c]);
  };
  for (std::uint32_t c = 0; c < problem.classes(); ++c) {
    for (const auto& d : children(c)) ++users[d.target];
  }
  for (std::uint32_t c = 0; c < problem.classes(); ++c) {
    if (users[c] == 0) open.push_back(c);
  }
  for (std::size_t next = 0; next < open.size(); ++next) {
    for (const auto& d : children(open[next])) {
      if (--users[d.target] == 0) open.push_back(d.target);
    }
  }
  return open.size() < problem.classes();
}

/// What `derive` finds.
struct derivations {
  std::vector<double> cost;            ///< by class; infinity: the class has no finite term
  option_choice choice;                ///< by class
  std::vector<std::uint32_t> by_cost;  ///< options whose children all have a term, cheapest first
};

enum class combine { sum, max };

/// The cheapest derivation of every class by Knuth's generalisation of Dijkstra's algorithm ("A
/// generalization of Dijkstra's algorithm", 1977), in O(n log n). Never a cycle. Optimal where no
/// cost is negative: a combination of costs must not fall below its parts. `weight` gives the cost
/// of an option.
template <class Weight>
derivations derive(const extraction_problem& problem, combine how, Weight&& weight) {
  struct item {
    double cost;
    std::uint32_t option;
    bool operator<(const item& other)
        const {  // a max-heap by default: the cheapest on top, then the lowest number
      return cost != other.cost ? cost > other.cost : option > other.option;
    }
  };
  derivations out;
  out.cost.assign(problem.classes(), std::numeric_limits<double>::infinity());
  out.choice.assign(problem.classes(), no_id);
  std::vector<double> so_far(problem.options.size(), 0);
  std::vector<std::uint32_t> missing(problem.options.size());
  std::vector<item> heap;
  // Shared sub-terms make tree costs grow exponentially with depth; they stay finite.
  const auto push = [&](std::uint32_t i) {
    heap.push_back({std::min(so_far[i] + weight(i), std::numeric_limits<double>::max()), i});
    std::push_heap(heap.begin(), heap.end());
  };
  for (std::uint32_t i = 0; i < problem.options.size(); ++i) {
    missing[i] = problem.options[i].child_count;
    if (missing[i] == 0) push(i);
  }
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const item best = heap.back();
    heap.pop_back();
    out.by_cost.push_back(best.option);
    const std::uint32_t c = problem.options[best.option].owner;
    if (out.choice[c] != no_id) continue;
    out.choice[c] = best.option;
    out.cost[c] = best.cost;
    for (const std::uint32_t user : problem.users_of(c)) {
      if (how == combine::max) {
        so_far[user] = std::max(so_far[user], best.cost);
      } else {
        for (const auto& child : problem.children_of(user)) {
          if (child.target == c) so_far[user] += child.count * best.cost;
        }
      }
      if (--missing[user] == 0) push(user);
    }
  }
  return out;
}

inline derivations derive(const extraction_problem& problem, combine how) {
  return derive(problem, how, [&](std::uint32_t i) { return problem.options[i].cost; });
}

}  // namespace sinter::inline SINTER_ABI::eqsat
