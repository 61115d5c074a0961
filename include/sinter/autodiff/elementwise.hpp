// SPDX-License-Identifier: MIT
// Gradient rules of element-wise ops: functions named after the op. In the comments d is the
// adjoint of the result y. A rule for one operand runs only if that operand is wanted; the others
// ask. Rules prefer y to a second evaluation.
#pragma once

#include <sinter/autodiff/adjoint.hpp>

namespace sinter::inline SINTER_ABI::ir::backward {

// ---- one operand

constexpr void neg(const pullback& p) { p.add(0, -p.adjoint); }
constexpr void abs(const pullback& p) { p.add(0, p.adjoint * unary(op::sign, p.operand(0))); }
constexpr void sqrt(const pullback& p) { p.add(0, (p.adjoint * 0.5) / p.result); }

// d x^-1/2 = -1/2 x^-3/2: the cube of y overflows only where the derivative does.
constexpr void rsqrt(const pullback& p) {
  const value y = p.result;
  p.add(0, (p.adjoint * -0.5) * (y * y * y));
}

constexpr void recip(const pullback& p) { p.add(0, -(p.adjoint * (p.result * p.result))); }
constexpr void exp(const pullback& p) { p.add(0, p.adjoint * p.result); }

constexpr void exp2(const pullback& p) {
  constexpr double log_of_2 = 0.69314718055994530942;
  p.add(0, (p.adjoint * log_of_2) * p.result);
}

constexpr void log(const pullback& p) { p.add(0, p.adjoint / p.operand(0)); }

constexpr void log2(const pullback& p) {
  constexpr double log2_of_e = 1.44269504088896340736;
  p.add(0, (p.adjoint * log2_of_e) / p.operand(0));
}

constexpr void sin(const pullback& p) { p.add(0, p.adjoint * unary(op::cos, p.operand(0))); }
constexpr void cos(const pullback& p) { p.add(0, -(p.adjoint * unary(op::sin, p.operand(0)))); }
constexpr void tanh(const pullback& p) { p.add(0, p.adjoint * (1.0 - p.result * p.result)); }

constexpr void erf(const pullback& p) {
  constexpr double two_over_root_pi = 1.12837916709551257390;
  const value x = p.operand(0);
  p.add(0, (p.adjoint * two_over_root_pi) * unary(op::exp, -(x * x)));
}

constexpr void sigmoid(const pullback& p) { p.add(0, p.adjoint * (p.result * (1.0 - p.result))); }

// Zero at 0, as PyTorch and JAX choose among the subgradients. The mask is taken from the result,
// which is positive where the operand is: the result is in memory anyway, the operand often is not.
constexpr void relu(const pullback& p) {
  const value zero = constant_like(p.result, 0);
  p.add(0, where(elementwise(op::less, {zero, p.result}), p.adjoint, zero));
}

// x Phi(x) with Phi the normal distribution function: Phi(x) + x phi(x).
constexpr void gelu(const pullback& p) {
  constexpr double inverse_root_two = 0.70710678118654752440,
                   inverse_root_two_pi = 0.39894228040143267794;
  const value x = p.operand(0);
  const value distribution = (unary(op::erf, x * inverse_root_two) + 1.0) * 0.5;
  const value density = unary(op::exp, (x * x) * -0.5) * inverse_root_two_pi;
  p.add(0, p.adjoint * (distribution + x * density));
}

// x/2 (1 + t) with t = tanh(u), u = c (x + a x^3): (1 + t)/2 + x/2 (1 - t^2) c (1 + 3 a x^2).
constexpr void gelu_tanh(const pullback& p) {
  constexpr double a = 0.044715, c = 0.79788456080286535588;
  const value x = p.operand(0), square = x * x;
  const value t = unary(op::tanh, (x + (square * x) * a) * c);
  const value inner_slope = (square * (3 * a) + 1.0) * c;
  p.add(0, p.adjoint * (((t + 1.0) + x * ((1.0 - t * t) * inner_slope)) * 0.5));
}

// y = x s with s = sigmoid(x): s + y (1 - s).
constexpr void silu(const pullback& p) {
  const value s = unary(op::sigmoid, p.operand(0));
  p.add(0, p.adjoint * (s + p.result * (1.0 - s)));
}

constexpr void softplus(const pullback& p) {
  p.add(0, p.adjoint * unary(op::sigmoid, p.operand(0)));
}

// Only floats are active, so this is a change of width; rounding counts as the identity.
constexpr void cast(const pullback& p) { p.add(0, ir::cast(p.adjoint, p.operand(0).type())); }

// ---- two operands

constexpr void add(const pullback& p) {
  if (p.wants(0)) p.add(0, p.adjoint);
  if (p.wants(1)) p.add(1, p.adjoint);
}

constexpr void sub(const pullback& p) {
  if (p.wants(0)) p.add(0, p.adjoint);
  if (p.wants(1)) p.add(1, -p.adjoint);
}

constexpr void mul(const pullback& p) {
  if (p.wants(0)) p.add(0, p.adjoint * p.operand(1));
  if (p.wants(1)) p.add(1, p.adjoint * p.operand(0));
}

// d/b and -y d/b share the quotient.
constexpr void div(const pullback& p) {
  const value quotient = p.adjoint / p.operand(1);
  if (p.wants(0)) p.add(0, quotient);
  if (p.wants(1)) p.add(1, -(quotient * p.result));
}

// a - b floor(a/b), with the steps of floor taken as flat.
constexpr void mod(const pullback& p) {
  if (p.wants(0)) p.add(0, p.adjoint);
  if (p.wants(1)) p.add(1, -(p.adjoint * unary(op::floor, p.operand(0) / p.operand(1))));
}

// b a^(b-1) and y log(a). Where a is 0, log(1) stands in, because y log(a) tends to 0 there for b >
// 0; where b is 0, the power is taken with exponent 1, because 0 * a^-1 is no number for a = 0. A
// negative base has no derivative by the exponent: NaN.
constexpr void pow(const pullback& p) {
  const value a = p.operand(0), b = p.operand(1), d = p.adjoint;
  const auto power = [](value base, value exponent) {
    return elementwise(op::pow, {base, exponent});
  };
  if (p.wants(0)) {
    if (b.get().code == op::constant) {
      const double exponent = constant_value(*b.owner, b.id);
      const double rest = exponent - 1;
      if (rest == 0)
        p.add(0, d);
      else if (rest == 1)
        p.add(0, (d * exponent) * a);
      else if (exponent != 0)
        p.add(0, (d * exponent) * power(a, constant_like(b, rest)));
    } else {
      const value one = constant_like(b, 1),
                  is_zero = elementwise(op::equal, {b, constant_like(b, 0)});
      p.add(0, d * (b * power(a, ir::where(is_zero, one, b - one))));
    }
  }
  if (p.wants(1)) {
    const value is_zero = elementwise(op::equal, {a, constant_like(a, 0)});
    p.add(1, d * (p.result * unary(op::log, ir::where(is_zero, constant_like(a, 1), a))));
  }
}

// Equal operands get half each. `first` is true where the first operand alone decides.
constexpr void extremum(const pullback& p, value first) {
  const value d = p.adjoint, zero = constant_like(d, 0);
  const value tie = elementwise(op::equal, {p.operand(0), p.operand(1)}), half = d * 0.5;
  if (p.wants(0)) p.add(0, ir::where(tie, half, ir::where(first, d, zero)));
  if (p.wants(1)) p.add(1, ir::where(tie, half, ir::where(first, zero, d)));
}
constexpr void maximum(const pullback& p) {
  extremum(p, elementwise(op::less, {p.operand(1), p.operand(0)}));
}
constexpr void minimum(const pullback& p) {
  extremum(p, elementwise(op::less, {p.operand(0), p.operand(1)}));
}

// ---- three operands

constexpr void where(const pullback& p) {
  const value condition = p.operand(0), zero = constant_like(p.adjoint, 0);
  if (p.wants(1)) p.add(1, ir::where(condition, p.adjoint, zero));
  if (p.wants(2)) p.add(2, ir::where(condition, zero, p.adjoint));
}

constexpr void multiply_add(const pullback& p) {
  if (p.wants(0)) p.add(0, p.adjoint * p.operand(1));
  if (p.wants(1)) p.add(1, p.adjoint * p.operand(0));
  if (p.wants(2)) p.add(2, p.adjoint);
}

}  // namespace sinter::inline SINTER_ABI::ir::backward
