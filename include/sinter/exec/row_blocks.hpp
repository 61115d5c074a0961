// SPDX-License-Identifier: MIT
// How kernels that reduce over columns walk rows in memory: pieces of columns whose partial results
// stay in L1, blocks of rows, and four rows side by side from their beginning to their end, which
// the hardware's prefetchers follow.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// Columns whose partial results are on the stack at one time: 4 KiB of floats.
inline constexpr std::int64_t partial_columns = 1024;

/// f(first, width, row, end) for blocks of rows [row, end) and columns [first, first + width).
template <class F>
[[gnu::always_inline]] inline void for_each_block(std::int64_t rows, std::int64_t columns,
                                                  std::int64_t most_columns, F f) {
  for (std::int64_t first = 0; first < columns; first += most_columns)
    for (std::int64_t row = 0; row < rows; row += column_block_rows)
      f(first, std::min(most_columns, columns - first), row,
        std::min(rows, row + column_block_rows));
}

/// How rows of so many columns are walked in blocks of `most_columns`: longer ones side by side, as
/// parts of them one after the other are no stream.
inline ir::column_walk walk_in_blocks(ir::column_walk walk, std::int64_t columns,
                                      std::int64_t most_columns) {
  walk.in_turn = walk.in_turn && columns <= most_columns;
  return walk;
}

/// How far behind what is read of a row lies what is fetched meanwhile, in bytes: as far as the
/// walk says, or where rows go side by side about as far in whole rows, of `width` bytes and `step`
/// bytes apart. Hardware follows a few rows, but not far enough. (The squared deviations of a batch
/// norm of 8192 x 512, whose data the step before has driven out of the caches: 0.26 ms with 16
/// KiB, 0.37 without.)
inline std::int64_t bytes_ahead(ir::column_walk walk, std::int64_t width, std::int64_t step) {
  if (walk.in_turn || walk.ahead == 0) return walk.ahead;
  return step * std::clamp<std::int64_t>(walk.ahead / width, 4, 16);
}

/// f.operator()<Rows>(row) for rows [row, end): four at a time, then one by one.
template <class F>
[[gnu::always_inline]] inline void for_each_four_rows(std::int64_t row, std::int64_t end, F f) {
  for (; row + 4 <= end; row += 4) f.template operator()<4>(row);
  for (; row < end; ++row) f.template operator()<1>(row);
}

/// f(j, registers) for columns [j, j + lanes) of `Rows` rows from x on; behind the last of `width`
/// columns stands `padding`.
template <int Rows, Floating T, class F>
[[gnu::always_inline]] inline void for_each_register(std::int64_t width, const T* x,
                                                     std::int64_t row_stride, T padding, F f) {
  simd<T> rows[std::size_t{Rows}];
  std::int64_t j = 0;
  for (; j + lanes<T> <= width; j += lanes<T>) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) rows[r] = load<T>(x + j + r * row_stride);
    f(j, rows);
  }
  if (j == width) return;
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) rows[r] = load_part<T>(x + j + r * row_stride, width - j, padding);
  f(j, rows);
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
