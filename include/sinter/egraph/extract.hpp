// SPDX-License-Identifier: MIT
//
// Extraction: choosing one node per class so that the roots become finite terms of low cost.
// `extract_tree` minimises tree cost (a shared sub-term is paid at each use) and is optimal;
// `extract_dag` looks for low DAG cost (paid once), which is NP-hard, greedily. Both report a lower
// bound and never return a cycle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/extraction_problem.hpp>

namespace sinter::eqsat {

/// What was chosen. Only classes that the roots need have a choice.
struct extraction {
  std::vector<node_id> choice;  ///< by class id (canonical or not): a node of that class, or no_id
  double cost = 0;         ///< infinity if some root has no finite term among the selectable nodes
  double lower_bound = 0;  ///< no extraction of these roots costs less

  node_id choice_of(class_id id) const { return choice[id]; }
  bool found() const { return cost < std::numeric_limits<double>::infinity(); }
  /// How far above the optimum the cost may be, as a fraction of the cost.
  double gap() const {
    return found() && cost > 0 ? std::max(0.0, (cost - lower_bound) / cost) : 0.0;
  }
  /// True if the cost is optimal up to rounding.
  bool proved() const { return gap() <= 1e-12; }
};

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
  /// sufficed.
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
    const double limit = own.total - (own.entries.empty() ? 0.0 : own.total * 1e-12);
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

/// A lower bound on the DAG cost of the roots, the better of two:
/// * the longest chain: a class costs at least its cheapest node plus that node's dearest child (a
/// child's term does not
///   contain the class again), for the dearest root;
/// * what cannot be avoided: the roots, and the children common to all selectable nodes of such a
/// class, each at the
///   price of its cheapest node.
inline double dag_lower_bound(const extraction_problem& problem) {
  const derivations chains = derive(problem, combine::max);
  double chain = 0;
  for (const std::uint32_t root : problem.roots) chain = std::max(chain, chains.cost[root]);

  std::vector<std::uint8_t> needed(problem.classes(), 0);
  std::vector<std::uint32_t> open(problem.roots);
  for (const std::uint32_t root : open) needed[root] = 1;
  std::vector<std::uint32_t> hits(problem.classes(), 0);
  double unavoidable = 0;
  while (!open.empty()) {
    const std::uint32_t c = open.back();
    open.pop_back();
    double cheapest = std::numeric_limits<double>::infinity();
    std::uint32_t selectable = 0;
    std::vector<std::uint32_t> seen;
    for (std::uint32_t i = problem.first_option[c]; i < problem.first_option[c + 1]; ++i) {
      const auto children = problem.children_of(i);
      if (std::any_of(children.begin(), children.end(),
                      [&](const auto& child) { return chains.choice[child.target] == no_id; })) {
        continue;
      }
      ++selectable;
      cheapest = std::min(cheapest, problem.options[i].cost);
      for (const auto& child : children) {
        if (hits[child.target]++ == 0) seen.push_back(child.target);
      }
    }
    unavoidable += cheapest;
    for (const std::uint32_t child : seen) {
      if (hits[child] == selectable && needed[child] == 0) {
        needed[child] = 1;
        open.push_back(child);
      }
      hits[child] = 0;
    }
  }
  return std::max(chain, unavoidable);
}

template <class Language>
extraction to_extraction(const egraph<Language>& graph, const extraction_problem& problem,
                         const option_choice& choice) {
  extraction out;
  out.choice.assign(graph.class_id_end(), no_id);
  for (class_id id = 0; id < graph.class_id_end(); ++id) {
    const std::uint32_t option = choice[problem.dense[id]];
    if (option != no_id) out.choice[id] = problem.options[option].id;
  }
  return out;
}

/// The terms of least tree cost: optimal, O(n log n). `cost(class_id, enode_view)` gives the cost
/// of a node alone, zero or more, infinity if it may not be selected. The cost of the result is the
/// sum over the roots.
template <class Language, class Cost>
extraction extract_tree(const egraph<Language>& graph, std::span<const class_id> roots,
                        Cost&& cost) {
  const extraction_problem problem = flatten(graph, roots, cost);
  const derivations best = derive(problem, combine::sum);
  option_choice choice = best.choice;
  keep_reachable(problem, choice);
  extraction out = to_extraction(graph, problem, choice);
  for (const class_id root : roots) out.cost += best.cost[problem.dense[root]];
  out.lower_bound = out.cost;
  return out;
}

/// A choice of low DAG cost: the better of the greedy one over cost sets and the terms of least
/// tree cost, so never above the latter. Costs as in `extract_tree`. `work` bounds the greedy
/// search (set entries touched).
template <class Language, class Cost>
extraction extract_dag(const egraph<Language>& graph, std::span<const class_id> roots, Cost&& cost,
                       std::size_t work = 200'000'000) {
  const extraction_problem problem = flatten(graph, roots, cost);
  const derivations trees = derive(problem, combine::sum);
  option_choice best = trees.choice;
  double best_cost = keep_reachable(problem, best);
  option_choice greedy = greedy_dag(problem, work).run(trees.by_cost);
  const double greedy_cost = keep_reachable(problem, greedy);
  if (greedy_cost < best_cost) {
    best = std::move(greedy);
    best_cost = greedy_cost;
  }
  extraction out = to_extraction(graph, problem, best);
  out.cost = best_cost;
  // The two are sums in different order; a bound above the cost would be rounding.
  out.lower_bound = std::min(best_cost, dag_lower_bound(problem));
  return out;
}

template <class Language, class Cost>
extraction extract_tree(const egraph<Language>& graph, std::initializer_list<class_id> roots,
                        Cost&& cost) {
  return extract_tree(graph, std::span<const class_id>(roots.begin(), roots.size()), cost);
}
template <class Language, class Cost>
extraction extract_dag(const egraph<Language>& graph, std::initializer_list<class_id> roots,
                       Cost&& cost) {
  return extract_dag(graph, std::span<const class_id>(roots.begin(), roots.size()), cost);
}

}  // namespace sinter::eqsat
