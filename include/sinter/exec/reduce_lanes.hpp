// SPDX-License-Identifier: MIT
// One value out of the lanes of a register.
#pragma once

#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Lanes [distance, 2 distance) of a register come to the front; what the others become does not
// matter.
#if defined(__AVX512F__)
template <int Distance>
[[gnu::always_inline]] inline __m512 to_front(__m512 x) {
  constexpr int order = Distance == 8 || Distance == 2 ? 0x4e : 0xb1;  // of parts of 4, or of lanes
  if constexpr (Distance >= 4)
    return _mm512_shuffle_f32x4(x, x, order);
  else
    return _mm512_shuffle_ps(x, x, order);
}
template <int Distance>
[[gnu::always_inline]] inline __m512d to_front(__m512d x) {
  if constexpr (Distance >= 2)
    return _mm512_shuffle_f64x2(x, x, Distance == 4 ? 0x4e : 0xb1);
  else
    return _mm512_shuffle_pd(x, x, 0x55);
}
#endif
#if defined(__AVX__)
template <int Distance>
[[gnu::always_inline]] inline __m256 to_front(__m256 x) {
  if constexpr (Distance == 4)
    return _mm256_permute2f128_ps(x, x, 1);
  else
    return _mm256_shuffle_ps(x, x, Distance == 2 ? 0x4e : 0xb1);
}
template <int Distance>
[[gnu::always_inline]] inline __m256d to_front(__m256d x) {
  if constexpr (Distance == 2)
    return _mm256_permute2f128_pd(x, x, 1);
  else
    return _mm256_shuffle_pd(x, x, 0x5);
}
#endif
#if defined(__x86_64__) || defined(__i386__)
template <int Distance>
[[gnu::always_inline]] inline __m128 to_front(__m128 x) {
  return _mm_shuffle_ps(x, x, Distance == 2 ? 0x4e : 0xb1);
}
template <int Distance>
[[gnu::always_inline]] inline __m128d to_front(__m128d x) {
  return _mm_shuffle_pd(x, x, 1);
}
#endif

template <int Distance, Floating T>
[[gnu::always_inline]] inline simd<T> lanes_to_front(simd<T> x) {
#if defined(__x86_64__) || defined(__i386__)
  return simd<T>(to_front<Distance>(x.data));
#else
  T lane[2 * static_cast<std::size_t>(lanes<T>)] = {};
  store<T>(lane, x);
  return load<T>(lane + Distance);
#endif
}

template <int Width, Floating T, class F>
[[gnu::always_inline]] inline simd<T> reduce_width(simd<T> x, F f) {
  if constexpr (Width == 1)
    return x;
  else
    return reduce_width<Width / 2, T>(f(x, lanes_to_front<Width / 2, T>(x)), f);
}

}  // namespace detail

/// Combines the lanes of x with f, a function of two registers, in a fixed order: halves, quarters,
/// ... In registers it takes 4 shuffles for 16 floats, through memory 15 times f.
template <Floating T, class F>
[[gnu::always_inline]] inline T reduce_lanes(simd<T> x, F f) {
  return detail::reduce_width<lanes<T>, T>(x, f).get(0);
}

}  // namespace sinter::inline SINTER_ABI::exec
