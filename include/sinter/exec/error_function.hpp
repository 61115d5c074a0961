// SPDX-License-Identifier: MIT
// erf and gelu. With AVX-512 erf of f32 is looked up in a table that the compiler computes. The
// other approximations are least-squares fits, reweighted towards equal ripple (Lawson), of
// erf(x)/x in x^2 near zero and beyond of the fourth root of erfc(x) (f32) or of erfc(x) e^(x^2)
// (f64).
#pragma once

#include <array>
#include <cstddef>

#include <sinter/exec/exponential.hpp>

namespace sinter::inline SINTER_ABI::exec {

#if defined(__AVX512F__)
namespace detail {

// Taylor coefficients of erf around 32 centers, [degree][center]: what two registers of AVX-512
// hold of each. The last center is where erf is 1 in f32.
struct erf_expansion {
  static constexpr float step = 0x1.0ap-3f;  // its products with center numbers are exact
  static constexpr std::size_t degree = 5;
  alignas(64) std::array<std::array<float, 32>, degree + 1> coefficient{};
};

constexpr erf_expansion expand_erf() {
  erf_expansion out;
  for (std::size_t k = 0; k < 32; ++k) {
    const double center = static_cast<double>(k) * static_cast<double>(erf_expansion::step);
    const double square = center * center;
    double power = 1, exponential = 1, odd = center, series = center;
    for (int i = 1; i < 100; ++i) {
      exponential += power *= square / i;         // e^(c^2)
      series += odd *= 2 * square / (2 * i + 1);  // c + 2 c^3 / 3 + 4 c^5 / 15 + ...
    }
    // The derivative 2/sqrt(pi) e^(-x^2) and its Taylor coefficients, from g' = -2 x g.
    double before = 0, g = 1.1283791670955126 / exponential;
    out.coefficient[0][k] = static_cast<float>(g * series);
    for (std::size_t i = 1; i <= erf_expansion::degree; ++i) {
      out.coefficient[i][k] = static_cast<float>(g / static_cast<double>(i));
      const double next = -2 * (center * g + before) / static_cast<double>(i);
      before = g;
      g = next;
    }
  }
  return out;
}

// erf of |x|: Taylor's series around the nearest center, 17 instructions. What other machines run
// takes 22.
[[gnu::always_inline]] inline simd<float> erf_of_size(simd<float> size) {
  static constexpr erf_expansion table = expand_erf();
  size = min_or_second<float>(simd<float>(4.0f), size);
  const simd<float> magic(float_format<float>::round_to_integer);
  const simd<float> shifted = fma<float>(size, 1 / erf_expansion::step, magic);
  const simd<float> d = fma<float>(shifted - magic, -erf_expansion::step, size);
  const auto coefficient = [&](std::size_t i) {
    const float* from = table.coefficient[i].data();
    return simd<float>(_mm512_permutex2var_ps(_mm512_load_ps(from), _mm512_castps_si512(shifted),
                                              _mm512_load_ps(from + 16)));
  };
  simd<float> value = coefficient(erf_expansion::degree);
  for (std::size_t i = erf_expansion::degree; i-- > 0;)
    value = fma<float>(value, d, coefficient(i));
  return value;
}

}  // namespace detail
#endif

/// The error function within 2.5 ULP for all x (f64: 1.5, without fused multiply-add 2.3); never
/// outside of [-1, 1].
template <Floating T>
[[gnu::always_inline]] inline simd<T> erf(simd<T> x) {
  if constexpr (sizeof(T) == 4) {
#if defined(__AVX512F__)
    return flip_sign<T>(detail::erf_of_size(xsimd::abs(x)), x);
#else
    // From 3.95 on erf is 1 in f32. Beyond 1 it is 1 - p^4: a rational function for all x loses up
    // to 5 ULP near 1, 1 - 2^p takes eight instructions more, and 1 - p^8 loses 2.5 ULP.
    const simd<T> size = min_or_second<T>(simd<T>(T(3.95)), xsimd::abs(x));
    const simd<T> z = mul<T>(size, size);
    const simd<T> slope =
        polynomial_in_pairs<T>(size, z, -0.303962409, -0.0714104623, -0.0433306843, 0.062390469,
                               -0.0210803803, 0.00304936478, -0.000167040736);
    // The first coefficient last and alone, since it is most of the rounding.
    const simd<T> p = fma<T>(size, slope, T(1.00428069));
    const simd<T> square = mul<T>(p, p);
    const simd<T> beyond = negative_fma<T>(square, square, simd<T>(T(-1)));
    // Nothing but the choice waits for this: by Horner's rule, which takes a product less.
    const simd<T> near_zero = fma<T>(x,
                                     polynomial<T>(z, 0.128379136, -0.376123965, 0.112807892,
                                                   -0.0267294962, 0.00493921526, -0.000572039804),
                                     x);
    return select<T>(size < simd<T>(T(1)), near_zero, flip_sign<T>(beyond, x));
#endif
  } else {
    const simd<T> size = min_or_second<T>(simd<T>(T(6)), xsimd::abs(x));
    const simd<T> z = mul<T>(size, size);
    const simd_mask<T> is_small = size < simd<T>(T(1));
    // x (2/sqrt(pi) + x^2 P/Q) below 1, 1 - e^(-x^2) P/Q above; the two cases share the division.
    const simd<T> p_small =
        polynomial<T>(z, -0.37612638903183765, -0.060355488031280456, -0.010185506572711433,
                      -0.0005840937581171777, -2.3384455824353691e-05);
    const simd<T> q_small =
        polynomial<T>(z, 1, 0.46046597577650572, 0.09379123182639014, 0.010688750444833046,
                      0.00069205672176912778, 2.0790126603816819e-05);
    const simd<T> p_large = polynomial<T>(
        size, 0.99999999221122271, 1.8455565842277208, 1.6796584445222158, 0.94656196998523712,
        0.35335531745160415, 0.087410677007627099, 0.013396341741359024, 0.0010096902549200544);
    const simd<T> q_large = polynomial<T>(
        size, 1, 2.9739356664049783, 4.0353859404845309, 3.2783230026958923, 1.7543158144726043,
        0.63817762163139091, 0.15582623642319465, 0.023744396465725955, 0.00178962939735718);
    const simd<T> quotient = select<T>(is_small, mul<T>(mul<T>(size, z), p_small),
                                       mul<T>(detail::exp_of_negative<T>(z), p_large)) /
                             select<T>(is_small, q_small, q_large);
    const simd<T> near_zero = fma<T>(size, T(1.1283791670955125739), quotient);
    return flip_sign<T>(select<T>(is_small, near_zero, simd<T>(T(1)) - quotient), x);
  }
}

/// x/2 (1 + erf(x / sqrt 2)), the Gaussian error linear unit (Hendrycks and Gimpel, 2016), within 3
/// ULP for x >= -1. As the formula has it, the relative error grows below, where the sum cancels,
/// and gelu(-inf) is NaN; the absolute error stays below 2 epsilon |x| for all x.
template <Floating T>
[[gnu::always_inline]] inline simd<T> gelu(simd<T> x) {
  return mul<T>(mul<T>(x, T(0.5)), simd<T>(T(1)) + erf<T>(mul<T>(x, T(0.707106781186547524))));
}

}  // namespace sinter::inline SINTER_ABI::exec
