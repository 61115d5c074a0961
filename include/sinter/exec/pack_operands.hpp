// SPDX-License-Identifier: MIT
// Operands of products, packed by Eigen's routines as panel_product.hpp reads them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

// The order matters: see intrinsics.hpp.
// clang-format off
#include <sinter/support/intrinsics.hpp>
#include <Eigen/Core>
// clang-format on

#include <sinter/exec/copy.hpp>
#include <sinter/exec/gathered_mapper.hpp>
#include <sinter/exec/pack_depth_runs.hpp>
#include <sinter/exec/panel_product.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/plan/division.hpp>

// The names used of Eigen::internal are those of 3.4; 5.0 still has them.
#if !EIGEN_VERSION_AT_LEAST(3, 4, 0)
#error "sinter needs Eigen 3.4 or newer"
#endif

namespace sinter::inline SINTER_ABI::exec::detail {

// Columns of a panel of B at most, and how many with a stride are worth packing row by row.
inline constexpr std::int64_t most_panel = 192, least_strided_run = 4;

// A block of a gathered operand, with its own directions first and second and its offsets in
// tables: `pack` gets a mapper, whose packets run along the direction with the longer runs.
template <Floating T, class Pack>
void pack_gathered(const void* base, const gathered_axes& axes, std::span<const matrix_axis> first,
                   std::int64_t first_place, std::int64_t first_count,
                   std::span<const matrix_axis> second, std::int64_t second_place,
                   std::int64_t second_count, void* tables, Pack pack) {
  auto* memory = static_cast<std::int64_t*>(tables);
  const auto a = offset_table::make(first, first_place, first_count, memory),
             b = offset_table::make(second, second_place, second_count,
                                    memory + offset_table::words(first_count));
  const auto* from = static_cast<const T*>(base);
  if (even_run(first) >= even_run(second))
    pack(gathered_mapper<T, true>(from, a, b, axes.low, axes.high), std::true_type());
  else
    pack(gathered_mapper<T, false>(from, a, b, axes.low, axes.high), std::false_type());
}

// A row-major B, row by row, and rows ahead of it fetched: Eigen's routine walks down each strip by
// itself, and takes twice as long where B does not stay in L2.
template <Floating T>
void pack_row_major(const T* from, std::int64_t stride, std::int64_t depth, std::int64_t columns,
                    T* to) {
  constexpr std::int64_t ahead = 8;
  for (std::int64_t p = 0; p < depth; ++p)
    for_each_strip<T>(columns, [&]<int W>(std::int64_t j, std::int64_t rest) {
      for (int w = 0; w < W; ++w) {
        const T* const at = from + p * stride + j + w * lanes<T>;
        __builtin_prefetch(at + ahead * stride);
        store<T>(to + j * depth + (p * W + w) * lanes<T>,
                 w + 1 < W || rest == lanes<T> ? load<T>(at) : load_part<T>(at, rest, T(0)));
      }
    });
}

// Any other B: whole registers of columns as Eigen packs the left side of its kernel, and what is
// left of a register, with the strip that it ends, element by element. The mapper has columns of B
// first.
template <Floating T, int Order, class Mapper>
void pack_strips(const Mapper& from, std::int64_t depth, std::int64_t columns, T* to) {
  using packet = typename Eigen::internal::gebp_traits<T, T>::LhsPacket4Packing;
  static_assert(Eigen::internal::gebp_traits<T, T>::LhsProgress == lanes<T>,
                "Eigen and xsimd use registers of different widths");
  const std::int64_t ragged = columns % lanes<T> == 0 ? 0 : columns % tile_columns<T>;
  const std::int64_t whole = columns - ragged;
  Eigen::internal::gemm_pack_lhs<T, Eigen::Index, Mapper, static_cast<int>(tile_columns<T>),
                                 lanes<T>, packet, Order>()(to, from, depth, whole);
  if (ragged == 0) return;
  const std::int64_t width = planning::whole_units(ragged, lanes<T>);
  T* row = to + whole * depth;
  for (std::int64_t p = 0; p < depth; ++p, row += width) {
    for (std::int64_t j = 0; j < ragged; ++j) row[j] = from(whole + j, p);
    std::fill(row + ragged, row + width, T(0));
  }
}

// Every other of the `room` elements from `from` on: `count` of them, and at most a register more,
// which strided_load must not write: with it products of rows of 28 and 14 take 1.04 and 1.1 times
// as long.
template <Floating T>
void load_every_other(std::int64_t count, const T* from, std::int64_t room, T* to) {
  using row [[gnu::vector_size(sizeof(simd<T>))]] = T;
  std::int64_t i = 0;
  for (; i < count && 2 * (i + lanes<T>) <= room; i += lanes<T>) {
    row a, b;
    std::memcpy(&a, from + 2 * i, sizeof a);
    std::memcpy(&b, from + 2 * i + lanes<T>, sizeof b);
    const row even = [&]<int... Lane>(std::integer_sequence<int, Lane...>) {
      return __builtin_shufflevector(a, b, 2 * Lane...);
    }(std::make_integer_sequence<int, lanes<T>>());
    std::memcpy(to + i, &even, sizeof even);
  }
  for (; i < count; ++i) to[i] = from[2 * i];
}

// A gathered B whose columns lie in rows with a stride, row by row: with packets along its rows
// every element is a load, a select and a store. (128 filters by windows of 3 x 3 at every other
// place of [8,64,56,56]: 4.5 instead of 7.7 ms. Neighbours Eigen packs as fast.)
template <Floating T>
void pack_strided(const matrix_product& product, std::int64_t p, std::int64_t j, std::int64_t depth,
                  std::int64_t columns, T* to) {
  const gathered_axes& axes = product.gathered_b;
  const auto [extent, stride] = axes.columns.back();
  const std::int64_t first = axes.first_column + j;
  auto* const places = static_cast<std::int64_t*>(product.tables);
  fill_offsets(axes.columns, first, columns, places);
  fill_offsets(axes.rows, axes.first_row + p, depth, places + columns);
  const auto* const base = static_cast<const T*>(product.b);
  alignas(64) T row[most_panel + lanes<T>] = {};
  for (std::int64_t q = 0; q < depth; ++q) {
    const T* const from = base + places[columns + q];
    for (std::int64_t k = 0, run = 0; k < columns; k += run) {
      run = std::min(extent - (first + k) % extent, columns - k);
      if (stride == 2)
        load_every_other(run, from + places[k], base + axes.high + 1 - (from + places[k]), row + k);
      else
        strided_load(run, from + places[k], stride, sizeof(T), row + k);
    }
    std::fill_n(row + columns, lanes<T>, T(0));
    for_each_strip<T>(columns, [&]<int W>(std::int64_t at, std::int64_t) {
      for (int w = 0; w < W; ++w)
        store<T>(to + at * depth + (q * W + w) * lanes<T>, load<T>(row + at + w * lanes<T>));
    });
  }
}

// Rows [p, p + depth) and columns [j, j + columns) of B.
template <Floating T>
void pack_panel(const matrix_product& product, std::int64_t p, std::int64_t j, std::int64_t depth,
                std::int64_t columns, T* to) {
  using by_row = Eigen::internal::const_blas_data_mapper<T, Eigen::Index, Eigen::RowMajor>;
  const gathered_axes& axes = product.gathered_b;
  if (axes.any() && axes.columns.back().extent >= least_strided_run &&
      axes.columns.back().stride != 1)
    return pack_strided(product, p, j, depth, columns, to);
  if constexpr (depth_tile<T> >= 4)
    if (axes.any() && has_depth_runs<T>(axes))
      return pack_depth_runs(product, p, j, depth, columns, to);
  if (axes.any())
    return pack_gathered<T>(product.b, axes, axes.columns, axes.first_column + j, columns,
                            axes.rows, axes.first_row + p, depth, product.tables,
                            [&](const auto& mapper, auto along_columns) {
                              pack_strips<T, along_columns() ? Eigen::ColMajor : Eigen::RowMajor>(
                                  mapper, depth, columns, to);
                            });
  const auto* b = static_cast<const T*>(product.b);
  if (product.transpose_b)
    pack_strips<T, Eigen::RowMajor>(by_row(b + j * product.ldb + p, product.ldb), depth, columns,
                                    to);
  else
    pack_row_major(b + p * product.ldb + j, product.ldb, depth, columns, to);
}

// Rows [i, i + rows) and columns [p, p + depth) of A as panel_product.hpp reads them.
template <Floating T>
void pack_slab(const matrix_product& product, std::int64_t i, std::int64_t p, std::int64_t rows,
               std::int64_t depth, T* to) {
  using namespace Eigen::internal;
  using index = Eigen::Index;
  using by_column = const_blas_data_mapper<T, index, Eigen::ColMajor>;
  using by_row = const_blas_data_mapper<T, index, Eigen::RowMajor>;
  if (const gathered_axes& axes = product.gathered_a; axes.any())
    return pack_gathered<T>(product.a, axes, axes.columns, axes.first_column + p, depth, axes.rows,
                            axes.first_row + i, rows, product.tables,
                            [&](const auto& mapper, auto along_depth) {
                              gemm_pack_rhs<T, index, std::decay_t<decltype(mapper)>, packed_group,
                                            along_depth() ? Eigen::ColMajor : Eigen::RowMajor>()(
                                  to, mapper, depth, rows);
                            });
  const auto* a = static_cast<const T*>(product.a);
  if (product.transpose_a)
    gemm_pack_rhs<T, index, by_row, packed_group, Eigen::RowMajor>()(
        to, by_row(a, product.lda).getSubMapper(p, i), depth, rows);
  else
    gemm_pack_rhs<T, index, by_column, packed_group, Eigen::ColMajor>()(
        to, by_column(a, product.lda).getSubMapper(p, i), depth, rows);
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
