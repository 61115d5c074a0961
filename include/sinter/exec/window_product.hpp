// SPDX-License-Identifier: MIT
// Few rows by the windows of an image, which are read where they are: a direct convolution. To pack
// an element of a window takes as long as to multiply ten rows by it: [16,144] by windows of 3 x 3
// in images of [16,28,28] take 17 µs, and with packing 29 (Zen 5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/gathered_mapper.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

/// At most a register of columns that lie one behind the other in every row of the right side:
/// where the register begins in its first row, and where the columns, which are `count` lanes from
/// lane `first` on, begin in the result.
struct column_segment {
  std::int64_t from, column, count, first = 0;
};

/// Lanes of R registers behind each other, to the columns of a segment.
template <int R, Floating T>
[[gnu::noinline]] void put_lanes(const T* from, column_segment columns, tile_target<T> c) {
  for (int i = 0; i < R; ++i, from += lanes<T>) {
    T* const to = c.at(i, columns.column).to;
    for (std::int64_t lane = 0; lane < columns.count; ++lane)
      to[lane] = c.add ? to[lane] + from[columns.first + lane] : from[columns.first + lane];
  }
}

/// R rows of `a` by W segments, of which row p lies offsets[p] elements behind the first. `Whole`:
/// all lanes may be read.
template <int R, int W, bool Whole, Floating T>
[[gnu::noinline]] void multiply_segments(std::int64_t depth, placed_matrix<T> a, const T* b,
                                         const column_segment* segments,
                                         const std::int64_t* offsets, tile_target<T> c) {
  simd<T> sum[std::size_t{R}][std::size_t{W}];
  const T* from[std::size_t{W}];
  std::int64_t count[std::size_t{W}];
#pragma GCC unroll 8
  for (int w = 0; w < W; ++w) from[w] = b + segments[w].from, count[w] = segments[w].count;
  sum_tile<R, W, T>(
      depth, a,
      [&](std::int64_t p, int w, bool) {
        const T* const at = from[w] + offsets[p];
        return Whole ? load<T>(at) : load_part<T>(at, count[w], T(0));
      },
      sum);
  if constexpr (has_masked_moves) {
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
      for (int w = 0; w < W; ++w) {
        T* const to = c.at(i, segments[w].column).to;
        store_part<T>(to, count[w],
                      c.add ? load_part<T>(to, count[w], T(0)) + sum[i][w] : sum[i][w]);
      }
  } else {
    // Whole registers that are not added to go where they belong, the others wait for a loop.
    alignas(64) T parts[std::size_t{W}][std::size_t{R} * lanes<T>];
    const auto waits = [&](int w) { return c.add || count[w] < lanes<T>; };
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

// Rows from row i on, R at a time, then half as many, and so on.
template <int R, int W, bool Whole, Floating T>
void multiply_segment_rows(std::int64_t i, std::int64_t m, std::int64_t depth, placed_matrix<T> a,
                           const T* b, const column_segment* segments, const std::int64_t* offsets,
                           tile_target<T> c) {
  for (; i + R <= m; i += R)
    multiply_segments<R, W, Whole>(depth, a.from_row(i), b, segments, offsets, c.at(i, 0));
  if constexpr (R > 1)
    if (i < m) multiply_segment_rows<R / 2, W, Whole>(i, m, depth, a, b, segments, offsets, c);
}

// Goes through the segments of `n` columns from `first` on, run by run: to find each by division
// took as long as to multiply a row by nine.
class segment_cursor {
 public:
  segment_cursor(const position_runs& runs, std::int64_t first, std::int64_t n)
      : runs_(runs),
        n_(n),
        run_(first / runs.length * runs.step),
        begin_(first % runs.length),
        at_(begin_) {}

  /// The next ones, at most so many, to `to`; how many. `Whole`: a register may begin within the
  /// one before. What both have is the same, and is written twice; but nothing is added twice
  /// (`adds`), or written before the first column.
  template <std::int64_t Lanes, bool Whole>
  int take(int most, bool adds, column_segment* to) {
    int count = 0;
    while (count < most && column_ < n_) {
      const std::int64_t end = std::min(runs_.length, begin_ + n_ - column_);
      for (; at_ < end && count < most; at_ += Lanes) {
        column_segment next{run_ + at_, column_ + at_ - begin_, std::min(Lanes, end - at_)};
        if constexpr (Whole) {
          const std::int64_t back = std::max<std::int64_t>(0, at_ + Lanes - runs_.length);
          next.from -= back;
          if (!adds && at_ - back >= begin_ && at_ - back + Lanes <= end)
            next.column -= back, next.count = Lanes;
          else
            next.first = back;
        }
        to[count++] = next;
      }
      if (at_ < end) break;
      column_ += end - begin_;
      run_ += runs_.step;
      at_ = begin_ = 0;
    }
    return count;
  }

 private:
  position_runs runs_;
  std::int64_t n_, run_, begin_, at_, column_ = 0;  // column: the one at `begin` of the run
};

/// All columns of `count` products, W segments at a time. Segments are found once for all of them,
/// some 60 at a time; of the last ones, which are fewer than W, one comes several times without a
/// column.
template <int R, int W, bool Whole, Floating T>
void multiply_all_segments(const matrix_product& product, std::int64_t depth, placed_matrix<T> a,
                           const T* b, const position_runs& runs, const std::int64_t* offsets,
                           tile_target<T> c) {
  constexpr int most = 64 / W * W;
  column_segment segments[std::size_t{most}];
  segment_cursor columns(runs, product.gathered_b.first_column, product.n);
  while (int count = columns.take<std::int64_t{lanes<T>}, Whole>(most, c.add, segments)) {
    for (; count % W != 0; ++count) segments[count] = {segments[0].from, segments[0].column, 0};
    for (std::int64_t i = 0; i < product.count; ++i) {
      placed_matrix<T> left = a;
      left.from += i * product.a_step;
      tile_target<T> to = c;
      to.to += i * product.c_step;
      for (int w = 0; w < count; w += W)
        multiply_segment_rows<R, W, Whole>(0, product.m, depth, left, b + i * product.b_step,
                                           segments + w, offsets, to);
    }
  }
}

}  // namespace detail

/// C = A B, or C += A B if the product says so, of a gathered B whose columns lie in runs
/// (runs_of); `offsets` has room for 192 of them. How an element is summed up depends on k alone:
/// in order, in blocks of 192.
template <Floating T>
void multiply_windows(const matrix_product& product, detail::placed_matrix<T> a,
                      std::int64_t* offsets) {
  constexpr std::int64_t most_depth = 192;
  const gathered_axes& axes = product.gathered_b;
  const position_runs runs = runs_of(axes.columns).value_or(position_runs{});
  const auto* b = static_cast<const T*>(product.b);
  detail::tile_target<T> c{static_cast<T*>(product.c), product.ldc, product.accumulate};
  for (std::int64_t p = 0; p < product.k; p += most_depth, c.add = true) {
    const std::int64_t depth = std::min(most_depth, product.k - p);
    detail::fill_offsets(axes.rows, axes.first_row + p, depth, offsets);
    const auto multiply = [&]<int R, int W>() {
      const auto all = [&]<bool Whole>() {
        detail::multiply_all_segments<R, W, Whole>(product, depth, a.from_column(p), b, runs,
                                                   offsets, c);
      };
      if constexpr (!has_masked_moves) {
        if (runs.length >= lanes<T>) return all.template operator()<true>();
      }
      all.template operator()<false>();
    };
    // Two rows need more columns beside them to hide how long a multiply-add takes.
    if (product.m <= 2)
      multiply.template operator()<2, register_count / 4>();
    else
      multiply.template operator()<detail::tile_rows, detail::tile_registers>();
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
