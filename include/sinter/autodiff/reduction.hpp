// SPDX-License-Identifier: MIT
// Gradient rules of reductions. The reduced axes are there with extent 1, so the adjoint of the
// result broadcasts against the operand as it is.
#pragma once

#include <sinter/autodiff/adjoint.hpp>

namespace sinter::inline SINTER_ABI::ir::backward {

constexpr void reduce_sum(const pullback& p) {
  p.add(0, ir::broadcast_to(p.adjoint, p.operand(0).shape()));
}

// For the largest and the smallest element; elements that tie share the adjoint equally.
constexpr void reduce_extremum(const pullback& p) {
  const value x = p.operand(0);
  const value chosen = elementwise(op::equal, {x, p.result});
  const value count = sum(ir::cast(chosen, x.type()), p.attribute(0));
  p.add(0, ir::where(chosen, p.adjoint / count, constant_like(x, 0)));
}

// The derivative by x_i is the product of the others. Dividing y by x_i fails for zeros, so they
// are taken out: with P the product of the elements that are not zero (a zero counts as 1), that
// product is
//     P / (x_i, or 1 if it is 0)  *  (1, s or 0 if none, one or more of the others are zero),
// where s is the sum of the other zeros. s is 0 as a number but has the right derivative: first and
// second derivatives are exact however many zeros there are. Linear work, and no extent has to be
// known, unlike prefix products. Where P overflows or an element is infinite the quotient loses
// what prefix products would keep.
struct product_slope {
  value product;  // of the elements that are not zero, one per result
  value filled, from_zeros;
};
constexpr product_slope slope_of_product(const pullback& p) {
  const value x = p.operand(0), zero = constant_like(x, 0), one = constant_like(x, 1);
  const std::int64_t axes = p.attribute(0);
  const value is_zero = elementwise(op::equal, {x, zero});
  const value filled = ir::where(is_zero, one, x), zeros = ir::where(is_zero, x, zero);
  const value count = ir::cast(is_zero, x.type());
  const value other_zeros = sum(count, axes) - count, other_zero_sum = sum(zeros, axes) - zeros;
  const auto equals = [](value a, value b) { return elementwise(op::equal, {a, b}); };
  const value from_zeros = ir::where(equals(other_zeros, zero), one,
                                     ir::where(equals(other_zeros, one), other_zero_sum, zero));
  return {reduce(op::reduce_prod, filled, axes), filled, from_zeros};
}
constexpr void reduce_prod(const pullback& p) {
  const product_slope s = slope_of_product(p);
  p.add(0, (p.adjoint * (s.product / s.filled)) * s.from_zeros);
}

// An element is in its own sum and in all later ones: what they get is summed from the end on.
constexpr void cumsum(const pullback& p) {
  p.add(0, ir::cumsum(p.adjoint, static_cast<int>(p.attribute(0)), p.attribute(1) != 0,
                      p.attribute(2) == 0));
}

}  // namespace sinter::inline SINTER_ABI::ir::backward
