// SPDX-License-Identifier: MIT
// A gathered right side whose depth lies in runs, as that of a convolution's weight gradient does:
// each column is a window's element at all places of an image. Tiles are transposed in registers;
// with packets along the depth Eigen's routine takes 2 times as long, and where places are every
// other one 5 times, element by element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sinter/exec/gathered_mapper.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/transpose.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

/// Elements a side of the tiles that are transposed.
template <Floating T>
inline constexpr auto depth_tile = static_cast<std::int64_t>(tile_side<sizeof(T)>);

/// As many elements from `at` on, Spacing apart; nothing behind the last one is read.
template <int Spacing, Floating T>
[[gnu::always_inline]] inline auto load_spaced(const T* at) {
  constexpr std::int64_t tile = depth_tile<T>;
  using row = row_of<T, std::size_t{tile}>;
  row first;
  std::memcpy(&first, at, sizeof first);
  if constexpr (Spacing == 1) return first;
  row second;
  std::memcpy(&second, at + tile - 1, sizeof second);
  if constexpr (tile == 8)
    return __builtin_shufflevector(first, second, 0, 2, 4, 6, 9, 11, 13, 15);
  else
    return __builtin_shufflevector(first, second, 0, 2, 5, 7);
}

/// A run of `length` rows of as many columns as a tile has, which begin at `columns`; rows of `to`
/// are `width` elements. The last tile begins within the one before.
template <int Spacing, Floating T>
void transpose_run(std::int64_t length, const T* const* columns, std::int64_t place, T* to,
                   std::int64_t width) {
  constexpr std::int64_t tile = depth_tile<T>;
  if (length < tile) {
    for (std::int64_t k = 0; k < length; ++k, to += width)
      for (std::int64_t i = 0; i < tile; ++i) to[i] = columns[i][place + k * Spacing];
    return;
  }
  for (std::int64_t k = 0; k < length; k += tile) {
    const std::int64_t begin = std::min(k, length - tile);
    row_of<T, std::size_t{tile}> rows[std::size_t{tile}];
    for (std::int64_t i = 0; i < tile; ++i)
      rows[i] = load_spaced<Spacing>(columns[i] + place + begin * Spacing);
    transpose_registers<T, std::size_t{tile}>(rows);
    for (std::int64_t i = 0; i < tile; ++i)
      std::memcpy(to + (begin + i) * width, &rows[i], sizeof rows[i]);
  }
}

/// Are the runs of a right side worth it, and longer than those of its columns?
template <Floating T>
bool has_depth_runs(const gathered_axes& axes) {
  const matrix_axis runs = axes.rows.back();
  return runs.extent >= depth_tile<T> && (runs.stride == 1 || runs.stride == 2) &&
         even_run(axes.columns) < runs.extent;
}

/// Rows [p, p + depth) and columns [j, j + columns) of such a B; what ends a strip repeats its last
/// column.
template <Floating T>
  requires(depth_tile<T> >= 4)
void pack_depth_runs(const matrix_product& product, std::int64_t p, std::int64_t j,
                     std::int64_t depth, std::int64_t columns, T* to) {
  constexpr std::int64_t tile = depth_tile<T>;
  const gathered_axes& axes = product.gathered_b;
  const matrix_axis runs = axes.rows.back();
  const std::int64_t first = axes.first_row + p;
  auto* const column_places = static_cast<std::int64_t*>(product.tables);
  auto* const row_places = column_places + columns;
  fill_offsets(axes.columns, axes.first_column + j, columns, column_places);
  fill_offsets(axes.rows, first, depth, row_places);
  const auto* const base = static_cast<const T*>(product.b);
  const auto transpose = runs.stride == 2 ? transpose_run<2, T> : transpose_run<1, T>;
  for_each_strip<T>(columns, [&]<int W>(std::int64_t at, std::int64_t) {
    constexpr std::int64_t width = W * lanes<T>;
    const T* column[std::size_t{width}];
    for (std::int64_t i = 0; i < width; ++i)
      column[i] = base + column_places[std::min(at + i, columns - 1)];
    for (std::int64_t k = 0, run = 0; k < depth; k += run) {
      run = std::min(runs.extent - (first + k) % runs.extent, depth - k);
      for (std::int64_t i = 0; i < width; i += tile)
        transpose(run, column + i, row_places[k], to + at * depth + k * width + i, width);
    }
  });
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
