// SPDX-License-Identifier: MIT
// Sums of a matmul and sums of matmuls: what needs only the sums, the diagonal or a part of a
// product does not compute the product, products with a common operand become one, and products of
// concatenations are taken apart so that nothing is copied.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <sinter/rules/matmul_factors.hpp>

namespace sinter::inline SINTER_ABI::rules::matmul {

// ---- what does not need the product

// Are these the windows of an image, as a matrix? A product gathers them, a sum would read each
// element of the image many times.
inline bool are_windows(const tensor_egraph& graph, class_id id, int depth = 4) {
  if (depth == 0) return false;
  for (const eqsat::enode_view& node : graph.nodes(id)) {
    if (node.op == static_cast<std::uint16_t>(op::windows)) return true;
    if (node.op != static_cast<std::uint16_t>(op::reshape) &&
        node.op != static_cast<std::uint16_t>(op::permute))
      continue;
    if (are_windows(graph, node.children[0], depth - 1)) return true;
  }
  return false;
}

// (reduce_sum[?p] (matmul[?f] ?a ?b)): the sum over rows is the product of the column sums of a,
// the sum over columns that of the row sums of b. Sums over batches stay outside.
inline std::optional<class_id> sum_of_product(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  ir::value a = side["?a"], b = side["?b"];
  const int rank = a.rank();
  const flags f = flags_of(side);
  const std::int64_t mask = side.attribute("?p");
  const std::int64_t rows = reduction::axis_bit(rank - 2), columns = reduction::axis_bit(rank - 1);
  const sizes extents = sizes_of(a, b, f);
  const bool over_rows = (mask & rows) != 0 && !is_one(extents.m),
             over_columns = (mask & columns) != 0 && !is_one(extents.n);
  if ((!over_rows && !over_columns) || holds(graph, m.root(), op::matmul) ||
      (over_rows && are_windows(graph, m["?a"])) || (over_columns && are_windows(graph, m["?b"])))
    return std::nullopt;
  // The sum of no rows is 0 and stays 0 only times finite numbers.
  if ((over_rows && !side.is_never_zero(extents.m)) ||
      (over_columns && !side.is_never_zero(extents.n)))
    return std::nullopt;
  if (over_rows)
    a = ir::reduce(op::reduce_sum, a, reduction::axis_bit(axes_of(rank, true, f.a).outer));
  if (over_columns)
    b = ir::reduce(op::reduce_sum, b, reduction::axis_bit(axes_of(rank, false, f.b).outer));
  return side.finish(ir::reduce(op::reduce_sum, product(a, b, f), mask & ~(rows | columns)));
}

// The axis along which every element of the class is its own index, or -1: an iota, also seen
// through a broadcast or through added axes of extent 1.
inline int counted_axis(const tensor_egraph& graph, class_id id, int depth = 0) {
  if (depth == 4) return -1;
  const symbolic_shape& shape = shape_of(graph, id);
  for (const eqsat::enode_view& node : graph.nodes(id)) {
    if (node.op == static_cast<std::uint16_t>(op::iota))
      return static_cast<int>(graph.language().payload(node.payload).attributes[1]);
    if (node.op != static_cast<std::uint16_t>(op::broadcast_to) &&
        node.op != static_cast<std::uint16_t>(op::reshape))
      continue;
    const symbolic_shape& from = shape_of(graph, node.children[0]);
    const int inner = counted_axis(graph, node.children[0], depth + 1);
    if (inner < 0) continue;
    if (node.op == static_cast<std::uint16_t>(op::broadcast_to)) {
      if (from[static_cast<std::size_t>(inner)] == shape[static_cast<std::size_t>(inner)])
        return inner;
      continue;
    }
    if (const int axis = ir::axis_after_reshape(from, shape, inner); axis >= 0) return axis;
  }
  return -1;
}
inline bool selects_diagonal(const tensor_egraph& graph, const tensor_match& m) {
  const int rank = static_cast<int>(shape_of(graph, m["?u"]).size());
  const int u = counted_axis(graph, m["?u"]), v = counted_axis(graph, m["?v"]);
  return rank >= 2 && u != v && std::min(u, v) == rank - 2 && std::max(u, v) == rank - 1;
}

// (reduce_sum[?p] (where (equal ?u ?v) (matmul[?f] ?a ?b) 0)) where ?u and ?v count rows and
// columns, or the product with the identity matrix: a row of A times the same column of B. The sum
// of all of them is the trace.
inline std::optional<class_id> sum_of_diagonal(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"];
  const flags f = flags_of(side);
  const sizes extents = sizes_of(a, b, f);
  const int rank = a.rank();
  const std::int64_t mask = side.attribute("?p");
  const std::int64_t rows = reduction::axis_bit(rank - 2), columns = reduction::axis_bit(rank - 1);
  if ((mask & (rows | columns)) == 0 || !(extents.m == extents.n) || !is_floating(a.type()))
    return std::nullopt;
  const ir::value products = (f.a ? ir::transpose(a) : a) * (f.b ? b : ir::transpose(b));
  const bool all = (mask & rows) != 0 && (mask & columns) != 0;
  return side.finish_reshaped(ir::reduce(op::reduce_sum, products,
                                         (mask & ~(rows | columns)) | columns | (all ? rows : 0)));
}

// (reduce_sum[?p] (mul ?x (matmul[?f] ?a ?b))) over the columns, where x·Bᵀ is computed anyway:
// sum of x ∘ (a·B) = sum of a ∘ (x·Bᵀ). The backward pass of attention asks for the row sums of
// P ∘ (dO·Vᵀ) while O = P·V is known from the forward pass.
inline std::optional<class_id> known_row_sum(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], x = side["?x"];
  const flags f = flags_of(side);
  if (f.a || x.rank() != a.rank() || side.attribute("?p") != reduction::axis_bit(a.rank() - 1))
    return std::nullopt;
  const std::int64_t other_flags[] = {0, f.b ? 0 : 1};
  const auto known = graph.lookup(static_cast<std::uint16_t>(op::matmul),
                                  graph.language().intern(other_flags, {}), {m["?x"], m["?b"]});
  if (!known) return std::nullopt;
  return side.finish(ir::reduce(op::reduce_sum, a * side.term(*known), side.attribute("?p")));
}

// (matmul[?f] (broadcast_to ?a) ?b), (matmul[?f] ?b (broadcast_to ?a)): a row (column) that is
// repeated gives one row (column). With both operands repeated (`Both`), batches that are the same
// in both are one batch.
template <bool Left, bool Both>
std::optional<class_id> product_of_repeated(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const flags f = flags_of(side);
  ir::value a = side[Left ? "?a" : "?b"], b = side[Left ? "?b" : "?a"];
  const int rank = a.rank();
  if (b.rank() != rank || holds(graph, m.root(), op::broadcast_to)) return std::nullopt;
  const symbolic_shape target = side.root().shape();
  const operand_axes of_a = axes_of(rank, true, f.a), of_b = axes_of(rank, false, f.b);
  const dim rows = Left || Both ? a.extent(of_a.outer) : target[rank - 2],
            columns = !Left || Both ? b.extent(of_b.outer) : target[rank - 1];
  symbolic_shape repeated_once = target;
  for (int i = 0; i + 2 < rank; ++i)
    if (Both && is_one(a.extent(i)) && is_one(b.extent(i))) repeated_once[i] = dim(1);
  repeated_once[rank - 2] = rows;
  repeated_once[rank - 1] = columns;
  if (repeated_once == target) return std::nullopt;
  // The operands again, repeated along k and where only the other one is not.
  const int inner = Left ? of_a.inner : of_b.inner;
  const dim k = side.payload_dims("?q")[static_cast<std::size_t>(inner)];
  symbolic_shape shape_a = repeated_once, shape_b = repeated_once;
  shape_a[of_a.inner] = shape_b[of_b.inner] = k;
  shape_a[of_a.outer] = rows;
  shape_b[of_b.outer] = columns;
  return side.finish_broadcast(
      product(ir::broadcast_to(a, shape_a), ir::broadcast_to(b, shape_b), f));
}

// (slice[?p] (matmul[?f] ?a ?b)): of the rows, the columns and the batches that are wanted.
inline std::optional<class_id> slice_of_product(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  if (holds(graph, m.root(), op::matmul)) return std::nullopt;
  const ir::value a = side["?a"], b = side["?b"];
  const int rank = a.rank();
  const flags f = flags_of(side);
  const auto dims = side.payload_dims("?p");
  const auto steps = side.attributes("?p");
  const auto part = [&](ir::value x, operand_axes axes, int result_axis) {
    symbolic_shape start, stop;
    axis_list step;
    for (int i = 0; i < rank; ++i) {
      const bool whole = i == axes.inner;
      const std::size_t from = static_cast<std::size_t>(i == axes.outer ? result_axis : i);
      start.push_back(whole ? dim(0) : dims[2 * from]);
      stop.push_back(whole ? x.extent(i) : dims[2 * from + 1]);
      step.push_back(whole ? 1 : steps[from]);
    }
    return ir::slice(x, start, stop, step);
  };
  return side.finish(product(part(a, axes_of(rank, true, f.a), rank - 2),
                             part(b, axes_of(rank, false, f.b), rank - 1), f));
}

// ---- sums of products

// (add (matmul[?f] ?a ?b) (matmul[?g] ?a ?c)) = A·(B + C), or sub; and the same with a common right
// operand.
template <op Code, bool Left>
std::optional<class_id> common_operand(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"];
  ir::value c = side["?c"];
  const flags f = flags_of(side), g = flags_of(side, "?g");
  if ((Left ? f.a != g.a : f.b != g.b) || side.class_of("?b") == side.class_of("?c") ||
      holds(graph, m.root(), op::matmul))
    return std::nullopt;
  if (Left ? f.b != g.b : f.a != g.a) c = ir::transpose(c);
  if (!(b.shape() == c.shape())) return std::nullopt;
  const ir::value both = ir::elementwise(Code, {b, c});
  return side.finish(Left ? product(a, both, f) : product(both, a, f));
}

// (matmul[?f] ?a (add ?b ?c)) = A·B + A·C, where both are computed anyway.
template <op Code, bool Left>
std::optional<class_id> known_products(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const std::uint16_t code = static_cast<std::uint16_t>(op::matmul);
  const std::uint32_t payload = m.payload("?f");
  const class_id a = m["?a"];
  const auto known = [&](class_id part) {
    return Left ? graph.lookup(code, payload, {a, part}) : graph.lookup(code, payload, {part, a});
  };
  const auto first = known(m["?b"]), second = known(m["?c"]);
  if (!first || !second) return std::nullopt;
  return side.finish(ir::elementwise(Code, {side.term(*first), side.term(*second)}));
}

// ---- concatenations

inline constexpr std::string_view part_names[] = {"?b", "?c", "?d", "?e"};

// (concat[?p] (matmul[?f] ?a ?b) (matmul[?f] ?a ?c)...) along the columns: one product with the
// parts side by side; along the rows with a common right operand (`Left` false) the same.
template <bool Left, int Parts>
std::optional<class_id> products_side_by_side(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"];
  const int rank = a.rank();
  const flags f = flags_of(side);
  if (side.attribute("?p") != (Left ? rank - 1 : rank - 2) || holds(graph, m.root(), op::matmul))
    return std::nullopt;
  std::array<ir::value, std::size_t{Parts}> parts;
  for (std::size_t i = 0; i < Parts; ++i) parts[i] = side[part_names[i]];
  const ir::value whole = ir::concat(parts, axes_of(rank, !Left, Left ? f.b : f.a).outer);
  return side.finish(Left ? product(a, whole, f) : product(whole, a, f));
}

// (matmul[?f] ?a (concat[?p] ?b ?c...)): a product per part of the columns, or, where the
// contracted axis is concatenated, the sum of the products of the parts with slices of a. The same
// for a concatenated left operand (`Left` true).
template <bool Left, int Parts>
std::optional<class_id> product_of_parts(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value other = side["?a"];
  const int rank = other.rank();
  const flags f = flags_of(side);
  const operand_axes axes = axes_of(rank, Left, Left ? f.a : f.b);
  const int axis = static_cast<int>(side.attribute("?p"));
  std::array<ir::value, std::size_t{Parts}> products;
  const auto apply = [&](ir::value part, ir::value rest) {
    return Left ? product(part, rest, f) : product(rest, part, f);
  };
  if (holds(graph, m.root(), axis == axes.outer ? op::concat : op::add)) return std::nullopt;
  if (axis == axes.outer) {
    for (std::size_t i = 0; i < Parts; ++i) products[i] = apply(side[part_names[i]], other);
    return side.finish(ir::concat(products, Left ? rank - 2 : rank - 1));
  }
  if (axis != axes.inner) return std::nullopt;
  const int contracted = axes_of(rank, !Left, Left ? f.b : f.a).inner;
  symbolic_shape start = symbolic_shape::filled(static_cast<std::size_t>(rank), dim(0)),
                 stop = other.shape();
  const axis_list step = axis_list::filled(static_cast<std::size_t>(rank), 1);
  dim first(0);
  for (std::size_t i = 0; i < Parts; ++i) {
    const ir::value part = side[part_names[i]];
    start[contracted] = first;
    first = side.dims().add(first, part.extent(axis));
    stop[contracted] = first;
    products[i] = apply(part, ir::slice(other, start, stop, step));
  }
  ir::value sum = products[0];
  for (std::size_t i = 1; i < Parts; ++i) sum = sum + products[i];
  return side.finish(sum);
}

}  // namespace sinter::inline SINTER_ABI::rules::matmul
