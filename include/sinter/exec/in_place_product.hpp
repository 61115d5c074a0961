// SPDX-License-Identifier: MIT
// Products that read both operands where they are, as a matrix that is read a few times only takes
// up to half as long to pack as to multiply by: 16 rows by [768,768] take 85 µs, with Eigen's
// kernel 42 to pack and 84 to multiply (Zen 5).
#pragma once

#include <algorithm>
#include <cstdint>

#include <sinter/exec/product_tile.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

/// Rows of B from `from` on, fetched some rows ahead: they lie far apart, and no prefetcher of the
/// hardware follows over the end of a page. Of the last register of columns `rest` lanes are read.
template <Floating T, bool Whole>
struct placed_columns {
  const T* from;
  std::int64_t stride, rest;

  [[gnu::always_inline]] simd<T> operator()(std::int64_t p, int w, bool last) const {
    constexpr std::int64_t ahead = 8;
    const T* const at = from + p * stride + w * lanes<T>;
    __builtin_prefetch(at + ahead * stride);
    return Whole || !last ? load<T>(at) : load_part<T>(at, rest, T(0));
  }
};

// As many rows at a time as registers allow, then half as many, and so on.
template <int R, int W, Floating T, class Right>
void multiply_rows(std::int64_t m, std::int64_t depth, placed_matrix<T> a, Right b,
                   tile_target<T> c, std::int64_t rest) {
  std::int64_t i = 0;
  for (; i + R <= m; i += R) multiply_tile<R, W>(depth, a.from_row(i), b, c.at(i, 0), rest);
  if constexpr (R > 1)
    if (i < m) multiply_rows<R / 2, W>(m - i, depth, a.from_row(i), b, c.at(i, 0), rest);
}

}  // namespace detail

/// C = A B, or C += A B if the target says so, for row-major B with `ldb` elements between rows.
/// How an element is summed up depends on k alone: in order, in blocks of 192.
template <Floating T>
void multiply_in_place(std::int64_t m, std::int64_t n, std::int64_t k, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c) {
  // Rows of B that stay in L1 while all rows of A pass.
  constexpr std::int64_t most_depth = 192;
  detail::for_each_strip<T>(n, [&]<int W>(std::int64_t j, std::int64_t rest) {
    for (std::int64_t p = 0; p < k; p += most_depth) {
      const auto multiply = [&]<bool Whole>() {
        detail::multiply_rows<detail::tile_rows, W>(
            m, std::min(most_depth, k - p), a.from_column(p),
            detail::placed_columns<T, Whole>{b + p * ldb + j, ldb, rest},
            detail::tile_target<T>{c.to + j, c.stride, c.add || p > 0}, rest);
      };
      if (rest == lanes<T>)
        multiply.template operator()<true>();
      else
        multiply.template operator()<false>();
    }
  });
}

}  // namespace sinter::inline SINTER_ABI::exec
