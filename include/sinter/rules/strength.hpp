// SPDX-License-Identifier: MIT
// Strength reduction: powers, divisions and roots become cheaper ops (relative costs are in the op
// table: pow 40, rsqrt 8, sqrt 6, div 4, mul 1).
#pragma once

#include <cmath>
#include <optional>

#include <sinter/rules/algebra.hpp>

namespace sinter::inline SINTER_ABI::rules {

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
template <op Code>
bool root_has_no(const tensor_egraph& graph, const tensor_match& m) {
  return !holds(graph, m.root(), Code);
}
// A square costs less than an exponential.
inline bool exponents_differ(const tensor_egraph& graph, const tensor_match& m) {
  return graph.find(m["?x"]) != graph.find(m["?y"]) && !holds(graph, m.root(), op::exp);
}
// Of the spellings of a quotient two are enough.
inline bool is_only_quotient(const tensor_egraph& graph, const tensor_match& m) {
  return is_float(graph, m.root()) && root_varies(graph, m) && count(graph, m.root(), op::div) == 1;
}
inline bool is_number(const facts& known, double value) {
  return known.is_constant && std::abs(known.constant - value) <= 1e-7 * value;
}
inline bool is_log2_e(const tensor_egraph& graph, const tensor_match& m) {
  return is_number(graph.data(m["?c"]), 1.44269504088896340736) && x_fills_root(graph, m);
}
inline bool is_ln_2(const tensor_egraph& graph, const tensor_match& m) {
  return is_number(graph.data(m["?c"]), 0.69314718055994530942) && x_fills_root(graph, m);
}
inline bool is_e(const tensor_egraph& graph, const tensor_match& m) {
  return is_number(graph.data(m["?c"]), 2.71828182845904523536) && x_fills_root(graph, m);
}
inline bool is_integer(const tensor_egraph& graph, class_id id) {
  return is_integral(node_of(graph, id).type);
}
inline bool integer_constants(const tensor_egraph& graph, const tensor_match& m) {
  const facts &c = graph.data(m["?c"]), &d = graph.data(m["?d"]);
  // 127 is in every integer dtype: the product of the two does not wrap.
  return is_integer(graph, m.root()) && root_varies(graph, m) && c.is_constant && d.is_constant &&
         c.constant > 0 && d.constant > 0 && c.constant * d.constant <= 127;
}
inline bool integer_modulus(const tensor_egraph& graph, const tensor_match& m) {
  return is_integer(graph, m.root()) && root_varies(graph, m);
}

// pow(-infinity, 1/2) is infinity, the root of -infinity is not a number.
inline bool base_is_never_negative(const tensor_egraph& graph, const tensor_match& m) {
  return is_float(graph, m.root()) && never_negative(graph, m["?x"]);
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
      {"power-four", normalise, reassociates, "(pow ?x 4)", "(mul (mul ?x ?x) (mul ?x ?x))",
       x_fills_root},
      {"power-minus-one", normalise, reassociates, "(pow ?x -1)", "(recip ?x)", x_fills_root},
      {"power-minus-two", normalise, reassociates, "(pow ?x -2)", "(recip (mul ?x ?x))",
       x_fills_root},
      tensor_rule("power-half", normalise, reassociates, "(pow ?x 0.5)", "(sqrt ?x)",
                  base_is_never_negative)
          .searched_fully(),
      tensor_rule("power-minus-half", normalise, reassociates, "(pow ?x -0.5)", "(rsqrt ?x)",
                  base_is_never_negative)
          .searched_fully(),
      tensor_rule("power-three-halves", normalise, reassociates, "(pow ?x 1.5)",
                  "(mul ?x (sqrt ?x))", base_is_never_negative)
          .searched_fully(),
      {"power-of-two", normalise, reassociates, "(pow 2 ?x)", "(exp2 ?x)", x_fills_root},
      {"power-of-e", normalise, reassociates, "(pow ?c ?x)", "(exp ?x)", is_e},

      // Exponentials and logarithms: one instead of two. Products of exponentials overflow earlier.
      {"exp-times-exp", improve, reassociates, "(mul (exp ?x) (exp ?y))", "(exp (add ?x ?y))",
       exponents_differ},
      {"exp-over-exp", improve, reassociates, "(div (exp ?x) (exp ?y))", "(exp (sub ?x ?y))",
       exponents_differ},
      {"recip-exp", improve, reassociates, "(recip (exp ?x))", "(exp (neg ?x))",
       root_has_no<op::exp>},
      {"power-of-exp", improve, reassociates, "(pow (exp ?x) ?y)", "(exp (mul ?x ?y))",
       root_has_no<op::exp>},
      {"log-exp", normalise, reassociates, "(log (exp ?x))", "?x"},
      {"log2-exp2", normalise, reassociates, "(log2 (exp2 ?x))", "?x"},
      tensor_rule("exp-log", normalise, reassociates, "(exp (log ?x))", "?x",
                  base_is_never_negative)
          .searched_fully(),
      tensor_rule("exp2-log2", normalise, reassociates, "(exp2 (log2 ?x))", "?x",
                  base_is_never_negative)
          .searched_fully(),
      {"exp2-scaled", normalise, reassociates, "(exp2 (mul ?x ?c))", "(exp ?x)", is_log2_e},
      {"log2-scaled", normalise, reassociates, "(mul (log2 ?x) ?c)", "(log ?x)", is_ln_2},

      // Roots and squares
      {"root-of-square", normalise, reassociates, "(sqrt (mul ?x ?x))", "(abs ?x)"},
      {"square-of-abs", normalise, exact, "(mul (abs ?x) (abs ?x))", "(mul ?x ?x)"},
      {"square-of-root", normalise, reassociates, "(mul (sqrt ?x) (sqrt ?x))", "?x",
       base_is_never_negative},
      tensor_rule("abs-never-negative", normalise, reassociates, "(abs ?x)", "?x",
                  base_is_never_negative)
          .searched_fully(),
      tensor_rule("relu-never-negative", normalise, reassociates, "(relu ?x)", "?x",
                  base_is_never_negative)
          .searched_fully(),

      // Quotients of quotients need one division.
      {"recip-recip", normalise, reassociates, "(recip (recip ?x))", "?x"},
      {"recip-quotient", improve, reassociates, "(recip (div ?x ?y))", "(div ?y ?x)",
       root_has_no<op::div>},
      {"recip-times-recip", improve, reassociates, "(mul (recip ?x) (recip ?y))",
       "(recip (mul ?x ?y))", root_has_no<op::recip>},
      {"divide-recip", improve, reassociates, "(div ?x (recip ?y))", "(mul ?x ?y)"},
      {"divide-rsqrt", improve, reassociates, "(div ?x (rsqrt ?y))", "(mul ?x (sqrt ?y))"},
      {"recip-rsqrt", improve, reassociates, "(recip (rsqrt ?x))", "(sqrt ?x)"},
      {"divide-twice", improve, reassociates, "(div (div ?x ?y) ?z)", "(div ?x (mul ?y ?z))",
       is_only_quotient},
      {"divide-by-quotient", improve, reassociates, "(div ?x (div ?y ?z))", "(div (mul ?x ?z) ?y)",
       is_only_quotient},

      // Index arithmetic on integers
      {"floor-divide-one", normalise, exact, "(floor_divide ?x 1)", "?x",
       algebra::integer_x_fills_root},
      {"floor-divide-twice", normalise, exact, "(floor_divide (floor_divide ?x ?c) ?d)",
       "(floor_divide ?x (mul ?c ?d))", integer_constants},
      {"mod-twice", normalise, exact, "(mod (mod ?x ?y) ?y)", "(mod ?x ?y)", integer_modulus},

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

}  // namespace sinter::inline SINTER_ABI::rules
