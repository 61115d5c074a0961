// SPDX-License-Identifier: MIT
// Matmul: transposes become flags, factors leave, batches collapse, chains associate, and sums of
// products are found. There are no rules for what follows a matmul (bias, activation, residual):
// those are epilogues, and a nest fuses them by structure whatever they are.
#pragma once

#include <sinter/rules/contraction.hpp>
#include <sinter/rules/matmul_chain.hpp>
#include <sinter/rules/matmul_sides.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::rules {

inline rule_table matmul_rules() {
  using enum phase;
  using enum rounding;
  using namespace matmul;
  return {
      // Products commute bit by bit, and the sum over k keeps its order.
      {"absorb-transpose", improve, exact, "(matmul[?f] (permute[?p] ?a) ?b)", absorb_left},
      {"absorb-transpose", improve, exact, "(matmul[?f] ?a (permute[?p] ?b))", absorb_right},
      {"transpose-product", improve, exact, "(permute[?p] (matmul[?f] ?a ?b))", transpose_product},

      {"matmul-scaled", improve, reassociates, "(matmul[?f] (mul ?a ?s) ?b)",
       scalar_factor<op::mul, true>},
      {"matmul-scaled", improve, reassociates, "(matmul[?f] ?a (mul ?b ?s))",
       scalar_factor<op::mul, false>},
      {"matmul-scaled", improve, reassociates, "(matmul[?f] (div ?a ?s) ?b)",
       scalar_factor<op::div, true>},
      {"matmul-scaled", improve, reassociates, "(matmul[?f] ?a (div ?b ?s))",
       scalar_factor<op::div, false>},
      {"matmul-neg", improve, reassociates, "(matmul[?f] (neg ?a) ?b)",
       "(neg (matmul[?f] ?a ?b))"},  // of an empty sum: -0
      {"matmul-neg", improve, reassociates, "(matmul[?f] ?a (neg ?b))", "(neg (matmul[?f] ?a ?b))"},

      {"collapse-batch", improve, exact, "(matmul[?f] ?a (broadcast_to[?p] ?b))", collapse_batch},
      {"sum-over-batch", improve, reassociates, "(reduce_sum[?p] (matmul[?f] ?a ?b))",
       sum_over_batch},
      {"squeeze-batch", improve, exact, "(matmul[?f] ?a ?b)", squeeze_batch},
      {"outer-product", improve, reassociates, "(matmul[?f] ?a ?b)",
       outer_product},  // 0 + -0 is +0
      {"matrix-vector", improve, reassociates, "(matmul[?f] ?a ?b)", matrix_vector},

      {"matmul-chain", improve, reassociates, "(matmul[?f] (matmul[?g] ?a ?b) ?c)",
       chain::reassociate},
      {"matmul-chain", improve, reassociates, "(matmul[?f] ?a (matmul[?g] ?b ?c))",
       chain::reassociate},

      {"find-matmul", improve, reassociates,
       "(reduce_sum[?p] (mul (broadcast_to[?q] ?x) (broadcast_to[?r] ?y)))",
       contraction::sum_of_products},
  };
}

}  // namespace sinter::rules
