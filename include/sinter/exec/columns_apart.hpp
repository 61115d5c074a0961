// SPDX-License-Identifier: MIT
// The last columns of a product, where they fill a quarter of a register or less: as the 49th of an
// image of 7 x 7 does. Lanes are rows of A there, which are transposed in registers on the way; by
// a register of columns, most of whose lanes nobody needs, a row takes as long as by a whole one.
// The same bits: each result is summed up in order. (Parts of the time of all columns, Zen 4, A in
// L2: by 49 columns [160,960] 0.82, [1280,320] 0.84, [512,2048], whose rows have one place in L1,
// 0.96, by 50 and 52 [160,960] 0.82 and 0.86; with AVX2 by 49 0.93 to 0.94, on a Xeon 0.93 to 0.98,
// with AVX2 0.87 to 0.93. Six columns would take 1.05, and 1.29 with AVX2.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <sinter/exec/product_tile.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/transpose.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

template <Floating T>
inline constexpr int most_columns_apart = lanes<T> / 4;

/// How many of the last of n columns are multiplied apart from the others, for this many rows of A.
/// What is left of the depth behind whole tiles goes element by element.
template <Floating T>
std::int64_t columns_apart(std::int64_t rows, std::int64_t n, std::int64_t depth,
                           placed_matrix<T> a) {
  constexpr std::int64_t least_depth = 32;
  const std::int64_t rest = n % lanes<T>;
  const bool are_few = rest <= most_columns_apart<T>;
  return are_few && rows >= lanes<T> && depth >= least_depth && a.column == 1 ? rest : 0;
}

/// The elements of lanes<T> rows of A from row 0 on at `side` neighbouring places of the depth, a
/// register for each place.
template <Floating T>
struct rows_in_lanes {
  static constexpr std::size_t side = tile_side<sizeof(T)>, parts = lanes<T> / side;
  static_assert(parts * side == std::size_t{lanes<T>} && parts <= 2);
  using part = row_of<T, side>;

  [[gnu::always_inline]] explicit rows_in_lanes(placed_matrix<T> a) {
#pragma GCC unroll 2
    for (std::size_t q = 0; q < parts; ++q) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < side; ++i)
        std::memcpy(&rows_[q][i], a.from_row(static_cast<std::int64_t>(q * side + i)).from,
                    sizeof(part));
      transpose_registers<T, side>(rows_[q]);
    }
  }
  [[gnu::always_inline]] simd<T> at(std::size_t p) const {
    simd<T> out;
    if constexpr (parts == 1) {
      std::memcpy(&out, &rows_[0][p], sizeof out);
    } else {
      const auto both = [&]<std::size_t... I>(std::index_sequence<I...>) {
        return __builtin_shufflevector(rows_[0][p], rows_[1][p], I...);
      }(std::make_index_sequence<2 * side>());
      std::memcpy(&out, &both, sizeof out);
    }
    return out;
  }

 private:
  part rows_[parts][side];
};

/// lanes<T> rows by `Columns` columns of B, whose rows are `stride` elements apart.
template <int Columns, Floating T>
void multiply_lanes_of_rows(std::int64_t depth, placed_matrix<T> a, const T* b, std::int64_t stride,
                            tile_target<T> c) {
  constexpr auto side = static_cast<std::int64_t>(rows_in_lanes<T>::side);
  simd<T> sum[std::size_t{Columns}];
#pragma GCC unroll 4
  for (int j = 0; j < Columns; ++j) sum[j] = simd<T>(T(0));
  const auto add = [&](simd<T> rows, const T* row) {
#pragma GCC unroll 4
    for (int j = 0; j < Columns; ++j) sum[j] = fma<T>(rows, simd<T>(row[j]), sum[j]);
  };
  std::int64_t p = 0;
  for (; p + side <= depth; p += side) {
    const rows_in_lanes<T> rows(a.from_column(p));
#pragma GCC unroll 8
    for (std::int64_t q = 0; q < side; ++q)
      add(rows.at(static_cast<std::size_t>(q)), b + (p + q) * stride);
  }
  alignas(64) T lane[std::size_t{lanes<T>}];
  for (; p < depth; ++p) {
    for (std::int64_t i = 0; i < lanes<T>; ++i) lane[i] = a(i, p);
    add(load<T>(lane), b + p * stride);
  }
  for (int j = 0; j < Columns; ++j) {
    store<T>(lane, sum[j]);
    for (std::int64_t i = 0; i < lanes<T>; ++i) {
      T* const to = c.at(i, j).to;
      *to = c.add ? *to + lane[i] : lane[i];
    }
  }
}

/// All rows that fill whole registers, by the `count` columns of B from b on; returns how many.
/// Precondition: columns_apart is `count`, which is not 0.
template <Floating T>
[[gnu::noinline]] std::int64_t multiply_columns_apart(std::int64_t count, std::int64_t rows,
                                                      std::int64_t depth, placed_matrix<T> a,
                                                      const T* b, std::int64_t stride,
                                                      tile_target<T> c) {
  const std::int64_t whole = rows / lanes<T> * lanes<T>;
  const auto by = [&]<int Columns>(std::integral_constant<int, Columns>) {
    for (std::int64_t i = 0; i < whole; i += lanes<T>)
      multiply_lanes_of_rows<Columns, T>(depth, a.from_row(i), b, stride, c.at(i, 0));
  };
  [&]<int... I>(std::integer_sequence<int, I...>) {
    static_cast<void>(
        ((count == I + 1 && (by(std::integral_constant<int, I + 1>()), true)) || ...));
  }(std::make_integer_sequence<int, most_columns_apart<T>>());
  return whole;
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
