// SPDX-License-Identifier: MIT
// The one place that includes xsimd. `simd<T>` is a register of T (float or double) of the
// instruction set the program is compiled for; the functions here are the ones the kernels are
// written in, and they mean the same for xsimd 8.1 (Debian 12) to 14 and for every instruction set.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// The order matters: see intrinsics.hpp.
// clang-format off
#include <sinter/support/intrinsics.hpp>
#include <xsimd/xsimd.hpp>
// clang-format on

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::exec {

template <class T>
concept Floating = std::same_as<T, float> || std::same_as<T, double>;

/// One register of T, of its truth values, and of unsigned integers as wide as T.
template <Floating T>
using simd = xsimd::batch<T>;
template <Floating T>
using simd_mask = xsimd::batch_bool<T>;
template <Floating T>
using simd_bits = xsimd::batch<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

template <Floating T>
inline constexpr int lanes = static_cast<int>(simd<T>::size);

#if defined(__FMA__) || defined(__AVX512F__) || defined(__aarch64__)
inline constexpr bool has_fused_multiply_add = true;
#else
inline constexpr bool has_fused_multiply_add = false;
#endif

/// Registers of the instruction set.
#if defined(__AVX512F__) || defined(__aarch64__)
inline constexpr int register_count = 32;
#else
inline constexpr int register_count = 16;
#endif

/// What the kernels were compiled for, as xsimd names it ("avx512bw", "fma3+avx2", "sse2", ...).
inline const char* instruction_set_name() { return xsimd::default_arch::name(); }

namespace detail {

// Overloads by register type choose the instruction.
#if defined(__SSE2__)
inline void stream_register(float* to, __m128 x) { _mm_stream_ps(to, x); }
inline void stream_register(double* to, __m128d x) { _mm_stream_pd(to, x); }
#endif
#if defined(__AVX__)
inline void stream_register(float* to, __m256 x) { _mm256_stream_ps(to, x); }
inline void stream_register(double* to, __m256d x) { _mm256_stream_pd(to, x); }
#endif
#if defined(__AVX512F__)
inline void stream_register(float* to, __m512 x) { _mm512_stream_ps(to, x); }
inline void stream_register(double* to, __m512d x) { _mm512_stream_pd(to, x); }
#endif

}  // namespace detail

template <Floating T>
[[gnu::always_inline]] inline simd<T> load(const T* from) {
  return simd<T>::load_unaligned(from);
}
template <Floating T>
[[gnu::always_inline]] inline void store(T* to, simd<T> x) {
  x.store_unaligned(to);
}

/// Writes past the caches: the line is neither read before nor kept. `to` is aligned to the
/// register. Other threads see it after store_fence (store_fence.hpp). xsimd 8 has no such store.
template <Floating T>
[[gnu::always_inline]] inline void store_streaming(T* to, simd<T> x) {
#if defined(__SSE2__)
  detail::stream_register(to, x.data);
#else
  store<T>(to, x);
#endif
}

namespace detail {

#if defined(__SSE2__) && !defined(__AVX512F__)
// The truth values of a register as bytes, 0 and 1, of which the first lanes count. Saturation
// keeps -1 and 0 while they are packed into half their bits.
[[gnu::always_inline]] inline __m128i packed_truths(__m128i low, __m128i high, bool wide) {
  __m128i words = _mm_packs_epi32(low, high);
  if (wide) words = _mm_packs_epi32(words, words);
  return _mm_and_si128(_mm_packs_epi16(words, words), _mm_set1_epi8(1));
}
#if defined(__AVX__)
[[gnu::always_inline]] inline __m128i truth_bytes(__m256 x) {
  return packed_truths(_mm_castps_si128(_mm256_castps256_ps128(x)),
                       _mm_castps_si128(_mm256_extractf128_ps(x, 1)), false);
}
[[gnu::always_inline]] inline __m128i truth_bytes(__m256d x) {
  return packed_truths(_mm_castpd_si128(_mm256_castpd256_pd128(x)),
                       _mm_castpd_si128(_mm256_extractf128_pd(x, 1)), true);
}
#else
[[gnu::always_inline]] inline __m128i truth_bytes(__m128 x) {
  return packed_truths(_mm_castps_si128(x), _mm_castps_si128(x), false);
}
[[gnu::always_inline]] inline __m128i truth_bytes(__m128d x) {
  return packed_truths(_mm_castpd_si128(x), _mm_castpd_si128(x), true);
}
#endif
#endif

}  // namespace detail

/// Writes one byte, 0 or 1, per lane. (Through an array of T a comparison takes 2 times as long
/// with AVX2, 7 times with AVX-512.)
template <Floating T>
[[gnu::always_inline]] inline void store(bool* to, simd_mask<T> x) {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const __m128i bytes = _mm_maskz_set1_epi8(x.data, 1);
  std::memcpy(to, &bytes, static_cast<std::size_t>(lanes<T>));
#elif defined(__SSE2__) && !defined(__AVX512F__)
  const __m128i bytes = detail::truth_bytes(x.data);
  std::memcpy(to, &bytes, static_cast<std::size_t>(lanes<T>));
#else
  alignas(64) T lane[static_cast<std::size_t>(lanes<T>)];
  xsimd::select(x, simd<T>(T(1)), simd<T>(T(0))).store_aligned(lane);
  for (int i = 0; i < lanes<T>; ++i) to[i] = lane[i] != T(0);
#endif
}

template <Floating T>
[[gnu::always_inline]] inline simd<T> select(simd_mask<T> condition, simd<T> yes, simd<T> no) {
  return xsimd::select(condition, yes, no);
}

/// Hides where x came from, at no cost in instructions. GCC contracts a product and a later sum to
/// a fused multiply-add, also across intrinsics, where it sees both; whether it does then depends
/// on what the product is inlined into. With every product hidden, a chain of micro-ops and the
/// fused kernel give the same bits.
template <Floating T>
[[gnu::always_inline]] inline simd<T> keep(simd<T> x) {
  if constexpr (has_fused_multiply_add) {
#if defined(__AVX512F__)
    asm("" : "+v"(x.data));
#elif defined(__x86_64__) || defined(__i386__)
    asm("" : "+x"(x.data));
#elif defined(__aarch64__)
    asm("" : "+w"(x.data));
#endif
  }
  return x;
}

/// The product, rounded by itself. Kernels use this instead of operator*.
template <Floating T>
[[gnu::always_inline]] inline simd<T> mul(simd<T> a, simd<T> b) {
  return keep<T>(a * b);
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> mul(simd<T> a, T b) {
  return keep<T>(a * simd<T>(b));
}

namespace detail {

// xsimd 8 has no fused multiply-add for AVX-512, and which of its architectures have one differs
// between versions. Overloads by register type choose the instruction.
#if defined(__FMA__) || defined(__AVX512F__)
inline __m128 fused(__m128 a, __m128 b, __m128 c) { return _mm_fmadd_ps(a, b, c); }
inline __m128d fused(__m128d a, __m128d b, __m128d c) { return _mm_fmadd_pd(a, b, c); }
inline __m256 fused(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
inline __m256d fused(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
inline __m128 fused_below(__m128 a, __m128 b, __m128 c) { return _mm_fnmsub_ps(a, b, c); }
inline __m128d fused_below(__m128d a, __m128d b, __m128d c) { return _mm_fnmsub_pd(a, b, c); }
inline __m256 fused_below(__m256 a, __m256 b, __m256 c) { return _mm256_fnmsub_ps(a, b, c); }
inline __m256d fused_below(__m256d a, __m256d b, __m256d c) { return _mm256_fnmsub_pd(a, b, c); }
#endif
#if defined(__AVX512F__)
inline __m512 fused(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
inline __m512d fused(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
inline __m512 fused_below(__m512 a, __m512 b, __m512 c) { return _mm512_fnmsub_ps(a, b, c); }
inline __m512d fused_below(__m512d a, __m512d b, __m512d c) { return _mm512_fnmsub_pd(a, b, c); }
#endif
#if !defined(__FMA__) && !defined(__AVX512F__) && !defined(__aarch64__)
template <class Register>
Register fused(Register, Register, Register) = delete;  // has_fused_multiply_add is false
template <class Register>
Register fused_below(Register, Register, Register) = delete;
#endif
#if defined(__aarch64__)
inline float32x4_t fused(float32x4_t a, float32x4_t b, float32x4_t c) { return vfmaq_f32(c, a, b); }
inline float64x2_t fused(float64x2_t a, float64x2_t b, float64x2_t c) { return vfmaq_f64(c, a, b); }
inline float32x4_t fused_below(float32x4_t a, float32x4_t b, float32x4_t c) {
  return vfmsq_f32(vnegq_f32(c), a, b);
}
inline float64x2_t fused_below(float64x2_t a, float64x2_t b, float64x2_t c) {
  return vfmsq_f64(vnegq_f64(c), a, b);
}
#endif

}  // namespace detail

/// a * b + c with one rounding where the hardware has it and with two otherwise: for the insides of
/// functions, which need the speed and not the bit.
template <Floating T>
[[gnu::always_inline]] inline simd<T> fma(simd<T> a, simd<T> b, simd<T> c) {
  if constexpr (has_fused_multiply_add)
    return simd<T>(detail::fused(a.data, b.data, c.data));
  else
    return a * b + c;
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> fma(simd<T> a, T b, simd<T> c) {
  return fma<T>(a, simd<T>(b), c);
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> fma(simd<T> a, simd<T> b, T c) {
  return fma<T>(a, b, simd<T>(c));
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> fma(simd<T> a, T b, T c) {
  return fma<T>(a, simd<T>(b), simd<T>(c));
}
/// -a * b - c in the same way: fma of -a and -c, which needs no sign to be changed.
template <Floating T>
[[gnu::always_inline]] inline simd<T> negative_fma(simd<T> a, simd<T> b, simd<T> c) {
  if constexpr (has_fused_multiply_add)
    return simd<T>(detail::fused_below(a.data, b.data, c.data));
  else
    return a * -b - c;
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> negative_fma(simd<T> a, T b, simd<T> c) {
  return negative_fma<T>(a, simd<T>(b), c);
}

/// c0 + c1 x + c2 x^2 + ..., by Horner's rule.
template <Floating T, class... Rest>
[[gnu::always_inline]] inline simd<T> polynomial(simd<T> x, double c0, Rest... rest) {
  if constexpr (sizeof...(rest) == 0)
    return simd<T>(static_cast<T>(c0));
  else
    return fma<T>(polynomial<T>(x, rest...), x, simd<T>(static_cast<T>(c0)));
}

/// The same of at least two coefficients, pair by pair: c0 + c1 x + x^2 (c2 + c3 x + ...). One
/// product more and half of the waiting, which counts where there is little else to do meanwhile.
template <Floating T, class... Rest>
[[gnu::always_inline]] inline simd<T> polynomial_in_pairs(simd<T> x, simd<T> square, double c0,
                                                          double c1, Rest... rest) {
  const simd<T> pair = fma<T>(x, static_cast<T>(c1), static_cast<T>(c0));
  if constexpr (sizeof...(rest) == 0)
    return pair;
  else if constexpr (sizeof...(rest) == 1)
    return fma<T>(square, static_cast<T>((rest, ...)), pair);
  else
    return fma<T>(polynomial_in_pairs<T>(x, square, rest...), square, pair);
}

namespace detail {

template <Floating T>
struct register_pair {
  simd<T> first, second;
};

template <Floating T, std::size_t... I>
[[gnu::always_inline]] inline register_pair<T> unzip(simd<T> a, simd<T> b,
                                                     std::index_sequence<I...>) {
  return {simd<T>(__builtin_shufflevector(a.data, b.data, 2 * I...)),
          simd<T>(__builtin_shufflevector(a.data, b.data, (2 * I + 1)...))};
}
template <Floating T, std::size_t... I>
[[gnu::always_inline]] inline register_pair<T> zip(simd<T> a, simd<T> b,
                                                   std::index_sequence<I...>) {
  constexpr std::size_t n = sizeof...(I);
  return {simd<T>(__builtin_shufflevector(a.data, b.data, (I / 2 + I % 2 * n)...)),
          simd<T>(__builtin_shufflevector(a.data, b.data, (n / 2 + I / 2 + I % 2 * n)...))};
}

}  // namespace detail

/// Of the elements of a and those of b behind them, those with even numbers and those with odd.
template <Floating T>
[[gnu::always_inline]] inline detail::register_pair<T> deinterleave(simd<T> a, simd<T> b) {
  return detail::unzip<T>(a, b, std::make_index_sequence<simd<T>::size>());
}
/// The elements of a and b in turns: the first register of them, and the second.
template <Floating T>
[[gnu::always_inline]] inline detail::register_pair<T> interleave(simd<T> a, simd<T> b) {
  return detail::zip<T>(a, b, std::make_index_sequence<simd<T>::size>());
}

/// The same bits as another type.
template <Floating T>
[[gnu::always_inline]] inline simd_bits<T> as_bits(simd<T> x) {
  return std::bit_cast<simd_bits<T>>(x);
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> from_bits(simd_bits<T> x) {
  return std::bit_cast<simd<T>>(x);
}

/// -x, also of zeros: xsimd 8 subtracts from 0, which loses the sign of -0.
template <Floating T>
[[gnu::always_inline]] inline simd<T> negate(simd<T> x) {
  return x ^ simd<T>(T(-0.0));
}

/// The sign bit of x alone, and y with that bit flipped where it is set in x.
template <Floating T>
[[gnu::always_inline]] inline simd<T> sign_bit(simd<T> x) {
  return x & simd<T>(T(-0.0));
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> flip_sign(simd<T> y, simd<T> x) {
  return y ^ sign_bit<T>(x);
}

template <Floating T>
[[gnu::always_inline]] inline simd_mask<T> is_nan(simd<T> x) {
  return !(x == x);  // not x != x: xsimd 8 compares "ordered and not equal", which is false for NaN
}

/// Which lanes have numbers in both, and no NaN.
template <Floating T>
[[gnu::always_inline]] inline simd_mask<T> are_numbers(simd<T> a, simd<T> b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4)
    return simd_mask<T>(_mm512_cmp_ps_mask(a.data, b.data, _CMP_ORD_Q));
  else
    return simd_mask<T>(_mm512_cmp_pd_mask(a.data, b.data, _CMP_ORD_Q));
#elif defined(__AVX__)
  if constexpr (sizeof(T) == 4)
    return simd_mask<T>(_mm256_cmp_ps(a.data, b.data, _CMP_ORD_Q));
  else
    return simd_mask<T>(_mm256_cmp_pd(a.data, b.data, _CMP_ORD_Q));
#else
  return (a == a) & (b == b);
#endif
}

// The larger operand; b if one is NaN (on ARM: NaN). The x86 instruction returns its second operand
// then, and xsimd 14 passes the two in the other order than the versions before it.
template <Floating T>
[[gnu::always_inline]] inline simd<T> max_or_second(simd<T> a, simd<T> b) {
  if constexpr (XSIMD_VERSION_MAJOR >= 14)
    return xsimd::max(b, a);
  else
    return xsimd::max(a, b);
}
template <Floating T>
[[gnu::always_inline]] inline simd<T> min_or_second(simd<T> a, simd<T> b) {
  if constexpr (XSIMD_VERSION_MAJOR >= 14)
    return xsimd::min(b, a);
  else
    return xsimd::min(a, b);
}

/// x limited to [low, high]; NaN stays NaN.
template <Floating T>
[[gnu::always_inline]] inline simd<T> clamp(simd<T> x, T low, T high) {
  return max_or_second<T>(simd<T>(low), min_or_second<T>(simd<T>(high), x));
}

/// f of every lane by itself, through memory: for what has no vector formula worth its length.
template <Floating T, class F, class... Rest>
[[gnu::always_inline]] inline simd<T> for_each_lane(F f, simd<T> x, Rest... rest) {
  alignas(64) T result[static_cast<std::size_t>(lanes<T>)];
  alignas(64) T operand[1 + sizeof...(rest)][static_cast<std::size_t>(lanes<T>)];
  int row = 0;
  x.store_aligned(operand[row++]);
  (rest.store_aligned(operand[row++]), ...);
  for (int i = 0; i < lanes<T>; ++i) {
    if constexpr (sizeof...(rest) == 0)
      result[i] = f(operand[0][i]);
    else if constexpr (sizeof...(rest) == 1)
      result[i] = f(operand[0][i], operand[1][i]);
    else
      result[i] = f(operand[0][i], operand[1][i], operand[2][i]);
  }
  return simd<T>::load_aligned(result);
}

}  // namespace sinter::inline SINTER_ABI::exec
