// SPDX-License-Identifier: MIT
// Matmul: transposes become flags, factors leave, batches collapse, chains associate, and sums of
// products are found. There are no rules for what follows a matmul (bias, activation, residual):
// those are epilogues, and a nest fuses them by structure whatever they are.
#pragma once

#include <sinter/rules/contraction.hpp>
#include <sinter/rules/matmul_chain.hpp>
#include <sinter/rules/matmul_depth.hpp>
#include <sinter/rules/matmul_factors.hpp>
#include <sinter/rules/matmul_sides.hpp>
#include <sinter/rules/matmul_sums.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

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

      // Factors and terms that are constant along an axis. Out of the operands, then where they
      // cost
      // least: a factor per row or column changes places with the product in both directions, one
      // along k goes into the smaller operand.
      {"matmul-row-factor", improve, reassociates, "(matmul[?f] (mul ?x (broadcast_to[?q] ?s)) ?b)",
       factor_outward<true>},
      {"matmul-row-factor", improve, reassociates, "(matmul[?f] ?b (mul ?x (broadcast_to[?q] ?s)))",
       factor_outward<false>},
      {"factor-into-operand", improve, reassociates,
       "(mul (matmul[?f] ?a ?b) (broadcast_to[?q] ?s))", factor_inward},
      {"scale-into-operand", improve, reassociates, "(mul (matmul[?f] ?a ?b) ?s)", scale_inward,
       s_is_scalar},
      {"matmul-row-term", improve, reassociates, "(matmul[?f] (add ?x (broadcast_to[?q] ?s)) ?b)",
       term_outward<op::add, true>},
      {"matmul-row-term", improve, reassociates, "(matmul[?f] (sub ?x (broadcast_to[?q] ?s)) ?b)",
       term_outward<op::sub, true>},
      {"matmul-row-term", improve, reassociates, "(matmul[?f] ?b (add ?x (broadcast_to[?q] ?s)))",
       term_outward<op::add, false>},
      {"matmul-row-term", improve, reassociates, "(matmul[?f] ?b (sub ?x (broadcast_to[?q] ?s)))",
       term_outward<op::sub, false>},
      {"affine-into-operand", improve, reassociates,
       "(mul (add (matmul[?f] ?a ?b) (broadcast_to[?p] ?t)) (broadcast_to[?q] ?s))",
       affine_inward<op::add>},
      {"affine-into-operand", improve, reassociates,
       "(mul (sub (matmul[?f] ?a ?b) (broadcast_to[?p] ?t)) (broadcast_to[?q] ?s))",
       affine_inward<op::sub>},

      {"collapse-batch", improve, exact, "(matmul[?f] ?a (broadcast_to[?p] ?b))", collapse_batch},
      {"sum-over-batch", improve, reassociates, "(reduce_sum[?p] (matmul[?f] ?a ?b))",
       sum_over_batch},
      {"squeeze-batch", improve, exact, "(matmul[?f] ?a ?b)", squeeze_batch},
      {"depth-order", improve, reassociates, "(matmul[?f] ?a ?b)", depth_order},
      {"outer-product", improve, reassociates, "(matmul[?f] ?a ?b)",
       outer_product},  // 0 + -0 is +0
      {"matrix-vector", improve, reassociates, "(matmul[?f] ?a ?b)", matrix_vector},

      {"matmul-chain", improve, reassociates, "(matmul[?f] (matmul[?g] ?a ?b) ?c)",
       chain::reassociate},
      {"matmul-chain", improve, reassociates, "(matmul[?f] ?a (matmul[?g] ?b ?c))",
       chain::reassociate},

      // Sums and parts of a product without the product. Blocks of another size may round
      // otherwise.
      {"sum-of-product", improve, reassociates, "(reduce_sum[?p] (matmul[?f] ?a ?b))",
       sum_of_product},
      {"sum-of-diagonal", improve, reassociates,
       "(reduce_sum[?p] (where (equal ?u ?v) (matmul[?f] ?a ?b) 0))", sum_of_diagonal,
       selects_diagonal},
      {"sum-of-diagonal", improve, reassociates,
       "(reduce_sum[?p] (mul (matmul[?f] ?a ?b) (cast[?t] (equal ?u ?v))))", sum_of_diagonal,
       selects_diagonal},
      {"known-row-sum", improve, reassociates, "(reduce_sum[?p] (mul ?x (matmul[?f] ?a ?b)))",
       known_row_sum},
      // Both operands first: one spelling is enough, and this is the smallest.
      {"product-of-repeated", improve, reassociates,
       "(matmul[?f] (broadcast_to[?q] ?a) (broadcast_to[?r] ?b))", product_of_repeated<true, true>},
      {"product-of-repeated", improve, reassociates, "(matmul[?f] (broadcast_to[?q] ?a) ?b)",
       product_of_repeated<true, false>},
      {"product-of-repeated", improve, reassociates, "(matmul[?f] ?b (broadcast_to[?q] ?a))",
       product_of_repeated<false, false>},
      {"slice-of-product", improve, reassociates, "(slice[?p] (matmul[?f] ?a ?b))",
       slice_of_product},

      // Distribution: two products become one; one becomes two only if both are there anyway.
      {"common-operand", improve, reassociates, "(add (matmul[?f] ?a ?b) (matmul[?g] ?a ?c))",
       common_operand<op::add, true>},
      {"common-operand", improve, reassociates, "(add (matmul[?f] ?b ?a) (matmul[?g] ?c ?a))",
       common_operand<op::add, false>},
      {"common-operand", improve, reassociates, "(sub (matmul[?f] ?a ?b) (matmul[?g] ?a ?c))",
       common_operand<op::sub, true>},
      {"common-operand", improve, reassociates, "(sub (matmul[?f] ?b ?a) (matmul[?g] ?c ?a))",
       common_operand<op::sub, false>},
      {"known-products", improve, reassociates, "(matmul[?f] ?a (add ?b ?c))",
       known_products<op::add, true>},
      {"known-products", improve, reassociates, "(matmul[?f] (add ?b ?c) ?a)",
       known_products<op::add, false>},
      {"known-products", improve, reassociates, "(matmul[?f] ?a (sub ?b ?c))",
       known_products<op::sub, true>},
      {"known-products", improve, reassociates, "(matmul[?f] (sub ?b ?c) ?a)",
       known_products<op::sub, false>},

      {"products-side-by-side", improve, reassociates,
       "(concat[?p] (matmul[?f] ?a ?b) (matmul[?f] ?a ?c))", products_side_by_side<true, 2>},
      {"products-side-by-side", improve, reassociates,
       "(concat[?p] (matmul[?f] ?a ?b) (matmul[?f] ?a ?c) (matmul[?f] ?a ?d))",
       products_side_by_side<true, 3>},
      {"products-side-by-side", improve, reassociates,
       "(concat[?p] (matmul[?f] ?a ?b) (matmul[?f] ?a ?c) (matmul[?f] ?a ?d) (matmul[?f] ?a ?e))",
       products_side_by_side<true, 4>},
      {"products-side-by-side", improve, reassociates,
       "(concat[?p] (matmul[?f] ?b ?a) (matmul[?f] ?c ?a))", products_side_by_side<false, 2>},
      {"products-side-by-side", improve, reassociates,
       "(concat[?p] (matmul[?f] ?b ?a) (matmul[?f] ?c ?a) (matmul[?f] ?d ?a))",
       products_side_by_side<false, 3>},
      {"product-of-parts", improve, reassociates, "(matmul[?f] ?a (concat[?p] ?b ?c))",
       product_of_parts<false, 2>},
      {"product-of-parts", improve, reassociates, "(matmul[?f] ?a (concat[?p] ?b ?c ?d))",
       product_of_parts<false, 3>},
      {"product-of-parts", improve, reassociates, "(matmul[?f] ?a (concat[?p] ?b ?c ?d ?e))",
       product_of_parts<false, 4>},
      {"product-of-parts", improve, reassociates, "(matmul[?f] (concat[?p] ?b ?c) ?a)",
       product_of_parts<true, 2>},
      {"product-of-parts", improve, reassociates, "(matmul[?f] (concat[?p] ?b ?c ?d) ?a)",
       product_of_parts<true, 3>},
      {"product-of-parts", improve, reassociates, "(matmul[?f] (concat[?p] ?b ?c ?d ?e) ?a)",
       product_of_parts<true, 4>},

      {"find-matmul", improve, reassociates,
       "(reduce_sum[?p] (mul (broadcast_to[?q] ?x) (broadcast_to[?r] ?y)))",
       contraction::sum_of_products},
  };
}

}  // namespace sinter::inline SINTER_ABI::rules
