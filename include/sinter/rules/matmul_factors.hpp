// SPDX-License-Identifier: MIT
// Factors and terms of a matmul's operands and of its result that are constant along an axis. A
// factor per row or per column changes places with the product; a factor that varies along the
// contracted axis alone moves from one operand to the other. With both, the weight of an RMS norm
// goes into the matrix behind it, and the division by the row's norm becomes an epilogue.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string_view>

#include <sinter/rules/matmul_sides.hpp>

namespace sinter::inline SINTER_ABI::rules::matmul {

// Which axis of an operand is contracted (k) and which stays: the rows of a, the columns of b.
struct operand_axes {
  int inner = 0, outer = 0;
};
inline operand_axes axes_of(int rank, bool left, bool transposed) {
  const bool inner_last = left != transposed;
  return {inner_last ? rank - 1 : rank - 2, inner_last ? rank - 2 : rank - 1};
}

// `s`, which is 1 along one of the last two axes, with the extent of the other one at `axis`: no
// element moves.
inline ir::value turned(ir::value s, int axis) {
  const int rank = s.rank();
  symbolic_shape shape = s.shape();
  const dim extent = is_one(s.extent(rank - 1)) ? s.extent(rank - 2) : s.extent(rank - 1);
  shape[rank - 2] = shape[rank - 1] = dim(1);
  shape[axis] = extent;
  return ir::reshape(s, shape);
}

// A factor may leave or enter a sum that is not empty (infinity * 0 is not 0), a finite number any.
inline bool passes_sum(right_side& side, const facts& factor, dim k) {
  return reduction::is_finite_constant(factor) || side.is_never_zero(k);
}

// Combining what is fixed costs nothing, however large it is.
inline bool are_fixed(const tensor_egraph& graph, const tensor_match& m,
                      std::initializer_list<std::string_view> names) {
  return std::ranges::all_of(names,
                             [&](std::string_view name) { return is_fixed(graph, m[name]); });
}

// (matmul[?f] (mul ?x (broadcast_to ?s)) ?b), or the same of b. Constant along k, the factor leaves
// the product. Varying along k and not along rows (columns), it goes to the other operand, if that
// is not the larger one for the extents at hand; then the plan has both to choose from.
template <bool Left>
std::optional<class_id> factor_outward(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], s = side["?s"], other = side["?b"];
  const int rank = x.rank();
  if (s.rank() != rank || rank < 2 || !is_floating(x.type())) return std::nullopt;
  const flags f = flags_of(side);
  const auto whole = [&](ir::value one, ir::value another) {
    return Left ? product(one, another, f) : product(another, one, f);
  };
  const operand_axes here = axes_of(rank, Left, Left ? f.a : f.b),
                     there = axes_of(rank, !Left, Left ? f.b : f.a);
  if (is_one(s.extent(here.inner))) {
    if (!passes_sum(side, side.data("?s"), x.extent(here.inner)) ||
        holds(graph, m.root(), op::mul))
      return std::nullopt;
    const ir::value factor = turned(s, Left ? rank - 2 : rank - 1);
    return side.finish(whole(x, other) * ir::broadcast_to(factor, side.root().shape()));
  }
  const ir::graph& g = side.terms();
  if (!is_one(s.extent(here.outer)) ||
      (elements_at_hand(g, other.shape()) > elements_at_hand(g, x.shape()) &&
       !are_fixed(graph, m, {"?s", "?b"})))
    return std::nullopt;
  return side.finish(whole(x, other * ir::broadcast_to(turned(s, there.inner), other.shape())));
}

// (mul (matmul[?f] ?a ?b) (broadcast_to ?s)) with one factor per column: into b, or per row: into
// a, if that is not larger than the result. (A batch norm's scale goes into the weights.)
inline std::optional<class_id> factor_inward(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"], s = side["?s"];
  const int rank = a.rank();
  if (s.rank() != rank || !is_floating(a.type())) return std::nullopt;
  const flags f = flags_of(side);
  if (!passes_sum(side, side.data("?s"), sizes_of(a, b, f).k)) return std::nullopt;
  const bool per_column = is_one(s.extent(rank - 2)), per_row = is_one(s.extent(rank - 1));
  if (per_column == per_row) return std::nullopt;
  const ir::value into = per_column ? b : a;
  const ir::graph& g = side.terms();
  if (elements_at_hand(g, into.shape()) > elements_at_hand(g, side.root().shape()) &&
      !are_fixed(graph, m, {"?s", per_column ? "?b" : "?a"}))
    return std::nullopt;
  const operand_axes axes = axes_of(rank, per_row, per_row ? f.a : f.b);
  const ir::value scaled = into * ir::broadcast_to(turned(s, axes.outer), into.shape());
  return side.finish(per_column ? product(a, scaled, f) : product(scaled, b, f));
}

// (mul (matmul[?f] ?a ?b) ?s) with a scalar ?s: into each operand that is smaller than the result.
// Scores of attention are larger than the queries and the keys that make them.
inline std::optional<class_id> scale_inward(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"], s = side["?s"];
  const flags f = flags_of(side);
  if (!is_floating(a.type()) || !passes_sum(side, side.data("?s"), sizes_of(a, b, f).k))
    return std::nullopt;
  const ir::graph& g = side.terms();
  const double whole = elements_at_hand(g, side.root().shape());
  if (elements_at_hand(g, a.shape()) < whole || are_fixed(graph, m, {"?s", "?a"}))
    if (const auto scaled = side.finish(product(a * s, b, f))) graph.unite(m.root(), *scaled);
  if (elements_at_hand(g, b.shape()) >= whole && !are_fixed(graph, m, {"?s", "?b"}))
    return std::nullopt;
  return side.finish(product(a, b * s, f));
}
inline bool s_is_scalar(const tensor_egraph& graph, const tensor_match& m) {
  return is_scalar(graph, m["?s"]);
}

// (matmul[?f] (add ?x (broadcast_to ?s)) ?b) or sub, with the same row added to every row: its
// product is one row (the shift of a layer norm), or one column.
template <op Code, bool Left>
std::optional<class_id> term_outward(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], s = side["?s"], other = side["?b"];
  const int rank = x.rank();
  if (s.rank() != rank || rank < 2 || !is_floating(x.type()) || holds(graph, m.root(), Code))
    return std::nullopt;
  const flags f = flags_of(side);
  const operand_axes axes = axes_of(rank, Left, Left ? f.a : f.b);
  if (!is_one(s.extent(axes.outer)) || is_one(x.extent(axes.outer))) return std::nullopt;
  symbolic_shape line = x.shape();
  line[axes.outer] = dim(1);
  const ir::value row = ir::broadcast_to(s, line);
  const ir::value whole = Left ? product(x, other, f) : product(other, x, f);
  const ir::value shift = Left ? product(row, other, f) : product(other, row, f);
  return side.finish(ir::elementwise(Code, {whole, ir::broadcast_to(shift, side.root().shape())}));
}

// (mul (add (matmul[?f] ?a ?b) (broadcast_to ?t)) (broadcast_to ?s)) or sub, with one shift and one
// factor per column: the factor goes into b, and the shift is scaled once.
template <op Code>
std::optional<class_id> affine_inward(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value a = side["?a"], b = side["?b"], s = side["?s"], t = side["?t"];
  const int rank = a.rank();
  if (s.rank() != rank || !(s.shape() == t.shape()) || !is_floating(a.type())) return std::nullopt;
  const flags f = flags_of(side);
  if (!is_one(s.extent(rank - 2)) || is_one(s.extent(rank - 1)) ||
      !passes_sum(side, side.data("?s"), sizes_of(a, b, f).k))
    return std::nullopt;
  const ir::graph& g = side.terms();
  const symbolic_shape target = side.root().shape();
  if (elements_at_hand(g, b.shape()) > elements_at_hand(g, target) &&
      !are_fixed(graph, m, {"?s", "?b"}))
    return std::nullopt;
  const operand_axes axes = axes_of(rank, false, f.b);
  const ir::value scaled = b * ir::broadcast_to(turned(s, axes.outer), b.shape());
  return side.finish(
      ir::elementwise(Code, {product(a, scaled, f), ir::broadcast_to(t * s, target)}));
}

}  // namespace sinter::inline SINTER_ABI::rules::matmul
