// SPDX-License-Identifier: MIT
// What random numbers are in a graph: uniforms from the one random op, and the distributions that
// are written in them.
#pragma once

#include <cstdint>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI::detail {

constexpr ir::value draw_uniform(handle key, dtype type, const ir::symbolic_shape& shape) {
  constexpr ir::op code = ir::op::random_uniform;
  ir::graph& g = key.graph();
  if (!is_floating(type))
    fail(key, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(type));
  if (!is_integral(key.type()))
    fail(key, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(key.type()));
  if (key.rank() != 0) fail(key, code, ir::fault_kind::wrong_rank, key.rank(), 0);
  if (g.failed()) return key.node;
  if (is_narrow_float(type)) {
    // Rounded down to a multiple of 2^-11 or 2^-8, all of which it has: rounding to nearest would
    // give 1.
    const double steps = type == dtype::f16 ? 0x1p11 : 0x1p8;
    const ir::value drawn = draw_uniform(key, dtype::f32, shape);
    return ir::cast(ir::unary(ir::op::floor, drawn * steps) * (1 / steps), type);
  }
  const ir::value wide = in_dtype(key.node, dtype::i64);
  return {&g, ir::append(g, code, {wide.id}, {static_cast<std::int64_t>(type), g.random_streams++},
                         shape)};
}

// Box and Muller, "A note on the generation of random normal deviates" (1958): sqrt(-2 log u) cos(2
// pi v). 1 - u is in (0, 1], so the logarithm is finite.
constexpr ir::value draw_normal(handle key, dtype type, const ir::symbolic_shape& shape) {
  constexpr double two_pi = 6.283185307179586476925;
  if (is_narrow_float(type)) return ir::cast(draw_normal(key, dtype::f32, shape), type);
  const ir::value u = draw_uniform(key, type, shape), v = draw_uniform(key, type, shape);
  if (key.graph().failed()) return u;
  const ir::value radius = ir::unary(ir::op::sqrt, ir::unary(ir::op::log, 1.0 - u) * -2.0);
  return radius * ir::unary(ir::op::cos, v * two_pi);
}

// By inversion: -log(1 - u), and 1 - u is in (0, 1].
constexpr ir::value draw_exponential(handle key, dtype type, const ir::symbolic_shape& shape) {
  if (is_narrow_float(type)) return ir::cast(draw_exponential(key, dtype::f32, shape), type);
  const ir::value u = draw_uniform(key, type, shape);
  if (key.graph().failed()) return u;
  return ir::unary(ir::op::neg, ir::unary(ir::op::log, 1.0 - u));
}

// By inversion: -log(-log u). u = 0 counts as a quarter of the smallest step of an f32; without it
// one number of 16 million would be infinite.
constexpr ir::value draw_gumbel(handle key, dtype type, const ir::symbolic_shape& shape) {
  if (is_narrow_float(type)) return ir::cast(draw_gumbel(key, dtype::f32, shape), type);
  const ir::value u = draw_uniform(key, type, shape);
  if (key.graph().failed()) return u;
  const ir::value positive = ir::elementwise(ir::op::maximum, {u, ir::constant_like(u, 0x1p-26)});
  const ir::value exponential = ir::unary(ir::op::neg, ir::unary(ir::op::log, positive));
  return ir::unary(ir::op::neg, ir::unary(ir::op::log, exponential));
}

// By inversion: sqrt(2) erfinv(x) for x between plus and minus erf(sqrt(2)). The polynomial is the
// central one of Giles, "Approximating the erfinv function" (GPU Computing Gems 2, 2011), which is
// all that is needed up to two standard deviations: 3e-7 off at most, for f64 too.
constexpr ir::value draw_truncated_normal(handle key, dtype type, const ir::symbolic_shape& shape) {
  constexpr double sqrt_2 = 1.41421356237309504880, erf_sqrt_2 = 0.95449973610364158560;
  if (is_narrow_float(type)) return ir::cast(draw_truncated_normal(key, dtype::f32, shape), type);
  const ir::value u = draw_uniform(key, type, shape);
  if (key.graph().failed()) return u;
  const ir::value x = (u * 2.0 - 1.0) * erf_sqrt_2;
  const ir::value w = -2.5 - ir::unary(ir::op::log, 1.0 - x * x);
  ir::value p = w * 2.81022636e-08 + 3.43273939e-07;
  for (double c : {-3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
                   0.246640727, 1.50140941})
    p = p * w + c;
  return p * x * sqrt_2;
}

// low + floor(u * (high - low)) with u of 53 bits, which is below high for every range up to 2^53:
// u * n is at least half a step of an f64 below n, and n itself only where n has no even neighbour.
// `low` where the range is empty.
constexpr ir::value draw_integers(handle key, handle low, handle high, dtype type,
                                  const ir::symbolic_shape& shape) {
  constexpr ir::op code = ir::op::random_uniform;
  for (handle bound : {low, high}) {
    if (!is_integral(bound.type()))
      fail(key, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(bound.type()));
    if (bound.rank() != 0) fail(key, code, ir::fault_kind::wrong_rank, bound.rank(), 0);
  }
  const ir::value u = draw_uniform(key, dtype::f64, shape);
  if (key.graph().failed()) return u;
  const ir::value first = in_dtype(low.node, dtype::i64),
                  count = ir::cast(in_dtype(high.node, dtype::i64) - first, dtype::f64);
  const ir::value some = ir::elementwise(ir::op::maximum, {count, ir::constant_like(count, 1)});
  const ir::value offset = ir::cast(ir::unary(ir::op::floor, u * some), dtype::i64);
  return in_dtype(first + offset, type);
}

enum class distribution : std::uint8_t { uniform, normal, truncated_normal, exponential, gumbel };

constexpr ir::value draw(distribution which, handle key, dtype type,
                         const ir::symbolic_shape& shape) {
  switch (which) {
    case distribution::uniform: return draw_uniform(key, type, shape);
    case distribution::normal: return draw_normal(key, type, shape);
    case distribution::truncated_normal: return draw_truncated_normal(key, type, shape);
    case distribution::exponential: return draw_exponential(key, type, shape);
    case distribution::gumbel: return draw_gumbel(key, type, shape);
  }
  return key.node;
}

}  // namespace sinter::inline SINTER_ABI::detail
