// SPDX-License-Identifier: MIT
// One row or two, times a matrix: the matrix is read once, and that is most of what it takes, where
// Eigen's block-panel kernel would pack it first. Every element is added up in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// W registers of columns, of the last of which `rest` lanes are in use, for all k rows of the
// matrix. (As multiply_tile, which has all registers of a row at hand at once, one row takes twice
// as long with 16 of them.)
template <int R, int W, bool Whole, Floating T>
[[gnu::noinline]] void multiply_strip(std::int64_t k, placed_matrix<T> x, const T* matrix,
                                      std::int64_t stride, tile_target<T> y, std::int64_t rest) {
  simd<T> sum[std::size_t{R}][std::size_t{W}];
  const auto for_each = [&](auto visit) {
#pragma GCC unroll 8
    for (int w = 0; w < W; ++w)
#pragma GCC unroll 2
      for (int i = 0; i < R; ++i) visit(i, w, y.to + i * y.stride + w * lanes<T>, w + 1 == W);
  };
  for_each([&](int i, int w, const T* from, bool last) {
    sum[i][w] = !y.add           ? simd<T>(T(0))
                : Whole || !last ? load<T>(from)
                                 : load_part<T>(from, rest, T(0));
  });
  for (std::int64_t p = 0; p < k; ++p, matrix += stride) {
#pragma GCC unroll 8
    for (int w = 0; w < W; ++w) {
      const T* const from = matrix + w * lanes<T>;
      const simd<T> row =
          keep<T>(Whole || w + 1 < W ? load<T>(from) : load_part<T>(from, rest, T(0)));
#pragma GCC unroll 2
      for (int i = 0; i < R; ++i) sum[i][w] = fma<T>(row, simd<T>(x(i, p)), sum[i][w]);
    }
  }
  for_each([&](int i, int w, T* to, bool last) {
    if (Whole || !last)
      store<T>(to, sum[i][w]);
    else
      store_part<T>(to, rest, sum[i][w]);
  });
}

// Columns from j on, W registers at a time, whose sums stay in registers; then half as many, and so
// on.
template <int R, int W, Floating T>
void multiply_strips(std::int64_t j, std::int64_t columns, std::int64_t k, placed_matrix<T> x,
                     const T* matrix, std::int64_t stride, tile_target<T> y) {
  constexpr std::int64_t before_last = (W - 1) * lanes<T>;
  for (; columns - j > before_last; j += W * lanes<T>) {
    const std::int64_t rest = std::min<std::int64_t>(lanes<T>, columns - j - before_last);
    if (rest == lanes<T>)
      multiply_strip<R, W, true>(k, x, matrix + j, stride, y.at(0, j), rest);
    else
      multiply_strip<R, W, false>(k, x, matrix + j, stride, y.at(0, j), rest);
  }
  if constexpr (W > 1)
    if (j < columns) multiply_strips<R, W / 2>(j, columns, k, x, matrix, stride, y);
}

// Row i of y += x(i, 0) row 0 of the matrix + x(i, 1) row 1 + ... for P rows, in this order.
template <int R, int P, Floating T>
[[gnu::noinline]] void add_rows(std::int64_t columns, placed_matrix<T> x, const T* matrix,
                                std::int64_t stride, tile_target<T> y) {
  simd<T> factor[std::size_t{R}][std::size_t{P}];
#pragma GCC unroll 2
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) factor[i][p] = simd<T>(x(i, p));
  const auto add = [&](std::int64_t j, auto load_from, auto store_to) {
    simd<T> row[std::size_t{P}];
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p) row[p] = keep<T>(load_from(matrix + p * stride + j));
#pragma GCC unroll 2
    for (int i = 0; i < R; ++i) {
      T* const to = y.to + i * y.stride + j;
      simd<T> sum = load_from(to);
#pragma GCC unroll 8
      for (int p = 0; p < P; ++p) sum = fma<T>(row[p], factor[i][p], sum);
      store_to(to, sum);
    }
  };
  std::int64_t j = 0;
  for (; j + lanes<T> <= columns; j += lanes<T>)
    add(
        j, [](const T* from) { return load<T>(from); },
        [](T* to, simd<T> sum) { store<T>(to, sum); });
  if (const std::int64_t rest = columns - j; rest > 0)
    add(
        j, [&](const T* from) { return load_part<T>(from, rest, T(0)); },
        [&](T* to, simd<T> sum) { store_part<T>(to, rest, sum); });
}

// Some rows of the matrix at a time: so many streams the hardware follows, and y, of which as much
// as stays in L1 is worked on, is read and written a fourth or an eighth of the times. ([1024,1024]
// take 46 µs, [4096,4096] 2.3 ms on a Zen 4; by strips of four registers down 32 rows, two of which
// were asked for ahead, 69 µs and 5.6 ms.)
template <int R, Floating T>
void add_all_rows(std::int64_t columns, std::int64_t k, placed_matrix<T> x, const T* matrix,
                  std::int64_t stride, tile_target<T> y) {
  constexpr std::int64_t block = 16384 / sizeof(T);
  constexpr int at_once = R == 1 ? 4 : register_count / 4;
  for (std::int64_t j = 0; j < columns; j += block) {
    const std::int64_t count = std::min(block, columns - j);
    std::int64_t p = 0;
    const auto add = [&]<int P>() {
      for (; p + P <= k; p += P)
        add_rows<R, P>(count, x.from_column(p), matrix + p * stride + j, stride, y.at(0, j));
    };
    add.template operator()<at_once>();
    add.template operator()<1>();
  }
}

}  // namespace detail

/// Row i of y = or += the sum over p of x(i, p) row p of the matrix, for R = 1 or 2 rows; the
/// matrix has k rows of `columns` elements. Sums stay in registers where columns are few or the
/// matrix stays in L2: one row by [64,64] takes 53 instead of 96 ns, by [2000,128] 6.2 instead
/// of 9.7 µs, two rows by [512,10] 0.6 instead of 2, but one row by [768,768] 22.8 instead of 22.1
/// and two 28.6 instead of 23.5 (Zen 5).
template <int R, Floating T>
void multiply_vectors(std::int64_t columns, std::int64_t k, detail::placed_matrix<T> x,
                      const T* matrix, std::int64_t stride, detail::tile_target<T> y) {
  constexpr std::int64_t narrow = 256, near_elements = std::int64_t{1} << 16;
  if (columns <= narrow || columns * k <= near_elements)
    return detail::multiply_strips<R, 8 / R>(0, columns, k, x, matrix, stride, y);
  if (!y.add)
    for (int i = 0; i < R; ++i) std::fill_n(y.to + i * y.stride, columns, T(0));
  detail::add_all_rows<R>(columns, k, x, matrix, stride, y);
}

}  // namespace sinter::inline SINTER_ABI::exec
