// SPDX-License-Identifier: MIT
//
// An e-graph flattened for extraction: dense class numbers, the nodes that may be selected with
// their costs and distinct children, and for each class the nodes that need it. Everything after
// this step is plain code over these arrays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <sinter/egraph/egraph.hpp>
#include <sinter/support/error.hpp>

namespace sinter::eqsat {

struct extraction_problem {
  struct child {
    std::uint32_t target = 0;  // class
    std::uint32_t count = 0;   // how often the node has it; only tree cost pays for each
  };
  struct option {
    node_id id = no_id;
    std::uint32_t owner = 0;  // class
    std::uint32_t first_child = 0;
    std::uint32_t child_count = 0;
    double cost = 0;
  };

  std::vector<std::uint32_t> dense;         // by class id of the e-graph
  std::vector<option> options;              // ordered by class
  std::vector<std::uint32_t> first_option;  // by class, and one more
  std::vector<child> children;
  std::vector<std::uint32_t> first_user;  // by class, and one more
  std::vector<std::uint32_t> users;       // options that have the class as child
  std::vector<std::uint32_t> roots;       // distinct classes

  std::size_t classes() const { return first_option.size() - 1; }
  std::span<const child> children_of(std::uint32_t option_index) const {
    const option& o = options[option_index];
    return {children.data() + o.first_child, o.child_count};
  }
  std::span<const std::uint32_t> users_of(std::uint32_t c) const {
    return {users.data() + first_user[c], first_user[c + 1] - first_user[c]};
  }
};

/// Throws `sinter::error` for a cost that is negative or no number; infinity means that a node may
/// not be selected. A node with its own class as child can be part of no finite term and is left
/// out.
template <class Language, class Cost>
extraction_problem flatten(const egraph<Language>& graph, std::span<const class_id> roots,
                           Cost&& cost_of) {
  extraction_problem out;
  out.dense.assign(graph.class_id_end(), no_id);
  std::uint32_t count = 0;
  for (const class_id id : graph.classes()) out.dense[id] = count++;
  for (class_id id = 0; id < graph.class_id_end(); ++id) out.dense[id] = out.dense[graph.find(id)];

  out.first_option.reserve(count + 1);
  std::vector<std::uint32_t> targets;
  for (const class_id id : graph.classes()) {
    const std::uint32_t owner = out.dense[id];
    out.first_option.push_back(static_cast<std::uint32_t>(out.options.size()));
    for (const enode_view& node : graph.nodes(id)) {
      const double cost = cost_of(id, node);
      if (std::isnan(cost) || cost < 0) {
        throw error("extract: the cost of a node of " +
                    std::string(Language::operators[node.op].name) + " is " + std::to_string(cost) +
                    ", expected 0 or more");
      }
      if (std::isinf(cost)) continue;
      targets.clear();
      for (const class_id c : node.children) targets.push_back(out.dense[c]);
      std::sort(targets.begin(), targets.end());
      if (std::binary_search(targets.begin(), targets.end(), owner)) continue;
      const auto first = static_cast<std::uint32_t>(out.children.size());
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (i > 0 && targets[i] == targets[i - 1]) {
          ++out.children.back().count;
        } else {
          out.children.push_back({targets[i], 1});
        }
      }
      out.options.push_back(
          {node.id, owner, first, static_cast<std::uint32_t>(out.children.size()) - first, cost});
    }
  }
  out.first_option.push_back(static_cast<std::uint32_t>(out.options.size()));

  out.first_user.assign(count + 1, 0);
  for (const auto& c : out.children) ++out.first_user[c.target + 1];
  for (std::size_t i = 0; i < count; ++i) out.first_user[i + 1] += out.first_user[i];
  out.users.resize(out.children.size());
  std::vector<std::uint32_t> fill(out.first_user.begin(), out.first_user.end() - 1);
  for (std::uint32_t i = 0; i < out.options.size(); ++i) {
    for (const auto& c : out.children_of(i)) out.users[fill[c.target]++] = i;
  }
  for (const class_id root : roots) {
    const std::uint32_t r = out.dense[root];
    if (std::find(out.roots.begin(), out.roots.end(), r) == out.roots.end()) out.roots.push_back(r);
  }
  return out;
}

/// The cheapest derivation of every class by Knuth's generalisation of Dijkstra's algorithm ("A
/// generalization of Dijkstra's algorithm"): optimal and free of cycles, in O(n log n), for a
/// combination of costs that never falls below its parts.
struct derivations {
  std::vector<double> cost;           ///< by class; infinity: the class has no finite term
  std::vector<std::uint32_t> choice;  ///< by class: option, or no_id
  std::vector<std::uint32_t>
      by_cost;  ///< options all of whose children have a term, cheapest first
};

enum class combine { sum, max };

inline derivations derive(const extraction_problem& problem, combine how) {
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
    heap.push_back(
        {std::min(so_far[i] + problem.options[i].cost, std::numeric_limits<double>::max()), i});
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

}  // namespace sinter::eqsat
