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
/// where they begin in its first row, and in the result.
template <Floating T>
struct column_segment {
  const T* from;
  std::int64_t column, count;
};

/// R rows of `a` by W segments, of which row p lies offsets[p] elements behind the first.
template <int R, int W, Floating T>
[[gnu::noinline]] void multiply_segments(std::int64_t depth, placed_matrix<T> a,
                                         const column_segment<T>* segments,
                                         const std::int64_t* offsets, tile_target<T> c) {
  simd<T> sum[std::size_t{R}][std::size_t{W}];
  column_segment<T> at[std::size_t{W}];
#pragma GCC unroll 8
  for (int w = 0; w < W; ++w) at[w] = segments[w];
  sum_tile<R, W, T>(
      depth, a,
      [&](std::int64_t p, int w, bool) {
        return load_part<T>(at[w].from + offsets[p], at[w].count, T(0));
      },
      sum);
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
    for (int w = 0; w < W; ++w) {
      T* const to = c.at(i, at[w].column).to;
      store_part<T>(to, at[w].count,
                    c.add ? load_part<T>(to, at[w].count, T(0)) + sum[i][w] : sum[i][w]);
    }
}

// Rows from row i on, R at a time, then half as many, and so on.
template <int R, int W, Floating T>
void multiply_segment_rows(std::int64_t i, std::int64_t m, std::int64_t depth, placed_matrix<T> a,
                           const column_segment<T>* segments, const std::int64_t* offsets,
                           tile_target<T> c) {
  for (; i + R <= m; i += R)
    multiply_segments<R, W>(depth, a.from_row(i), segments, offsets, c.at(i, 0));
  if constexpr (R > 1)
    if (i < m) multiply_segment_rows<R / 2, W>(i, m, depth, a, segments, offsets, c);
}

/// All columns, W segments at a time; of the last ones, which are fewer, one comes several times
/// without a column.
template <int R, int W, Floating T>
void multiply_all_segments(std::int64_t m, std::int64_t n, std::int64_t depth, placed_matrix<T> a,
                           const T* b, const position_runs& runs, std::int64_t first,
                           const std::int64_t* offsets, tile_target<T> c) {
  column_segment<T> segments[std::size_t{W}];
  int count = 0;
  const auto multiply = [&] {
    for (int w = count; w < W; ++w) segments[w] = {segments[0].from, segments[0].column, 0};
    multiply_segment_rows<R, W>(0, m, depth, a, segments, offsets, c);
    count = 0;
  };
  // Run by run: to find each segment's by division took as long as to multiply a row by nine.
  const T* run = b + first / runs.length * runs.step;
  for (std::int64_t j = 0, at = first % runs.length; j < n; at = 0, run += runs.step)
    for (const std::int64_t end = std::min(runs.length, n - j + at); at < end;) {
      const std::int64_t columns = std::min<std::int64_t>(lanes<T>, end - at);
      segments[count++] = {run + at, j, columns};
      at += columns;
      j += columns;
      if (count == W) multiply();
    }
  if (count > 0) multiply();
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
      detail::multiply_all_segments<R, W>(product.m, product.n, depth, a.from_column(p), b, runs,
                                          axes.first_column, offsets, c);
    };
    // Two rows need more columns beside them to hide how long a multiply-add takes.
    if (product.m <= 2)
      multiply.template operator()<2, register_count / 4>();
    else
      multiply.template operator()<detail::tile_rows, detail::tile_registers>();
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
