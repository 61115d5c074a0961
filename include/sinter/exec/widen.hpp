// SPDX-License-Identifier: MIT
// A register of f32 that goes into accumulators of f64.
#pragma once

#include <cstddef>

#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// to[i] += x[i] for all lanes. A loop over single lanes makes a sum over rows take a third more
/// time.
[[gnu::always_inline]] inline void add_lanes(simd<float> x, double* to) {
#if defined(__x86_64__) || defined(__i386__)
#if defined(__AVX512F__)
  const simd<double> front(_mm512_cvtps_pd(_mm512_castps512_ps256(x)));
  const simd<double> back(
      _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_shuffle_f32x4(x, x, 0x4e))));
#elif defined(__AVX__)
  const simd<double> front(_mm256_cvtps_pd(_mm256_castps256_ps128(x)));
  const simd<double> back(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
#else
  const simd<double> front(_mm_cvtps_pd(x));
  const simd<double> back(_mm_cvtps_pd(_mm_movehl_ps(x, x)));
#endif
  store<double>(to, load<double>(to) + front);
  store<double>(to + lanes<double>, load<double>(to + lanes<double>) + back);
#else
  float lane[static_cast<std::size_t>(lanes<float>)];
  store<float>(lane, x);
  for (int i = 0; i < lanes<float>; ++i) to[i] += static_cast<double>(lane[i]);
#endif
}

}  // namespace sinter::inline SINTER_ABI::exec
