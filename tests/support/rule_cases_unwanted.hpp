// SPDX-License-Identifier: MIT
// Graphs that satisfy a rule's pattern but not its guard: scalars where a constant carries the
// shape, integers, values of both signs, constants that are nearly the right ones, counters along
// the wrong axis. Sound rules leave them alone.
#pragma once

#include <limits>

#include "rule_cases.hpp"

namespace sinter::test {

/// Built like rule cases; the second side only keeps more of the graph alive.
inline std::vector<rule_case> unwanted_cases() {
  using namespace write;
  using g = case_graph;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {
      {"scalar operands beside constants that have the shape",
       [](g& c, value, value) {
         const value s = c.scalar();
         const ir::symbolic_shape shape{c.a, c.n};
         value all = c.full(0, shape);
         for (double number :
              {0.0, 1.0, -1.0, 2.0, 3.0, 4.0, -2.0, 0.5, -0.5, 1.5, 8.0, 1.4426950408889634,
               0.6931471805599453, 2.718281828459045, infinity, -infinity}) {
           const value k = c.full(number, shape);
           for (op code : {op::add, op::sub, op::mul, op::div, op::pow, op::maximum, op::minimum})
             all = all + binary(code, s, k) + binary(code, k, s);
           all = all + unary(op::exp2, s * k) + unary(op::log2, s) * k;
         }
         return sides{all, all};
       }},
      {"the same in recognised functions",
       [](g& c, value, value) {
         const value s = c.scalar();
         const ir::symbolic_shape shape{c.a, c.n};
         const value half = c.full(0.5, shape), one = c.full(1, shape), two = c.full(2, shape);
         const value e = unary(op::exp, s * 2.0);
         return sides{(unary(op::tanh, s * 0.5) + 1.0) * half +
                          (unary(op::sigmoid, s * 2.0) * two + c.full(-1, shape)),
                      (e + c.full(-1, shape)) / (e + one)};
       }},
      {"functions with other constants",
       [](g&, value x, value) {
         const value cube = (x * x) * x;
         const auto tanh = [&](value inner) { return (x * (unary(op::tanh, inner) + 1.0)) * 0.5; };
         const value gelu = (x * (unary(op::erf, x * 0.8) + 1.0)) * 0.5;
         return sides{gelu + tanh((x + cube * 0.05) * 0.7978845608028654),
                      tanh((x * ((x * x) * 0.044715 + 1.0)) * 0.7)};
       }},
      {"roots and logarithms of both signs",
       [](g& c, value x, value) {
         const value root = unary(op::sqrt, x);
         const value powers = binary(op::pow, x, c.number(0.5)) +
                              binary(op::pow, x, c.number(-0.5)) +
                              binary(op::pow, x, c.number(1.5));
         return sides{
             unary(op::exp, unary(op::log, x)) + unary(op::exp2, unary(op::log2, x)) + root * root,
             powers + unary(op::abs, x) + unary(op::relu, x)};
       }},
      {"a shift that is not finite",
       [](g& c, value x, value) {
         const value s = c.number(infinity);
         return sides{
             composite(op::softmax, x + s, {2}) + composite(op::softmax, x - s, {2}),
             composite(op::log_softmax, x + s, {2}) + composite(op::log_softmax, x - s, {2})};
       }},
      {"a cross-entropy along another axis, a mask that is no diagonal",
       [](g& c, value x, value) {
         const value labels = reshape(c.arg(dtype::i64, {c.a}), {c.a, 1});
         const value hit = binary(op::equal, ir::iota(c.g, dtype::i64, {c.a, c.n}, 0), labels);
         const value y = c.arg({c.n, c.k}), z = c.arg({c.k, c.n});
         const value mask = binary(op::equal, c.arg(dtype::i64, {c.n, c.n}),
                                   ir::iota(c.g, dtype::i64, {c.n, c.n}, 0));
         const value picked = sum(where(mask, matmul(y, z), constant_like(x, 0)), 3) +
                              sum(matmul(y, z) * ir::cast(mask, dtype::f32), 3);
         return sides{sum(where(hit, composite(op::log_softmax, x, {2}), constant_like(x, 0)), 2),
                      picked};
       }},
      {"integers",
       [](g& c, value x, value y) {
         const value z = c.arg({c.a, c.n}), row = c.arg({c.a, 1}), seven = c.number(7);
         const value large = x * seven + seven, other = y + 2.0;
         value all = (large / other) / (z + 3.0) + large / ((z * 2.0 + 5.0) / other);
         all = all + 1.0 / other + large / 4.0 + large / 3.0 + large / (row + 2.0);
         all = all +
               binary(op::floor_divide, binary(op::floor_divide, large, c.number(-2)), c.number(3));
         return sides{all + binary(op::mod, binary(op::mod, large, other), other), large - 3.0};
       },
       dtype::i32},
      {"floats in rules for integers",
       [](g& c, value x, value y) {
         const value third = binary(op::floor_divide, x * 9.0, c.number(0.7));
         return sides{binary(op::floor_divide, third, c.number(0.3)) +
                          binary(op::floor_divide, x, c.number(1)),
                      binary(op::maximum, x, binary(op::minimum, x, y)) +
                          binary(op::minimum, x, binary(op::maximum, x, y))};
       }},
      {"bytes",
       [](g&, value x, value y) {
         const value divisor = y + 2.0, twenty = y + 20.0;
         const value twice = ((x * 200.0 + 50.0) / twenty) / twenty;  // 400 is 144
         return sides{twice + binary(op::maximum, -x, -y) + unary(op::abs, -x),
                      binary(op::minimum, -x, -y) + (-x) / divisor + x / -divisor};
       },
       dtype::u8},
  };
}

}  // namespace sinter::test
