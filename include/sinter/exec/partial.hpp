// SPDX-License-Identifier: MIT
// Registers of which memory holds only the first lanes: the ends of rows. A copy of variable length
// through a buffer costs a call, and the register that is then loaded waits for its stores; where
// the instruction set has masked moves it is one instruction. That of AVX takes AMD's processors a
// dozen cycles to store: there 4, 2 and 1 elements are stored, as many of these as it takes.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Does a part of a register take no longer than all of it?
#if defined(__AVX512F__)
inline constexpr bool has_masked_moves = true;
#else
inline constexpr bool has_masked_moves = false;
#endif

namespace detail {

// By value: GCC 12 keeps what std::clamp refers to in memory.
template <std::int64_t Lanes>
[[gnu::always_inline]] inline std::int64_t clamped(std::int64_t count) {
  return count < 0 ? 0 : count > Lanes ? Lanes : count;
}

// All bits of the first `count` lanes of a register of 8 floats or 4 doubles.
#if defined(__AVX__) && !defined(__AVX512F__)
template <Floating T>
[[gnu::always_inline]] inline __m256i first_lanes(std::int64_t count) {
  using word = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  alignas(64) static constexpr word ones_then_zeros[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ones_then_zeros + 8 - count));
}

// The first `count` lanes, fewer than there are.
[[gnu::always_inline]] inline void store_front(float* to, std::int64_t count, __m256 x) {
  __m128 part = _mm256_castps256_ps128(x);
  if ((count & 4) != 0) {
    _mm_storeu_ps(to, part);
    part = _mm256_extractf128_ps(x, 1);
    to += 4;
  }
  if ((count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), part);
    part = _mm_movehl_ps(part, part);
    to += 2;
  }
  if ((count & 1) != 0) _mm_store_ss(to, part);
}
[[gnu::always_inline]] inline void store_front(double* to, std::int64_t count, __m256d x) {
  __m128d part = _mm256_castpd256_pd128(x);
  if ((count & 2) != 0) {
    _mm_storeu_pd(to, part);
    part = _mm256_extractf128_pd(x, 1);
    to += 2;
  }
  if ((count & 1) != 0) _mm_store_sd(to, part);
}
#endif

}  // namespace detail

/// The first `count` elements of `from`, and `rest` in the lanes behind them. Reads nothing behind
/// from + count; a count outside of [0, lanes] is as good as the nearest one inside.
template <Floating T>
[[gnu::always_inline]] inline simd<T> load_part(const T* from, std::int64_t count, T rest) {
  count = detail::clamped<lanes<T>>(count);
#if defined(__AVX512F__)
  const auto mask = (1u << count) - 1;
  if constexpr (sizeof(T) == 4)
    return simd<T>(_mm512_mask_loadu_ps(_mm512_set1_ps(rest), static_cast<__mmask16>(mask), from));
  else
    return simd<T>(_mm512_mask_loadu_pd(_mm512_set1_pd(rest), static_cast<__mmask8>(mask), from));
#elif defined(__AVX__)
  if (count == lanes<T>) return load<T>(from);
  const __m256i mask = detail::first_lanes<T>(count);
  if constexpr (sizeof(T) == 4)
    return simd<T>(_mm256_blendv_ps(_mm256_set1_ps(rest), _mm256_maskload_ps(from, mask),
                                    _mm256_castsi256_ps(mask)));
  else
    return simd<T>(_mm256_blendv_pd(_mm256_set1_pd(rest), _mm256_maskload_pd(from, mask),
                                    _mm256_castsi256_pd(mask)));
#else
  if (count == lanes<T>) return load<T>(from);
  alignas(64) T part[static_cast<std::size_t>(lanes<T>)];
  store<T>(part, simd<T>(rest));
  std::memcpy(part, from, static_cast<std::size_t>(count) * sizeof(T));
  return load<T>(part);
#endif
}

/// The first `count` lanes of x, and `rest` in those behind them; counts as for load_part.
template <Floating T>
[[gnu::always_inline]] inline simd<T> keep_part(simd<T> x, std::int64_t count, T rest) {
  count = detail::clamped<lanes<T>>(count);
#if defined(__AVX512F__)
  const auto mask = (1u << count) - 1;
  if constexpr (sizeof(T) == 4)
    return simd<T>(_mm512_mask_mov_ps(_mm512_set1_ps(rest), static_cast<__mmask16>(mask), x.data));
  else
    return simd<T>(_mm512_mask_mov_pd(_mm512_set1_pd(rest), static_cast<__mmask8>(mask), x.data));
#elif defined(__AVX__)
  const __m256i mask = detail::first_lanes<T>(count);
  if constexpr (sizeof(T) == 4)
    return simd<T>(_mm256_blendv_ps(_mm256_set1_ps(rest), x.data, _mm256_castsi256_ps(mask)));
  else
    return simd<T>(_mm256_blendv_pd(_mm256_set1_pd(rest), x.data, _mm256_castsi256_pd(mask)));
#else
  alignas(64) T part[static_cast<std::size_t>(lanes<T>)];
  store<T>(part, x);
  return load_part<T>(part, count, rest);
#endif
}

/// Writes the first `count` lanes and nothing behind them; counts as for load_part.
template <Floating T>
[[gnu::always_inline]] inline void store_part(T* to, std::int64_t count, simd<T> x) {
  count = detail::clamped<lanes<T>>(count);
#if defined(__AVX512F__)
  const auto mask = (1u << count) - 1;
  if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), x.data);
  else
    _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask), x.data);
#elif defined(__AVX__)
  if (count == lanes<T>) return store<T>(to, x);
  detail::store_front(to, count, x.data);
#else
  alignas(64) T part[static_cast<std::size_t>(lanes<T>)];
  store<T>(part, x);
  std::memcpy(to, part, static_cast<std::size_t>(count) * sizeof(T));
#endif
}

}  // namespace sinter::inline SINTER_ABI::exec
