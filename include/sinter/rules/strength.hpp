// SPDX-License-Identifier: MIT
// Strength reduction: powers, divisions and roots become cheaper ops (relative costs are in the op
// table: pow 40, rsqrt 8, sqrt 6, div 4, mul 1).
#pragma once

#include <cmath>
#include <optional>

#include <sinter/rules/rule.hpp>

namespace sinter::rules {

namespace strength {

inline bool is_power_of_two(double x) {
  int exponent = 0;
  return std::isfinite(x) && x != 0 && std::abs(std::frexp(x, &exponent)) == 0.5;
}

// 1/c is exact for a power of two whose reciprocal is a normal number, and then x/c and x*(1/c)
// round the same value.
inline bool divides_by_power_of_two(const tensor_egraph& graph, const tensor_match& m) {
  const facts& known = graph.data(m["?c"]);
  if (!known.is_constant || !is_float(graph, m.root()) || !is_power_of_two(known.constant))
    return false;
  const double size = std::abs(known.constant);
  return size >= 0x1p-126 && size <= 0x1p126;
}
inline bool divides_by_constant(const tensor_egraph& graph, const tensor_match& m) {
  return is_constant(graph, m["?c"]) && !is_constant(graph, m["?x"]) && is_float(graph, m.root()) &&
         !divides_by_power_of_two(graph, m);
}
// Not a division of scalars, which is done once.
inline bool divides_by_scalar(const tensor_egraph& graph, const tensor_match& m) {
  return is_scalar(graph, m["?c"]) && !is_constant(graph, m["?c"]) && !is_scalar(graph, m["?x"]) &&
         is_float(graph, m.root());
}
inline bool divides_rows(const tensor_egraph& graph, const tensor_match& m) {
  return is_float(graph, m.root()) && x_fills_root(graph, m) && !is_constant(graph, m["?x"]);
}

// By a constant, multiplication is what division is turned into.
inline bool multiplies_by_variable(const tensor_egraph& graph, const tensor_match& m) {
  return !is_constant(graph, m["?y"]);
}

// Is no element negative or -infinity, whatever the arguments are? Judged by the op that computes
// it.
inline bool never_negative(const tensor_egraph& graph, class_id id) {
  for (const eqsat::enode_view& node : graph.nodes(id)) {
    if (node.op >= ir::op_count) continue;
    switch (static_cast<op>(node.op)) {
      case op::abs:
      case op::exp:
      case op::exp2:
      case op::sqrt:
      case op::relu:
      case op::sigmoid: return true;
      case op::mul:
        if (graph.find(node.children[0]) == graph.find(node.children[1])) return true;
        break;
      default: break;
    }
  }
  return false;
}
// pow(-infinity, 1/2) is infinity, the root of -infinity is not a number.
inline bool base_is_never_negative(const tensor_egraph& graph, const tensor_match& m) {
  return never_negative(graph, m["?x"]);
}

inline std::optional<class_id> ones(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value root = side.root();
  return side.finish(ir::broadcast_to(ir::constant_like(root, 1), root.shape()));
}

}  // namespace strength

inline rule_table strength_rules() {
  using enum phase;
  using enum rounding;
  using namespace strength;
  return {
      {"power-zero", normalise, exact, "(pow ?x 0)", ones},  // also of NaN, by IEEE 754
      {"power-one", normalise, exact, "(pow ?x 1)", "?x", x_fills_root},
      {"power-two", normalise, reassociates, "(pow ?x 2)", "(mul ?x ?x)", x_fills_root},
      {"power-three", normalise, reassociates, "(pow ?x 3)", "(mul (mul ?x ?x) ?x)", x_fills_root},
      {"power-minus-one", normalise, reassociates, "(pow ?x -1)", "(recip ?x)", x_fills_root},
      {"power-minus-two", normalise, reassociates, "(pow ?x -2)", "(recip (mul ?x ?x))",
       x_fills_root},
      tensor_rule("power-half", normalise, reassociates, "(pow ?x 0.5)", "(sqrt ?x)",
                  base_is_never_negative)
          .searched_fully(),
      tensor_rule("power-minus-half", normalise, reassociates, "(pow ?x -0.5)", "(rsqrt ?x)",
                  base_is_never_negative)
          .searched_fully(),

      {"one-over", normalise, exact, "(div 1 ?x)", "(recip ?x)",
       [](const tensor_egraph& graph, const tensor_match& m) {
         return is_float(graph, m.root()) && x_fills_root(graph, m);
       }},
      {"recip-sqrt", improve, reassociates, "(recip (sqrt ?x))", "(rsqrt ?x)"},
      {"divide-sqrt", improve, reassociates, "(div ?x (sqrt ?y))", "(mul ?x (rsqrt ?y))"},
      {"times-recip", improve, reassociates, "(mul ?x (recip ?y))", "(div ?x ?y)",
       multiplies_by_variable},
      {"divide-power-of-two", normalise, exact, "(div ?x ?c)", "(mul ?x (div 1 ?c))",
       divides_by_power_of_two},
      {"divide-constant", normalise, reassociates, "(div ?x ?c)", "(mul ?x (div 1 ?c))",
       divides_by_constant},
      {"divide-scalar", improve, reassociates, "(div ?x ?c)", "(mul ?x (recip ?c))",
       divides_by_scalar},
      // One division per row instead of one per element: the last step of a softmax.
      {"divide-rows", improve, reassociates, "(div ?x (broadcast_to[?s] ?y))",
       "(mul ?x (broadcast_to[?s] (recip ?y)))", divides_rows},
  };
}

}  // namespace sinter::rules
