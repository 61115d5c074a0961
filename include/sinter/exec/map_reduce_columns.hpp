// SPDX-License-Identifier: MIT
// A fused kernel with a reduction over columns behind it: what a region computes is combined into
// partial results of a block of rows, which stay in L1, and those into the accumulators. One
// instantiation per region and monoid.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/evaluate_region.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce.hpp>
#include <sinter/graph/region.hpp>

namespace sinter::exec {

namespace detail {

// Columns whose partial results are on the stack at one time: 4 KiB of floats.
inline constexpr std::int64_t partial_columns = 1024;

// The leaves of a row from column `first` on.
template <ir::region R>
[[gnu::always_inline]] inline leaf_pointers<R> leaves_from(const void* const* operands,
                                                           std::int64_t first) {
  leaf_pointers<R> leaf = leaves_of<R>(operands);
  unrolled<R.leaf_count>([&](auto k) __attribute__((always_inline)) {
    if constexpr (!R.is_scalar(k)) leaf[k] += first;
  });
  return leaf;
}

// partial[j] = partial[j] op region(column j of a row) for columns [j, columns). What stands behind
// the last one up to the end of its register is overwritten.
template <monoid M, ir::region R, class T>
[[gnu::always_inline]] inline void add_row(std::int64_t j, std::int64_t columns,
                                           const leaf_pointers<R>& leaf, T* partial) {
  region_values<R, 1> values;
  load_scalars<R, 1>(values, leaf);
  for (; j < columns; j += lanes<T>) {
    unrolled<R.leaf_count>([&](auto k) __attribute__((always_inline)) {
      if constexpr (!R.is_scalar(k))
        values.number[k][0] = load_part<T>(leaf[k] + j, columns - j, T(1));
    });
    evaluate_nodes<R, 1>(values);
    store<T>(partial + j, combine<M>(load<T>(partial + j), result_of<R, 1>(values, 0)));
  }
}

// The same of two rows, the first before the second.
template <monoid M, ir::region R, class T>
[[gnu::always_inline]] inline void add_two_rows(std::int64_t columns, const leaf_pointers<R>& first,
                                                const leaf_pointers<R>& second, T* partial) {
  constexpr int at_once = registers_at_once / 2;
  std::int64_t j = 0;
  region_values<R, at_once> upper, lower;
  load_scalars<R, at_once>(upper, first);
  load_scalars<R, at_once>(lower, second);
  for (; j + at_once * lanes<T> <= columns; j += at_once * lanes<T>) {
    evaluate_region<R, at_once>(upper, first, j);
    evaluate_region<R, at_once>(lower, second, j);
    unrolled<at_once>([&](auto u) __attribute__((always_inline)) {
      T* const to = partial + j + static_cast<std::int64_t>(u) * lanes<T>;
      store<T>(to, combine<M>(combine<M>(load<T>(to), result_of<R, at_once>(upper, u)),
                              result_of<R, at_once>(lower, u)));
    });
  }
  add_row<M, R, T>(j, columns, first, partial);
  add_row<M, R, T>(j, columns, second, partial);
}

}  // namespace detail

/// Evaluates region R over a block of rows, at most column_block_rows of them, and combines the
/// results into one accumulator per column; see ir::map_reduce_columns_function. The same bits as
/// map_kernel<R> for every row and then the column reduction of M. Rows are walked in pairs, from
/// their beginning to their end, as the hardware's prefetchers follow them; strips of 4 registers
/// down the rows take a tenth longer over 16 MB. Allocates nothing.
template <monoid M, ir::region R>
void map_reduce_columns_kernel(std::int64_t rows, std::int64_t columns, const void* const* operands,
                               void* accumulator) {
  using T = detail::region_type<R>;
  static_assert(!detail::result_is_truth<R>, "truth values have no sum");
  auto* const target = static_cast<accumulator_type<M, T>*>(accumulator);
  alignas(64) T partial[static_cast<std::size_t>(detail::partial_columns)];

  for (std::int64_t first = 0; first < columns; first += detail::partial_columns) {
    const std::int64_t width = std::min(detail::partial_columns, columns - first);
    const std::int64_t registers = (width + lanes<T> - 1) / lanes<T>;
    // From the identity a block begins with its first row, but for the sign of a zero, which is
    // lost in the accumulator.
    std::fill_n(partial, registers * lanes<T>, detail::identity_of<M, T>());
    const auto leaves = [&](std::int64_t row) __attribute__((always_inline)) {
      return detail::leaves_from<R>(operands + row * R.leaf_count, first);
    };
    std::int64_t row = 0;
    for (; row + 2 <= rows; row += 2)
      detail::add_two_rows<M, R, T>(width, leaves(row), leaves(row + 1), partial);
    if (row < rows) detail::add_row<M, R, T>(0, width, leaves(row), partial);
    std::int64_t j = 0;
    for (; j + lanes<T> <= width; j += lanes<T>)
      detail::accumulate<M, T>(load<T>(partial + j), target + first + j);
    for (; j < width; ++j)
      target[first + j] = detail::combine_single<M>(
          target[first + j], static_cast<accumulator_type<M, T>>(partial[j]));
  }
}

}  // namespace sinter::exec
