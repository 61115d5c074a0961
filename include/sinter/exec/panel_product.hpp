// SPDX-License-Identifier: MIT
// Products of packed operands, as Eigen's routines pack them for its own kernel: B in strips of
// three registers of columns, A in groups of four rows, what is left of A row by row. A ragged last
// strip of B is filled up with zeros (pack_operands.hpp).
#pragma once

#include <algorithm>
#include <cstdint>

#include <sinter/exec/product_tile.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

/// Rows that stand side by side in a packed A.
inline constexpr std::int64_t packed_group = 4;

/// Groups of rows behind each other.
template <Floating T>
struct packed_rows {
  const T* from;
  std::int64_t depth;

  packed_rows from_column(std::int64_t p) const { return {from + p * packed_group, depth}; }
  [[gnu::always_inline]] T operator()(std::int64_t i, std::int64_t p) const {
    return from[i / packed_group * packed_group * depth + p * packed_group + i % packed_group];
  }
};

/// A strip, row by row.
template <Floating T>
struct packed_strip {
  const T* from;
  std::int64_t stride;

  packed_strip from_row(std::int64_t p) const { return {from + p * stride, stride}; }
  [[gnu::always_inline]] simd<T> operator()(std::int64_t p, int w, bool) const {
    return load<T>(from + p * stride + w * lanes<T>);
  }
};

/// Calls visit.operator()<R>(i, left) for the rows of a packed A, R of them from row i on at a
/// time.
template <Floating T, class Visit>
[[gnu::always_inline]] inline void for_each_group(std::int64_t rows, std::int64_t depth, const T* a,
                                                  Visit visit) {
  static_assert(tile_rows % packed_group == 0);
  std::int64_t i = 0;
  const auto groups = [&]<int R>() {
    for (; i + R <= rows; i += R)
      visit.template operator()<R>(i, packed_rows<T>{a + i * depth, depth});
  };
  const auto single_rows = [&]<int R>() {
    for (; i + R <= rows; i += R)
      visit.template operator()<R>(i, placed_matrix<T>{a + i * depth, depth, 1});
  };
  groups.template operator()<tile_rows>();
  if constexpr (tile_rows > packed_group) groups.template operator()<packed_group>();
  single_rows.template operator()<2>();
  single_rows.template operator()<1>();
}

/// C = A B, or C += A B if the target says so; registers add up `sums` steps of the depth at a
/// time. A strip of B stays in L1 while all of A passes, where it takes half of it, with registers
/// of 32 bytes: 1 to 4 % faster on a Zen 3. With longer ones a few rows of A stay there while all
/// strips of B pass: 1 to 7 % faster on a Xeon.
template <Floating T>
void multiply_panels(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t sums,
                     const T* a, const T* b, tile_target<T> c) {
  const auto multiply = [&]<int R, int W>(std::int64_t i, const auto& left, std::int64_t j,
                                          std::int64_t rest) {
    const packed_strip<T> strip{b + j * depth, W * lanes<T>};
    tile_target<T> to = c.at(i, j);
    for (std::int64_t p = 0; p < depth; p += sums, to.add = true)
      multiply_tile<R, W>(std::min(sums, depth - p), left.from_column(p), strip.from_row(p), to,
                          rest);
  };
  if constexpr (sizeof(simd<T>) <= 32) {
    for_each_strip<T>(columns, [&]<int W>(std::int64_t j, std::int64_t rest) {
      for_each_group<T>(rows, depth, a, [&]<int R>(std::int64_t i, const auto& left) {
        multiply.template operator()<R, W>(i, left, j, rest);
      });
    });
  } else {
    for_each_group<T>(rows, depth, a, [&]<int R>(std::int64_t i, const auto& left) {
      for_each_strip<T>(columns, [&]<int W>(std::int64_t j, std::int64_t rest) {
        multiply.template operator()<R, W>(i, left, j, rest);
      });
    });
  }
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
