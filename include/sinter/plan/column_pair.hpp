// SPDX-License-Identifier: MIT
// Two values of columns, or of rows, that one sweep can give, in a saturated e-graph: see the
// finders of moments.hpp and exponential_sums.hpp.
#pragma once

#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/plan/values.hpp>

namespace sinter::inline SINTER_ABI::planning {

// A value is what a step of this kind makes of x, and `first` the reduction of x that it stands
// beside. Values, or -1.
struct column_pair {
  int x = -1, first = -1;
  step_kind kind = step_kind::deviations;
  bool guarded = false;                 // exponentials: see `step`
  std::vector<eqsat::node_id> nodes{};  // the e-nodes that say so

  bool any() const { return first >= 0; }
  friend bool operator==(const column_pair&, const column_pair&) = default;
};

namespace detail {

// E-nodes of a class with this op.
inline std::vector<eqsat::enode_view> nodes_of(const tensor_egraph& graph, class_id id,
                                               ir::op code) {
  std::vector<eqsat::enode_view> out;
  for (const eqsat::enode_view& n : graph.nodes(graph.find(id)))
    if (n.op == static_cast<std::uint16_t>(code)) out.push_back(n);
  return out;
}

// What was found in the operands of these e-nodes.
inline column_pair with_nodes(column_pair found, const std::vector<eqsat::node_id>& nodes) {
  found.nodes.insert(found.nodes.begin(), nodes.begin(), nodes.end());
  return found;
}

// The class as the reduction of x over these axes beside which a step of this kind stands.
inline column_pair pair_beside(const value_graph& g, class_id id, step_kind kind, int x,
                               std::int64_t mask) {
  for (const eqsat::enode_view& n : nodes_of(g.graph(), id, first_of_pair(kind)))
    if (g.number(n.children[0]) == x && g.number(id) >= 0 &&
        g.graph().language().payload(n.payload).attributes[0] == mask)
      return {x, g.number(id), kind, false, {n.id}};
  return {};
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI::planning
