// SPDX-License-Identifier: MIT
// Few rows by the windows of an image, which are read where they are: a direct convolution. To pack
// an element of a window takes as long as to multiply ten rows by it: [16,144] by windows of 3 x 3
// in images of [16,28,28] take 17 µs, and with packing 29 (Zen 5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <sinter/exec/gathered_mapper.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/sum_depth.hpp>
#include <sinter/exec/window_rows.hpp>
#include <sinter/exec/window_segments.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

/// R rows of `a` by W segments, of which row p lies offsets[p] elements behind the first. `Whole`:
/// all lanes may be read.
template <int R, int W, int Spacing, bool Whole, Floating T>
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
        return load_segment<Spacing, Whole>(from[w] + offsets[p], count[w]);
      },
      sum);
#pragma GCC unroll 8
  for (auto& row : sum)
#pragma GCC unroll 8
    for (simd<T>& each : row) each = in_order<Spacing, T>(each);
  store_segments<Whole, R, W, T>(sum, segments, c);
}

// Rows from row i on, R at a time, then half as many, and so on.
template <int R, int W, int Spacing, bool Whole, Floating T>
void multiply_segment_rows(std::int64_t i, std::int64_t m, std::int64_t depth, placed_matrix<T> a,
                           const T* b, const column_segment* segments, const std::int64_t* offsets,
                           tile_target<T> c) {
  for (; i + R <= m; i += R)
    multiply_segments<R, W, Spacing, Whole>(depth, a.from_row(i), b, segments, offsets, c.at(i, 0));
  if constexpr (R > 1)
    if (i < m)
      multiply_segment_rows<R / 2, W, Spacing, Whole>(i, m, depth, a, b, segments, offsets, c);
}

/// All rows of a block, R at a time, by its columns, W segments at a time. Segments are found once
/// for all products, some 60 at a time; of the last ones, which are fewer than W, one comes several
/// times without a column.
template <int R, int W, int Spacing, bool Whole, Floating T>
void multiply_all_segments(const window_block<T>& block, const position_runs& runs) {
  constexpr int most = 64 / W * W;
  column_segment segments[std::size_t{most}];
  segment_cursor columns(runs, block.first_column, block.columns);
  while (int count = columns.take<std::int64_t{lanes<T>}, Whole>(most, block.c.add, segments)) {
    for (; count % W != 0; ++count) segments[count] = {segments[0].from, segments[0].column, 0};
    block.for_each_product([&](placed_matrix<T> a, const T* b, tile_target<T> c) {
      for (int w = 0; w < count; w += W)
        multiply_segment_rows<R, W, Spacing, Whole>(0, block.rows, block.depth, a, b, segments + w,
                                                    block.offsets, c);
    });
  }
}

/// A block, several rows at a time.
template <int Spacing, bool Whole, Floating T>
void multiply_together(const window_block<T>& block, const position_runs& runs) {
  if (block.rows <= 0 || block.columns <= 0) return;
  // Two rows need more columns beside them to hide how long a multiply-add takes.
  if (block.rows <= 2)
    multiply_all_segments<2, register_count / 4, Spacing, Whole>(block, runs);
  else
    multiply_all_segments<tile_rows, tile_registers, Spacing, Whole>(block, runs);
}

/// How many rows of a block are best multiplied several at a time, where windows overlap: whole
/// fours, or pairs where windows are not in threes. Those behind them take 0.45 to 0.7 of the time
/// one by one (Zen 5). All do up to a depth of four windows in threes: 16 filters by [28,28] of 1,
/// 3, 4 and 8 channels take 0.85, 1.01, 1.05 and 1.11 of the time so, with AVX2 0.78, 0.91, 0.98
/// and 1.12.
inline std::int64_t rows_together(std::int64_t rows, std::int64_t depth,
                                  const window_rows& windows) {
  if (!windows.in_threes()) return rows / 2 * 2;
  return depth <= 36 ? 0 : rows / 4 * 4;
}

/// Any block of neighbouring columns. Rows are multiplied one by one by whole runs of columns only,
/// not by what lies before the first or behind the last.
template <bool Whole, Floating T>
void multiply_block(const window_block<T>& block, const position_runs& runs,
                    const std::optional<window_rows>& windows) {
  const std::int64_t together =
      windows ? rows_together(block.rows, block.depth, *windows) : block.rows;
  const std::int64_t into = block.first_column % runs.length;
  const std::int64_t before = into == 0 ? 0 : std::min(block.columns, runs.length - into);
  const std::int64_t whole = (block.columns - before) / runs.length * runs.length;
  if (together == block.rows || whole == 0 || block.a.column != 1)
    return multiply_together<1, Whole>(block, runs);
  multiply_together<1, Whole>(block.part_of_rows(0, together), runs);
  const window_block<T> single = block.part_of_rows(together, block.rows - together);
  const std::int64_t behind = before + whole;
  multiply_together<1, Whole>(single.part_of_columns(0, before), runs);
  multiply_overlapping<Whole>(single.part_of_columns(before, whole), runs, *windows);
  multiply_together<1, Whole>(single.part_of_columns(behind, block.columns - behind), runs);
}

}  // namespace detail

/// C = A B, or C += A B if the product says so, of a gathered B whose columns lie in runs
/// (spaced_runs_of); `offsets` has room for in_place_depth of them. How an element is summed up
/// depends on k and the axes of B's rows alone: in order, in blocks of up to in_place_depth.
template <Floating T>
void multiply_windows(const matrix_product& product, detail::placed_matrix<T> a,
                      std::int64_t* offsets) {
  std::int64_t most_depth = detail::in_place_depth;
  const gathered_axes& axes = product.gathered_b;
  const position_runs runs = spaced_runs_of(axes.columns).value_or(position_runs{});
  std::optional<detail::window_rows> windows = detail::overlapping_rows(axes.rows, runs);
  if (windows && (windows->size() > most_depth || axes.first_row % windows->size() != 0 ||
                  product.k % windows->size() != 0))
    windows.reset();  // parts of windows
  if (windows) most_depth -= most_depth % windows->size();
  const auto* b = static_cast<const T*>(product.b);
  detail::tile_target<T> c{static_cast<T*>(product.c), product.ldc, product.accumulate};
  for (std::int64_t p = 0; p < product.k; p += most_depth, c.add = true) {
    const std::int64_t depth = std::min(most_depth, product.k - p);
    detail::fill_offsets(axes.rows, axes.first_row + p, depth, offsets);
    const detail::window_block<T> block{
        product.m, axes.first_column, product.n,      depth,          a.from_column(p), b, offsets,
        c,         product.count,     product.a_step, product.b_step, product.c_step};
    // What lies apart is loaded by two masks, of which there are too few for eight segments: every
    // other row and column of [96,114,114], depthwise, takes 0.86 of the time whole (Zen 4).
    const bool whole = runs.length >= lanes<T> && !(has_masked_moves && c.add);
    if (runs.spacing == 2)
      whole ? detail::multiply_together<2, true>(block, runs)
            : detail::multiply_together<2, false>(block, runs);
    else if constexpr (has_masked_moves)
      detail::multiply_block<false>(block, runs, windows);
    else
      whole ? detail::multiply_block<true>(block, runs, windows)
            : detail::multiply_block<false>(block, runs, windows);
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
