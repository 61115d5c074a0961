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
#include <sinter/exec/row_blocks.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Rows that are combined while their partial results are in registers.
inline constexpr std::int64_t rows_at_once = 4;

// The leaves of a row from column `first` on.
template <ir::region R>
[[gnu::always_inline]] inline leaf_pointers<R> leaves_from(const void* const* operands,
                                                           std::int64_t first) {
  leaf_pointers<R> leaf = leaves_of<R>(operands);
  for (std::size_t k = 0; k < R.leaf_count; ++k)
    if (!R.is_scalar(k)) leaf[k] += first;
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
    load_rests<R>(values, leaf, j, columns - j);
    evaluate_nodes<R, 1>(values);
    store<T>(partial + j, combine<M>(load<T>(partial + j), results_of(values)[0]));
  }
}

// What is fetched meanwhile lies so many bytes behind what is read of each leaf; 0 of one that is
// the same in every row.
template <ir::region R>
struct leaves_ahead {
  bool any = false;
  std::array<std::int64_t, R.leaf_count> bytes{};

  // Of `rows` rows.
  [[gnu::always_inline]] leaves_ahead(const void* const* operands, std::int64_t rows,
                                      std::int64_t width, ir::column_walk walk)
      : any(walk.ahead > 0 && rows > 1) {
    if (!any) return;
    const std::int64_t row_bytes = width * std::int64_t{size_of(R.type)};
    for (std::size_t k = 0; k < bytes.size(); ++k) {
      const std::int64_t step = static_cast<const std::byte*>(operands[k + R.leaf_count]) -
                                static_cast<const std::byte*>(operands[k]);
      bytes[k] = step == 0 ? 0 : bytes_ahead(walk, row_bytes, step);
    }
  }

  // Of the register of a row from column j on.
  [[gnu::always_inline]] void fetch(const leaf_pointers<R>& leaf, std::int64_t j) const {
#pragma GCC unroll 12
    for (std::size_t k = 0; k < R.leaf_count; ++k)
      if (!R.is_scalar(k) && bytes[k] != 0)
        __builtin_prefetch(reinterpret_cast<const std::byte*>(leaf[k] + j) + bytes[k]);
  }
};

// One register of each of several rows, evaluated side by side.
template <ir::region R>
struct rows_of_values {
  static constexpr auto count = static_cast<std::size_t>(rows_at_once);
  // Scalars may differ from row to row, so that regions with some have values for each row.
  static constexpr bool together = R.scalar_leaves == 0;
  std::array<region_values<R, together ? rows_at_once : 1>, together ? 1 : count> values;

  [[gnu::always_inline]] explicit rows_of_values(const std::array<leaf_pointers<R>, count>& leaf) {
    if constexpr (!together)
      unrolled<count>([&](auto row) __attribute__((always_inline)) {
        load_scalars<R, 1>(values[row], leaf[row]);
      });
  }

  [[gnu::always_inline]] void evaluate(const std::array<leaf_pointers<R>, count>& leaf,
                                       std::int64_t j) {
    if constexpr (together) {
#pragma GCC unroll 12
      for (std::size_t k = 0; k < R.leaf_count; ++k)
#pragma GCC unroll 4
        for (std::size_t row = 0; row < count; ++row)
          values[0].number[k][row] = load<region_type<R>>(leaf[row][k] + j);
      evaluate_nodes<R, rows_at_once>(values[0]);
    } else {
      unrolled<count>([&](auto row) __attribute__((always_inline)) {
        evaluate_region<R, 1>(values[row], leaf[row], j);
      });
    }
  }

  [[gnu::always_inline]] auto result(std::size_t row) {
    if constexpr (together)
      return results_of(values[0])[row];
    else
      return results_of(values[row])[0];
  }

  // What M combines a register and those of columns [j, j + lanes) of the rows to.
  template <monoid M, class T>
  [[gnu::always_inline]] simd<T> add_to(simd<T> sum,
                                        const std::array<leaf_pointers<R>, count>& leaf,
                                        std::int64_t j) {
    evaluate(leaf, j);
#pragma GCC unroll 4
    for (std::size_t row = 0; row < count; ++row) sum = combine<M>(sum, result(row));
    return sum;
  }
};

// add_row for several rows, one after the other.
template <monoid M, ir::region R, class T>
[[gnu::always_inline]] inline void add_each_row(
    std::int64_t j, std::int64_t columns, const std::array<leaf_pointers<R>, rows_at_once>& leaf,
    T* partial) {
  unrolled<rows_at_once>([&](auto row) __attribute__((always_inline)) {
    add_row<M, R, T>(j, columns, leaf[row], partial);
  });
}

// All columns of several rows, which are walked together.
template <monoid M, ir::region R, class T>
[[gnu::always_inline]] inline void add_rows(std::int64_t columns,
                                            const std::array<leaf_pointers<R>, rows_at_once>& leaf,
                                            const leaves_ahead<R>& ahead, T* partial) {
  rows_of_values<R> values(leaf);
  std::int64_t j = 0;
  for (; j + lanes<T> <= columns; j += lanes<T>) {
    if (ahead.any)
      for (const leaf_pointers<R>& row : leaf) ahead.fetch(row, j);
    store<T>(partial + j, values.template add_to<M, T>(load<T>(partial + j), leaf, j));
  }
  add_each_row<M, R, T>(j, columns, leaf, partial);
}

// All columns of one row, whose lines are asked for one by one.
template <monoid M, ir::region R, class T>
[[gnu::always_inline]] inline void add_row_in_turn(std::int64_t columns,
                                                   const leaf_pointers<R>& leaf,
                                                   const leaves_ahead<R>& ahead, T* partial) {
  constexpr std::int64_t line = ir::run_mode::line / std::int64_t{sizeof(T)};
  region_values<R, 1> values;
  load_scalars<R, 1>(values, leaf);
  std::int64_t j = 0;
  for (; j + lanes<T> <= columns; j += lanes<T>) {
    if (ahead.any && j % line == 0) ahead.fetch(leaf, j);
    evaluate_region<R, 1>(values, leaf, j);
    store<T>(partial + j, combine<M>(load<T>(partial + j), results_of(values)[0]));
  }
  add_row<M, R, T>(j, columns, leaf, partial);
}

// The rows [0, rows), a multiple of rows_at_once, of a block as narrow as that. leaves(row): those
// of rows_at_once rows from there on.
template <monoid M, ir::region R, class T, class Leaves>
[[gnu::always_inline]] inline void add_narrow_rows(std::int64_t rows, std::int64_t columns,
                                                   const Leaves& leaves, T* partial) {
  std::int64_t j = 0;
  for (; j + lanes<T> <= columns; j += lanes<T>) {
    simd<T> sum = load<T>(partial + j);
    for (std::int64_t row = 0; row < rows; row += rows_at_once) {
      const auto leaf = leaves(row);
      sum = rows_of_values<R>(leaf).template add_to<M, T>(sum, leaf, j);
    }
    store<T>(partial + j, sum);
  }
  if (j == columns) return;
  for (std::int64_t row = 0; row < rows; row += rows_at_once)
    add_each_row<M, R, T>(j, columns, leaves(row), partial);
}

}  // namespace detail

/// Evaluates region R over a block of rows, at most column_block_rows of them, and combines the
/// results into one accumulator per column; see ir::map_reduce_columns_function. The same bits as
/// map_kernel<R> for every row and then the column reduction of M. Unless they are narrow, rows are
/// walked from their beginning to their end, as the hardware's prefetchers follow them: four side
/// by side, or in turn those that are no longer than a block. Strips of 4 registers down long rows
/// take a tenth longer over 16 MB. Allocates nothing.
template <monoid M, ir::region R>
void map_reduce_columns_kernel(std::int64_t rows, std::int64_t columns, ir::column_walk walk,
                               const void* const* operands, void* accumulator) {
  using T = detail::region_type<R>;
  static_assert(!detail::result_is_truth<R>, "truth values have no sum");
  auto* const target = static_cast<accumulator_type<M, T>*>(accumulator);
  walk = detail::walk_in_blocks(walk, columns, detail::partial_columns);
  alignas(64) T partial[static_cast<std::size_t>(detail::partial_columns)];

  for (std::int64_t first = 0; first < columns; first += detail::partial_columns) {
    const std::int64_t width = std::min(detail::partial_columns, columns - first);
    // From the identity a block begins with its first row, but for the sign of a zero, which is
    // lost in the accumulator.
    std::fill_n(partial, planning::whole_units(width, lanes<T>), detail::identity_of<M, T>());
    const auto leaves = [&](std::int64_t row) __attribute__((always_inline)) {
      return detail::leaves_from<R>(operands + row * R.leaf_count, first);
    };
    const auto four_rows = [&](std::int64_t row) __attribute__((always_inline)) {
      return std::array{leaves(row), leaves(row + 1), leaves(row + 2), leaves(row + 3)};
    };
    const bool is_narrow = width <= narrow_registers * lanes<T>;
    const bool in_turn = walk.in_turn && !is_narrow;
    const std::int64_t grouped = in_turn ? 0 : rows - rows % detail::rows_at_once;
    const detail::leaves_ahead<R> ahead(operands, rows, width, {walk.ahead, in_turn});
    if (is_narrow)
      detail::add_narrow_rows<M, R, T>(grouped, width, four_rows, partial);
    else
      for (std::int64_t row = 0; row < grouped; row += detail::rows_at_once)
        detail::add_rows<M, R, T>(width, four_rows(row), ahead, partial);
    for (std::int64_t row = grouped; row < rows; ++row)
      detail::add_row_in_turn<M, R, T>(width, leaves(row), ahead, partial);
    detail::accumulate_partials<M, T>(width, partial, target + first);
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
