// SPDX-License-Identifier: MIT
// Common factors leave sums, and rows (or columns, or scalars per batch) that are added to or
// multiplied onto a tensor one after another are combined on the small shape first. Distribution
// the other way would double what it touches and is no rule.
#pragma once

#include <cstddef>
#include <optional>

#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace distribution {

// Equal operands are add-same's; constants are collected by themselves.
inline bool terms_differ(const tensor_egraph& graph, const tensor_match& m) {
  return is_float(graph, m.root()) && root_varies(graph, m) &&
         graph.find(m["?x"]) != graph.find(m["?y"]) && !is_constant(graph, m["?x"]) &&
         !is_constant(graph, m["?y"]);
}
inline bool factor_varies(const tensor_egraph& graph, const tensor_match& m) {
  return is_float(graph, m.root()) && x_fills_root(graph, m) && !is_constant(graph, m["?y"]);
}

// (add (mul ?x ?c) (mul ?y ?c)): the sum may be a scalar where the factor carries the shape.
template <op Code>
std::optional<class_id> common_factor(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  if (holds(graph, m.root(), op::mul)) return std::nullopt;
  return side.finish(ir::elementwise(Code, {side["?x"], side["?y"]}) * side["?c"]);
}

// What was combined in another order rounds differently, and n rows have many orders: this many
// spellings of a class are enough for four rows one after another.
inline constexpr std::size_t spellings_kept = 4;

// (Outer (Inner ?x (broadcast_to ?u)) (broadcast_to ?v)) -> (Result ?x (broadcast_to (Both ?u ?v)))
// for rows of one shape; `Exchanged`: (Both ?v ?u).
template <op Result, op Both, bool Exchanged>
std::optional<class_id> combine_rows(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], u = side["?u"], v = side["?v"];
  if (!(u.shape() == v.shape()) || !is_floating(u.type()) || !(x.shape() == side.root().shape()) ||
      count(graph, m.root(), Result) >= spellings_kept)
    return std::nullopt;
  const ir::value both = Exchanged ? ir::elementwise(Both, {v, u}) : ir::elementwise(Both, {u, v});
  return side.finish(ir::elementwise(Result, {x, ir::broadcast_to(both, x.shape())}));
}

}  // namespace distribution

inline rule_table distribution_rules() {
  using enum phase;
  using enum rounding;
  using namespace distribution;
  return {
      {"common-factor", improve, reassociates, "(add (mul ?x ?c) (mul ?y ?c))",
       common_factor<op::add>, terms_differ},
      {"common-factor", improve, reassociates, "(sub (mul ?x ?c) (mul ?y ?c))",
       common_factor<op::sub>, terms_differ},
      // x + x·y as gelu is often written
      {"factor-one", improve, reassociates, "(add ?x (mul ?x ?y))", "(mul ?x (add ?y 1))",
       factor_varies},

      {"row-terms", improve, reassociates,
       "(add (add ?x (broadcast_to[?p] ?u)) (broadcast_to[?q] ?v))",
       combine_rows<op::add, op::add, false>},
      {"row-terms", improve, reassociates,
       "(sub (add ?x (broadcast_to[?p] ?u)) (broadcast_to[?q] ?v))",
       combine_rows<op::add, op::sub, false>},
      {"row-terms", improve, reassociates,
       "(add (sub ?x (broadcast_to[?p] ?u)) (broadcast_to[?q] ?v))",
       combine_rows<op::add, op::sub, true>},
      {"row-terms", improve, reassociates,
       "(sub (sub ?x (broadcast_to[?p] ?u)) (broadcast_to[?q] ?v))",
       combine_rows<op::sub, op::add, false>},
      {"row-factors", improve, reassociates,
       "(mul (mul ?x (broadcast_to[?p] ?u)) (broadcast_to[?q] ?v))",
       combine_rows<op::mul, op::mul, false>},
      {"row-factors", improve, reassociates,
       "(div (mul ?x (broadcast_to[?p] ?u)) (broadcast_to[?q] ?v))",
       combine_rows<op::mul, op::div, false>},
  };
}

}  // namespace sinter::inline SINTER_ABI::rules
