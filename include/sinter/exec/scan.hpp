// SPDX-License-Identifier: MIT
// Running sums in memory: of lines whose elements lie side by side, and of columns, row by row.
// Blocks of a line are summed by themselves, and what lies before them is added to each of their
// sums, so that errors grow with the number of blocks. A register holds the sums of its elements
// after log2(lanes) additions of itself moved up by 1, 2, 4... lanes (Hillis and Steele, "Data
// parallel algorithms", 1986): one after the other, a sum waits 4 cycles for the one before it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sinter/exec/copy.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Elements of a line, or rows of columns, that are summed by themselves.
inline constexpr std::int64_t scanned_block = 256;

/// Of those, how many a register sums at once.
inline std::int64_t scanned_lanes(dtype type) {
  return type == dtype::f32 ? lanes<float> : type == dtype::f64 ? lanes<double> : 1;
}

namespace detail {

// Elements side by side: where they lie, or in `room` for as many.
template <class T>
const T* side_by_side(std::int64_t n, const T* from, std::int64_t step, T* room) {
  if (step == 1) return from;
  strided_load(n, from, step, sizeof(T), room);
  return room;
}

// Lane i of the result is lane i - K of x, or 0.
template <Floating T, std::size_t K, std::size_t... I>
[[gnu::always_inline]] inline simd<T> moved_up(simd<T> x, std::index_sequence<I...>) {
  constexpr std::size_t n = sizeof...(I);
  return simd<T>(__builtin_shufflevector(simd<T>(T(0)).data, x.data, (I < K ? I : n + I - K)...));
}

template <Floating T, std::size_t K = 1>
[[gnu::always_inline]] inline simd<T> sums_of_lanes(simd<T> x) {
  constexpr std::size_t n = simd<T>::size;
  if constexpr (K >= n)
    return x;
  else
    return sums_of_lanes<T, 2 * K>(x + moved_up<T, K>(x, std::make_index_sequence<n>()));
}

template <Floating T, std::size_t... I>
[[gnu::always_inline]] inline simd<T> last_lane(simd<T> x, std::index_sequence<I...>) {
  return simd<T>(__builtin_shufflevector(x.data, x.data, (sizeof...(I) - 1 + 0 * I)...));
}

template <Floating T, std::size_t... I>
[[gnu::always_inline]] inline simd<T> turned_round(simd<T> x, std::index_sequence<I...>) {
  return simd<T>(__builtin_shufflevector(x.data, x.data, (sizeof...(I) - 1 - I)...));
}

// A block of a line: the sum of what lies before it, and its own.
template <Floating T, bool Reverse>
class line_block {
 public:
  explicit line_block(T before) : before_(before) {}

  // The sums of a register's elements, in the order in which they lie.
  [[gnu::always_inline]] simd<T> next(simd<T> x) {
    constexpr auto all = std::make_index_sequence<simd<T>::size>();
    if constexpr (Reverse) x = turned_round<T>(x, all);
    x = sums_of_lanes<T>(x);
    simd<T> sums = before_ + (own_ + x);
    own_ = own_ + last_lane<T>(x, all);
    if constexpr (Reverse) sums = turned_round<T>(sums, all);
    return sums;
  }

  T own() const { return own_.data[0]; }

 private:
  simd<T> before_, own_ = simd<T>(T(0));
};

}  // namespace detail

/// Writes `before` and the sum of what comes up to each of n elements, from the last one on if
/// Reverse; returns the sum of all n.
template <class T, bool Reverse>
T scan_block(std::int64_t n, const T* from, T* to, T before) {
  T own(0);
  std::int64_t done = 0;
  if constexpr (Floating<T>) {
    constexpr std::int64_t width = lanes<T>;
    detail::line_block<T, Reverse> block(before);
    for (; done + width <= n; done += width) {
      const std::int64_t at = Reverse ? n - done - width : done;
      store<T>(to + at, block.next(load<T>(from + at)));
    }
    own = block.own();
  }
  for (; done < n; ++done) {
    const std::int64_t at = Reverse ? n - 1 - done : done;
    own = sum_of(own, from[at]);
    to[at] = sum_of(before, own);
  }
  return own;
}

namespace detail {

template <class T, bool Reverse>
void scan_blocks(std::int64_t n, const T* from, std::int64_t step, T* to) {
  alignas(64) std::array<T, static_cast<std::size_t>(scanned_block)> gathered;
  T before(0);
  for (std::int64_t done = 0; done < n; done += scanned_block) {
    const std::int64_t count = std::min(scanned_block, n - done),
                       at = Reverse ? n - done - count : done;
    const T* const block = detail::side_by_side(count, from + at * step, step, gathered.data());
    if (Reverse && step == 1 && at >= 2 * scanned_block) {
      // What lies two blocks ahead: nothing else asks for lines that come from behind ([4096,4096]:
      // 5.4 ms, without 7.5; from the front on 3.1).
      constexpr auto bytes = static_cast<std::int64_t>(sizeof(T)) * scanned_block;
      fetch_lines(reinterpret_cast<const std::byte*>(block) - 2 * bytes, bytes);
      fetch_lines(reinterpret_cast<const std::byte*>(to + at) - 2 * bytes, bytes);
    }
    before = sum_of(before, scan_block<T, Reverse>(count, block, to + at, before));
  }
}

// f.operator()<N>() for N = n, if that is one of the small numbers for which loops are unrolled.
template <class F>
bool unrolled(std::int64_t n, F f) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((n == std::int64_t{I} + 2 && (f.template operator()<I + 2>(), true)) || ...);
  }(std::make_index_sequence<6>());
}

}  // namespace detail

/// The running sums of each of some lines of n elements side by side; lines, and their sums, lie so
/// many elements apart. False, and nothing is written, unless lines are short. Those that follow
/// begin meanwhile: 100,000 of 3 f32 take 90 instead of 203 us (Zen 3).
template <class T, bool Reverse>
bool scan_short_lines(std::int64_t lines, std::int64_t n, const T* from, std::int64_t from_step,
                      T* to, std::int64_t to_step) {
  if constexpr (Floating<T>)
    if (n >= exec::lanes<T>) return false;  // a register adds them up in another order
  return detail::unrolled(n, [=]<std::size_t N>() {
    for (std::int64_t line = 0; line < lines; ++line) {
      const T* const x = from + line * from_step;
      T* const sums = to + line * to_step;
      T own(0);
#pragma GCC unroll 8
      for (std::size_t i = 0; i < N; ++i) {
        const std::size_t at = Reverse ? N - 1 - i : i;
        own = sum_of(own, x[at]);
        sums[at] = sum_of(T(0), own);
      }
    }
  });
}

/// The running sums of n elements that lie `step` elements apart.
template <class T, bool Reverse>
[[gnu::always_inline]] inline void scan_line(std::int64_t n, const T* from, std::int64_t step,
                                             T* to) {
  // Short lines feel a call and its room: those of 3 f32 took 5.3 ns.
  if (step == 1 && n <= scanned_block)
    scan_block<T, Reverse>(n, from, to, T(0));
  else
    detail::scan_blocks<T, Reverse>(n, from, step, to);
}

namespace detail {

// own += x; to = before + own.
template <class T>
void scan_row(std::int64_t n, const T* x, const T* before, T* own, T* to) {
  std::int64_t i = 0;
  if constexpr (Floating<T>)
    for (; i + lanes<T> <= n; i += lanes<T>) {
      const simd<T> sums = load<T>(own + i) + load<T>(x + i);
      store<T>(own + i, sums);
      store<T>(to + i, load<T>(before + i) + sums);
    }
  for (; i < n; ++i) {
    own[i] = sum_of(own[i], x[i]);
    to[i] = sum_of(before[i], own[i]);
  }
}

// Of N columns, whose sums stay in registers: 100,000 rows of 3 f32 in 150 instead of 560 us, of 4
// in 160 instead of 870 (Zen 3).
template <std::size_t N, class T>
void scan_narrow_columns(std::int64_t n, const T* from, std::int64_t row_step, std::int64_t step,
                         T* to, std::int64_t to_step) {
  T before[N] = {};
  for (std::int64_t done = 0; done < n; done += scanned_block) {
    T own[N] = {};
    const std::int64_t end = std::min(n, done + scanned_block);
    for (std::int64_t row = done; row < end; ++row, from += row_step, to += to_step)
#pragma GCC unroll 8
      for (std::size_t i = 0; i < N; ++i) {
        own[i] = sum_of(own[i], from[static_cast<std::int64_t>(i) * step]);
        to[i] = sum_of(before[i], own[i]);
      }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < N; ++i) before[i] = sum_of(before[i], own[i]);
  }
}

}  // namespace detail

/// The running sums down n rows of columns. Rows lie `row_step` elements apart, in the result
/// `to_step`, columns `step`, in the result side by side.
template <class T>
void scan_columns(std::int64_t n, std::int64_t columns, const T* from, std::int64_t row_step,
                  std::int64_t step, T* to, std::int64_t to_step) {
  const auto narrow = [=]<std::size_t N>() {
    detail::scan_narrow_columns<N>(n, from, row_step, step, to, to_step);
  };
  if (detail::unrolled(columns, narrow)) return;
  // Of [2048,6282] and [4096,4096] f32, from memory, 256 at a time take 3.5 and 5.6 ms, 1024 5.3
  // and 6.6, whole rows 4.9 and 4.8.
  constexpr std::int64_t most = 256;
  alignas(64) std::array<T, static_cast<std::size_t>(most)> before, own, gathered;
  for (std::int64_t first = 0; first < columns; first += most) {
    const std::int64_t width = std::min(most, columns - first);
    std::fill_n(before.begin(), width, T(0));
    std::fill_n(own.begin(), width, T(0));
    for (std::int64_t row = 0; row < n; ++row) {
      if (row % scanned_block == 0 && row > 0)
        for (std::int64_t i = 0; i < width; ++i) {
          const auto column = static_cast<std::size_t>(i);
          before[column] = sum_of(before[column], own[column]);
          own[column] = T(0);
        }
      const T* const x =
          detail::side_by_side(width, from + row * row_step + first * step, step, gathered.data());
      detail::scan_row<T>(width, x, before.data(), own.data(), to + row * to_step + first);
    }
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
