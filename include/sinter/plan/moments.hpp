// SPDX-License-Identifier: MIT
// Finds variances down columns in a saturated e-graph: sum((x - mean(x))^2) over the axes of the
// mean, and the sum that the mean is made of. One sweep can give both (exec/column_pair.hpp).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/plan/column_pair.hpp>
#include <sinter/plan/values.hpp>

namespace sinter::inline SINTER_ABI::planning {

class moments_finder {
 public:
  // Numbers of elements are looked up in `dims`.
  moments_finder(const value_graph& g, ir::dim_table& dims)
      : g_(g), graph_(g.graph()), dims_(dims) {}

  /// What form `f` of a value, a reduction, is by the first of its e-nodes that say so.
  column_pair of(const form& f) const {
    if (f.code != ir::op::reduce_sum) return {};
    const value_class& squares = g_[f.operands[0]];
    const std::int64_t mask = g_.payload(f).attributes[0];
    if (squares.type != dtype::f32 && squares.type != dtype::f64) return {};
    for (const eqsat::enode_view& square : nodes(squares.id, ir::op::mul)) {
      if (graph_.find(square.children[0]) != graph_.find(square.children[1])) continue;
      for (const eqsat::enode_view& distance : nodes(square.children[0], ir::op::sub)) {
        const column_pair found = about_mean(distance, mask);
        if (found.any()) return detail::with_nodes(found, {square.id, distance.id});
      }
    }
    return {};
  }

 private:
  std::vector<eqsat::enode_view> nodes(class_id id, ir::op code) const {
    return detail::nodes_of(graph_, id, code);
  }

  // x - broadcast(sum / n)
  column_pair about_mean(const eqsat::enode_view& distance, std::int64_t mask) const {
    const int x = g_.number(distance.children[0]);
    if (x < 0) return {};
    for (const eqsat::enode_view& spread : nodes(distance.children[1], ir::op::broadcast_to)) {
      for (const eqsat::enode_view& mean : nodes(spread.children[0], ir::op::div)) {
        if (!is_count(mean.children[1], x, mask)) continue;
        const column_pair found = sum_of(mean.children[0], x, mask);
        if (found.any()) return detail::with_nodes(found, {spread.id, mean.id});
      }
      for (const eqsat::enode_view& mean : nodes(spread.children[0], ir::op::mul))
        for (std::size_t k = 0; k < 2; ++k) {
          if (!is_share(mean.children[1 - k], x, mask)) continue;
          const column_pair found = sum_of(mean.children[k], x, mask);
          if (found.any()) return detail::with_nodes(found, {spread.id, mean.id});
        }
    }
    return {};
  }

  column_pair sum_of(class_id id, int x, std::int64_t mask) const {
    return detail::pair_beside(g_, id, step_kind::deviations, x, mask);
  }

  const rules::tensor_language::payload_record& payload(const eqsat::enode_view& n) const {
    return graph_.language().payload(n.payload);
  }

  ir::dim count_of(int x, std::int64_t mask) const {
    ir::dim count(1);
    for (std::size_t axis = 0; axis < g_[x].shape.size(); ++axis)
      if (ir::has_axis(mask, static_cast<int>(axis))) count = dims_.mul(count, g_[x].shape[axis]);
    return count;
  }

  // Is the scalar the number of elements that are summed up, or one divided by it?
  bool is_count(class_id id, int x, std::int64_t mask) const {
    const ir::dim count = count_of(x, mask);
    const rules::facts& known = graph_.data(id);
    if (known.is_constant)
      return count.is_constant() && known.constant == static_cast<double>(count.constant());
    for (const eqsat::enode_view& n : nodes(id, ir::op::extent))
      if (payload(n).dims[0] == count) return true;
    return false;
  }
  bool is_share(class_id id, int x, std::int64_t mask) const {
    const rules::facts& known = graph_.data(id);
    if (known.is_constant) {
      const ir::dim count = count_of(x, mask);
      // A constant is rounded to its dtype.
      return count.is_constant() &&
             std::abs(known.constant * static_cast<double>(count.constant()) - 1) < 1e-7;
    }
    for (const eqsat::enode_view& n : nodes(id, ir::op::recip))
      if (is_count(n.children[0], x, mask)) return true;
    return false;
  }

  const value_graph& g_;
  const tensor_egraph& graph_;
  ir::dim_table& dims_;
};

}  // namespace sinter::inline SINTER_ABI::planning
