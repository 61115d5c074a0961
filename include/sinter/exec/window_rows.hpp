// SPDX-License-Identifier: MIT
// One filter at a time by the windows of an image whose rows overlap: an element that was read is
// multiplied for the windows of all rows that it lies in. What one filter takes is its loads, most
// of which cross a line, and of 3 x 3 windows a third are left so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/window_segments.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

/// Windows below each other, one for each run of columns: row y of one is row y - 1 of the next.
/// Rows lie `step` elements behind each other and have `width` elements, which are neighbours if
/// `adjacent`.
struct window_rows {
  std::int64_t height, width, step;
  bool adjacent;

  std::int64_t size() const { return height * width; }
  bool in_threes() const { return adjacent && width == 3 && height % 3 == 0; }
};

/// The windows of an operand with these axes of rows; nothing if they do not overlap.
inline std::optional<window_rows> overlapping_rows(std::span<const matrix_axis> axes,
                                                   const position_runs& runs) {
  std::int64_t width = 1;
  if (runs.spacing != 1) return std::nullopt;
  for (std::size_t i = axes.size(); runs.count > 1 && i-- > 0; width *= axes[i].extent)
    if (axes[i].extent > 1 && axes[i].stride == runs.step)
      return window_rows{axes[i].extent, width, runs.step,
                         i + 2 == axes.size() && axes[i + 1].stride == 1};
  return std::nullopt;
}

/// Adds H rows of R windows below each other, for each lane of W segments. Elements of the first
/// row lie `offsets` behind `from`, or are `Width` neighbours there, those of the second segment
/// `apart` behind them. Each sum takes the elements of its window in order.
template <int H, std::int64_t Width, bool Whole, int R, int W, Floating T>
[[gnu::always_inline]] inline void add_window_rows(const T* filter, const T* from,
                                                   std::int64_t apart, const std::int64_t* counts,
                                                   const window_rows& windows,
                                                   const std::int64_t* offsets,
                                                   simd<T> (&sum)[R][W]) {
  const std::int64_t width = Width > 0 ? Width : windows.width;
#pragma GCC unroll 16
  for (int row = 0; row < R + H - 1; ++row, from += windows.step) {
    // Or GCC computes all addresses first, and has no registers for them: 1.5 times as long.
    asm("" : "+r"(from));
    const auto add = [&](std::int64_t i, const T* at) __attribute__((always_inline)) {
      simd<T> element[std::size_t{W}];
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w, at += apart)
        element[w] = keep<T>(Whole ? load<T>(at) : load_part<T>(at, counts[w], T(0)));
#pragma GCC unroll 3
      for (int y = 0; y < H; ++y) {
        if (row < y || row >= R + y) continue;
        const simd<T> factor(filter[y * width + i]);
#pragma GCC unroll 2
        for (int w = 0; w < W; ++w) sum[row - y][w] = fma<T>(factor, element[w], sum[row - y][w]);
      }
    };
    if constexpr (Width > 0) {
#pragma GCC unroll 3
      for (std::int64_t i = 0; i < Width; ++i) add(i, from + i);
    } else {
#pragma GCC unroll 1
      for (std::int64_t i = 0; i < width; ++i) add(i, from + offsets[i]);
    }
  }
}

/// A filter by `count` windows behind each other in its depth, at R runs by W segments. `Width` is
/// 3 for windows in threes, or 0. `Whole`: all lanes may be read.
template <int R, int W, std::int64_t Width, bool Whole, Floating T>
[[gnu::noinline]] void multiply_window_rows(std::int64_t count, const T* filter, const T* b,
                                            const window_rows& windows, const std::int64_t* offsets,
                                            const column_segment* segments, tile_target<T> c) {
  simd<T> sum[std::size_t{R}][std::size_t{W}];
  std::int64_t counts[std::size_t{W}];
#pragma GCC unroll 2
  for (int w = 0; w < W; ++w) counts[w] = segments[w].count;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (int w = 0; w < W; ++w) sum[r][w] = simd<T>(T(0));
  b += segments[0].from;
  const std::int64_t apart = segments[W - 1].from - segments[0].from;
  const std::int64_t width = Width > 0 ? Width : windows.width;
  for (; count > 0; --count) {
    std::int64_t left = windows.height;
    const auto add = [&]<int H>() __attribute__((always_inline)) {
      add_window_rows<H, Width, Whole>(filter, Width > 0 ? b + *offsets : b, apart, counts, windows,
                                       offsets, sum);
      filter += H * width;
      offsets += H * width;
      left -= H;
    };
    while (Width > 0 ? left > 0 : left >= 3) add.template operator()<3>();
    if constexpr (Width == 0) {
      if (left == 2) add.template operator()<2>();
      if (left == 1) add.template operator()<1>();
    }
  }
  store_segments<Whole, R, W, T>(sum, segments, c);
}

/// All rows of a block by R runs of each of `groups`, of whose runs the first begins in column 0 of
/// the block: two segments at a time, as with one there are too few sums to hide how long a
/// multiply-add takes.
template <int R, std::int64_t Width, bool Whole, Floating T>
void multiply_run_groups(const window_block<T>& block, const position_runs& groups,
                         const window_rows& windows) {
  constexpr int most = 64;
  column_segment segments[std::size_t{most}];
  segment_cursor columns(groups, R * groups.length);
  const std::int64_t count = block.depth / windows.size();
  while (const int taken = columns.take<std::int64_t{lanes<T>}, Whole>(most, block.c.add, segments))
    block.for_each_product([&](placed_matrix<T> a, const T* b, tile_target<T> c) {
      for (std::int64_t row = 0; row < block.rows; ++row) {
        const tile_target<T> to{c.at(row, 0).to, groups.length, c.add};
        const T* const filter = a.from_row(row).from;
        int w = 0;
        for (; w + 2 <= taken; w += 2)
          multiply_window_rows<R, 2, Width, Whole>(count, filter, b, windows, block.offsets,
                                                   segments + w, to);
        if (w < taken)
          multiply_window_rows<R, 1, Width, Whole>(count, filter, b, windows, block.offsets,
                                                   segments + w, to);
      }
    });
}

/// A block of all columns of some runs, whose depth is whole windows, and rows of A without gaps.
/// With registers for 8 runs these come in eights, or all in sevens: images often have 7, 14, 28 or
/// 56 rows.
template <bool Whole, Floating T>
void multiply_overlapping(const window_block<T>& block, const position_runs& runs,
                          const window_rows& windows) {
  const std::int64_t count = block.columns / runs.length;
  std::int64_t done = 0;
  const auto multiply = [&]<int R>() {
    const position_runs groups{(count - done) / R, runs.length, R * runs.step};
    if (groups.count == 0) return;
    window_block<T> part = block.part_of_columns(done * runs.length, 0);
    part.b += (block.first_column / runs.length + done) * runs.step;
    if (windows.in_threes())
      multiply_run_groups<R, 3, Whole>(part, groups, windows);
    else
      multiply_run_groups<R, 0, Whole>(part, groups, windows);
    done += groups.count * R;
  };
  if constexpr (tile_rows == 8) {
    if (count % 8 != 0 && count % 7 == 0)
      multiply.template operator()<7>();
    else
      multiply.template operator()<8>();
  }
  multiply.template operator()<4>();
  multiply.template operator()<3>();
  multiply.template operator()<2>();
  multiply.template operator()<1>();
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
