// SPDX-License-Identifier: MIT
// Columns of a product by the windows of an image, of which neighbours lie one behind the other in
// the image, too, up to the end of one of its rows: a register of them is loaded at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

/// At most a register of columns that lie one behind the other in every row of the right side:
/// where the register begins in its first row, and where the columns, which are `count` lanes from
/// lane `first` on, begin in the result.
struct column_segment {
  std::int64_t from, column, count, first = 0;
};

// Elements 0, 2, 4... of `a` and, behind them, 1, 3, 5... of `b`, those of each 16 bytes of both
// side by side: to bring them in order takes AVX2 another instruction, as long as a multiply-add.
template <Floating T, std::size_t... I>
[[gnu::always_inline]] inline simd<T> every_other(simd<T> a, simd<T> b, std::index_sequence<I...>) {
  constexpr std::size_t part = 16 / sizeof(T), half = part / 2;
  return simd<T>(__builtin_shufflevector(
      a.data, b.data,
      (I / part * part +
       (I % part < half ? I % part * 2 : sizeof...(I) + (I % part - half) * 2 + 1))...));
}
template <Floating T, std::size_t... I>
[[gnu::always_inline]] inline simd<T> ordered(simd<T> x, std::index_sequence<I...>) {
  constexpr std::size_t part = 16 / sizeof(T), half = part / 2, first = sizeof...(I) / 2;
  return simd<T>(__builtin_shufflevector(
      x.data, x.data, (I % first / half * part + I % first % half + (I < first ? 0 : half))...));
}
template <Floating T, std::size_t... I>
[[gnu::always_inline]] inline simd<T> unordered(simd<T> x, std::index_sequence<I...>) {
  constexpr std::size_t part = 16 / sizeof(T), half = part / 2, first = sizeof...(I) / 2;
  return simd<T>(__builtin_shufflevector(
      x.data, x.data, (I / part * half + I % part % half + (I % part < half ? 0 : first))...));
}

/// The first `count` elements from `at` on, all if `Whole`, that lie 1 or 2 apart; in_order brings
/// what was computed of such registers in order. The second register of what lies apart begins
/// within the first: nothing behind the last element is read.
template <int Spacing, bool Whole, Floating T>
[[gnu::always_inline]] inline simd<T> load_segment(const T* at, std::int64_t count) {
  if constexpr (Spacing == 1) {
    return Whole ? load<T>(at) : load_part<T>(at, count, T(0));
  } else {
    const T* const second = at + lanes<T> - 1;
    const simd<T> a = Whole ? load<T>(at) : load_part<T>(at, 2 * count - 1, T(0)),
                  b = Whole ? load<T>(second) : load_part<T>(second, 2 * count - lanes<T>, T(0));
    return every_other<T>(a, b, std::make_index_sequence<simd<T>::size>());
  }
}
template <int Spacing, Floating T>
[[gnu::always_inline]] inline simd<T> in_order(simd<T> x) {
  return Spacing == 1 ? x : ordered<T>(x, std::make_index_sequence<simd<T>::size>());
}
/// The reverse: what meets such a register lane by lane.
template <int Spacing, Floating T>
[[gnu::always_inline]] inline simd<T> in_segment_order(simd<T> x) {
  return Spacing == 1 ? x : unordered<T>(x, std::make_index_sequence<simd<T>::size>());
}

/// Lanes of R registers behind each other, to the columns of a segment.
template <int R, Floating T>
[[gnu::noinline]] void put_lanes(const T* from, column_segment columns, tile_target<T> c) {
  for (int i = 0; i < R; ++i, from += lanes<T>) {
    T* const to = c.at(i, columns.column).to;
    for (std::int64_t lane = 0; lane < columns.count; ++lane)
      to[lane] = c.add ? to[lane] + from[columns.first + lane] : from[columns.first + lane];
  }
}

/// R rows of sums, a register for each of W segments, to where they belong. `Whole`: lanes that do
/// may lie behind others.
template <bool Whole, int R, int W, Floating T>
[[gnu::always_inline]] inline void store_segments(const simd<T> (&sum)[R][W],
                                                  const column_segment* segments,
                                                  tile_target<T> c) {
  if constexpr (has_masked_moves && !Whole) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
      for (int w = 0; w < W; ++w) {
        T* const to = c.at(i, segments[w].column).to;
        const std::int64_t count = segments[w].count;
        store_part<T>(to, count, c.add ? load_part<T>(to, count, T(0)) + sum[i][w] : sum[i][w]);
      }
  } else {
    // Whole registers that are not added to go where they belong, the others wait for a loop.
    alignas(64) T parts[std::size_t{W}][std::size_t{R} * lanes<T>];
    const auto waits = [&](int w) { return c.add || segments[w].count < lanes<T>; };
#pragma GCC unroll 8
    for (int w = 0; w < W; ++w) {
      T* const to = waits(w) ? parts[w] : c.at(0, segments[w].column).to;
      const std::int64_t stride = waits(w) ? lanes<T> : c.stride;
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) store<T>(to + i * stride, sum[i][w]);
    }
    for (int w = 0; w < W; ++w)
      if (waits(w)) put_lanes<R>(parts[w], segments[w], c);
  }
}

/// Goes through the segments of columns, run by run: to find each by division took as long as to
/// multiply a row by nine.
class segment_cursor {
 public:
  /// The `n` columns from `first` on.
  segment_cursor(const position_runs& runs, std::int64_t first, std::int64_t n)
      : segment_cursor(runs, first, n, runs.length) {}

  /// All columns, of which the first ones of two runs lie `apart` in the result.
  segment_cursor(const position_runs& runs, std::int64_t apart)
      : segment_cursor(runs, 0, runs.count * runs.length, apart) {}

  /// The next ones, at most so many, to `to`; how many. `Whole`: a register may begin within the
  /// one before. What both have is the same, and is written twice; but nothing is added twice
  /// (`adds`), or written before the first column.
  template <std::int64_t Lanes, bool Whole>
  int take(int most, bool adds, column_segment* to) {
    int count = 0;
    while (count < most && left_ > 0) {
      const std::int64_t end = std::min(runs_.length, begin_ + left_);
      for (; at_ < end && count < most; at_ += Lanes) {
        column_segment next{run_ + at_ * runs_.spacing, column_ + at_ - begin_,
                            std::min(Lanes, end - at_)};
        if constexpr (Whole) {
          const std::int64_t back = std::max<std::int64_t>(0, at_ + Lanes - runs_.length);
          next.from -= back * runs_.spacing;
          if (!adds && at_ - back >= begin_ && at_ - back + Lanes <= end)
            next.column -= back, next.count = Lanes;
          else
            next.first = back;
        }
        to[count++] = next;
      }
      if (at_ < end) break;
      left_ -= end - begin_;
      column_ += apart_ - begin_;
      run_ += runs_.step;
      at_ = begin_ = 0;
    }
    return count;
  }

 private:
  segment_cursor(const position_runs& runs, std::int64_t first, std::int64_t n, std::int64_t apart)
      : runs_(runs),
        left_(n),
        apart_(apart),
        run_(first / runs.length * runs.step),
        begin_(first % runs.length),
        at_(begin_) {}

  position_runs runs_;
  std::int64_t left_, apart_;
  std::int64_t run_, begin_, at_, column_ = 0;  // column: the one at `begin` of the run
};

/// Some rows of a series of products by some columns, and a part of their depth. `b` and `offsets`:
/// row p of the windows lies offsets[p] elements behind the first, whatever the columns.
template <Floating T>
struct window_block {
  std::int64_t rows, first_column, columns, depth;
  placed_matrix<T> a;
  const T* b;
  const std::int64_t* offsets;
  tile_target<T> c;
  std::int64_t count, a_step, b_step, c_step;  // of the series

  window_block part_of_rows(std::int64_t first, std::int64_t size) const {
    window_block part = *this;
    part.rows = size;
    part.a = a.from_row(first);
    part.c = c.at(first, 0);
    return part;
  }
  window_block part_of_columns(std::int64_t first, std::int64_t size) const {
    window_block part = *this;
    part.first_column += first;
    part.columns = size;
    part.c = c.at(0, first);
    return part;
  }

  /// Calls visit(a, b, c) for each product.
  template <class Visit>
  void for_each_product(Visit visit) const {
    placed_matrix<T> left = a;
    tile_target<T> to = c;
    const T* right = b;
    for (std::int64_t i = 0; i < count; ++i) {
      visit(left, right, to);
      left.from += a_step, right += b_step, to.to += c_step;
    }
  }
};

}  // namespace sinter::inline SINTER_ABI::exec::detail
