// SPDX-License-Identifier: MIT
// One value out of the lanes of a register.
#pragma once

#include <algorithm>
#include <cstddef>

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

// The first Distance lanes, or with Back the second, of each group of twice as many: those of a and
// then those of b, or both in turns within parts of 128 bits. Of shuffles that take four things:
template <bool Pairs, bool Back>
inline constexpr int half_of_four = Pairs ? (Back ? 0xee : 0x44) : (Back ? 0xdd : 0x88);
#if defined(__AVX512F__)
template <int Distance, bool Back>
[[gnu::always_inline]] inline __m512 half_of_each(__m512 a, __m512 b) {
  if constexpr (Distance >= 4)
    return _mm512_shuffle_f32x4(a, b, (half_of_four<Distance == 8, Back>));
  else
    return _mm512_shuffle_ps(a, b, (half_of_four<Distance == 2, Back>));
}
template <int Distance, bool Back>
[[gnu::always_inline]] inline __m512d half_of_each(__m512d a, __m512d b) {
  if constexpr (Distance >= 2)
    return _mm512_shuffle_f64x2(a, b, (half_of_four<Distance == 4, Back>));
  else
    return _mm512_shuffle_pd(a, b, Back ? 0xff : 0);
}
#endif
#if defined(__AVX__)
template <int Distance, bool Back>
[[gnu::always_inline]] inline __m256 half_of_each(__m256 a, __m256 b) {
  if constexpr (Distance == 4)
    return _mm256_permute2f128_ps(a, b, Back ? 0x31 : 0x20);
  else
    return _mm256_shuffle_ps(a, b, (half_of_four<Distance == 2, Back>));
}
template <int Distance, bool Back>
[[gnu::always_inline]] inline __m256d half_of_each(__m256d a, __m256d b) {
  if constexpr (Distance == 2)
    return _mm256_permute2f128_pd(a, b, Back ? 0x31 : 0x20);
  else
    return _mm256_shuffle_pd(a, b, Back ? 0xf : 0);
}
#endif
#if defined(__x86_64__) || defined(__i386__)
template <int Distance, bool Back>
[[gnu::always_inline]] inline __m128 half_of_each(__m128 a, __m128 b) {
  return _mm_shuffle_ps(a, b, (half_of_four<Distance == 2, Back>));
}
template <int Distance, bool Back>
[[gnu::always_inline]] inline __m128d half_of_each(__m128d a, __m128d b) {
  return _mm_shuffle_pd(a, b, Back ? 3 : 0);
}

// The first lanes / Distance registers of x as one that has Distance lanes of each, combined in the
// order of reduce_width.
template <int Distance, Floating T, class F>
[[gnu::always_inline]] inline simd<T> reduce_registers_of(const simd<T>* x, F f) {
  if constexpr (Distance == lanes<T>) {
    return *x;
  } else {
    const simd<T> a = reduce_registers_of<2 * Distance, T>(x, f);
    const simd<T> b = reduce_registers_of<2 * Distance, T>(x + lanes<T> / (2 * Distance), f);
    return f(simd<T>(half_of_each<Distance, false>(a.data, b.data)),
             simd<T>(half_of_each<Distance, true>(a.data, b.data)));
  }
}
#endif

}  // namespace detail

/// Which of the registers that reduce_each takes becomes lane i of the result: parts of 128 bits
/// are filled in turns.
template <Floating T>
constexpr int place_of_lane(int i) {
  constexpr int of_part = std::min(lanes<T>, 16 / static_cast<int>(sizeof(T))),
                parts = lanes<T> / of_part;
  return i % of_part * parts + i / of_part;
}

/// Combines the lanes of each of as many registers as one has lanes, in the order of reduce_lanes:
/// lane i of the result is of register place_of_lane(i). 30 shuffles for 16 registers of 16 floats
/// instead of 64.
template <Floating T, class F>
[[gnu::always_inline]] inline simd<T> reduce_each(const simd<T>* x, F f) {
#if defined(__x86_64__) || defined(__i386__)
  return detail::reduce_registers_of<1, T>(x, f);
#else
  T all[static_cast<std::size_t>(lanes<T>)];
  for (int i = 0; i < lanes<T>; ++i)
    all[i] = detail::reduce_width<lanes<T>, T>(x[place_of_lane<T>(i)], f).get(0);
  return load<T>(all);
#endif
}

/// Combines the lanes of x with f, a function of two registers, in a fixed order: halves, quarters,
/// ... In registers it takes 4 shuffles for 16 floats, through memory 15 times f.
template <Floating T, class F>
[[gnu::always_inline]] inline T reduce_lanes(simd<T> x, F f) {
  return detail::reduce_width<lanes<T>, T>(x, f).get(0);
}

}  // namespace sinter::inline SINTER_ABI::exec
