// SPDX-License-Identifier: MIT
// Finds sum(e^(x - max(x))) down columns in a saturated e-graph, and the max beside it: softmax and
// logsumexp over leading axes. One sweep can give both (exec/exponentials_kernel.hpp).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <sinter/plan/column_pair.hpp>
#include <sinter/plan/values.hpp>

namespace sinter::inline SINTER_ABI::planning {

class exponential_sum_finder {
 public:
  explicit exponential_sum_finder(const value_graph& g) : g_(g), graph_(g.graph()) {}

  /// What form `f` of a value, a reduction, is by the first of its e-nodes that say so.
  column_pair of(const form& f) const {
    if (f.code != ir::op::reduce_sum) return {};
    const value_class& powers = g_[f.operands[0]];
    const std::int64_t mask = g_.payload(f).attributes[0];
    if (powers.type != dtype::f32 && powers.type != dtype::f64) return {};
    for (const eqsat::enode_view& power : nodes(powers.id, ir::op::exp))
      for (const eqsat::enode_view& distance : nodes(power.children[0], ir::op::sub)) {
        const int x = g_.number(distance.children[0]);
        if (x < 0) continue;
        for (const eqsat::enode_view& spread : nodes(distance.children[1], ir::op::broadcast_to)) {
          const column_pair found = largest(spread.children[0], x, mask);
          if (found.any()) return detail::with_nodes(found, {power.id, distance.id, spread.id});
        }
      }
    return {};
  }

 private:
  std::vector<eqsat::enode_view> nodes(class_id id, ir::op code) const {
    return detail::nodes_of(graph_, id, code);
  }

  // The largest element, or 0 in its place where it is infinite.
  column_pair largest(class_id id, int x, std::int64_t mask) const {
    if (column_pair found = largest_itself(id, x, mask); found.any()) return found;
    for (const eqsat::enode_view& choice : nodes(id, ir::op::where)) {
      if (!is_constant(choice.children[1], 0) ||
          !is_infinite(choice.children[0], choice.children[2]))
        continue;
      column_pair found = largest_itself(choice.children[2], x, mask);
      if (!found.any()) continue;
      found.guarded = true;
      return detail::with_nodes(found, {choice.id});
    }
    return {};
  }

  column_pair largest_itself(class_id id, int x, std::int64_t mask) const {
    return detail::pair_beside(g_, id, step_kind::exponentials, x, mask);
  }

  // |value| == infinity
  bool is_infinite(class_id condition, class_id value) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const eqsat::enode_view& equal : nodes(condition, ir::op::equal))
      for (std::size_t k = 0; k < 2; ++k)
        if (is_constant(equal.children[1 - k], infinity))
          for (const eqsat::enode_view& size : nodes(equal.children[k], ir::op::abs))
            if (graph_.find(size.children[0]) == graph_.find(value)) return true;
    return false;
  }
  bool is_constant(class_id id, double number) const {
    const rules::facts& known = graph_.data(id);
    return known.is_constant && known.constant == number;
  }

  const value_graph& g_;
  const tensor_egraph& graph_;
};

}  // namespace sinter::inline SINTER_ABI::planning
