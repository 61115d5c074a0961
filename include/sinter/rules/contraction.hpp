// SPDX-License-Identifier: MIT
// Finds the matmul in a sum of products: (reduce_sum[?p] (mul (broadcast_to ?x) (broadcast_to
// ?y))), in whatever order the axes stand. Every axis of the product is one of four: summed over
// (k), in both operands (batch), in ?x alone (m) or in ?y alone (n).
#pragma once

#include <algorithm>
#include <optional>

#include <sinter/rules/matmul_sides.hpp>

namespace sinter::inline SINTER_ABI::rules::contraction {

enum class role : std::uint8_t { unit, batch, rows, columns, inner };

using axis_roles = inline_vector<role, max_rank>;

// Nothing if an axis fits no role: repeated in both operands, or summed over and not in both.
inline std::optional<axis_roles> roles_of(ir::value x, ir::value y, const symbolic_shape& space,
                                          std::int64_t reduced) {
  axis_roles out;
  for (int i = 0; i < static_cast<int>(space.size()); ++i) {
    const bool in_x = x.extent(i) == space[i], in_y = y.extent(i) == space[i];
    if (is_one(space[i]))
      out.push_back(role::unit);
    else if (ir::has_axis(reduced, i) ? !(in_x && in_y) : !(in_x || in_y))
      return std::nullopt;
    else if (ir::has_axis(reduced, i))
      out.push_back(role::inner);
    else
      out.push_back(in_x && in_y ? role::batch : in_x ? role::rows : role::columns);
  }
  return out;
}

inline dim extent_of(ir::graph& g, const axis_roles& roles, const symbolic_shape& space,
                     role wanted) {
  dim total(1);
  for (std::size_t i = 0; i < roles.size(); ++i)
    if (roles[i] == wanted) total = g.dims.mul(total, space[i]);
  return total;
}

struct operand {
  ir::value matrix;  // [batch, outer, inner], or the last two exchanged
  bool transposed = false;
};

// Brings the axes of an operand into the order batch, outer, inner (or batch, inner, outer, if they
// stand so already) and makes one axis of each.
inline operand as_matrix(ir::value x, const axis_roles& roles, const symbolic_shape& space,
                         role outer, bool batched) {
  ir::graph& g = *x.owner;
  symbolic_shape present;
  axis_list axes;  // axes of the product that x has
  for (int i = 0; i < x.rank(); ++i) {
    if (roles[i] != role::batch && roles[i] != outer && roles[i] != role::inner) continue;
    present.push_back(space[i]);
    axes.push_back(i);
  }
  axis_list order, exchanged;
  for (role wanted : {role::batch, outer, role::inner})
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (roles[axes[i]] == wanted) order.push_back(static_cast<std::int64_t>(i));
  for (role wanted : {role::batch, role::inner, outer})
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (roles[axes[i]] == wanted) exchanged.push_back(static_cast<std::int64_t>(i));

  const bool transposed = std::is_sorted(exchanged.begin(), exchanged.end()) &&
                          !std::is_sorted(order.begin(), order.end());
  const ir::value sorted = ir::permute(ir::reshape(x, present), transposed ? exchanged : order);
  const dim m = extent_of(g, roles, space, outer), k = extent_of(g, roles, space, role::inner);
  symbolic_shape matrix;
  if (batched) matrix.push_back(extent_of(g, roles, space, role::batch));
  matrix.push_back(transposed ? k : m);
  matrix.push_back(transposed ? m : k);
  return {ir::reshape(sorted, matrix), transposed};
}

inline std::optional<class_id> sum_of_products(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], y = side["?y"];
  symbolic_shape space;
  for (dim d : side.payload_dims("?q")) space.push_back(d);
  const int rank = static_cast<int>(space.size());
  if (x.rank() != rank || y.rank() != rank || side.payload_dims("?q") != side.payload_dims("?r"))
    return std::nullopt;
  const auto roles = roles_of(x, y, space, side.attribute("?p"));
  const auto has = [&](role wanted) {
    return std::find(roles->begin(), roles->end(), wanted) != roles->end();
  };
  // Without rows or columns it is a row sum, which needs no matmul.
  if (!roles || !has(role::inner) || !has(role::rows) || !has(role::columns)) return std::nullopt;

  const bool batched = has(role::batch);
  const operand a = as_matrix(x, *roles, space, role::rows, batched);
  const operand b = as_matrix(y, *roles, space, role::columns, batched);
  const ir::value product = matmul::product(a.matrix, b.matrix, {a.transposed, !b.transposed});

  // Out of [batch, m, n] into the axes of the result, in their order.
  symbolic_shape split;
  axis_list from;  // axis of the product space
  for (role wanted : {role::batch, role::rows, role::columns})
    for (int i = 0; i < rank; ++i)
      if ((*roles)[i] == wanted) {
        split.push_back(space[i]);
        from.push_back(i);
      }
  axis_list order;
  for (int i = 0; i < rank; ++i)
    for (std::size_t j = 0; j < from.size(); ++j)
      if (from[j] == i) order.push_back(static_cast<std::int64_t>(j));
  return side.finish(
      ir::reshape(ir::permute(ir::reshape(product, split), order), side.root().shape()));
}

}  // namespace sinter::inline SINTER_ABI::rules::contraction
