// SPDX-License-Identifier: MIT
// Algebra of element-wise ops. Sums and products have no rules for commutativity (the matcher tries
// both orders) and none for associativity (n terms would have 3^n forms): constants and scalars
// move outward and combine, nothing else. There is no x - x => 0 and no x * 0 => 0: neither holds
// for NaN.
#pragma once

#include <limits>
#include <optional>

#include <sinter/rules/rule.hpp>
#include <sinter/tensor/promotion.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace algebra {

inline bool is_signed_or_float(const tensor_egraph& graph, const tensor_match& m) {
  const dtype type = node_of(graph, m.root()).type;
  return is_floating(type) || is_signed_integer(type);
}
inline bool root_is_float(const tensor_egraph& graph, const tensor_match& m) {
  return is_float(graph, m.root());
}

// Constants are folded by the analysis, so a rule that only shuffled them would add what is known
// already.
inline bool combines_constants(const tensor_egraph& graph, const tensor_match& m) {
  return is_constant(graph, m["?c"]) && is_constant(graph, m["?d"]) && !is_constant(graph, m["?x"]);
}

// Does the class hold `code` of ?x and a constant (or, if that is wanted, some scalar) already? One
// is enough: constants that were combined in another order differ in the last bit, and a product of
// classes that hold two would hold four, and so on without end.
inline bool has_constant_operand(const tensor_egraph& graph, class_id id, op code, class_id x,
                                 bool or_scalar = false) {
  for (const eqsat::enode_view& node : graph.nodes(id)) {
    if (node.op != static_cast<std::uint16_t>(code)) continue;
    for (std::size_t i : {0u, 1u}) {
      const class_id other = node.children[1 - i];
      if (graph.find(node.children[i]) != graph.find(x)) continue;
      if (is_constant(graph, other) || (or_scalar && is_scalar(graph, other))) return true;
    }
  }
  return false;
}

// (op (op ?x ?c) ?d) -> (op ?x (op ?c ?d)) for two constants, or two scalars. Asked when it is
// applied, not while searching: another match of the same iteration may have put a constant there.
template <op Code, bool Scalars = false>
std::optional<class_id> combine(tensor_egraph& graph, const tensor_match& m) {
  if (has_constant_operand(graph, m.root(), Code, m["?x"], Scalars)) return std::nullopt;
  right_side side(graph, m);
  const ir::value both = ir::elementwise(Code, {side["?c"], side["?d"]});
  return side.finish(ir::elementwise(Code, {side["?x"], both}));
}

// (mul (mul ?x ?c) ?y) -> (mul (mul ?x ?y) ?c)
inline bool moves_constant(const tensor_egraph& graph, const tensor_match& m) {
  return is_constant(graph, m["?c"]) && !is_constant(graph, m["?x"]) &&
         !is_constant(graph, m["?y"]);
}
inline std::optional<class_id> constant_outward(tensor_egraph& graph, const tensor_match& m) {
  const auto product = graph.lookup(static_cast<std::uint16_t>(op::mul), 0, {m["?x"], m["?y"]});
  if (product && has_constant_operand(graph, m.root(), op::mul, *product)) return std::nullopt;
  right_side side(graph, m);
  return side.finish(
      ir::elementwise(op::mul, {ir::elementwise(op::mul, {side["?x"], side["?y"]}), side["?c"]}));
}

// No constant goes into a scalar: constants move outward, and where x = 16 y and y = x/16 one would
// chase the other.
inline bool combines_scalars(const tensor_egraph& graph, const tensor_match& m) {
  const auto varies = [&](class_id id) { return is_scalar(graph, id) && !is_constant(graph, id); };
  return varies(m["?c"]) && varies(m["?d"]) && !is_scalar(graph, m["?x"]);
}
inline bool subtracts_constant(const tensor_egraph& graph, const tensor_match& m) {
  return is_constant(graph, m["?c"]) && !is_constant(graph, m["?x"]) && is_float(graph, m.root());
}
// The factors commute but multiply_add does not know: one order of the two is enough.
inline bool is_first_order(const tensor_egraph& graph, const tensor_match& m) {
  return graph.find(m["?a"]) <= graph.find(m["?b"]);
}
inline bool x_is_variable(const tensor_egraph& graph, const tensor_match& m) {
  return !is_constant(graph, m["?x"]);
}
// Kernels double by adding (graph/regions.hpp).
inline bool doubles(const tensor_egraph& graph, const tensor_match& m) {
  return x_fills_root(graph, m) && x_is_variable(graph, m);
}

inline bool keeps_type(const tensor_egraph& graph, const tensor_match& m) {
  return node_of(graph, m["?x"]).type == node_of(graph, m.root()).type;
}
inline bool integer_x_fills_root(const tensor_egraph& graph, const tensor_match& m) {
  return is_integral(node_of(graph, m.root()).type) && x_fills_root(graph, m);
}
// Minus infinity is below everything, infinity above; with a NaN both stay NaN.
inline bool is_below_all(const tensor_egraph& graph, const tensor_match& m) {
  const facts& c = graph.data(m["?c"]);
  return c.is_constant && c.constant == -std::numeric_limits<double>::infinity() &&
         x_fills_root(graph, m);
}
inline bool is_above_all(const tensor_egraph& graph, const tensor_match& m) {
  const facts& c = graph.data(m["?c"]);
  return c.is_constant && c.constant == std::numeric_limits<double>::infinity() &&
         x_fills_root(graph, m);
}

// (where ?c (where ?c ?x ?_) ?y): ?c has one value in one place. But a scalar choice beside a
// tensor that is dropped must keep its shape.
inline bool keeps_shape_of_choice(const tensor_egraph& graph, const tensor_match& m) {
  const symbolic_shape& wanted = shape_of(graph, m.root());
  return root_varies(graph, m) &&
         (shape_of(graph, m["?x"]) == wanted || shape_of(graph, m["?y"]) == wanted ||
          shape_of(graph, m["?c"]) == wanted);
}

// (cast[?t] (cast[?_] ?x)) where the inner cast loses nothing
inline std::optional<class_id> cast_cast(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  if (!embeds(x.type(), static_cast<dtype>(side.attribute("?s")))) return std::nullopt;
  return side.finish(ir::cast(x, side.root().type()));
}

}  // namespace algebra

inline rule_table algebra_rules() {
  using enum phase;
  using enum rounding;
  using namespace algebra;
  return {
      {"stop-gradient", normalise, exact, "(stop_gradient ?x)",
       "?x"},  // gradients are ordinary nodes by now

      // Neutral elements. -0 + 0 is +0, so additions are exact but for the sign of a zero.
      {"add-zero", normalise, reassociates, "(add ?x 0)", "?x", x_fills_root},
      {"subtract-zero", normalise, reassociates, "(sub ?x 0)", "?x", x_fills_root},
      {"zero-minus", normalise, reassociates, "(sub 0 ?x)", "(neg ?x)", x_fills_root},
      {"multiply-one", normalise, exact, "(mul ?x 1)", "?x", x_fills_root},
      {"divide-one", normalise, exact, "(div ?x 1)", "?x", x_fills_root},
      {"multiply-minus-one", normalise, exact, "(mul ?x -1)", "(neg ?x)", x_fills_root},
      {"divide-minus-one", normalise, exact, "(div ?x -1)", "(neg ?x)", x_fills_root},

      // Signs move outward and vanish.
      {"neg-neg", normalise, exact, "(neg (neg ?x))", "?x"},
      {"subtract-neg", normalise, exact, "(sub ?x (neg ?y))", "(add ?x ?y)"},
      {"add-neg", normalise, exact, "(add ?x (neg ?y))", "(sub ?x ?y)"},
      {"neg-subtract", improve, reassociates, "(neg (sub ?x ?y))", "(sub ?y ?x)",
       root_varies},  // x = y: -(+0) is -0
      {"multiply-neg", improve, exact, "(mul (neg ?x) ?y)", "(neg (mul ?x ?y))"},
      {"divide-neg", improve, exact, "(div (neg ?x) ?y)", "(neg (div ?x ?y))",
       root_is_float},  // the lowest i8, -128, is its own negative, as in maximum-neg
      {"divide-by-neg", improve, exact, "(div ?x (neg ?y))", "(neg (div ?x ?y))", root_is_float},

      // Constants and scalars
      {"constant-factors", normalise, reassociates, "(mul (mul ?x ?c) ?d)", combine<op::mul>,
       combines_constants},
      {"constant-terms", normalise, reassociates, "(add (add ?x ?c) ?d)", combine<op::add>,
       combines_constants},
      {"scalar-factors", improve, reassociates, "(mul (mul ?x ?c) ?d)", combine<op::mul, true>,
       combines_scalars},
      {"constant-outward", improve, reassociates, "(mul (mul ?x ?c) ?y)", constant_outward,
       moves_constant},
      {"subtract-constant", improve, exact, "(sub ?x ?c)", "(add ?x (neg ?c))", subtracts_constant},
      {"maximum-constants", improve, exact, "(maximum (maximum ?x ?c) ?d)",
       "(maximum ?x (maximum ?c ?d))", combines_constants},
      {"minimum-constants", improve, exact, "(minimum (minimum ?x ?c) ?d)",
       "(minimum ?x (minimum ?c ?d))", combines_constants},
      {"add-same", improve, exact, "(add ?x ?x)", "(mul ?x 2)", x_is_variable},
      {"multiply-two", normalise, exact, "(mul ?x 2)", "(add ?x ?x)", doubles},

      // Done twice is done once.
      {"relu-relu", normalise, exact, "(relu (relu ?x))", "(relu ?x)"},
      {"abs-abs", normalise, exact, "(abs (abs ?x))", "(abs ?x)"},
      {"abs-neg", normalise, exact, "(abs (neg ?x))", "(abs ?x)",
       is_signed_or_float},  // u8: -5 is 251
      {"floor-floor", normalise, exact, "(floor (floor ?x))", "(floor ?x)"},
      {"ceil-ceil", normalise, exact, "(ceil (ceil ?x))", "(ceil ?x)"},
      {"round-round", normalise, exact, "(round (round ?x))", "(round ?x)"},
      {"sign-sign", normalise, exact, "(sign (sign ?x))", "(sign ?x)"},
      {"maximum-same", normalise, exact, "(maximum ?x ?x)", "?x"},
      {"minimum-same", normalise, exact, "(minimum ?x ?x)", "?x"},
      {"maximum-twice", normalise, exact, "(maximum (maximum ?x ?y) ?y)", "(maximum ?x ?y)"},
      {"minimum-twice", normalise, exact, "(minimum (minimum ?x ?y) ?y)", "(minimum ?x ?y)"},

      {"maximum-of-least", normalise, exact, "(maximum ?x ?c)", "?x", is_below_all},
      {"minimum-of-greatest", normalise, exact, "(minimum ?x ?c)", "?x", is_above_all},
      {"maximum-absorbs", normalise, exact, "(maximum ?x (minimum ?x ?y))", "?x",
       integer_x_fills_root},  // a NaN in ?y would stay
      {"minimum-absorbs", normalise, exact, "(minimum ?x (maximum ?x ?y))", "?x",
       integer_x_fills_root},
      {"maximum-neg", improve, reassociates, "(maximum (neg ?x) (neg ?y))", "(neg (minimum ?x ?y))",
       root_is_float},  // of zeros of both signs
      {"minimum-neg", improve, reassociates, "(minimum (neg ?x) (neg ?y))", "(neg (maximum ?x ?y))",
       root_is_float},

      // Truth values and selection
      {"not-not", normalise, exact, "(logical_not (logical_not ?x))", "?x"},
      {"not-equal", normalise, exact, "(logical_not (equal ?x ?y))", "(not_equal ?x ?y)"},
      {"not-not-equal", normalise, exact, "(logical_not (not_equal ?x ?y))", "(equal ?x ?y)"},
      {"and-same", normalise, exact, "(bit_and ?x ?x)", "?x"},
      {"or-same", normalise, exact, "(bit_or ?x ?x)", "?x"},
      {"where-same", normalise, exact, "(where ?c ?x ?x)", "?x", x_fills_root},
      {"where-not", normalise, exact, "(where (logical_not ?c) ?x ?y)", "(where ?c ?y ?x)"},
      {"where-true", normalise, exact, "(where 1 ?x ?_)", "?x", x_fills_root},
      {"where-false", normalise, exact, "(where 0 ?_ ?x)", "?x", x_fills_root},
      {"where-where", normalise, exact, "(where ?c (where ?c ?x ?_) ?y)", "(where ?c ?x ?y)",
       keeps_shape_of_choice},
      {"where-where", normalise, exact, "(where ?c ?x (where ?c ?_ ?y))", "(where ?c ?x ?y)",
       keeps_shape_of_choice},
      {"and-absorbs", normalise, exact, "(bit_and ?x (bit_or ?x ?y))", "?x", x_fills_root},
      {"or-absorbs", normalise, exact, "(bit_or ?x (bit_and ?x ?y))", "?x", x_fills_root},
      {"xor-twice", normalise, exact, "(bit_xor (bit_xor ?x ?y) ?y)", "?x", x_fills_root},
      {"identity-cast", normalise, exact, "(cast[?t] ?x)", "?x", keeps_type},
      {"cast-cast", normalise, exact, "(cast[?t] (cast[?s] ?x))", cast_cast},

      // One rounding instead of two, as an alternative that the plan may choose.
      {"multiply-add", improve, reassociates, "(add (mul ?a ?b) ?c)", "(multiply_add ?a ?b ?c)",
       is_first_order},
  };
}

}  // namespace sinter::inline SINTER_ABI::rules
