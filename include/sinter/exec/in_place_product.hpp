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

/// A block of B, fetched `ahead` elements before it is needed: its rows lie far apart, and no
/// prefetcher of the hardware follows over the end of a page. Of the last register of columns
/// `rest` lanes are read.
template <Floating T, bool Whole>
struct placed_columns {
  const T* from;
  std::int64_t stride, ahead, rest;

  placed_columns part(std::int64_t, std::int64_t) const { return *this; }
  [[gnu::always_inline]] simd<T> operator()(std::int64_t p, int w, bool last) const {
    const T* const at = from + p * stride + w * lanes<T>;
    __builtin_prefetch(at + ahead);
    return Whole || !last ? load<T>(at) : load_part<T>(at, rest, T(0));
  }
};

/// What a row of a strip asks for of the block to come: all registers of one strip; those of two,
/// every other row for the second's; or one of the lines of two, the rows taking turns.
enum class asking : std::uint8_t { strip, pair_by_strips, pair_by_lines };

/// The same of whole registers of a matrix that passes once, block by block. Rows of the block to
/// come, from `next` on, come into L2 meanwhile: one for 2^slowness of this one's.
template <Floating T, asking Asking>
struct passing_columns {
  const T* from;
  const T* next;
  std::int64_t stride;
  int slowness;

  // For rows from i on. Where there are more groups of rows than parts, some fetch again.
  passing_columns part(std::int64_t i, std::int64_t depth) const {
    constexpr int pairs = Asking != asking::strip;
    const std::int64_t part = i / tile_rows & ((std::int64_t{1} << (slowness - pairs)) - 1);
    return {from, next + part * (depth >> slowness) * stride, stride, slowness};
  }
  [[gnu::always_inline]] simd<T> operator()(std::int64_t p, int w, bool) const {
    constexpr int read = 0, into_second_level = 2;
    const T* const row = next + (p >> slowness) * stride;
    if constexpr (Asking == asking::pair_by_lines) {
      constexpr std::int64_t line = line_bytes / sizeof(T);
      if (w == 0) __builtin_prefetch(row + (p & 3) * line, read, into_second_level);
    } else {
      const std::int64_t strip = Asking == asking::strip ? 0 : (p & 1) * tile_columns<T>;
      __builtin_prefetch(row + strip + w * lanes<T>, read, into_second_level);
    }
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

namespace detail {

/// Rows of B that stay in L1 while all rows of A pass, unless they are in each other's way there.
inline constexpr std::int64_t in_place_depth = 192;

/// How many places in L1, where an address goes by its place in 4 KiB, all rows of B have. There
/// are 8 lines for each on Zen 3 and 4: of rows that have one place, or two, those that are fetched
/// drive out those that are needed next. (GFLOP/s on a Zen 4 with AVX2, [64,256] by 64 columns of
/// rows of 512 elements, fetched 8 and 3 rows ahead: 62 and 83; of rows of 1024, fetched 8 and 3
/// rows ahead and not at all, and copied: 32, 41, 52 and 73, 16 rows 32, 40, 53 and 50. Of rows of
/// 1000 86. A Xeon, with 12 lines for each, loses nothing.)
enum class placement : std::uint8_t { many_places, two_places, one_place };

template <Floating T>
placement placement_of(std::int64_t stride) {
  const std::int64_t bytes = stride * std::int64_t{sizeof(T)};
  if (this_family() != processor_family::amd_19h || bytes % 2048 != 0)
    return placement::many_places;
  return bytes % 4096 == 0 ? placement::one_place : placement::two_places;
}

inline std::int64_t rows_ahead_of(placement p) {
  return p == placement::many_places ? 8 : p == placement::two_places ? 3 : 0;
}

/// Rows of A for which strips of B that have one place are copied.
inline constexpr std::int64_t least_rows_of_copied = 24;

/// A strip of `depth` rows of B, one behind the other, in `room`.
template <int W, Floating T>
placed_columns<T, true> copy_strip(std::int64_t depth, const T* from, std::int64_t stride,
                                   T* room) {
  constexpr std::int64_t width = W * lanes<T>, ahead = 16;
  for (std::int64_t p = 0; p < depth; ++p, from += stride)
    for (int w = 0; w < W; ++w) {
      __builtin_prefetch(from + ahead * stride + w * lanes<T>);
      store<T>(room + p * width + w * lanes<T>, load<T>(from + w * lanes<T>));
    }
  return {room, width, 0, lanes<T>};
}

}  // namespace detail

/// C = A B, or C += A B if the target says so, for row-major B with `ldb` elements between rows.
/// How an element is summed up depends on k alone: in order, in blocks of 192. `rows` says where
/// rows of B lie in L1.
template <Floating T>
void multiply_in_place(std::int64_t m, std::int64_t n, std::int64_t k, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c,
                       detail::placement rows) {
  constexpr std::int64_t most_depth = detail::in_place_depth;
  const std::int64_t ahead = detail::rows_ahead_of(rows) * ldb;
  const bool copies = rows == detail::placement::one_place && m >= detail::least_rows_of_copied;
  alignas(64) T room[static_cast<std::size_t>(most_depth * detail::tile_columns<T>)];
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
      if (rest != lanes<T>)
        multiply(detail::placed_columns<T, false>{from, ldb, ahead, rest});
      else
        multiply(copies ? detail::copy_strip<W>(depth, from, ldb, room)
                        : detail::placed_columns<T, true>{from, ldb, ahead, rest});
    });
  }
}

template <Floating T>
void multiply_in_place(std::int64_t m, std::int64_t n, std::int64_t k, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c) {
  multiply_in_place<T>(m, n, k, a, b, ldb, c, detail::placement_of<T>(ldb));
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
/// many as before where B is in L3. A Xeon loses 5 % with pairs. What asks costs the multiplication
/// a tenth where each register of a row does, most of them for a line that is on its way: line by
/// line a Zen 4 with AVX2, whose limit is 90 GFLOP/s, reaches 84 instead of 77 with 8 to 32 rows
/// and B in L3, from memory 1.02 to 1.05 times what it did; a Xeon does not gain.
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
  const std::int64_t ahead = detail::rows_ahead_of(detail::placement_of<T>(ldb)) * ldb;
  const bool pairs = fetches_pairs_of_strips<T>();
  using enum detail::asking;
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
      if (rest != lanes<T>)
        return multiply(detail::placed_columns<T, false>{from, ldb, ahead, rest});
      if constexpr (W == detail::tile_registers && detail::strips_share_lines<T>) {
        if (pairs) {
          const std::int64_t second = j / width & 1;  // fetches the other half of the rows
          const T* const next = behind(j + (2 - second) * width) + second * (depth / 2) * ldb;
          // Their three lines want four rows for each to come.
          if (slowness == 0)
            return multiply(detail::passing_columns<T, pair_by_strips>{from, next, ldb, 1});
          return multiply(detail::passing_columns<T, pair_by_lines>{from, next, ldb, slowness + 1});
        }
      }
      multiply(detail::passing_columns<T, strip>{from, behind(j + width), ldb, slowness});
    });
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
