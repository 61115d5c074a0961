// SPDX-License-Identifier: MIT
// Products that read both operands where they are, as a matrix that is read a few times only takes
// up to half as long to pack as to multiply by: 16 rows by [768,768] take 85 µs, with Eigen's
// kernel 42 to pack and 84 to multiply (Zen 5).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/support/cache_lines.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Is what a strip has in a row of B no whole number of lines?
template <Floating T>
inline constexpr bool strips_share_lines =
    tile_columns<T> * std::int64_t{sizeof(T)} % std::int64_t{line_bytes} != 0;

/// A block of B, fetched some rows ahead: they lie far apart, and no prefetcher of the hardware
/// follows over the end of a page. Of the last register of columns `rest` lanes are read.
template <Floating T, bool Whole>
struct placed_columns {
  const T* from;
  std::int64_t stride, rest;

  placed_columns part(std::int64_t, std::int64_t) const { return *this; }
  [[gnu::always_inline]] simd<T> operator()(std::int64_t p, int w, bool last) const {
    constexpr std::int64_t ahead = 8;
    const T* const at = from + p * stride + w * lanes<T>;
    __builtin_prefetch(at + ahead * stride);
    return Whole || !last ? load<T>(at) : load_part<T>(at, rest, T(0));
  }
};

/// The same of whole registers of a matrix that passes once, block by block. Rows of the block to
/// come, from `next` on, come into L2 meanwhile: one for 2^slowness of this one's. With `Pairs` the
/// block to come has two of the widest strips, and every other of this one's rows asks for the
/// second.
template <Floating T, bool Pairs>
struct passing_columns {
  const T* from;
  const T* next;
  std::int64_t stride;
  int slowness;

  // For rows from i on. Where there are more groups of rows than parts, some fetch again.
  passing_columns part(std::int64_t i, std::int64_t depth) const {
    const std::int64_t part = i / tile_rows & ((std::int64_t{1} << (slowness - Pairs)) - 1);
    return {from, next + part * (depth >> slowness) * stride, stride, slowness};
  }
  [[gnu::always_inline]] simd<T> operator()(std::int64_t p, int w, bool) const {
    constexpr int read = 0, into_second_level = 2;
    const std::int64_t strip = Pairs ? (p & 1) * tile_columns<T> : 0;
    __builtin_prefetch(next + (p >> slowness) * stride + strip + w * lanes<T>, read,
                       into_second_level);
    return load<T>(from + p * stride + w * lanes<T>);
  }
};

// Rows [i, m): as many at a time as registers allow, then half as many, and so on. All of them
// together fetch the block to come, each its part: the first alone would wait for memory, and the
// others leave it idle. One call does so many rows as there are: what a call of each tile costs is
// a tenth of it where the depth is 16.
template <int R, int W, Floating T, class Right>
[[gnu::noinline]] void multiply_rows(std::int64_t i, std::int64_t m, std::int64_t depth,
                                     placed_matrix<T> a, const Right& b, tile_target<T> c,
                                     std::int64_t rest) {
  for (; i + R <= m; i += R)
    multiply_one_tile<R, W>(depth, a.from_row(i), b.part(i, depth), c.at(i, 0), rest);
  if constexpr (R > 1)
    if (i < m) multiply_rows<R / 2, W>(i, m, depth, a, b, c, rest);
}

// The last rows of A where they fill no tile of a power of two: three take a tile of four, and five
// to seven one of eight, with zeros behind them, instead of two tiles or three, where B is deep
// enough to be worth the copy. The same bits. (On a Zen 5 3, 5, 7 and 15 rows by [768,768] take 30,
// 41, 41 and 82 instead of 43, 64, 93 and 133 µs, 7 rows by [768,2048] 127 instead of 351; 5 rows
// by [16,100], with the copy, 1.6 times as long as without.)
template <Floating T>
class last_rows {
 public:
  static constexpr std::int64_t most_depth = 256;

  last_rows(std::int64_t m, std::int64_t k)
      : count_(m % tile_rows),
        tile_(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count_)))) {
    if (tile_ == count_ || k < least_depth) count_ = 0;
    first_ = m - count_;
  }

  /// All rows before these.
  std::int64_t first() const { return first_; }

  /// Takes their columns [p, p + depth), at most most_depth.
  void take(placed_matrix<T> a, std::int64_t p, std::int64_t depth) {
    if (count_ == 0) return;
    a = a.from_row(first_).from_column(p);
    for (std::int64_t i = 0; i < count_; ++i)
      for (std::int64_t q = 0; q < depth; ++q) rows_[i * most_depth + q] = a(i, q);
    std::fill(rows_ + count_ * most_depth, rows_ + tile_ * most_depth, T(0));
  }

  /// As multiply_rows for these rows; `c` begins with the first of all.
  template <int W, class Right>
  void multiply(std::int64_t depth, const Right& b, tile_target<T> c, std::int64_t rest) const {
    if (count_ == 0) return;
    alignas(64) T sums[static_cast<std::size_t>(tile_rows * tile_columns<T>)];
    multiply_rows<tile_rows, W>(0, tile_, depth, placed_matrix<T>{rows_, most_depth, 1},
                                b.part(first_, depth), tile_target<T>{sums, W * lanes<T>, false},
                                lanes<T>);
    write(W, sums, c.at(first_, 0), rest);
  }

 private:
  static constexpr std::int64_t least_depth = 64;

  [[gnu::noinline]] void write(std::int64_t registers, const T* sums, tile_target<T> c,
                               std::int64_t rest) const {
    for (std::int64_t i = 0; i < count_; ++i)
      for (std::int64_t w = 0; w < registers; ++w, sums += lanes<T>) {
        T* const to = c.at(i, w * lanes<T>).to;
        const std::int64_t count = w + 1 < registers ? std::int64_t{lanes<T>} : rest;
        const simd<T> sum = load<T>(sums);
        store_part<T>(to, count, c.add ? load_part<T>(to, count, T(0)) + sum : sum);
      }
  }

  std::int64_t count_, tile_, first_;
  alignas(64) T rows_[static_cast<std::size_t>(tile_rows * most_depth)];
};

}  // namespace detail

/// C = A B, or C += A B if the target says so, for row-major B with `ldb` elements between rows.
/// How an element is summed up depends on k alone: in order, in blocks of 192.
template <Floating T>
void multiply_in_place(std::int64_t m, std::int64_t n, std::int64_t k, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c) {
  // Rows of B that stay in L1 while all rows of A pass.
  constexpr std::int64_t most_depth = 192;
  detail::last_rows<T> last(m, k);
  for (std::int64_t p = 0; p < k; p += most_depth) {
    const std::int64_t depth = std::min(most_depth, k - p);
    last.take(a, p, depth);
    detail::for_each_strip<T, true>(n, [&]<int W>(std::int64_t j, std::int64_t rest) {
      const auto multiply = [&](const auto& right) {
        const detail::tile_target<T> to{c.to + j, c.stride, c.add || p > 0};
        detail::multiply_rows<detail::tile_rows, W>(0, last.first(), depth, a.from_column(p), right,
                                                    to, rest);
        last.template multiply<W>(depth, right, to, rest);
      };
      const T* const from = b + p * ldb + j;
      if (rest == lanes<T>)
        multiply(detail::placed_columns<T, true>{from, ldb, rest});
      else
        multiply(detail::placed_columns<T, false>{from, ldb, rest});
    });
  }
}

/// Rows of B that few rows pass at once. A pass reads and writes the sums in C, which is a
/// twentieth of the work with 64 rows. Two blocks of these fit into L1; with 96, 8 rows of a Xeon
/// take 1.05 and 16 rows by [2048,2048] 1.15 times as long, with 256 these 1.6 times. Zen 4 fetches
/// from L2 as fast as it multiplies: 16 rows by three matrices of [768,768] take 524 µs with 64,
/// 502 with 128 and 493 with 256, by [2048,2048] 1340, 1280 and 1230; Zen 5 with 256 0.94 and 0.89
/// of the time, with 768 by [2048,2048] as long as with 64. On Zen 3, with AVX2, 192 are
/// as fast as 256 where B is in L3, and from memory 1.04 to 1.13 times.
template <Floating T>
std::int64_t few_rows_depth() {
  if (!has_near_level3()) return 64;
  return detail::strips_share_lines<T> ? 192 : detail::last_rows<T>::most_depth;
}

/// Do few rows fetch two strips at once? One of AVX2 has 96 bytes in each row of B, a line and a
/// half, and memory is slow to give lines one by one. Zen 3, from memory, in turns: 16 rows by
/// [768,2048] 38 and 50 GFLOP/s instead of 29 and 40, 8 rows 25 and 32 instead of 20 and 25, and as
/// many as before where B is in L3. A Xeon loses 5 % with pairs.
template <Floating T>
bool fetches_pairs_of_strips() {
  return detail::strips_share_lines<T> && this_family() == processor_family::amd_19h;
}

/// The same for few rows and many columns, of a B that may be larger than what the caches next to a
/// core hold: a block of B's rows passes from its first to its last column, each strip fetching the
/// one beside it, before the next one does. (16 rows by three matrices of [768,768], which come
/// from L3 of a Xeon, take 520 instead of 720 µs by hand, 8 rows 390 instead of 560: strips down
/// all of B begin a new page with every second row.) Summed up in order, in blocks of
/// few_rows_depth<T>().
template <Floating T>
void multiply_few_rows(std::int64_t m, std::int64_t n, std::int64_t k, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c) {
  const std::int64_t most_depth = few_rows_depth<T>();
  detail::last_rows<T> last(m, k);
  const std::int64_t groups = std::max<std::int64_t>(1, m / detail::tile_rows);
  const int slowness = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(groups))) - 1;
  const bool pairs = fetches_pairs_of_strips<T>();
  for (std::int64_t p = 0; p < k; p += most_depth) {
    const std::int64_t depth = std::min(most_depth, k - p);
    last.take(a, p, depth);
    detail::for_each_strip<T, true>(n, [&]<int W>(std::int64_t j, std::int64_t rest) {
      const auto multiply = [&](const auto& right) {
        const detail::tile_target<T> to{c.to + j, c.stride, c.add || p > 0};
        detail::multiply_rows<detail::tile_rows, W>(0, last.first(), depth, a.from_column(p), right,
                                                    to, rest);
        last.template multiply<W>(depth, right, to, rest);
      };
      constexpr std::int64_t width = W * lanes<T>;
      const T* const from = b + p * ldb + j;
      // What lies behind this strip, or this pair of strips: the beginning of the next block there
      // where this one ends.
      const auto behind = [&](std::int64_t column) {
        return column < n ? b + p * ldb + column : b + (p + depth) * ldb;
      };
      if (rest != lanes<T>) return multiply(detail::placed_columns<T, false>{from, ldb, rest});
      if constexpr (W == detail::tile_registers && detail::strips_share_lines<T>) {
        if (pairs) {
          const std::int64_t second = j / width & 1;  // fetches the other half of the rows
          const T* const next = behind(j + (2 - second) * width) + second * (depth / 2) * ldb;
          return multiply(detail::passing_columns<T, true>{from, next, ldb, slowness + 1});
        }
      }
      multiply(detail::passing_columns<T, false>{from, behind(j + width), ldb, slowness});
    });
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
