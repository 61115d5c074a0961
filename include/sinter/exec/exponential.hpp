// SPDX-License-Identifier: MIT
// exp and what is made of it. Products go through mul and fma alone, so that no compiler contracts
// them on its own; see simd.hpp. Error bounds hold for all 2^32 inputs of f32
// (tests/math_exhaustive_test.cpp) and for the samples of tests/math_test.cpp in f64.
#pragma once

#include <sinter/exec/float_format.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/table_of_powers.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// The sign of an exponent: e^-x takes no instruction more than e^x, and has the same bits as e^x of
// what was negated. (silu of 4,096 f32 on a Xeon: 1.36 µs with the negation, 1.25 without.)
enum class exponent { positive, negative };

// What x is multiplied by so that 2 to the power of it is e^x, or e^-x.
template <Floating T, exponent Sign>
inline constexpr T log2_e =
    T(Sign == exponent::positive ? 1.44269504088896341 : -1.44269504088896341);

// x - n part, or -x - n part.
template <Floating T, exponent Sign>
[[gnu::always_inline]] inline simd<T> subtract_multiple(simd<T> x, simd<T> n, T part) {
  return Sign == exponent::positive ? fma<T>(n, -part, x) : negative_fma<T>(n, part, x);
}

// x - n log 2, or -x - n log 2, after Cody and Waite: n times the first part of log 2 is exact.
template <Floating T, exponent Sign>
[[gnu::always_inline]] inline simd<T> subtract_log2(simd<T> x, simd<T> n) {
  constexpr bool narrow = sizeof(T) == 4;
  constexpr T first = narrow ? T(0.693359375) : T(6.93147180369123816490e-01);
  return fma<T>(n, narrow ? T(2.12194440e-4) : T(-1.90821492927058770002e-10),
                subtract_multiple<T, Sign>(x, n, first));
}

// (e^r - 1 - r)/r^2 for |r| <= log(2)/2 by Chebyshev interpolation; e^r is off by 9e-9 (f64:
// 1.6e-17) before rounding.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp_tail(simd<T> r, simd<T> square) {
  if constexpr (sizeof(T) == 4)
    return polynomial_in_pairs<T>(r, square, 0.5, 0.166665763, 0.0416665524, 0.00836335309,
                                  0.00139264006);
  else
    return polynomial_in_pairs<T>(
        r, square, 0.50000000000000011, 0.16666666666666669, 0.04166666666662313,
        0.0083333333333299852, 0.0013888888917710368, 0.0001984126986343555, 2.480152052648056e-05,
        2.7557267868262007e-06, 2.7620453391695057e-07, 2.5100666142918374e-08);
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp_near_zero(simd<T> r) {
  return fma<T>(fma<T>(exp_tail<T>(r, mul<T>(r, r)), r, T(1)), r, T(1));
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> expm1_near_zero(simd<T> r) {
  const simd<T> square = mul<T>(r, r);
  return fma<T>(square, exp_tail<T>(r, square), r);
}

// e^x or e^-x.
template <Floating T, exponent Sign, table_powers Powers>
[[gnu::always_inline]] inline simd<T> signed_exp(simd<T> x) {
  constexpr bool narrow = sizeof(T) == 4, negative = Sign == exponent::negative;
  // Outside of these limits of the exponent the result is 0 or infinity, which the scaling gives.
  constexpr T least = narrow ? T(-105) : T(-750), most = narrow ? T(90) : T(711);
  const simd<T> in_range =
      scales_by_any<T> ? x : clamp<T>(x, negative ? -most : least, negative ? -least : most);
  if constexpr (table_bits<T> > 0) {
    const simd<T> magic(round_to_part + 2 * 127);
    const simd<T> shifted = fma<T>(in_range, log2_e<T, Sign>, magic);
    return scaled_power<Powers>(shifted, subtract_log2<T, Sign>(in_range, shifted - magic));
  } else {
    const simd<T> magic(float_format<T>::round_to_two_exponents);
    const simd<T> shifted = fma<T>(in_range, log2_e<T, Sign>, magic);
    return scale<T>(exp_near_zero<T>(subtract_log2<T, Sign>(in_range, shifted - magic)), shifted);
  }
}

// 1 + e^x or 1 + e^-x: infinity where e^x is more than 2^127 (without a table of powers 2^127.5),
// and 1 where it is less than 2^-127. Of NaN, with AVX-512's table, any, so that what is divided by
// it has to be NaN then. No power is as small as to be scaled twice (`scale`): sigmoid of 4,096 f32
// on a Zen 3 takes 0.83 of the time with 1 + signed_exp(...).
template <Floating T, exponent Sign, table_powers Powers>
[[gnu::always_inline]] inline simd<T> one_plus_exp(simd<T> x) {
  if constexpr (table_bits<T> > 0) {
    const simd<T> limited = limit_size(x, T(88.0296919));  // 127 log(2)
    const simd<T> magic(round_to_part + 128);
    const simd<T> shifted = fma<T>(limited, log2_e<T, Sign>, magic);
    const simd<T> n = shifted - magic;
    constexpr T log_2 = T(0x1.62e430p-1);
    return one_plus_power<Powers>(shifted, n, subtract_multiple<T, Sign>(limited, n, log_2));
  } else {
    // 2^n is infinity at the end of the exponents.
    constexpr bool narrow = sizeof(T) == 4, negative = Sign == exponent::negative;
    constexpr T least = narrow ? T(-87.33) : T(-708.39), most = narrow ? T(88.73) : T(709.79);
    const simd<T> limited = clamp<T>(x, negative ? -most : least, negative ? -least : most);
    const simd<T> magic(float_format<T>::round_to_exponent);
    const simd<T> shifted = fma<T>(limited, log2_e<T, Sign>, magic);
    const simd<T> near_one = exp_near_zero<T>(subtract_log2<T, Sign>(limited, shifted - magic));
    return fma<T>(power_of_two<T>(shifted), near_one, T(1));
  }
}

// e^-x, to be computed with further: with the bound of exp, or with a table of powers within 0.8
// ULP.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp_of_negative(simd<T> x) {
  return signed_exp<T, exponent::negative, table_powers::corrected>(x);
}

}  // namespace detail

/// e^x within 1.2 ULP (f32 with AVX2: 1.1) for all x, denormal results included; e^-inf = 0, and
/// NaN stays NaN.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp(simd<T> x) {
  return detail::signed_exp<T, detail::exponent::positive, detail::table_powers::rounded>(x);
}

/// 2^x within 1.2 ULP (f32 with AVX2: 1.1) for all x, denormal results included; exact for whole
/// x.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp2(simd<T> x) {
  constexpr T log_2 = T(0.693147180559945309);
  constexpr T least = sizeof(T) == 4 ? T(-151) : T(-1080), most = sizeof(T) == 4 ? T(129) : T(1025);
  const simd<T> in_range = detail::scales_by_any<T> ? x : clamp<T>(x, least, most);
  if constexpr (detail::table_bits<T> > 0) {
    const simd<T> magic(detail::round_to_part + 2 * 127);
    const simd<T> shifted = in_range + magic;
    const simd<T> r = mul<T>(in_range - (shifted - magic), log_2);
    return detail::scaled_power<detail::table_powers::rounded>(shifted, r);
  } else {
    const simd<T> magic(detail::float_format<T>::round_to_two_exponents);
    const simd<T> shifted = in_range + magic;
    const simd<T> r = mul<T>(in_range - (shifted - magic), log_2);
    return detail::scale<T>(detail::exp_near_zero<T>(r), shifted);
  }
}

/// What 1 / (1 + e^-x) divides by. The quotient is within 2.6 ULP where it is a normal number, x >=
/// -87.3 (f64: -708); below it is 0 or off by less than the least normal number.
template <Floating T>
[[gnu::always_inline]] inline simd<T> sigmoid_denominator(simd<T> x) {
  if constexpr (detail::scales_by_any<T>)  // NaN has to stay
    return simd<T>(T(1)) + detail::exp_of_negative<T>(x);
  else
    return detail::one_plus_exp<T, detail::exponent::negative, detail::table_powers::corrected>(x);
}

/// What x / (1 + e^-x) divides by. The quotient is within 2.6 ULP for x >= -87.3 (f64: -708); below
/// it is -0 or off by less than 2^-119 (f64: 2^-1012). As the formula has it, silu(-inf) is NaN.
template <Floating T>
[[gnu::always_inline]] inline simd<T> silu_denominator(simd<T> x) {
  return detail::one_plus_exp<T, detail::exponent::negative, detail::table_powers::rounded>(x);
}

/// What gelu_tanh divides x by: x/2 (1 + tanh(u)) with u = sqrt(2/pi)(x + 0.044715 x^3) is the same
/// function as x / (1 + e^-2u), which does not cancel for negative x. The quotient is off by less
/// than 2 epsilon |x| for all x, and by less than 3 ULP for x >= -1. As the formula has it,
/// gelu_tanh(-inf) is NaN.
template <Floating T>
[[gnu::always_inline]] inline simd<T> gelu_tanh_denominator(simd<T> x) {
  const simd<T> cubic =
      fma<T>(mul<T>(x, x), T(-0.071354816272600248776), T(-1.5957691216057307118));
  return detail::one_plus_exp<T, detail::exponent::positive, detail::table_powers::rounded>(
      mul<T>(x, cubic));
}

/// log(1 + e^x) as max(x, 0) + log1p(e^-|x|), within 3 ULP for all x (where it is small; the error
/// of e^x and of two roundings of a quotient), denormal results included.
template <Floating T>
[[gnu::always_inline]] inline simd<T> softplus(simd<T> x) {
  const simd<T> positive_part = max_or_second<T>(simd<T>(T(0)), x);
  const simd<T> y = detail::exp_of_negative<T>(xsimd::abs(x));
  // log1p(y) = 2 atanh(s) with s = y/(2 + y) <= 1/3: no second argument reduction. atanh(s) is s +
  // s^3 P(s^2), off by 1e-9 (f64: 2e-18) before rounding.
  const simd<T> s = y / (simd<T>(T(2)) + y);
  const simd<T> square = mul<T>(s, s);
  simd<T> series;
  if constexpr (sizeof(T) == 4)
    series = polynomial<T>(square, 0.333333343, 0.199998528, 0.142961785, 0.108532876, 0.11612165);
  else
    series = polynomial<T>(square, 0.33333333333333331, 0.19999999999999762, 0.1428571428580005,
                           0.11111111099118386, 0.090909099489813572, 0.076922719824302752,
                           0.066675893157246285, 0.058671395306515987, 0.054225891974400073,
                           0.037460718977753833, 0.078152889004614257);
  const simd<T> twice = s + s;
  return fma<T>(mul<T>(twice, square), series, twice + positive_part);
}

}  // namespace sinter::inline SINTER_ABI::exec
