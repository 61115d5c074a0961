// SPDX-License-Identifier: MIT
// The cases of rule_cases.hpp, continued: algebra, distribution, strength and recognition.
#pragma once

#include <limits>

#include "rule_cases.hpp"

namespace sinter::test {

inline std::vector<rule_case> algebra_cases() {
  using namespace write;
  using g = case_graph;
  constexpr auto boolean = dtype::boolean, i32 = dtype::i32;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {
      {"maximum-of-least",
       [](g& c, value x, value) {
         return sides{binary(op::maximum, x, c.number(-infinity)), x};
       }},
      {"minimum-of-greatest",
       [](g& c, value x, value) {
         return sides{binary(op::minimum, x, c.number(infinity)), x};
       }},
      {"maximum-absorbs",
       [](g&, value x, value y) {
         return sides{binary(op::maximum, binary(op::minimum, x, y), x), x};
       },
       i32},
      {"minimum-absorbs",
       [](g&, value x, value y) {
         return sides{binary(op::minimum, binary(op::maximum, x, y), x), x};
       },
       i32},
      {"maximum-neg",
       [](g&, value x, value y) {
         return sides{binary(op::maximum, -x, -y), -binary(op::minimum, x, y)};
       }},
      {"minimum-neg",
       [](g&, value x, value y) {
         return sides{binary(op::minimum, -x, -y), -binary(op::maximum, x, y)};
       }},
      {"where-where",
       [](g& c, value x, value y) {
         const value flag = c.arg(boolean, {c.a, c.n}), z = c.arg({c.a, c.n});
         return sides{where(flag, where(flag, x, y), z), where(flag, x, z)};
       }},
      {"where-where",
       [](g& c, value x, value y) {
         const value flag = c.arg(boolean, {c.a, c.n}), z = c.arg({c.a, c.n});
         return sides{where(flag, x, where(flag, y, z)), where(flag, x, z)};
       }},
      {"and-absorbs",
       [](g&, value x, value y) {
         return sides{binary(op::bit_and, binary(op::bit_or, x, y), x), x};
       },
       i32},
      {"or-absorbs",
       [](g&, value x, value y) {
         return sides{binary(op::bit_or, binary(op::bit_and, x, y), x), x};
       },
       boolean},
      {"xor-twice",
       [](g&, value x, value y) {
         return sides{binary(op::bit_xor, binary(op::bit_xor, x, y), y), x};
       },
       i32},
      {"identity-cast",
       [](g&, value x, value) {
         return sides{raw(op::cast, {x}, {static_cast<std::int64_t>(dtype::f32)}), x};
       }},

      {"common-factor",
       [](g& c, value x, value y) {
         const value z = c.arg({c.a, c.n});
         return sides{x * z + y * z, (x + y) * z};
       }},
      {"common-factor",
       [](g& c, value x, value y) {
         const value z = c.scalar();
         return sides{z * x - y * z, (x - y) * z};
       }},
      {"factor-one",
       [](g&, value x, value y) {
         return sides{x + y * x, (y + 1.0) * x};
       }},
      {"row-terms",
       [](g& c, value x, value) {
         const value u = c.arg({1, c.n}), v = c.arg({1, c.n});
         return sides{(x + u) + v, x + (u + v)};
       }},
      {"row-terms",
       [](g& c, value x, value) {
         const value u = c.arg({1, c.n}), v = c.arg({1, c.n});
         return sides{(x + u) - v, x + (u - v)};
       }},
      {"row-terms",
       [](g& c, value x, value) {
         const value u = c.arg({c.a, 1}), v = c.arg({c.a, 1});
         return sides{(x - u) + v, x + (v - u)};
       }},
      {"row-terms",
       [](g& c, value x, value) {
         const value u = c.arg({c.a, 1}), v = c.arg({c.a, 1});
         return sides{(x - u) - v, x - (u + v)};
       }},
      {"row-factors",
       [](g& c, value x, value) {
         const value u = c.arg({1, c.n}), v = c.arg({1, c.n});
         return sides{(x * u) * v, x * (u * v)};
       }},
      {"row-factors",
       [](g& c, value x, value) {
         const value u = c.arg({c.a, 1}), v = c.arg({c.a, 1});
         return sides{(x * u) / v, x * (u / v)};
       }},
  };
}

inline std::vector<rule_case> strength_cases() {
  using namespace write;
  using g = case_graph;
  constexpr auto i32 = dtype::i32;
  return {
      {"power-four",
       [](g& c, value x, value) {
         return sides{binary(op::pow, x, c.number(4)), (x * x) * (x * x)};
       }},
      {"power-three-halves",
       [](g& c, value x, value) {
         const value e = unary(op::exp, x);
         return sides{binary(op::pow, e, c.number(1.5)), e * unary(op::sqrt, e)};
       }},
      {"power-of-two",
       [](g& c, value x, value) {
         return sides{binary(op::pow, c.number(2), x), unary(op::exp2, x)};
       }},
      {"power-of-e",
       [](g& c, value x, value) {
         return sides{binary(op::pow, c.number(2.718281828459045), x), unary(op::exp, x)};
       }},
      {"exp-times-exp",
       [](g&, value x, value y) {
         return sides{unary(op::exp, x) * unary(op::exp, y), unary(op::exp, x + y)};
       }},
      {"exp-over-exp",
       [](g&, value x, value y) {
         return sides{unary(op::exp, x) / unary(op::exp, y), unary(op::exp, x - y)};
       }},
      {"recip-exp",
       [](g&, value x, value) {
         return sides{unary(op::recip, unary(op::exp, x)), unary(op::exp, -x)};
       }},
      {"power-of-exp",
       [](g&, value x, value y) {
         return sides{binary(op::pow, unary(op::exp, x), y), unary(op::exp, x * y)};
       }},
      {"log-exp",
       [](g&, value x, value) {
         return sides{unary(op::log, unary(op::exp, x)), x};
       }},
      {"log2-exp2",
       [](g&, value x, value) {
         return sides{unary(op::log2, unary(op::exp2, x)), x};
       }},
      {"exp-log",
       [](g&, value x, value) {
         return sides{unary(op::exp, unary(op::log, x * x)), x * x};
       }},
      {"exp2-log2",
       [](g&, value x, value) {
         const value size = unary(op::abs, x);
         return sides{unary(op::exp2, unary(op::log2, size)), size};
       }},
      {"exp2-scaled",
       [](g&, value x, value) {
         return sides{unary(op::exp2, x * 1.4426950408889634), unary(op::exp, x)};
       }},
      {"log2-scaled",
       [](g&, value x, value) {
         return sides{unary(op::log2, x) * 0.6931471805599453, unary(op::log, x)};
       }},
      {"root-of-square",
       [](g&, value x, value) {
         return sides{unary(op::sqrt, x * x), unary(op::abs, x)};
       }},
      {"square-of-abs",
       [](g&, value x, value) {
         const value size = unary(op::abs, x);
         return sides{size * size, x * x};
       }},
      {"square-of-root",
       [](g&, value x, value) {
         const value e = unary(op::exp, x), root = unary(op::sqrt, e);
         return sides{root * root, e};
       }},
      {"abs-never-negative",
       [](g&, value x, value) {
         return sides{unary(op::abs, x * x), x * x};
       }},
      {"relu-never-negative",
       [](g&, value x, value) {
         return sides{unary(op::relu, unary(op::sigmoid, x)), unary(op::sigmoid, x)};
       }},
      {"recip-recip",
       [](g&, value x, value) {
         return sides{unary(op::recip, unary(op::recip, x)), x};
       }},
      {"recip-quotient",
       [](g&, value x, value y) {
         return sides{unary(op::recip, x / y), y / x};
       }},
      {"recip-times-recip",
       [](g&, value x, value y) {
         return sides{unary(op::recip, x) * unary(op::recip, y), unary(op::recip, x * y)};
       }},
      {"divide-recip",
       [](g&, value x, value y) {
         return sides{x / unary(op::recip, y), x * y};
       }},
      {"divide-rsqrt",
       [](g&, value x, value y) {
         return sides{x / unary(op::rsqrt, y), x * unary(op::sqrt, y)};
       }},
      {"recip-rsqrt",
       [](g&, value x, value) {
         return sides{unary(op::recip, unary(op::rsqrt, x)), unary(op::sqrt, x)};
       }},
      {"divide-twice",
       [](g& c, value x, value y) {
         const value z = c.arg({c.a, c.n});
         return sides{(x / y) / z, x / (y * z)};
       }},
      {"divide-by-quotient",
       [](g& c, value x, value y) {
         const value z = c.arg({c.a, c.n});
         return sides{x / (y / z), (x * z) / y};
       }},
      {"floor-divide-one",
       [](g& c, value x, value) {
         return sides{binary(op::floor_divide, x, c.number(1)), x};
       },
       i32},
      {"floor-divide-twice",
       [](g& c, value x, value) {
         const value four = binary(op::floor_divide, x * c.number(37), c.number(4));
         return sides{binary(op::floor_divide, four, c.number(3)),
                      binary(op::floor_divide, x * c.number(37), c.number(4) * c.number(3))};
       },
       i32},
      {"mod-twice",
       [](g& c, value x, value y) {
         const value large = x * c.number(37), modulus = y * c.number(5);
         return sides{binary(op::mod, binary(op::mod, large, modulus), modulus),
                      binary(op::mod, large, modulus)};
       },
       i32},
  };
}

inline std::vector<rule_case> recognition_cases() {
  using namespace write;
  using g = case_graph;
  return {
      {"find-softplus",
       [](g&, value x, value) {
         const value log_part = unary(op::log, unary(op::exp, -unary(op::abs, x)) + 1.0);
         return sides{unary(op::relu, x) + log_part, unary(op::softplus, x)};
       }},
      {"find-tanh",
       [](g&, value x, value) {
         return sides{unary(op::sigmoid, x * 2.0) * 2.0 + -1.0, unary(op::tanh, x)};
       }},
      {"find-tanh",
       [](g&, value x, value) {
         const value up = unary(op::exp, x), down = unary(op::exp, -x);
         return sides{(up - down) / (up + down), unary(op::tanh, x)};
       }},
      {"find-tanh",
       [](g&, value x, value) {
         const value e = unary(op::exp, x * 2.0);
         return sides{(e + -1.0) / (e + 1.0), unary(op::tanh, x)};
       }},
      {"log-of-sigmoid",
       [](g&, value x, value) {
         return sides{unary(op::log, unary(op::sigmoid, x)), -unary(op::softplus, -x)};
       }},
      {"softmax-shift",
       [](g&, value x, value) {
         return sides{composite(op::softmax, x + 3.0, {2}), composite(op::softmax, x, {2})};
       }},
      {"softmax-shift",
       [](g&, value x, value) {
         return sides{composite(op::log_softmax, x - 3.0, {1}), composite(op::log_softmax, x, {1})};
       }},
      {"softmax-of-shifted",
       [](g&, value x, value) {
         const value shifted = x - reduce(op::reduce_max, x, 2);
         return sides{composite(op::softmax, shifted, {2}), composite(op::softmax, x, {2})};
       }},
      {"softmax-of-shifted",
       [](g&, value x, value) {
         const value shifted = x - reduce(op::reduce_max, x, 1);
         return sides{composite(op::log_softmax, shifted, {1}), composite(op::log_softmax, x, {1})};
       }},
      {"softmax-of-log-softmax",
       [](g&, value x, value) {
         return sides{composite(op::softmax, composite(op::log_softmax, x, {2}), {2}),
                      composite(op::softmax, x, {2})};
       }},
      {"softmax-of-log-softmax",
       [](g&, value x, value) {
         const value once = composite(op::log_softmax, x, {1});
         return sides{composite(op::log_softmax, once, {1}), once};
       }},
      {"find-cross-entropy",
       [](g& c, value x, value) {
         const value labels = c.arg(dtype::i64, {c.a});
         const value counter = ir::iota(c.g, dtype::i64, {c.a, c.n}, 1);
         const value column = reshape(labels, {c.a, 1});
         const value hit = binary(op::equal, counter, column);
         const value logs = composite(op::log_softmax, x, {2});
         return sides{sum(where(hit, logs, constant_like(x, 0)), 2),
                      -reshape(raw(op::cross_entropy, {x, reshape(column, {c.a})}), {c.a, 1})};
       }},
  };
}

}  // namespace sinter::test
