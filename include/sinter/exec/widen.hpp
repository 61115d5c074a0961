// SPDX-License-Identifier: MIT
// Registers of f32 that go into accumulators of f64.
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

/// to[i] += x[i] for all lanes. A loop over single lanes makes a sum over rows take a third more
/// time.
[[gnu::always_inline]] inline void add_lanes(simd<float> x, double* to) {
  const wide_registers<float> wide = widen(x);
  for (std::size_t k = 0; k < wide.size(); ++k, to += lanes<double>)
    store<double>(to, load<double>(to) + wide[k]);
}

}  // namespace sinter::inline SINTER_ABI::exec
