// SPDX-License-Identifier: MIT
// Logarithms after fdlibm's e_log.c and e_log2.c (Sun Microsystems, 1993), of f32 in the form of
// Cephes' logf (Moshier), for registers: both cases of every branch are computed.
#pragma once

#include <sinter/exec/float_format.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// x = 2^exponent (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), or 3/4 <= 1 + f < 3/2 where an
// instruction finds it.
template <Floating T>
struct log_parts {
  simd<T> exponent;
  simd<T> f;
};

// Does split_log give parts whose sum is the logarithm of 0, of infinity, of what is below 0 and of
// NaN, too?
template <Floating T>
inline constexpr bool splits_special_values = false;

// The parts of a positive normal x, from whose exponent's bits `bias` is subtracted.
template <Floating T>
[[gnu::always_inline]] inline log_parts<T> split_normal(simd<T> x, simd<T> bias) {
  using bits = simd_bits<T>;
  using word = typename bits::value_type;
  constexpr bool narrow = sizeof(T) == 4;
  constexpr int shift = float_format<T>::mantissa_bits;
  constexpr word one = std::bit_cast<word>(T(1));
  constexpr word root_half = narrow ? word(0x3f3504f3) : word(0x3fe6a09e00000000);
  constexpr word whole = std::bit_cast<word>(narrow ? T(0x1p23) : T(0x1p52));
  // The bits of a whole number below 2^23 (2^52) under the exponent of 2^23 (2^52) are that number
  // plus 2^23 (2^52).
  const bits moved = as_bits<T>(x) + bits(word(one - root_half));
  const simd<T> biased =
      from_bits<T>((moved >> shift) | bits(whole)) - simd<T>(std::bit_cast<T>(whole));
  const simd<T> mantissa =
      from_bits<T>((moved & bits(word((word(1) << shift) - 1))) + bits(root_half));
  return {biased - bias, mantissa - simd<T>(T(1))};
}

template <Floating T>
[[gnu::always_inline]] inline log_parts<T> split_log(simd<T> x) {
  constexpr bool narrow = sizeof(T) == 4;
  const simd_mask<T> denormal = x < simd<T>(float_format<T>::smallest_normal);
  const simd<T> normal = select<T>(denormal, mul<T>(x, narrow ? T(0x1p25) : T(0x1p54)), x);
  const simd<T> bias = select<T>(denormal, simd<T>(narrow ? T(127 + 25) : T(1023 + 54)),
                                 simd<T>(narrow ? T(127) : T(1023)));
  return split_normal<T>(normal, bias);
}

#if defined(__AVX512F__)
template <>
inline constexpr bool splits_special_values<float> = true;

template <>
[[gnu::always_inline]] inline log_parts<float> split_log(simd<float> x) {
  const simd<float> mantissa(_mm512_getmant_ps(x.data, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan));
  const simd<float> below_one(_mm512_getexp_ps(mantissa.data));  // -1 for mantissas below 1, or 0
  return {simd<float>(_mm512_getexp_ps(x.data)) - below_one, mantissa - simd<float>(1.0f)};
}
#endif

// P with log(1 + f) = f - f^2/2 + f^3 P(f) for the f of split_log, off by 6e-9 before rounding
// (minimax fits). A division would take as long as all the rest.
[[gnu::always_inline]] inline simd<float> log_series(simd<float> f, simd<float> square) {
  if constexpr (splits_special_values<float>)
    return polynomial_in_pairs<float>(f, square, 0.333334491, -0.250000958, 0.199908613,
                                      -0.166473123, 0.144783947, -0.131611924, 0.104630214,
                                      -0.0450748048);
  else
    return polynomial_in_pairs<float>(f, square, 0.333333317, -0.25000821, 0.200012269,
                                      -0.166233575, 0.142017572, -0.131601802, 0.127615811,
                                      -0.0763450709);
}

// log(1 + f) = f - half_square + tail.
template <Floating T>
struct log_terms {
  simd<T> half_square;
  simd<T> tail;
};

template <Floating T>
[[gnu::always_inline]] inline log_terms<T> expand_log(simd<T> f) {
  if constexpr (sizeof(T) == 4) {
    const simd<T> square = mul<T>(f, f);
    return {mul<T>(square, T(0.5)), mul<T>(mul<T>(f, square), log_series(f, square))};
  } else {
    // fdlibm's: s = f/(2 + f), and log(1 + f) = f - s (f - R) in even powers of s.
    const simd<T> s = f / (simd<T>(T(2)) + f);
    const simd<T> z = mul<T>(s, s);
    const simd<T> half_square = mul<T>(mul<T>(f, T(0.5)), f);
    const simd<T> series = polynomial_in_pairs<T>(
        z, mul<T>(z, z), 6.666666666666735130e-01, 3.999999999940941908e-01,
        2.857142874366239149e-01, 2.222219843214978396e-01, 1.818357216161805012e-01,
        1.531383769920937332e-01, 1.479819860511658591e-01);
    return {half_square, mul<T>(s, fma<T>(z, series, half_square))};
  }
}

// The values at 0, infinity, below 0 and at NaN.
template <Floating T>
[[gnu::always_inline]] inline simd<T> finish_log(simd<T> x, simd<T> result) {
  using format = float_format<T>;
  const simd<T> zero(T(0));
  const simd<T> invalid =
      select<T>(x == zero, simd<T>(-format::infinity), simd<T>(format::not_a_number));
  const simd<T> large = select<T>(x == simd<T>(format::infinity), x, result);
  return select<T>(x > zero, large, invalid);
}

}  // namespace detail

/// The natural logarithm within 0.97 ULP for all x (f64: 0.9), denormal ones included; log(0) =
/// -inf, log(inf) = inf, NaN below 0.
template <Floating T>
[[gnu::always_inline]] inline simd<T> log(simd<T> x) {
  const auto [exponent, f] = detail::split_log<T>(x);
  constexpr bool narrow = sizeof(T) == 4;
  simd<T> result;
  if constexpr (narrow && has_fused_multiply_add) {
    const simd<T> square = mul<T>(f, f);
    const simd<T> curve = fma<T>(f, detail::log_series(f, square), T(-0.5));
    result = fma<T>(exponent, T(0.693147180559945309), fma<T>(square, curve, f));
  } else {
    // Of log 2; the exponent times the first part is exact.
    constexpr T high = narrow ? T(6.9313812256e-01) : T(6.93147180369123816490e-01);
    constexpr T low = narrow ? T(9.0580006145e-06) : T(1.90821492927058770002e-10);
    const auto [half_square, tail] = detail::expand_log<T>(f);
    result = fma<T>(exponent, high, f + (fma<T>(exponent, low, tail) - half_square));
  }
  return detail::splits_special_values<T> ? result : detail::finish_log<T>(x, result);
}

/// The logarithm to base 2 within 0.97 ULP for all x (f64: 0.9) as log has them; exact for powers
/// of two.
template <Floating T>
[[gnu::always_inline]] inline simd<T> log2(simd<T> x) {
  const auto [exponent, f] = detail::split_log<T>(x);
  const auto [half_square, tail] = detail::expand_log<T>(f);
  constexpr bool narrow = sizeof(T) == 4;
  // 1/log 2 in two parts and log(1 + f) in two parts whose leading product is exact.
  const T inverse_high = narrow ? T(1.4428710938e+00) : T(1.44269504072144627571e+00);
  const T inverse_low = narrow ? T(-1.7605285393e-04) : T(1.67517131648865118353e-10);
  using bits = simd_bits<T>;
  using word = typename bits::value_type;
  const bits upper(narrow ? word(0xfffff000) : word(0xffffffff00000000));
  const simd<T> high = from_bits<T>(as_bits<T>(f - half_square) & upper);
  const simd<T> low = ((f - high) - half_square) + tail;
  const simd<T> product = mul<T>(high, inverse_high);
  simd<T> rest = fma<T>(low, inverse_high, mul<T>(low + high, inverse_low));
  const simd<T> sum = exponent + product;
  rest = rest + ((exponent - sum) + product);
  return detail::finish_log<T>(x, rest + sum);
}

}  // namespace sinter::inline SINTER_ABI::exec
