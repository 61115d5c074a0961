// SPDX-License-Identifier: MIT
// NumPy's % and // of floats in registers. What is left of a division by a whole quotient is a
// number of the type, so that a fused multiply-add has it exactly.
#pragma once

#include <sinter/exec/float_format.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// a = quotient b + rest, the rest with the sign of b or 0.
template <Floating T>
struct floor_division {
  simd<T> quotient, rest;
  bool is_exact;  // or some lane has to be divided by the scalar functions
};

template <Floating T>
[[gnu::always_inline]] inline floor_division<T> divide_to_floor(simd<T> a, simd<T> b) {
  // Up to here a quotient is known to its last whole digit; it is none of 0, infinity or NaN.
  const simd<T> limit(sizeof(T) == 4 ? T(0x1p22) : T(0x1p51));
  const simd<T> ratio = a / b;
  const simd_mask<T> is_exact =
      (xsimd::abs(ratio) < limit) & (xsimd::abs(b) < simd<T>(float_format<T>::infinity));
  if (!has_fused_multiply_add || !xsimd::all(is_exact)) return {ratio, ratio, false};
  const simd<T> zero(T(0)), quotient = xsimd::floor(ratio);
  const simd<T> rest = fma<T>(negate<T>(quotient), b, a);
  // A ratio that was rounded up to a whole number leaves less than nothing.
  const simd_mask<T> corrected = flip_sign<T>(rest, b) < zero;
  return {select<T>(corrected, quotient - simd<T>(T(1)), quotient),
          select<T>(corrected, rest + b, rest), true};
}

}  // namespace detail

/// a - b floor(a / b), as exec::modulo has it of single numbers.
template <Floating T>
[[gnu::always_inline]] inline simd<T> modulo(simd<T> a, simd<T> b) {
  const detail::floor_division<T> parts = detail::divide_to_floor<T>(a, b);
  if (!parts.is_exact) [[unlikely]]
    return for_each_lane<T>([](T x, T y) { return modulo(x, y); }, a, b);
  return select<T>(parts.rest == simd<T>(T(0)), sign_bit<T>(b), parts.rest);
}

/// floor(a / b), as exec::floor_divide has it of single numbers.
template <Floating T>
[[gnu::always_inline]] inline simd<T> floor_divide(simd<T> a, simd<T> b) {
  const detail::floor_division<T> parts = detail::divide_to_floor<T>(a, b);
  if (!parts.is_exact) [[unlikely]]
    return for_each_lane<T>([](T x, T y) { return floor_divide(x, y); }, a, b);
  return parts.quotient;
}

}  // namespace sinter::inline SINTER_ABI::exec
