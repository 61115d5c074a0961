// SPDX-License-Identifier: MIT
// Products that read both operands where they are, as a matrix that is read a few times only takes
// up to half as long to pack as to multiply by: 16 rows by [768,768] take 85 µs, with Eigen's
// kernel 42 to pack and 84 to multiply (Zen 5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

/// Element (i, p) is from[i * row + p * column].
template <Floating T>
struct placed_matrix {
  const T* from;
  std::int64_t row, column;

  placed_matrix from_row(std::int64_t i) const { return {from + i * row, row, column}; }
  placed_matrix from_column(std::int64_t p) const { return {from + p * column, row, column}; }
};

/// Row-major, written or added to.
template <Floating T>
struct tile_target {
  T* to;
  std::int64_t stride;
  bool add;

  tile_target from_row(std::int64_t i) const { return {to + i * stride, stride, add}; }
};

// R rows and W registers of columns, the last of them with `rest` lanes unless Whole: all sums stay
// in registers. B is fetched some rows ahead: its rows lie far apart, and no prefetcher of the
// hardware follows over the end of a page. Loops that are not unrolled here leave the sums in
// memory.
template <int R, int W, bool Whole, Floating T>
void multiply_tile(std::int64_t depth, placed_matrix<T> a, const T* b, std::int64_t ldb,
                   tile_target<T> c, std::int64_t rest) {
  constexpr std::int64_t ahead = 8;
  simd<T> sum[std::size_t{R}][std::size_t{W}];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int w = 0; w < W; ++w) sum[r][w] = simd<T>(T(0));
  for (std::int64_t p = 0; p < depth; ++p) {
    const T* const row = b + p * ldb;
    simd<T> right[std::size_t{W}];
#pragma GCC unroll 3
    for (int w = 0; w < W; ++w) {
      __builtin_prefetch(row + ahead * ldb + w * lanes<T>);
      right[w] = Whole || w + 1 < W ? load<T>(row + w * lanes<T>)
                                    : load_part<T>(row + w * lanes<T>, rest, T(0));
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const simd<T> left(a.from[r * a.row + p * a.column]);
#pragma GCC unroll 3
      for (int w = 0; w < W; ++w) sum[r][w] = fma<T>(left, right[w], sum[r][w]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int w = 0; w < W; ++w) {
      T* const to = c.to + r * c.stride + w * lanes<T>;
      if (Whole || w + 1 < W)
        store<T>(to, c.add ? load<T>(to) + sum[r][w] : sum[r][w]);
      else
        store_part<T>(to, rest, c.add ? load_part<T>(to, rest, T(0)) + sum[r][w] : sum[r][w]);
    }
}

// As many rows at a time as registers allow, then half as many, and so on.
template <int R, int W, bool Whole, Floating T>
void multiply_tiles(std::int64_t m, std::int64_t depth, placed_matrix<T> a, const T* b,
                    std::int64_t ldb, tile_target<T> c, std::int64_t rest) {
  std::int64_t i = 0;
  for (; i + R <= m; i += R)
    multiply_tile<R, W, Whole, T>(depth, a.from_row(i), b, ldb, c.from_row(i), rest);
  if constexpr (R > 1)
    if (i < m)
      multiply_tiles<R / 2, W, Whole, T>(m - i, depth, a.from_row(i), b, ldb, c.from_row(i), rest);
}

}  // namespace detail

/// C = A B, or C += A B if the target says so, for row-major B with `ldb` elements between rows.
/// How an element is summed up depends on k alone: in order, in blocks of 192.
template <Floating T>
void multiply_in_place(std::int64_t m, std::int64_t n, std::int64_t k, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c) {
  // 8 x 3 sums, 3 registers of B and one of A in 32 registers, 4 x 3 in 16.
  constexpr int rows = register_count / 4;
  // Rows of B that stay in L1 while all rows of A pass.
  constexpr std::int64_t most_depth = 192;
  const auto strip = [&]<int W, bool Whole>(std::int64_t j, std::int64_t rest) {
    for (std::int64_t p = 0; p < k; p += most_depth)
      detail::multiply_tiles<rows, W, Whole, T>(m, std::min(most_depth, k - p), a.from_column(p),
                                                b + p * ldb + j, ldb,
                                                {c.to + j, c.stride, c.add || p > 0}, rest);
  };
  std::int64_t j = 0;
  for (; j + 3 * lanes<T> <= n; j += 3 * lanes<T>) strip.template operator()<3, true>(j, 0);
  const std::int64_t registers = (n - j + lanes<T> - 1) / lanes<T>;
  const std::int64_t rest = n - j - (registers - 1) * lanes<T>;
  const bool whole = rest == lanes<T>;
  if (registers == 3) strip.template operator()<3, false>(j, rest);
  if (registers == 2 && whole) strip.template operator()<2, true>(j, rest);
  if (registers == 2 && !whole) strip.template operator()<2, false>(j, rest);
  if (registers == 1 && whole) strip.template operator()<1, true>(j, rest);
  if (registers == 1 && !whole) strip.template operator()<1, false>(j, rest);
}

}  // namespace sinter::inline SINTER_ABI::exec
