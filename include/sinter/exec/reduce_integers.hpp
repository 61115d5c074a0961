// SPDX-License-Identifier: MIT
// Reductions of integers along a row. They are exact, so that any order gives the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/combine.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// Products of other sizes have no instruction.
template <monoid M, Integer T>
inline constexpr bool combines_in_registers = M != monoid::prod || sizeof(T) == 4;

template <monoid M, Integer T>
xsimd::batch<T> combine_integers(xsimd::batch<T> a, xsimd::batch<T> b) {
  if constexpr (M == monoid::max)
    return xsimd::max(a, b);
  else if constexpr (M == monoid::min)
    return xsimd::min(a, b);
  else if constexpr (M == monoid::prod)
    return a * b;
  else
    return a + b;
}

/// What n integers come to. In registers of our own rather than the compiler's: 16,384 products of
/// i32 take 1.0 instead of 1.9 us, and with -O2, where GCC has none, sums 0.7 instead of 10 (Zen
/// 3).
template <monoid M, Integer T>
T reduce_integers(std::int64_t n, const T* x) {
  T all = identity_of<M, T>();
  std::int64_t i = 0;
  if constexpr (combines_in_registers<M, T>) {
    using integers = xsimd::batch<T>;
    constexpr auto width = static_cast<std::int64_t>(integers::size), step = 2 * width;
    if (n >= step) {
      integers even = integers::load_unaligned(x), odd = integers::load_unaligned(x + width);
      for (i = step; i + step <= n; i += step) {
        even = combine_integers<M, T>(even, integers::load_unaligned(x + i));
        odd = combine_integers<M, T>(odd, integers::load_unaligned(x + i + width));
      }
      alignas(64) T each[std::size_t{width}];
      combine_integers<M, T>(even, odd).store_aligned(each);
      for (const T one : each) all = combine<M>(all, one);
    }
  }
  for (; i < n; ++i) all = combine<M>(all, x[i]);
  return all;
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
