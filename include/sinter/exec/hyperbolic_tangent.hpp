// SPDX-License-Identifier: MIT
// tanh. With AVX-512 that of f32 is looked up in a table that the compiler computes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/exponential.hpp>

namespace sinter::inline SINTER_ABI::exec {

#if defined(__AVX512F__)
namespace detail {

// Polynomials that interpolate tanh on quarters of octaves, [degree][segment]: what two registers
// of AVX-512 hold of each. The segment of x, modulo 32, is the exponent of x and two bits more.
// Degree 4 is off by 5 ULP.
struct tanh_segments {
  static constexpr std::size_t degree = 5;
  static constexpr std::uint32_t first_exponent = 127 - 4, last_exponent = 127 + 3;
  static constexpr float first = 0x1p-4f;
  // Below that x is looked up as if it were this, whose place the last segment does not need: from
  // 9.02 on tanh is 1.
  static constexpr float below_first = 0x1.cp-5f;
  static constexpr int fraction_bits = 21;
  alignas(64) std::array<std::array<float, 32>, degree + 1> coefficient{};
};

constexpr tanh_segments expand_tanh() {
  constexpr std::size_t points = tanh_segments::degree + 1;
  // cos(pi (2i + 1) / 12), the points of Chebyshev.
  constexpr std::array<double, points> chebyshev{0.96592582628906829,  0.70710678118654752,
                                                 0.25881904510252076,  -0.25881904510252076,
                                                 -0.70710678118654752, -0.96592582628906829};
  const auto tanh = [](double x) {
    double power = 1, exponential = 1;
    for (int i = 1; i < 80; ++i) exponential += power *= 2 * x / i;
    return 1 - 2 / (exponential + 1);
  };
  tanh_segments out;
  double octave = 0x1p-4;
  for (std::uint32_t e = tanh_segments::first_exponent; e <= tanh_segments::last_exponent; ++e) {
    for (std::uint32_t quarter = 0; quarter < 4; ++quarter) {
      const double half = octave / 8, center = octave + half * (2 * quarter + 1);
      // Divided differences of Newton, then the coefficients of powers of x - center.
      std::array<double, points> difference{}, c{};
      for (std::size_t i = 0; i < points; ++i) difference[i] = tanh(center + half * chebyshev[i]);
      for (std::size_t order = 1; order < points; ++order)
        for (std::size_t i = points; i-- > order;)
          difference[i] =
              (difference[i] - difference[i - 1]) / (half * (chebyshev[i] - chebyshev[i - order]));
      for (std::size_t i = points; i-- > 0;) {
        for (std::size_t k = points; k-- > 1;) c[k] = c[k - 1] - half * chebyshev[i] * c[k];
        c[0] = difference[i] - half * chebyshev[i] * c[0];
      }
      for (std::size_t k = 0; k < points; ++k)
        out.coefficient[k][(4 * e + quarter) % 32] = static_cast<float>(c[k]);
    }
    octave *= 2;
  }
  // tanh(9) is as near to 1 as to the float below it, and what follows has to be 1.
  out.coefficient[0][4 * tanh_segments::last_exponent % 32] = 1;
  // Around zero: Taylor's series.
  constexpr std::array<double, points> near_zero{0, 1, 0, -1.0 / 3, 0, 2.0 / 15};
  for (std::size_t k = 0; k < points; ++k)
    out.coefficient[k][(4 * tanh_segments::last_exponent + 3) % 32] =
        static_cast<float>(near_zero[k]);
  return out;
}

// tanh of |x| in 18 instructions, none of them a division: 1.41 ULP.
[[gnu::always_inline]] inline simd<float> tanh_of_size(simd<float> size) {
  static constexpr tanh_segments table = expand_tanh();
  size = min_or_second<float>(simd<float>(9.02f), size);
  const __m512i segment = _mm512_srli_epi32(
      _mm512_castps_si512(max_or_second<float>(simd<float>(tanh_segments::below_first), size)),
      tanh_segments::fraction_bits);
  // The middle of the segment: the bits that chose it, then a one (the ternary function is a & b |
  // c).
  const __m512i middle = _mm512_maskz_ternarylogic_epi32(
      _mm512_cmp_ps_mask(size, simd<float>(tanh_segments::first), _CMP_GE_OQ),
      _mm512_castps_si512(size), _mm512_set1_epi32(-(1 << tanh_segments::fraction_bits)),
      _mm512_set1_epi32(1 << (tanh_segments::fraction_bits - 1)), 0xEA);
  const simd<float> d = size - simd<float>(_mm512_castsi512_ps(middle));
  const auto coefficient = [&](std::size_t i) {
    const float* from = table.coefficient[i].data();
    return simd<float>(
        _mm512_permutex2var_ps(_mm512_load_ps(from), segment, _mm512_load_ps(from + 16)));
  };
  simd<float> value = coefficient(tanh_segments::degree);
  for (std::size_t i = tanh_segments::degree; i-- > 0;)
    value = fma<float>(value, d, coefficient(i));
  return value;
}

}  // namespace detail
#endif

namespace detail {

// (e^2x - 1) / (e^2x + 1), and near zero x + x^3 P(x^2), off by 6e-9 (f64: 7e-18) before rounding:
// for machines without fused multiply-add, where the shorter form of tanh loses 2.5 ULP.
template <Floating T>
[[gnu::always_inline]] inline simd<T> tanh_unfused(simd<T> x) {
  const simd<T> one(T(1));
  const simd<T> size = xsimd::abs(x);
  const simd<T> square = mul<T>(x, x);
  const simd<T> denominator = exp<T>(size + size) + one;
  if constexpr (sizeof(T) == 4) {
    const simd_mask<T> is_small = size < simd<T>(T(0.55));
    const simd<T> correction = polynomial<T>(square, -0.333333313, 0.133331135, -0.0539094284,
                                             0.0213093888, -0.00661022775);
    const simd<T> near_zero = fma<T>(mul<T>(size, square), correction, size);
    return flip_sign<T>(select<T>(is_small, near_zero, one - simd<T>(T(2)) / denominator), x);
  } else {
    // x + x^3 P(x^2)/Q(x^2) near zero; the two cases share the division.
    const simd_mask<T> is_small = size < simd<T>(T(0.625));
    const simd<T> p =
        polynomial<T>(square, -0.33333333333333331, -0.020498914346368503, -0.00019918312063788864);
    const simd<T> q =
        polynomial<T>(square, 1, 0.46149674303910226, 0.023291484672892934, 0.0002065391749105785);
    const simd<T> quotient = select<T>(is_small, mul<T>(mul<T>(size, square), p), simd<T>(T(-2))) /
                             select<T>(is_small, q, denominator);
    return flip_sign<T>(select<T>(is_small, size, one) + quotient, x);
  }
}

// e / (2 - e) with e = 1 - e^(-2|x|), which loses nothing near zero.
template <Floating T>
[[gnu::always_inline]] inline simd<T> tanh_fused(simd<T> x) {
  using format = float_format<T>;
  // From here on tanh is 1.
  const simd<T> limit(sizeof(T) == 4 ? T(9.02) : T(19.1));
  const simd<T> argument = mul<T>(min_or_second<T>(limit, xsimd::abs(x)), T(-2));
  const simd<T> magic(format::round_to_minus_power);
  const simd<T> shifted = fma<T>(argument, T(1.44269504088896341), magic);
  const simd<T> minus_power = power_of_two<T>(shifted);
  // One step of reduction: its error, n times what the constant lacks of log 2, meets e^(-2|x|),
  // which is small where n is large.
  const simd<T> r = fma<T>(shifted - magic, T(-0.693147180559945309), argument);
  const simd<T> e = fma<T>(minus_power, expm1_near_zero<T>(r), simd<T>(T(1)) + minus_power);
  // The quotient is off by 2.5 ULP; e/2 (1 + quotient) is the same and sees half of that.
  const simd<T> half = mul<T>(e, T(0.5));
  return flip_sign<T>(fma<T>(half, e / (simd<T>(T(2)) - e), half), x);
}

}  // namespace detail

/// Within 2 ULP for all x (f32 with AVX-512: 1.5; f64: 2.1), never outside of [-1, 1].
template <Floating T>
[[gnu::always_inline]] inline simd<T> tanh(simd<T> x) {
  if constexpr (!has_fused_multiply_add) {
    return detail::tanh_unfused<T>(x);
  } else {
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 4) return flip_sign<T>(detail::tanh_of_size(xsimd::abs(x)), x);
#endif
    return detail::tanh_fused<T>(x);
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
