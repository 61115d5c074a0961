// SPDX-License-Identifier: MIT
// Reductions: of reductions, of what is repeated, of what is rearranged, and factors that leave a
// sum. Another order of additions or products rounds differently; the largest and the smallest
// element do not depend on an order.
#pragma once

#include <sinter/rules/reduction_sides.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::rules {

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
  out.push_back({"split-reduction", improve, order, "(" + name + "[?p] ?x)", split<Code>});
  // A product of n equal elements is a power: no gain.
  if constexpr (Code != op::reduce_prod)
    out.push_back({"reduce-broadcast", improve, order, "(" + name + "[?p] (broadcast_to[?q] ?x))",
                   reduce_broadcast<Code>});
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
      {"sum-neg", improve, reassociates, "(reduce_sum[?p] (neg ?x))", "(neg (reduce_sum[?p] ?x))"},
  };
  append_rules_of<op::reduce_sum>(out);
  append_rules_of<op::reduce_max>(out);
  append_rules_of<op::reduce_min>(out);
  append_rules_of<op::reduce_prod>(out);
  return out;
}

}  // namespace sinter::rules
