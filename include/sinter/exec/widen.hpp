// SPDX-License-Identifier: MIT
// Registers of f32 as f64, and back.
#pragma once

#include <array>
#include <cstddef>

#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The lanes of a register of T as f64.
template <Floating T>
using wide_registers = std::array<simd<double>, static_cast<std::size_t>(lanes<T> / lanes<double>)>;

[[gnu::always_inline]] inline wide_registers<float> widen(simd<float> x) {
#if defined(__AVX512F__)
  return {simd<double>(_mm512_cvtps_pd(_mm512_castps512_ps256(x))),
          simd<double>(_mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_shuffle_f32x4(x, x, 0x4e))))};
#elif defined(__AVX__)
  return {simd<double>(_mm256_cvtps_pd(_mm256_castps256_ps128(x))),
          simd<double>(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)))};
#elif defined(__SSE2__)
  return {simd<double>(_mm_cvtps_pd(x)), simd<double>(_mm_cvtps_pd(_mm_movehl_ps(x, x)))};
#else
  float narrow[static_cast<std::size_t>(lanes<float>)];
  double wide[static_cast<std::size_t>(lanes<float>)];
  store<float>(narrow, x);
  for (int i = 0; i < lanes<float>; ++i) wide[i] = static_cast<double>(narrow[i]);
  return {load<double>(wide), load<double>(wide + lanes<double>)};
#endif
}
[[gnu::always_inline]] inline wide_registers<double> widen(simd<double> x) { return {x}; }

/// Rounded to f32.
[[gnu::always_inline]] inline simd<float> narrow(const wide_registers<float>& x) {
#if defined(__AVX512F__)
  const __m512d first = _mm512_castpd256_pd512(_mm256_castps_pd(_mm512_cvtpd_ps(x[0])));
  const __m256d second = _mm256_castps_pd(_mm512_cvtpd_ps(x[1]));
  return simd<float>(_mm512_castpd_ps(_mm512_insertf64x4(first, second, 1)));
#elif defined(__AVX__)
  return simd<float>(_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(x[0])),
                                          _mm256_cvtpd_ps(x[1]), 1));
#elif defined(__SSE2__)
  return simd<float>(_mm_movelh_ps(_mm_cvtpd_ps(x[0]), _mm_cvtpd_ps(x[1])));
#else
  double wide[static_cast<std::size_t>(lanes<float>)];
  float out[static_cast<std::size_t>(lanes<float>)];
  for (std::size_t k = 0; k < x.size(); ++k)
    store<double>(wide + k * static_cast<std::size_t>(lanes<double>), x[k]);
  for (int i = 0; i < lanes<float>; ++i) out[i] = static_cast<float>(wide[i]);
  return load<float>(out);
#endif
}

/// to[i] += x[i] for all lanes. A loop over single lanes makes a sum over rows take a third more
/// time.
[[gnu::always_inline]] inline void add_lanes(simd<float> x, double* to) {
  const wide_registers<float> wide = widen(x);
  for (std::size_t k = 0; k < wide.size(); ++k, to += lanes<double>)
    store<double>(to, load<double>(to) + wide[k]);
}

}  // namespace sinter::inline SINTER_ABI::exec
