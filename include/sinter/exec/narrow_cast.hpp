// SPDX-License-Identifier: MIT
// Casts between the 16-bit floats and f32, and to them from f64: the only kernels that know those
// types. With F16C eight f16 at a time; bf16 is a shift, which compilers vectorise.
#pragma once

#include <cstdint>

#include <sinter/exec/each_element.hpp>
#include <sinter/support/intrinsics.hpp>
#include <sinter/tensor/narrow_float.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

#if defined(__F16C__) && defined(__AVX__)
inline std::int64_t widen_whole_registers(std::int64_t n, const float16* x, float* out) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i))));
  return i;
}

inline std::int64_t narrow_whole_registers(std::int64_t n, const float* x, float16* out) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
#else
inline std::int64_t widen_whole_registers(std::int64_t, const float16*, float*) { return 0; }
inline std::int64_t narrow_whole_registers(std::int64_t, const float*, float16*) { return 0; }
#endif
inline std::int64_t widen_whole_registers(std::int64_t, const bfloat16*, float*) { return 0; }
inline std::int64_t narrow_whole_registers(std::int64_t, const float*, bfloat16*) { return 0; }
template <class To>
std::int64_t narrow_whole_registers(std::int64_t, const double*, To*) {
  return 0;
}

template <NarrowFloat From>
void widen_kernel(std::int64_t n, const void* const* operands, void* result) {
  const auto* x = static_cast<const From*>(operands[0]);
  auto* out = static_cast<float*>(result);
  const std::int64_t done = widen_whole_registers(n, x, out);
  for_each_element(n - done,
                   [=](std::int64_t i) { out[done + i] = static_cast<float>(x[done + i]); });
}

// From: float or double.
template <NarrowFloat To, class From>
void narrow_kernel(std::int64_t n, const void* const* operands, void* result) {
  const auto* x = static_cast<const From*>(operands[0]);
  auto* out = static_cast<To*>(result);
  const std::int64_t done = narrow_whole_registers(n, x, out);
  for_each_element(n - done, [=](std::int64_t i) { out[done + i] = To(x[done + i]); });
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
