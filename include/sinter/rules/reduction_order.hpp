// SPDX-License-Identifier: MIT
// Right-hand sides of the reduction rules, continued: reductions of ops that keep an order, of sums
// with a row, and of what was put together from parts.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

#include <sinter/rules/reduction_sides.hpp>

namespace sinter::inline SINTER_ABI::rules::reduction {

// (reduce_max[?p] (op ?x)) of an op that never decreases: the op of the largest element, once per
// row.
template <op Code, op Function>
std::optional<class_id> largest_of_monotone(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  return side.finish(ir::unary(Function, ir::reduce(Code, side["?x"], side.attribute("?p"))));
}

// (reduce_max[?p] (neg ?x)): minus the smallest. If the class is minus something already, that is
// the smallest: where ?x repeats along a cycle, every round would find another one otherwise.
template <op Code>
std::optional<class_id> largest_of_neg(tensor_egraph& graph, const tensor_match& m) {
  constexpr op other = Code == op::reduce_max ? op::reduce_min : op::reduce_max;
  right_side side(graph, m);
  if (!is_floating(side.root().type()))
    return std::nullopt;  // the smallest integer has no negative
  const ir::value smallest = ir::reduce(other, side["?x"], side.attribute("?p"));
  for (const eqsat::enode_view& node : graph.nodes(m.root())) {
    if (node.op != static_cast<std::uint16_t>(op::neg)) continue;
    const class_id known = node.children[0];
    graph.unite(known, graph.language().add(graph, smallest));
    return std::nullopt;
  }
  return side.finish(-smallest);
}

// (reduce_max[?p] (mul ?x ?s)) with a constant: rounding keeps the order, a negative factor turns
// it round. Zero would lose infinity * 0.
template <op Code>
std::optional<class_id> largest_of_scaled(tensor_egraph& graph, const tensor_match& m) {
  constexpr op other = Code == op::reduce_max ? op::reduce_min : op::reduce_max;
  right_side side(graph, m);
  const ir::value x = side["?x"], s = side["?s"];
  const facts known = side.data("?s");
  if (s.rank() != 0 || !is_floating(x.type()) || !is_finite_constant(known) || known.constant == 0)
    return std::nullopt;
  if (holds(graph, m.root(), op::mul)) return std::nullopt;
  const op found = known.constant > 0 ? Code : other;
  return side.finish(ir::reduce(found, x, side.attribute("?p")) * s);
}

// (reduce_max[?p] (add ?x (broadcast_to ?s))) where ?s is repeated along all reduced axes, or a
// scalar ?s. Infinities of both signs may meet in another order.
template <op Code>
std::optional<class_id> largest_of_shifted(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], s = side["?s"];
  const std::int64_t mask = side.attribute("?p");
  if (!is_floating(x.type()) || x.rank() == 0 || holds(graph, m.root(), op::add))
    return std::nullopt;
  if (s.rank() != 0 && s.rank() != x.rank()) return std::nullopt;
  if (!is_one_along(s.shape(), mask)) return std::nullopt;
  const ir::value row = s.rank() == 0 ? s : ir::broadcast_to(s, side.root().shape());
  return side.finish(ir::reduce(Code, x, mask) + row);
}

// (reduce_sum[?p] (add ?x (broadcast_to ?s))) or sub where ?s is repeated along all reduced axes
// and the sum of ?x is known anyway: n times ?s is added to it.
template <op Code>
std::optional<class_id> sum_of_shifted(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], s = side["?s"];
  const std::int64_t mask = side.attribute("?p");
  if (!is_floating(x.type()) || x.rank() == 0 || s.rank() != x.rank()) return std::nullopt;
  const auto known = known_sum(graph, m, m["?x"]);
  if (!known || !is_one_along(s.shape(), mask)) return std::nullopt;
  dim count(1);
  for (int i = 0; i < x.rank(); ++i)
    if (ir::has_axis(mask, i)) count = side.dims().mul(count, x.extent(i));
  if (!reduces_something(side, x.shape(), mask)) return std::nullopt;
  const ir::value shift = s * ir::extent_scalar(side.terms(), x.type(), count);
  return side.finish(
      ir::elementwise(Code, {side.term(*known), ir::broadcast_to(shift, side.root().shape())}));
}

// (reduce[?p] (flip[?q] ?x)): the flip of the axes that stay.
template <op Code>
std::optional<class_id> reduce_flip(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const std::int64_t mask = side.attribute("?p");
  return side.finish(ir::flip(ir::reduce(Code, side["?x"], mask), side.attribute("?q") & ~mask));
}

// (reduce_sum[?p] (pad[?q] ?x)) with zeros: what is added along a reduced axis adds nothing.
inline std::optional<class_id> sum_of_padded(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  if (ir::double_of(side.attribute("?q")) != 0) return std::nullopt;
  const std::int64_t mask = side.attribute("?p");
  auto padding = side.payload_dims("?q");
  symbolic_shape before, after;
  for (std::size_t i = 0; 2 * i < padding.size(); ++i) {
    const bool reduced = ir::has_axis(mask, static_cast<int>(i));
    before.push_back(reduced ? dim(0) : padding[2 * i]);
    after.push_back(reduced ? dim(0) : padding[2 * i + 1]);
  }
  return side.finish(ir::pad(ir::reduce(op::reduce_sum, side["?x"], mask), before, after));
}

constexpr op combining_op(op reduction) {
  return reduction == op::reduce_sum   ? op::add
         : reduction == op::reduce_max ? op::maximum
         : reduction == op::reduce_min ? op::minimum
                                       : op::mul;
}

// (reduce[?p] (concat[?q] ?a ?b ?c)): each part is reduced, then they are put side by side, or
// combined if that axis is reduced.
template <op Code, int Parts>
std::optional<class_id> reduce_concat(tensor_egraph& graph, const tensor_match& m) {
  constexpr std::string_view names[] = {"?a", "?b", "?c"};
  right_side side(graph, m);
  const std::int64_t mask = side.attribute("?p");
  const int axis = static_cast<int>(side.attribute("?q"));
  std::array<ir::value, std::size_t{Parts}> reduced;
  for (std::size_t i = 0; i < Parts; ++i) {
    const ir::value part = side[names[i]];
    // The largest of no elements is -infinity, which a part may have and the whole not.
    if (ir::has_axis(mask, axis) && Code != op::reduce_sum && Code != op::reduce_prod &&
        !side.is_never_zero(part.extent(axis)))
      return std::nullopt;
    reduced[i] = ir::reduce(Code, part, mask);
  }
  if (!ir::has_axis(mask, axis)) return side.finish(ir::concat(reduced, axis));
  ir::value whole = reduced[0];
  for (std::size_t i = 1; i < Parts; ++i)
    whole = ir::elementwise(combining_op(Code), {whole, reduced[i]});
  return side.finish(whole);
}

// (log (reduce_sum[?a] (exp ?x))) where the row's maximum is known: the form that does not
// overflow, which softmax and cross-entropy share.
inline std::optional<class_id> shifted_log_sum(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const auto largest =
      graph.lookup(static_cast<std::uint16_t>(op::reduce_max), m.payload("?a"), {m["?x"]});
  if (!largest || holds(graph, m.root(), op::add)) return std::nullopt;
  const ir::value x = side["?x"], top = side.term(*largest);
  const ir::value sum =
      ir::reduce(op::reduce_sum, ir::unary(op::exp, x - top), side.attribute("?a"));
  return side.finish(ir::unary(op::log, sum) + top);
}

}  // namespace sinter::inline SINTER_ABI::rules::reduction
