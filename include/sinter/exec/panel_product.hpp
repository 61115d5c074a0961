// SPDX-License-Identifier: MIT
// Products by a packed B, as Eigen's routines pack it for its own kernel, in strips of three
// registers of columns, the last filled up with zeros (pack_operands.hpp). A is packed, too, in
// groups of four rows, what is left of it row by row, or read where it is.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include <sinter/exec/columns_apart.hpp>
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

/// A packed A, of rows that are `depth` long.
template <Floating T>
struct packed_left {
  const T* from;
  std::int64_t depth;

  template <int R>
  auto rows(std::int64_t i) const {
    if constexpr (R % packed_group == 0)
      return packed_rows<T>{from + i * depth, depth};
    else
      return placed_matrix<T>{from + i * depth, depth, 1};
  }
};

/// A where it is.
template <Floating T>
struct placed_left {
  placed_matrix<T> from;

  template <int R>
  placed_matrix<T> rows(std::int64_t i) const {
    return from.from_row(i);
  }
};

/// Calls visit.operator()<R>(i, left.rows<R>(i)) for all rows, R of them from row i on at a time.
template <class Left, class Visit>
[[gnu::always_inline]] inline void for_each_group(std::int64_t rows, const Left& left,
                                                  Visit visit) {
  static_assert(tile_rows % packed_group == 0);
  std::int64_t i = 0;
  const auto groups = [&]<int R>() {
    for (; i + R <= rows; i += R) visit.template operator()<R>(i, left.template rows<R>(i));
  };
  groups.template operator()<tile_rows>();
  if constexpr (tile_rows > packed_group) groups.template operator()<packed_group>();
  groups.template operator()<2>();
  groups.template operator()<1>();
}

/// How many of a panel's columns are multiplied apart, where A is where it is and they are a strip
/// of their own.
template <Floating T>
std::int64_t strip_apart(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                         const placed_left<T>& a) {
  const std::int64_t apart = columns_apart<T>(rows, columns, depth, a.from);
  return (columns - apart) % tile_columns<T> == 0 ? apart : 0;
}
template <Floating T>
std::int64_t strip_apart(std::int64_t, std::int64_t, std::int64_t, const packed_left<T>&) {
  return 0;
}

/// R rows of A by a strip of B, W registers wide, of the last of which `rest` lanes belong to C;
/// registers add up `sums` steps of the depth at a time.
template <int R, int W, Floating T, class Rows>
[[gnu::always_inline]] inline void multiply_strip(std::int64_t depth, std::int64_t sums,
                                                  const Rows& left, const T* from, tile_target<T> c,
                                                  std::int64_t rest) {
  const packed_strip<T> strip{from, W * lanes<T>};
  for (std::int64_t p = 0; p < depth; p += sums, c.add = true)
    multiply_tile<R, W>(std::min(sums, depth - p), left.from_column(p), strip.from_row(p), c, rest);
}

/// The same of all rows by the `apart` columns of a strip of their own.
template <Floating T>
void multiply_strip_apart(std::int64_t rows, std::int64_t apart, std::int64_t depth,
                          std::int64_t sums, const placed_left<T>& a, const T* strip,
                          tile_target<T> c) {
  std::int64_t done = 0;
  tile_target<T> to = c;
  for (std::int64_t p = 0; p < depth; p += sums, to.add = true)
    done = multiply_columns_apart<T>(apart, rows, std::min(sums, depth - p), a.from.from_column(p),
                                     strip + p * lanes<T>, lanes<T>, to);
  for_each_group(rows - done, placed_left<T>{a.from.from_row(done)},
                 [&]<int R>(std::int64_t i, const auto& left) {
                   multiply_strip<R, 1, T>(depth, sums, left, strip, c.at(done + i, 0), apart);
                 });
}

/// C = A B, or C += A B if the target says so; registers add up `sums` steps of the depth at a
/// time. A few rows of A stay in L1 while all strips of B pass: what lies apart is read once, and
/// with registers of 64 bytes that is 1 to 7 % faster on a Xeon where A is packed, too. A packed
/// one passes as a whole where registers are shorter, while a strip of B stays in L1, of which it
/// takes half: 1 to 4 % faster on a Zen 3.
template <Floating T, class Left>
void multiply_panels(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t sums,
                     Left a, const T* b, tile_target<T> c) {
  if constexpr (std::same_as<Left, packed_left<T>> && sizeof(simd<T>) <= 32) {
    for_each_strip<T>(columns, [&]<int W>(std::int64_t j, std::int64_t rest) {
      for_each_group(rows, a, [&]<int R>(std::int64_t i, const auto& left) {
        multiply_strip<R, W, T>(depth, sums, left, b + j * depth, c.at(i, j), rest);
      });
    });
  } else {
    const std::int64_t apart = strip_apart<T>(rows, columns, depth, a), together = columns - apart;
    for_each_group(rows, a, [&]<int R>(std::int64_t i, const auto& left) {
      for_each_strip<T>(together, [&]<int W>(std::int64_t j, std::int64_t rest) {
        multiply_strip<R, W, T>(depth, sums, left, b + j * depth, c.at(i, j), rest);
      });
    });
    if constexpr (std::same_as<Left, placed_left<T>>)
      if (apart > 0)
        multiply_strip_apart<T>(rows, apart, depth, sums, a, b + together * depth,
                                c.at(0, together));
  }
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
