// SPDX-License-Identifier: MIT
// Reductions: of reductions, of what is repeated, of what is rearranged, and factors that leave a
// sum. Another order of additions or products rounds differently; the largest and the smallest
// element do not depend on an order.
#pragma once

#include <string>

#include <sinter/rules/reduction_order.hpp>
#include <sinter/rules/reduction_sides.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace reduction {

template <op Code>
void append_rules_of(rule_table& out) {
  using enum phase;
  const rounding order =
      Code == op::reduce_max || Code == op::reduce_min ? rounding::exact : rounding::reassociates;
  const std::string name(ir::name(Code));
  out.push_back({"reduce-reduce", normalise, order, "(" + name + "[?p] (" + name + "[?q] ?x))",
                 reduce_reduce<Code>});
  // 0 + -0 is +0: a sum over one element is exact but for the sign of a zero.
  out.push_back({"reduce-units", normalise, order, "(" + name + "[?p] ?x)", reduce_units<Code>});
  out.push_back({"reduce-permute", improve, order, "(" + name + "[?p] (permute[?q] ?x))",
                 reduce_permute<Code>});
  out.push_back({"reduce-reshape", improve, order, "(" + name + "[?p] (reshape[?q] ?x))",
                 reduce_reshape<Code>});
  out.push_back(
      {"reduce-flip", improve, order, "(" + name + "[?p] (flip[?q] ?x))", reduce_flip<Code>});
  out.push_back({"reduce-concat", improve, order, "(" + name + "[?p] (concat[?q] ?a ?b))",
                 reduce_concat<Code, 2>});
  out.push_back({"reduce-concat", improve, order, "(" + name + "[?p] (concat[?q] ?a ?b ?c))",
                 reduce_concat<Code, 3>});
  out.push_back({"split-reduction", improve, order, "(" + name + "[?p] ?x)", split<Code>});
  // A product of n equal elements is a power: no gain.
  if constexpr (Code != op::reduce_prod)
    out.push_back({"reduce-broadcast", improve, order, "(" + name + "[?p] (broadcast_to[?q] ?x))",
                   reduce_broadcast<Code>});
}

// The largest or smallest element of what keeps or turns round the order of the elements.
template <op Code>
void append_order_rules_of(rule_table& out) {
  using enum phase;
  using enum rounding;
  const std::string name(ir::name(Code));
  const auto append = [&]<op Function>(rounding error) {
    out.push_back({"largest-of-monotone", improve, error,
                   "(" + name + "[?p] (" + std::string(ir::name(Function)) + " ?x))",
                   largest_of_monotone<Code, Function>});
  };
  append.template operator()<op::relu>(exact);
  append.template operator()<op::floor>(exact);
  append.template operator()<op::ceil>(exact);
  append.template operator()<op::round>(exact);
  append.template operator()<op::sign>(exact);
  // Kernels of these may be a bit off the order of their arguments.
  append.template operator()<op::exp>(reassociates);
  append.template operator()<op::exp2>(reassociates);
  append.template operator()<op::tanh>(reassociates);
  append.template operator()<op::erf>(reassociates);
  append.template operator()<op::sigmoid>(reassociates);
  append.template operator()<op::softplus>(reassociates);
  out.push_back(
      {"largest-of-neg", improve, exact, "(" + name + "[?p] (neg ?x))", largest_of_neg<Code>});
  out.push_back({"largest-of-scaled", improve, exact, "(" + name + "[?p] (mul ?x ?s))",
                 largest_of_scaled<Code>});
  out.push_back({"largest-of-shifted", improve, reassociates, "(" + name + "[?p] (add ?x ?s))",
                 largest_of_shifted<Code>});
  out.push_back({"largest-of-shifted", improve, reassociates,
                 "(" + name + "[?p] (add ?x (broadcast_to[?q] ?s)))", largest_of_shifted<Code>});
}

}  // namespace reduction

inline rule_table reduction_rules() {
  using enum phase;
  using enum rounding;
  using namespace reduction;
  rule_table out{
      {"sum-scaled", improve, reassociates, "(reduce_sum[?p] (mul ?x ?s))", sum_scalar<op::mul>},
      {"sum-scaled", improve, reassociates, "(reduce_sum[?p] (div ?x ?s))", sum_scalar<op::div>},
      {"sum-row-factor", improve, reassociates, "(reduce_sum[?p] (mul ?x (broadcast_to[?q] ?s)))",
       sum_row_factor},
      {"sum-row-factor", improve, reassociates,
       "(reduce_sum[?p] (mul ?x (mul ?y (broadcast_to[?q] ?s))))", sum_row_factor_of_product},
      tensor_rule("sum-in-steps", improve, reassociates,
                  "(reduce_sum[?p] (mul ?x (broadcast_to[?q] ?s)))", sum_of_scaled_in_steps)
          .searched_fully(),
      tensor_rule("sum-in-steps", improve, reassociates,
                  "(reduce_sum[?p] (mul ?x (mul ?y (broadcast_to[?q] ?s))))",
                  sum_of_product_in_steps)
          .searched_fully(),
      tensor_rule("sum-of-terms", improve, reassociates, "(reduce_sum[?p] (add ?x ?y))",
                  sum_of_terms<op::add>)
          .searched_fully(),
      tensor_rule("sum-of-terms", improve, reassociates, "(reduce_sum[?p] (sub ?x ?y))",
                  sum_of_terms<op::sub>)
          .searched_fully(),
      {"sum-of-shifted", improve, reassociates, "(reduce_sum[?p] (add ?x (broadcast_to[?q] ?s)))",
       sum_of_shifted<op::add>},
      {"sum-of-shifted", improve, reassociates, "(reduce_sum[?p] (sub ?x (broadcast_to[?q] ?s)))",
       sum_of_shifted<op::sub>},
      {"sum-of-padded", improve, reassociates, "(reduce_sum[?p] (pad[?q] ?x))", sum_of_padded},
      {"shifted-log-sum", improve, reassociates, "(log (reduce_sum[?a] (exp ?x)))",
       shifted_log_sum},
      {"sum-neg", improve, reassociates, "(reduce_sum[?p] (neg ?x))", "(neg (reduce_sum[?p] ?x))"},
  };
  append_rules_of<op::reduce_sum>(out);
  append_rules_of<op::reduce_max>(out);
  append_rules_of<op::reduce_min>(out);
  append_rules_of<op::reduce_prod>(out);
  append_order_rules_of<op::reduce_max>(out);
  append_order_rules_of<op::reduce_min>(out);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::rules
