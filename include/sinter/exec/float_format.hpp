// SPDX-License-Identifier: MIT
// The format of floats: numbers that leave what they round in its bits, and powers of two made of
// these.
#pragma once

#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

template <Floating T>
struct float_format;

template <>
struct float_format<float> {
  static constexpr int mantissa_bits = 23;
  // x + this has the nearest integer of x in its low bits.
  static constexpr float round_to_integer = 0x1.8p23f;
  // The same, and what was rounded has the bias of exponents added: shifted into their place, its
  // bits are a power of two.
  static constexpr float round_to_exponent = 0x1.8p23f + 127;
  static constexpr float round_to_two_exponents = 0x1.8p23f + 2 * 127;  // the bias twice
  static constexpr float round_to_minus_power = 0x1.8p23f + 127 + 256;  // and the sign bit
  static constexpr float smallest_normal = 0x1p-126f;
  static constexpr float infinity = __builtin_inff();
  static constexpr float not_a_number = __builtin_nanf("");
};

template <>
struct float_format<double> {
  static constexpr int mantissa_bits = 52;
  static constexpr double round_to_integer = 0x1.8p52;
  static constexpr double round_to_exponent = 0x1.8p52 + 1023;
  static constexpr double round_to_two_exponents = 0x1.8p52 + 2 * 1023;
  static constexpr double round_to_minus_power = 0x1.8p52 + 1023 + 2048;
  static constexpr double smallest_normal = 0x1p-1022;
  static constexpr double infinity = __builtin_inf();
  static constexpr double not_a_number = __builtin_nan("");
};

// 2^n for the n that fma(..., round_to_exponent) left in `shifted`, or -2^n where it was
// round_to_minus_power; n within the range of exponents.
template <Floating T>
[[gnu::always_inline]] inline simd<T> power_of_two(simd<T> shifted) {
  return from_bits<T>(as_bits<T>(shifted) << float_format<T>::mantissa_bits);
}

// p 2^n for p in [1/2, 2] and n in the low bits of `both`, with the bias of exponents added twice.
// In two steps, half of n each, since 2^n alone would leave the exponent's range at both ends.
template <Floating T>
[[gnu::always_inline]] inline simd<T> scale_in_halves(simd<T> p, simd_bits<T> both) {
  const simd_bits<T> half = both >> 1;
  return mul<T>(mul<T>(p, power_of_two<T>(from_bits<T>(half))),
                power_of_two<T>(from_bits<T>(both - half)));
}

// p 2^n for p in [1/2, 2] and the whole n that fma(..., round_to_two_exponents) left in `shifted`;
// results below the smallest normal number are rounded once.
template <Floating T>
[[gnu::always_inline]] inline simd<T> scale(simd<T> p, simd<T> shifted) {
#if defined(__AVX512F__)
  const simd<T> n = shifted - simd<T>(float_format<T>::round_to_two_exponents);
  if constexpr (sizeof(T) == 4)
    return simd<T>(_mm512_scalef_ps(p, n));
  else
    return simd<T>(_mm512_scalef_pd(p, n));
#else
  return scale_in_halves<T>(p, as_bits<T>(shifted));
#endif
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
