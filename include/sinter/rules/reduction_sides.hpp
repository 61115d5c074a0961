// SPDX-License-Identifier: MIT
// Right-hand sides of the reduction rules. Reductions keep the axes that they reduce with extent 1.
#pragma once

#include <optional>

#include <sinter/rules/axis_groups.hpp>

namespace sinter::inline SINTER_ABI::rules::reduction {

inline std::int64_t axis_bit(int axis) { return std::int64_t{1} << axis; }

// Is every axis of `mask` at least 1 long in every shape of the class? A sum over no elements is 0,
// which infinity * 0 is not: factors leave a sum only if it is not empty, or if they are finite
// numbers.
inline bool reduces_something(right_side& side, const symbolic_shape& shape, std::int64_t mask) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (ir::has_axis(mask, static_cast<int>(i)) && !side.assume_never_zero(shape[i])) return false;
  return true;
}

// Is every axis of `mask` 1 long in the shape? Such a value is one for all that is reduced.
inline bool is_one_along(const symbolic_shape& shape, std::int64_t mask) {
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (ir::has_axis(mask, static_cast<int>(i)) && !is_one(shape[i])) return false;
  return true;
}

inline bool is_finite_constant(const facts& known) {
  return known.is_constant && std::isfinite(known.constant);
}

// (reduce[?p] (reduce[?q] ?x))
template <op Code>
std::optional<class_id> reduce_reduce(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  return side.finish(ir::reduce(Code, side["?x"], side.attribute("?p") | side.attribute("?q")));
}

// (reduce[?p] ?x): axes of extent 1 need no reducing.
template <op Code>
std::optional<class_id> reduce_units(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  std::int64_t mask = side.attribute("?p");
  for (int i = 0; i < x.rank(); ++i)
    if (is_one(x.extent(i))) mask &= ~axis_bit(i);
  if (mask == side.attribute("?p")) return std::nullopt;
  return side.finish(ir::reduce(Code, x, mask));
}

// (reduce[?p] ?x) over axes that are not neighbours, in two steps: the last run of axes first. A
// nest that reduces rows or columns then does each.
template <op Code>
std::optional<class_id> split(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  const std::int64_t mask = side.attribute("?p");
  std::int64_t last_run = 0;
  int axis = x.rank() - 1;
  while (axis >= 0 && !ir::has_axis(mask, axis)) --axis;
  // An axis of extent 1 inside of a run does not end it.
  for (; axis >= 0 && (ir::has_axis(mask, axis) || is_one(x.extent(axis))); --axis)
    last_run |= mask & axis_bit(axis);
  if (last_run == mask) return std::nullopt;
  return side.finish(ir::reduce(Code, ir::reduce(Code, x, last_run), mask & ~last_run));
}

// (reduce[?p] (permute[?q] ?x)) -> the permuted reduction
template <op Code>
std::optional<class_id> reduce_permute(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const auto axes = side.attributes("?q");
  std::int64_t mask = 0;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (ir::has_axis(side.attribute("?p"), static_cast<int>(i)))
      mask |= axis_bit(static_cast<int>(axes[i]));
  return side.finish(ir::permute(ir::reduce(Code, side["?x"], mask), axes));
}

// (reduce[?p] (reshape[?q] ?x)) -> the reshaped reduction, where the reduced axes are whole axes of
// ?x
template <op Code>
std::optional<class_id> reduce_reshape(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  symbolic_shape reshaped;
  for (dim d : side.payload_dims("?q")) reshaped.push_back(d);
  const auto groups = groups_of_reshape(side.terms(), x.shape(), reshaped);
  if (!groups) return std::nullopt;
  const auto mask = mask_before_reshape(*groups, side.attribute("?p"));
  if (!mask) return std::nullopt;
  return side.finish_reshaped(ir::reduce(Code, x, *mask));
}

// (reduce[?p] (broadcast_to[?q] ?x)): a sum of n equal elements is n times the element; the largest
// is the element.
template <op Code>
std::optional<class_id> reduce_broadcast(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  const auto repeated = side.payload_dims("?q");
  const std::int64_t mask = side.attribute("?p");
  std::int64_t kept = mask;
  dim count(1);
  for (int i = 0; i < x.rank(); ++i) {
    const dim extent = repeated[static_cast<std::size_t>(i)];
    if (!ir::has_axis(mask, i) || !is_one(x.extent(i)) || is_one(extent)) continue;
    if (!side.is_never_zero(extent)) return std::nullopt;
    count = side.dims().mul(count, extent);
    kept &= ~axis_bit(i);
  }
  if (kept == mask) return std::nullopt;
  ir::value reduced = ir::reduce(Code, x, kept);
  if (Code == op::reduce_sum) reduced = reduced * ir::extent_scalar(side.terms(), x.type(), count);
  return side.finish_broadcast(reduced);
}

// (reduce_sum[?p] (mul ?x ?s)) or div with a scalar ?s
template <op Code>
std::optional<class_id> sum_scalar(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], s = side["?s"];
  if (s.rank() != 0 || x.rank() == 0 || !is_floating(x.type())) return std::nullopt;
  const facts known = side.data("?s");
  const bool safe = is_finite_constant(known) && (Code == op::mul || known.constant != 0);
  if (!safe && !reduces_something(side, x.shape(), side.attribute("?p"))) return std::nullopt;
  return side.finish(
      ir::elementwise(Code, {ir::reduce(op::reduce_sum, x, side.attribute("?p")), s}));
}

// The sum of `x` times ?s, which is repeated along all reduced axes.
inline std::optional<class_id> times_row(right_side& side, ir::value x) {
  const ir::value s = side["?s"];
  const std::int64_t mask = side.attribute("?p");
  if (x.rank() != s.rank() || !is_floating(x.type())) return std::nullopt;
  if (!is_one_along(s.shape(), mask)) return std::nullopt;
  if (!reduces_something(side, x.shape(), mask)) return std::nullopt;
  return side.finish(ir::reduce(op::reduce_sum, x, mask) *
                     ir::broadcast_to(s, side.root().shape()));
}

// (reduce_sum[?p] (mul ?x (broadcast_to[?q] ?s)))
inline std::optional<class_id> sum_row_factor(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  return times_row(side, side["?x"]);
}

// The sum of the class along the axes of ?p, if it is known.
inline std::optional<class_id> known_sum(const tensor_egraph& graph, const tensor_match& m,
                                         class_id of) {
  return graph.lookup(static_cast<std::uint16_t>(op::reduce_sum), m.payload("?p"), {of});
}

// (reduce_sum[?p] (mul ?x (mul ?y (broadcast_to[?q] ?s)))) where the sum of ?x times ?y is known
// anyway, as the gradient of the scale behind a norm, or goes down columns: two such sums may
// differ in these factors alone, as those of a batch norm that is written out, and no nest makes
// several of them. (Of rows, too, a transformer's training step has so many sums that its plan is
// no longer proved.)
inline std::optional<class_id> sum_row_factor_of_product(tensor_egraph& graph,
                                                         const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], y = side["?y"];
  const int last = side.root().rank() - 1;
  const bool along_rows = last >= 0 && ir::has_axis(side.attribute("?p"), last);
  const auto product = graph.lookup(static_cast<std::uint16_t>(op::mul), 0, {m["?x"], m["?y"]});
  if (along_rows && !(product && known_sum(graph, m, graph.find(*product)))) return std::nullopt;
  return times_row(side, product ? side.term(*product) : x * y);
}

// The sum of `x` times ?s, which is repeated along some of the reduced axes alone, where the sum of
// `x` along those is known anyway: it is multiplied and summed up further. (Behind a group norm the
// sums of a group's gradients follow from those of its channels, which scale and shift have.)
inline std::optional<class_id> sum_in_steps(tensor_egraph& graph, const tensor_match& m,
                                            class_id x) {
  right_side side(graph, m);
  const symbolic_shape row = side["?s"].shape(), shape = side.term(x).shape();
  if (row.size() != shape.size() || !is_floating(side.root().type())) return std::nullopt;
  const std::int64_t mask = side.attribute("?p");
  std::int64_t first = 0;
  for (int i = 0; i < static_cast<int>(row.size()); ++i)
    if (ir::has_axis(mask, i) && is_one(row[static_cast<std::size_t>(i)])) first |= axis_bit(i);
  if (first == 0 || first == mask) return std::nullopt;
  const std::int64_t attributes[] = {first};
  const auto known = graph.lookup(static_cast<std::uint16_t>(op::reduce_sum),
                                  graph.language().intern(attributes, {}), {graph.find(x)});
  if (!known || !reduces_something(side, shape, first)) return std::nullopt;
  const ir::value part = side.term(*known);
  return side.finish(
      ir::reduce(op::reduce_sum, part * ir::broadcast_to(side["?s"], part.shape()), mask & ~first));
}

// (reduce_sum[?p] (mul ?x (broadcast_to[?q] ?s)))
inline std::optional<class_id> sum_of_scaled_in_steps(tensor_egraph& graph, const tensor_match& m) {
  return sum_in_steps(graph, m, m["?x"]);
}

// (reduce_sum[?p] (mul ?x (mul ?y (broadcast_to[?q] ?s)))) where ?x times ?y is known, too.
inline std::optional<class_id> sum_of_product_in_steps(tensor_egraph& graph,
                                                       const tensor_match& m) {
  const auto product = graph.lookup(static_cast<std::uint16_t>(op::mul), 0, {m["?x"], m["?y"]});
  return product ? sum_in_steps(graph, m, *product) : std::nullopt;
}

// Does the class repeat one value along the axes of `mask`?
inline bool is_repeated(const tensor_egraph& graph, class_id id, std::int64_t mask) {
  if (is_scalar(graph, id)) return true;
  for (const eqsat::enode_view& node : graph.nodes(id)) {
    if (node.op != static_cast<std::uint16_t>(op::broadcast_to)) continue;
    const symbolic_shape& row = shape_of(graph, node.children[0]);
    if (row.size() == shape_of(graph, id).size() && is_one_along(row, mask)) return true;
  }
  return false;
}

// Is the sum of the class known, or that of what it scales and shifts along whole rows? Gradients
// of norms take four steps to the derivative and the input.
inline bool follows_from_known_sums(const tensor_egraph& graph, const tensor_match& m, class_id id,
                                    std::int64_t mask, int depth = 4) {
  if (known_sum(graph, m, id)) return true;
  if (depth == 0) return false;
  const auto follows = [&](class_id part) {
    return follows_from_known_sums(graph, m, graph.find(part), mask, depth - 1);
  };
  const auto repeats = [&](class_id part) { return is_repeated(graph, graph.find(part), mask); };
  for (const eqsat::enode_view& node : graph.nodes(id)) {
    const auto code = static_cast<op>(node.op);
    if (code == op::neg && follows(node.children[0])) return true;
    if (code != op::mul && code != op::add && code != op::sub) continue;
    const class_id a = node.children[0], b = node.children[1];
    if (repeats(b) && follows(a)) return true;
    if (code != op::sub && repeats(a) && follows(b)) return true;
    if (code != op::mul && follows(a) && follows(b)) return true;
  }
  return false;
}

// (reduce_sum[?p] (add ?x ?y)) or sub where both sums follow from sums that are known anyway.
template <op Code>
std::optional<class_id> sum_of_terms(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], y = side["?y"];
  const std::int64_t mask = side.attribute("?p");
  if (!is_floating(x.type()) || !(x.shape() == y.shape())) return std::nullopt;
  for (std::string_view term : {"?x", "?y"})
    if (!follows_from_known_sums(graph, m, side.class_of(term), mask)) return std::nullopt;
  return side.finish(ir::elementwise(
      Code, {ir::reduce(op::reduce_sum, x, mask), ir::reduce(op::reduce_sum, y, mask)}));
}

}  // namespace sinter::inline SINTER_ABI::rules::reduction
