// SPDX-License-Identifier: MIT
// The inner loop of every product of floats: the sums of a tile of C stay in registers while the
// whole depth passes. Operands say where their elements are: in place, or as they were packed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

/// Rows and registers of columns of the largest tile: 8 x 3 sums, 3 registers of B and one of A in
/// 32 registers, 4 x 3 in 16. For 24 multiply-adds it loads 11 times, 4 x 3 14 times, as Eigen's
/// do, which reach 81 % of what two cores of a Xeon multiply where 8 x 3 reach 89.
inline constexpr int tile_rows = register_count / 4, tile_registers = 3;

template <Floating T>
inline constexpr std::int64_t tile_columns = tile_registers * lanes<T>;

/// Element (i, p) is from[i * row + p * column].
template <Floating T>
struct placed_matrix {
  const T* from;
  std::int64_t row, column;

  T operator()(std::int64_t i, std::int64_t p) const { return from[i * row + p * column]; }
  placed_matrix from_row(std::int64_t i) const { return {from + i * row, row, column}; }
  placed_matrix from_column(std::int64_t p) const { return {from + p * column, row, column}; }
};

/// Row-major, written or added to.
template <Floating T>
struct tile_target {
  T* to;
  std::int64_t stride;
  bool add;

  tile_target at(std::int64_t i, std::int64_t j) const {
    return {to + i * stride + j, stride, add};
  }
};

/// Does the loop over the depth take four steps of it in a turn, where a tile is whole? A turn of
/// one has a tenth of its instructions for itself, which cost nothing on a core of one's own; on a
/// Zen 3 whose core others use, too, [512,768] by 768 columns packed reach 82 GFLOP/s instead of
/// 74, [64,256] by 256 as they are 82 instead of 75. Eight steps are as fast as four.
template <class Right>
inline constexpr bool four_steps_per_turn = true;

/// Step p of the depth.
template <int R, int W, Floating T, class Left, class Right>
[[gnu::always_inline]] inline void add_products(std::int64_t p, const Left& left,
                                                const Right& right, simd<T> (&sum)[R][W]) {
  simd<T> columns[std::size_t{W}];
#pragma GCC unroll 8
  for (int w = 0; w < W; ++w) columns[w] = keep<T>(right(p, w, w + 1 == W));
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    const simd<T> element(left(r, p));
#pragma GCC unroll 8
    for (int w = 0; w < W; ++w) sum[r][w] = fma<T>(element, columns[w], sum[r][w]);
  }
}

/// The sums of rows [0, R) of `left`, which gives an element by its row and its place in the depth,
/// times W registers of columns of `right`, which gives registers so. Loops that are not unrolled
/// here leave the sums in memory, and with 16 registers GCC loads columns again for each row unless
/// they are kept: 61 instead of 81 GFLOP/s (Zen 3). Nor must it mix steps that it unrolls, for
/// which 16 registers are too few: a loop of four steps within one of turns takes 1.3 of the time.
template <int R, int W, Floating T, class Left, class Right>
[[gnu::always_inline]] inline void sum_tile(std::int64_t depth, const Left& left,
                                            const Right& right, simd<T> (&sum)[R][W]) {
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int w = 0; w < W; ++w) sum[r][w] = simd<T>(T(0));
  if constexpr (R == tile_rows && four_steps_per_turn<Right>) {
#pragma GCC unroll 4
    for (std::int64_t p = 0; p < depth; ++p) add_products<R, W, T>(p, left, right, sum);
  } else {
    for (std::int64_t p = 0; p < depth; ++p) add_products<R, W, T>(p, left, right, sum);
  }
}

/// These sums, of neighbouring columns, to where they belong: of the last register `rest` lanes
/// belong to C.
template <int R, int W, Floating T, class Left, class Right>
[[gnu::always_inline]] inline void multiply_one_tile(std::int64_t depth, Left left, Right right,
                                                     tile_target<T> c, std::int64_t rest) {
  simd<T> sum[std::size_t{R}][std::size_t{W}];
  sum_tile<R, W, T>(depth, left, right, sum);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 3
    for (int w = 0; w < W; ++w) {
      T* const to = c.to + r * c.stride + w * lanes<T>;
      if (w + 1 < W || rest == lanes<T>)
        store<T>(to, c.add ? load<T>(to) + sum[r][w] : sum[r][w]);
      else
        store_part<T>(to, rest, c.add ? load_part<T>(to, rest, T(0)) + sum[r][w] : sum[r][w]);
    }
}

/// The same as a function of its own.
template <int R, int W, Floating T, class Left, class Right>
[[gnu::noinline]] void multiply_tile(std::int64_t depth, Left left, Right right, tile_target<T> c,
                                     std::int64_t rest) {
  multiply_one_tile<R, W>(depth, left, right, c, rest);
}

/// Calls visit.operator()<W>(j, rest) for the strips of `columns` columns: each begins at column j
/// and has W registers, of the last of which `rest` lanes are in use. All but the last strip have
/// three registers, or, with `Even`, the last two have two rather than three and one, with which 8
/// rows are eight sums only, too few for two multiply-adds of four cycles.
template <Floating T, bool Even = false, class Visit>
[[gnu::always_inline]] inline void for_each_strip(std::int64_t columns, Visit visit) {
  const std::int64_t registers = planning::pieces_of(columns, lanes<T>);
  const std::int64_t rest = columns - (registers - 1) * lanes<T>;
  const std::int64_t pairs = Even && registers % 3 == 1 && registers > 1 ? 2 : 0;
  std::int64_t j = 0;
  const auto strip = [&]<int W>() {
    visit.template operator()<W>(j * lanes<T>, j + W < registers ? std::int64_t{lanes<T>} : rest);
  };
  for (; j + 3 <= registers - 2 * pairs; j += 3) strip.template operator()<3>();
  for (; j + 2 <= registers; j += 2) strip.template operator()<2>();
  if (j < registers) strip.template operator()<1>();
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
