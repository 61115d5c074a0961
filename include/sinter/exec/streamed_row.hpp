// SPDX-License-Identifier: MIT
// Rows that are written past the caches, wherever they begin.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/support/cache_lines.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The elements of a row that go past the caches: its whole lines.
struct streamed_part {
  std::int64_t begin = 0, end = 0;

  bool any() const { return begin < end; }
  bool contains(std::int64_t i) const { return begin <= i && i < end; }
};

/// What of a row of n elements goes past the caches. The line in which it ends, which the next row
/// has a part of, too, is written through the caches, and comes meanwhile: a store that finds it in
/// memory holds up all behind it. (A loop by hand from memory to memory, ns per row of 1000 on a
/// Zen 4 and a Xeon: 213 and 389 so, 241 and 426 without asking for the line, 285 and 661 wholly
/// through the caches, 384 and 642 where a row goes past them if it is aligned.)
template <Floating T>
[[gnu::always_inline]] inline streamed_part begin_streaming(const T* to, std::int64_t n) {
  constexpr std::int64_t line = line_bytes / sizeof(T);
  const auto place = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) / sizeof(T));
  const std::int64_t begin = std::min(n, -place & (line - 1)),
                     end = begin + ((n - begin) & ~(line - 1));
  if (end != n) __builtin_prefetch(to + end, 1);
  return {begin, end};
}

/// Writes the first `count` lanes of a register, which are all of them if they go past the caches.
template <Floating T>
[[gnu::always_inline]] inline void store_some(T* to, std::int64_t count, simd<T> x, bool streams) {
  if (streams)
    store_streaming<T>(to, x);
  else
    store_part<T>(to, count, x);
}

}  // namespace sinter::inline SINTER_ABI::exec
