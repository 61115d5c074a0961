// SPDX-License-Identifier: MIT
// exp and what is made of it. Products go through mul and fma alone, so that no compiler contracts
// them on its own; see simd.hpp. Error bounds hold for all 2^32 inputs of f32
// (tests/math_exhaustive_test.cpp) and for the samples of tests/math_test.cpp in f64.
#pragma once

#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

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
  // In two steps, half of n each, since 2^n alone would leave the exponent's range at both ends.
  const simd_bits<T> both = as_bits<T>(shifted), half = both >> 1;
  return mul<T>(mul<T>(p, power_of_two<T>(from_bits<T>(half))),
                power_of_two<T>(from_bits<T>(both - half)));
#endif
}

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

// For whom a register has the sixteen powers 2^(j/16).
template <Floating T>
inline constexpr bool has_table_of_powers = false;
enum class table_powers { rounded, corrected };
template <table_powers, Floating T>
simd<T> scaled_power(simd<T>, simd<T>, simd<T>) = delete;
template <Floating T>
simd<T> one_plus_power(simd<T>, simd<T>, simd<T>) = delete;
template <Floating T>
simd<T> limit_size(simd<T>, T) = delete;

// f32: x + this has the nearest multiple of 1/16 of x in its low bits.
inline constexpr float round_to_sixteenth = 0x1.8p19f;
// The same, and what was rounded has the bias of exponents plus 1 added.
inline constexpr float round_to_exponent_and_sixteenth = round_to_sixteenth + 128;

#if defined(__AVX512F__) && defined(__AVX512DQ__)
template <>
inline constexpr bool has_table_of_powers<float> = true;

// The elements of a table that the low four bits of `index` choose. In assembler, since the result
// has to be written over the index: Intel's processors wait for what was in that register before
// (from Golden Cove on; GCC 13 knows it, and clears it). silu took 40 cycles per register instead
// of 12 where that was of the loop's last turn.
[[gnu::always_inline]] inline simd<float> lookup(__m512 table, simd<float> index) {
  __asm__("vpermps %1, %0, %0" : "+v"(index.data) : "vm"(table));
  return index;
}

// The same for the smaller of two absolute values, with the sign of x.
[[gnu::always_inline]] inline simd<float> limit_size(simd<float> x, float most) {
  __asm__("vrangeps $2, %1, %0, %0" : "+v"(x.data) : "v"(_mm512_set1_ps(most)));
  return x;
}

// (e^r - 1 - r)/r^2 for |r| <= log(2)/32: r^2 times it is off by 5e-9.
[[gnu::always_inline]] inline simd<float> exp_curve(simd<float> r) {
  return polynomial<float>(r, 0.500009775, 0.166666667);
}

// 2^n e^r for |r| <= log(2)/32 and n, a multiple of 1/16 that `shifted` has in its low bits, after
// Tang (1989), "Table-driven implementation of the exponential function". Three products fewer than
// with whole n, for two permutations: exp takes 1.2 ns per register instead of 1.7.
//
// Corrected, it begins with what the rounded powers lack, relative to them: e^x is off by 0.78 ULP
// then instead of 1.02, for a permutation more. exp takes 2.70 ns per register of softmax so on
// Zen 4, and 2.47 without; what is computed from it further would be off by more than 3 ULP without
// (sigmoid 3.08, softplus 3.44).
//
// x needs no limits: where n is so large that r is anything, or NaN, its limit makes the power some
// positive number, and the scaling by floor(n) gives 0, infinity, or NaN where n is.
template <table_powers Powers>
[[gnu::always_inline]] inline simd<float> scaled_power(simd<float> shifted, simd<float> n,
                                                       simd<float> r) {
  const __m512 powers = _mm512_setr_ps(
      1.0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f,
      0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f,
      0x1.9c4918p+0f, 0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f);
  const simd<float> limited = limit_size(r, 1);
  const simd<float> power = lookup(powers, shifted);
  simd<float> cubic;
  if constexpr (Powers == table_powers::corrected) {
    const __m512 lacking = _mm512_setr_ps(
        0.0f, 0x1.8d96d4p-25f, -0x1.9c0c22p-27f, 0x1.964904p-25f, 0x1.125002p-25f, 0x1.370be4p-25f,
        -0x1.0a3550p-25f, -0x1.00d8acp-27f, 0x1.26055cp-26f, -0x1.05cb44p-25f, 0x1.67a1cap-28f,
        0x1.a3b5e4p-28f, -0x1.f9c304p-27f, -0x1.6961b4p-28f, -0x1.a5217cp-28f, 0x1.61428ep-28f);
    const simd<float> slope = fma<float>(limited, exp_curve(limited), 1);
    cubic = fma<float>(limited, slope, lookup(lacking, shifted));
  } else {
    cubic = fma<float>(mul<float>(limited, limited), exp_curve(limited), limited);
  }
  return simd<float>(_mm512_scalef_ps(fma<float>(power, cubic, power).data, n.data));
}

// 1 + 2^n e^r for |n| <= 127, which `shifted` has in its low bits with 128 added; `nearly`: r
// within 3e-7, for what need not wait for it. These are the bits of 2^(floor(n) + 1) (1 + j/16)
// with j the sixteenths of n, once they are where a float has its exponent; what is missing to 2^n
// is in the table. So one product scales, and adds 1 with no further rounding. (silu(2x + 1/2) y of
// 4,096 f32 on a Xeon: 0.72 of Eigen's time, 0.76 with 1 + scaled_power(...), both beside others on
// the same core.)
[[gnu::always_inline]] inline simd<float> one_plus_power(simd<float> shifted, simd<float> nearly,
                                                         simd<float> r) {
  const __m512 missing = _mm512_setr_ps(
      0.5f, 0x1.f73794p-2f, 0x1.f04d5cp-2f, 0x1.eaff6ap-2f, 0x1.e71968p-2f, 0x1.e4715cp-2f,
      0x1.e2e55ap-2f, 0x1.e259bap-2f, 0x1.e2b7dep-2f, 0x1.e3ed28p-2f, 0x1.e5ea40p-2f,
      0x1.e8a27cp-2f, 0x1.ec0b66p-2f, 0x1.f01c68p-2f, 0x1.f4ce76p-2f, 0x1.fa1bd8p-2f);
  constexpr int exponent_and_sixteenths = float_format<float>::mantissa_bits - 4;
  const simd<float> power(_mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_castps_si512(shifted.data), exponent_and_sixteenths)));
  const simd<float> factor = lookup(missing, shifted);
  const simd<float> cubic = fma<float>(mul<float>(nearly, nearly), exp_curve(nearly), r);
  return fma<float>(power, fma<float>(factor, cubic, factor), 1);
}
#endif

// e^x or e^-x.
template <Floating T, exponent Sign, table_powers Powers>
[[gnu::always_inline]] inline simd<T> signed_exp(simd<T> x) {
  constexpr bool narrow = sizeof(T) == 4, negative = Sign == exponent::negative;
  if constexpr (has_table_of_powers<T>) {
    const simd<T> magic(round_to_sixteenth);
    const simd<T> shifted = fma<T>(x, log2_e<T, Sign>, magic);
    const simd<T> n = shifted - magic;
    return scaled_power<Powers>(shifted, n, subtract_log2<T, Sign>(x, n));
  }
  // Outside of these limits of the exponent the result is 0 or infinity, which the scaling gives.
  constexpr T least = narrow ? T(-105) : T(-750), most = narrow ? T(90) : T(711);
  const simd<T> limited = clamp<T>(x, negative ? -most : least, negative ? -least : most);
  const simd<T> magic(float_format<T>::round_to_two_exponents);
  const simd<T> shifted = fma<T>(limited, log2_e<T, Sign>, magic);
  return scale<T>(exp_near_zero<T>(subtract_log2<T, Sign>(limited, shifted - magic)), shifted);
}

// 1 + e^x or 1 + e^-x: infinity where e^x is more than 2^127 (without the table of powers 2^127.5),
// and 1 where it is less than 2^-127. Of NaN, with the table, any, so that what is divided by it
// has to be NaN then. No power is as small as to be scaled twice (`scale`): sigmoid of 4,096 f32 on
// a Zen 3 takes 0.83 of the time with 1 + signed_exp(...).
template <Floating T, exponent Sign>
[[gnu::always_inline]] inline simd<T> one_plus_exp(simd<T> x) {
  if constexpr (has_table_of_powers<T>) {
    const simd<T> limited = limit_size(x, T(88.0296919));  // 127 log(2)
    const simd<T> magic(round_to_exponent_and_sixteenth);
    const simd<T> shifted = fma<T>(limited, log2_e<T, Sign>, magic);
    const simd<T> n = shifted - magic;
    // With the float nearest to log 2, and with what that lacks.
    constexpr T log_2 = T(0x1.62e430p-1), lack = T(1.904654299957768e-09);
    const simd<T> nearly = subtract_multiple<T, Sign>(limited, n, log_2);
    return one_plus_power(shifted, nearly, fma<T>(n, lack, nearly));
  }
  // 2^n is infinity at the end of the exponents.
  constexpr bool narrow = sizeof(T) == 4, negative = Sign == exponent::negative;
  constexpr T least = narrow ? T(-87.33) : T(-708.39), most = narrow ? T(88.73) : T(709.79);
  const simd<T> limited = clamp<T>(x, negative ? -most : least, negative ? -least : most);
  const simd<T> magic(float_format<T>::round_to_exponent);
  const simd<T> shifted = fma<T>(limited, log2_e<T, Sign>, magic);
  const simd<T> near_one = exp_near_zero<T>(subtract_log2<T, Sign>(limited, shifted - magic));
  return fma<T>(power_of_two<T>(shifted), near_one, T(1));
}

// e^-x, to be computed with further: with the bound of exp, or with AVX-512 within 0.8 ULP.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp_of_negative(simd<T> x) {
  return signed_exp<T, exponent::negative, table_powers::corrected>(x);
}

}  // namespace detail

/// e^x within 1.2 ULP (f32 with AVX-512: 1.1) for all x, denormal results included; e^-inf = 0, and
/// NaN stays NaN.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp(simd<T> x) {
  return detail::signed_exp<T, detail::exponent::positive, detail::table_powers::rounded>(x);
}

/// 2^x within 1.2 ULP (f32 with AVX-512: 1.1) for all x, denormal results included; exact for whole
/// x.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp2(simd<T> x) {
  if constexpr (detail::has_table_of_powers<T>) {
    const simd<T> magic(detail::round_to_sixteenth);
    const simd<T> shifted = x + magic;
    const simd<T> n = shifted - magic;
    return detail::scaled_power<detail::table_powers::rounded>(
        shifted, n, mul<T>(x - n, T(0.693147180559945309)));
  }
  const simd<T> limited =
      sizeof(T) == 4 ? clamp<T>(x, T(-151), T(129)) : clamp<T>(x, T(-1080), T(1025));
  const simd<T> magic(detail::float_format<T>::round_to_two_exponents);
  const simd<T> shifted = limited + magic;
  const simd<T> r = mul<T>(limited - (shifted - magic), T(0.693147180559945309));
  return detail::scale<T>(detail::exp_near_zero<T>(r), shifted);
}

/// What 1 / (1 + e^-x) divides by. The quotient is within 2.6 ULP where it is a normal number, x >=
/// -87.3 (f64: -708); below it is 0 or off by less than the least normal number.
template <Floating T>
[[gnu::always_inline]] inline simd<T> sigmoid_denominator(simd<T> x) {
  if constexpr (detail::has_table_of_powers<T>)  // NaN has to stay
    return simd<T>(T(1)) + detail::exp_of_negative<T>(x);
  else
    return detail::one_plus_exp<T, detail::exponent::negative>(x);
}

/// What x / (1 + e^-x) divides by. The quotient is within 2.6 ULP for x >= -87.3 (f64: -708); below
/// it is -0 or off by less than 2^-119 (f64: 2^-1012). As the formula has it, silu(-inf) is NaN.
template <Floating T>
[[gnu::always_inline]] inline simd<T> silu_denominator(simd<T> x) {
  return detail::one_plus_exp<T, detail::exponent::negative>(x);
}

/// What gelu_tanh divides x by: x/2 (1 + tanh(u)) with u = sqrt(2/pi)(x + 0.044715 x^3) is the same
/// function as x / (1 + e^-2u), which does not cancel for negative x. The quotient is off by less
/// than 2 epsilon |x| for all x, and by less than 3 ULP for x >= -1. As the formula has it,
/// gelu_tanh(-inf) is NaN.
template <Floating T>
[[gnu::always_inline]] inline simd<T> gelu_tanh_denominator(simd<T> x) {
  const simd<T> cubic =
      fma<T>(mul<T>(x, x), T(-0.071354816272600248776), T(-1.5957691216057307118));
  return detail::one_plus_exp<T, detail::exponent::positive>(mul<T>(x, cubic));
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
