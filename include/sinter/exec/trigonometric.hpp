// SPDX-License-Identifier: MIT
// sin and cos: reduction to [-pi/4, pi/4] after Cody and Waite, polynomials of Cephes (f32) and
// fdlibm (f64).
#pragma once

#include <cmath>

#include <sinter/exec/float_format.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// sin(x + quarter_turns pi/2). Arguments too large for the reduction, infinities and NaN go to the
// C library one by one; the result of an element never depends on its neighbours.
template <Floating T, int QuarterTurns>
[[gnu::always_inline]] inline simd<T> sine(simd<T> x) {
  using format = float_format<T>;
  using bits = simd_bits<T>;
  using word = typename bits::value_type;
  constexpr bool narrow = sizeof(T) == 4;

  // pi/2 in parts whose products with n are exact: 11 bits each in f32 (|n| < 2^13), 33 bits in f64
  // (|n| < 2^20).
  const simd<T> magic(format::round_to_integer);
  const simd<T> shifted = fma<T>(x, T(0.636619772367581343), magic);
  const simd<T> n = shifted - magic;
  simd<T> r;
  if constexpr (narrow) {
    r = fma<T>(n, T(-0x1.92p0), x);
    r = fma<T>(n, T(-0x1.fb4p-12), r);
    r = fma<T>(n, T(-0x1.444p-24), r);
    r = fma<T>(n, T(-0x1.68c234p-39), r);
  } else {
    r = fma<T>(n, T(-1.57079632673412561417e+00), x);
    r = fma<T>(n, T(-6.07710050630396597660e-11), r);
    r = fma<T>(n, T(-2.02226624871116645580e-21), r);
    r = fma<T>(n, T(-8.47842766036889956997e-32), r);
  }

  const simd<T> z = mul<T>(r, r);
  simd<T> sine_series;
  simd<T> cosine_series;
  if constexpr (narrow) {
    sine_series = polynomial<T>(z, -1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4);
    cosine_series =
        polynomial<T>(z, 4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5);
  } else {
    sine_series = polynomial<T>(z, -1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                -2.50507602534068634195e-08, 1.58969099521155010221e-10);
    cosine_series = polynomial<T>(z, 4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                  2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                  2.08757232129817482790e-09, -1.13596475577881948265e-11);
  }
  // By the absolute value, because a correction of the opposite sign would turn -0 to 0.
  const simd<T> size = xsimd::abs(r);
  const simd<T> sine_value = flip_sign<T>(fma<T>(mul<T>(size, z), sine_series, size), r);
  const simd<T> half_square = mul<T>(z, T(0.5));
  const simd<T> cosine_head = simd<T>(T(1)) - half_square;
  const simd<T> cosine_tail =
      fma<T>(mul<T>(z, z), cosine_series, (simd<T>(T(1)) - cosine_head) - half_square);
  const simd<T> cosine_value = cosine_head + cosine_tail;

  // Bit 0 of the quadrant chooses the cosine, bit 1 the sign.
  constexpr int top = static_cast<int>(8 * sizeof(T)) - 1;
  const bits quadrant = as_bits<T>(shifted) + bits(word(QuarterTurns));
  const simd<T> parity = from_bits<T>(quadrant << top) | simd<T>(T(1));
  const simd<T> sign = from_bits<T>((quadrant >> 1) << top);
  simd<T> result = select<T>(parity < simd<T>(T(0)), cosine_value, sine_value) ^ sign;

  const simd_mask<T> reducible = xsimd::abs(x) <= simd<T>(narrow ? T(8192) : T(1e6));
  if (!xsimd::all(reducible)) [[unlikely]] {
    const simd<T> exact = for_each_lane<T>(
        [](T v) {
          return static_cast<T>(QuarterTurns == 0 ? std::sin(static_cast<double>(v))
                                                  : std::cos(static_cast<double>(v)));
        },
        x);
    result = select<T>(reducible, result, exact);
  }
  return result;
}

}  // namespace detail

/// Within 2.4 ULP for |x| up to 8192 (f32) or 10^6 (f64), slower and as exact as the C library
/// beyond; NaN for infinities.
template <Floating T>
[[gnu::always_inline]] inline simd<T> sin(simd<T> x) {
  return detail::sine<T, 0>(x);
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> cos(simd<T> x) {
  return detail::sine<T, 1>(x);
}

}  // namespace sinter::inline SINTER_ABI::exec
