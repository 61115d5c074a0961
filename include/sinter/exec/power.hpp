// SPDX-License-Identifier: MIT
// x^y = e^(y log x) for registers, with a logarithm of more digits than the result has, since y
// multiplies what it is off by: of f32 in f64, of f64 in two parts. What is exact comes out exact.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include <sinter/exec/exponential.hpp>
#include <sinter/exec/float_format.hpp>
#include <sinter/exec/logarithm.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/widen.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// A number in two parts, of which the second is what the first one lacks. T is double here and
// below; templates, so that who raises nothing to a power compiles nothing of it.
template <Floating T>
struct two_part {
  simd<T> high, low;
};

// a + b for |a| >= |b| or a = 0, exactly (Dekker).
template <Floating T>
[[gnu::always_inline]] inline two_part<T> add_smaller(simd<T> a, simd<T> b) {
  const simd<T> sum = a + b;
  return {sum, (a - sum) + b};
}

// a b but for what is off by 2^-104 of it. Needs a fused multiply-add.
template <Floating T>
[[gnu::always_inline]] inline two_part<T> multiply_parts(two_part<T> a, two_part<T> b) {
  const simd<T> product = mul<T>(a.high, b.high);
  const simd<T> rest = fma<T>(a.high, b.high, negate<T>(product));
  return {product, fma<T>(a.high, b.low, fma<T>(a.low, b.high, rest))};
}

// log 2: products of the first part and of a number of 11 bits are exact.
inline constexpr double log2_high = 0x1.62e42fefa38p-1, log2_low = 0x1.ef35793c7673p-45;

// log x within 2^-65 of it, for positive finite x of which split_log gave the parts: 2 atanh(s), s
// = f/(2 + f), of which terms from s^5 on need no second part. (Chebyshev interpolation.)
template <Floating T>
[[gnu::always_inline]] inline two_part<T> log_in_parts(log_parts<T> x) {
  const two_part<T> divisor = add_smaller<T>(simd<T>(2.0), x.f);
  const simd<T> inverse = simd<T>(1.0) / divisor.high;
  const simd<T> quotient = mul<T>(x.f, inverse), negative = negate<T>(quotient);
  const simd<T> remainder = fma<T>(negative, divisor.low, fma<T>(negative, divisor.high, x.f));
  const two_part<T> s{quotient, mul<T>(remainder, inverse)};
  const two_part<T> square = multiply_parts<T>(s, s);
  const simd<T> z = square.high;
  const simd<T> series =
      polynomial_in_pairs<T>(z, mul<T>(z, z), 0.4, 0.28571428571428564, 0.2222222222222843,
                             0.18181818179656925, 0.15384615761170173, 0.13333296534432942,
                             0.11766813121034213, 0.10456327269484514, 0.107624244195648);
  two_part<T> slope = add_smaller<T>(simd<T>(0.6666666666666666), mul<T>(z, series));
  slope.low = slope.low + simd<T>(3.700743415417188e-17);
  const two_part<T> cubic = multiply_parts<T>(s, multiply_parts<T>(square, slope));
  const two_part<T> curve = add_smaller<T>(quotient + quotient, cubic.high);
  two_part<T> out = add_smaller<T>(mul<T>(x.exponent, log2_high), curve.high);
  const simd<T> of_curve = curve.low + fma<T>(s.low, 2.0, cubic.low);
  out.low = out.low + fma<T>(x.exponent, log2_low, of_curve);
  return out;
}

// e^w: of 1 + r, r = w - n log 2, all digits are kept, so that little but the last addition rounds.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exp_of_parts(two_part<T> w) {
  const simd<T> high = clamp<T>(w.high, T(-750), T(750));
  // Where that was outside, the second part may be anything.
  const simd<T> low = clamp<T>(w.low, T(-0.5), T(0.5));
  const simd<T> magic(float_format<T>::round_to_two_exponents);
  const simd<T> shifted = fma<T>(high, 1.44269504088896341, magic);
  const simd<T> n = shifted - magic;
  const simd<T> r = fma<T>(n, -log2_high, high);  // exact
  const simd<T> lack = fma<T>(n, -log2_low, low);
  const two_part<T> line = add_smaller<T>(simd<T>(1.0), r);
  const simd<T> square = mul<T>(r, r);
  const simd<T> curve = mul<T>(square, exp_tail<T>(r, square));
  const simd<T> rest = fma<T>(lack, line.high + curve, curve);
  return scale<T>(line.high + (line.low + rest), shifted);
}

// Powers by larger ones are those by this one: 0, 1 and infinity. (Of 1 + 2^-53 it is infinity.)
template <Floating T>
inline constexpr T most_exponent = sizeof(T) == 4 ? std::numeric_limits<T>::max() : T(0x1p64);

// x^y of a positive finite x, of which these are the parts, and of |y| <= most_exponent.
template <Floating T>
[[gnu::always_inline]] inline simd<T> power_of_parts(log_parts<T> x, simd<T> y) {
  const two_part<T> logarithm = log_in_parts<T>(x);
  const simd<T> product = mul<T>(y, logarithm.high);
  const simd<T> rest = fma<T>(y, logarithm.high, negate<T>(product));
  return exp_of_parts<T>({product, fma<T>(y, logarithm.low, rest)});
}
// The same for the x and y of f32, as T: by log2 x within 2^-37 and 2^(y log2 x) within 2^-28.
template <Floating T>
[[gnu::always_inline]] inline simd<T> power_of_floats(simd<T> x, simd<T> y) {
  const auto [exponent, f] = split_normal<T>(x, simd<T>(1023.0));
  const simd<T> s = f / (simd<T>(2.0) + f);
  const simd<T> z = mul<T>(s, s);
  const simd<T> slope =
      polynomial_in_pairs<T>(z, mul<T>(z, z), 2.885390081789993, 0.9617966734432283,
                             0.5770835677034892, 0.411673658400816, 0.34071413665191197);
  const simd<T> power = clamp<T>(mul<T>(y, fma<T>(s, slope, exponent)), T(-300), T(300));
  const simd<T> magic(float_format<T>::round_to_exponent);
  const simd<T> shifted = power + magic;
  const simd<T> r = power - (shifted - magic);
  const simd<T> near_one = polynomial_in_pairs<T>(
      r, mul<T>(r, r), 1.0, 0.6931472067028326, 0.24022650922288757, 0.05550327226670302,
      0.009618056678524637, 0.0013400428177615838, 0.0001546144469856913);
  return mul<T>(near_one, power_of_two<T>(shifted));
}

// x^y of positive finite x and |y| <= most_exponent, for T = float and double: of normal x, or of
// any.
template <Floating T, bool Normal>
[[gnu::always_inline]] inline simd<T> power_of_positive(simd<T> x, simd<T> y) {
  if constexpr (sizeof(T) == 4) {
    // All are normal in f64.
    const wide_registers<float> wide_x = widen(x), wide_y = widen(y);
    wide_registers<float> out;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = power_of_floats<double>(wide_x[i], wide_y[i]);
    return narrow(out);
  } else if constexpr (Normal) {
    return power_of_parts<T>(split_normal<T>(x, simd<T>(1023.0)), y);
  } else {
    return power_of_parts<T>(split_log<T>(x), y);
  }
}

// With the cases that IEEE 754 lists.
template <Floating T>
[[gnu::noinline]] simd<T> power_of_any(simd<T> x, simd<T> y) {
  const simd<T> zero(T(0)), one(T(1)), infinite(float_format<T>::infinity);
  constexpr T most = most_exponent<T>;
  const simd<T> size = xsimd::abs(x);
  const simd_mask<T> ordinary = (size > zero) & (size < infinite);
  simd<T> out =
      power_of_positive<T, false>(select<T>(ordinary, size, one), clamp<T>(y, -most, most));
  // Powers of 0 and of infinity: reciprocal where y is negative.
  const simd<T> kept = select<T>(size == zero, zero, infinite);
  const simd<T> inverted = select<T>(size == zero, infinite, zero);
  out = select<T>(ordinary, out, select<T>(y < zero, inverted, kept));
  const simd_mask<T> whole = xsimd::nearbyint(y) == y;
  const simd<T> half = mul<T>(y, T(0.5));
  out = select<T>(whole & !(xsimd::nearbyint(half) == half), flip_sign<T>(out, x), out);
  const simd<T> no_number(float_format<T>::not_a_number);
  out = select<T>((x < zero) & (size < infinite) & !whole, no_number, out);
  out = select<T>(are_numbers<T>(x, y), out, no_number);
  return select<T>((y == zero) | (x == one), one, out);
}

}  // namespace detail

/// x^y within 0.6 ULP (f64: 0.8; without a fused multiply-add as the C library has it), denormal
/// operands and results included, exact where the result is a number of T; special cases as in
/// IEEE 754: pow(x, 0) and pow(1, y) are 1, also of NaN; a negative x has powers of whole y alone.
template <Floating T>
[[gnu::always_inline]] inline simd<T> pow(simd<T> x, simd<T> y) {
  if constexpr (sizeof(T) == 8 && !has_fused_multiply_add) {
    return for_each_lane<T>([](T a, T b) { return std::pow(a, b); }, x, y);
  } else {
    const simd_mask<T> ordinary = (x >= simd<T>(detail::float_format<T>::smallest_normal)) &
                                  (x < simd<T>(detail::float_format<T>::infinity)) &
                                  (xsimd::abs(y) <= simd<T>(detail::most_exponent<T>));
    if (!xsimd::all(ordinary)) [[unlikely]]
      return detail::power_of_any<T>(x, y);
    return detail::power_of_positive<T, true>(x, y);
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
