// SPDX-License-Identifier: MIT
// Operands of products, packed by Eigen's routines as panel_product.hpp reads them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

// The order matters: see intrinsics.hpp.
// clang-format off
#include <sinter/support/intrinsics.hpp>
#include <Eigen/Core>
// clang-format on

#include <sinter/exec/gathered_mapper.hpp>
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
  if (unit_run(first) >= unit_run(second))
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

// Rows [p, p + depth) and columns [j, j + columns) of B.
template <Floating T>
void pack_panel(const matrix_product& product, std::int64_t p, std::int64_t j, std::int64_t depth,
                std::int64_t columns, T* to) {
  using by_row = Eigen::internal::const_blas_data_mapper<T, Eigen::Index, Eigen::RowMajor>;
  if (const gathered_axes& axes = product.gathered_b; axes.any())
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
