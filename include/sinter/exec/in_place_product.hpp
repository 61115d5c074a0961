// SPDX-License-Identifier: MIT
// Products that read both operands where they are, as a matrix that is read a few times only takes
// up to half as long to pack as to multiply by: 16 rows by [768,768] take 85 µs, with Eigen's
// kernel 42 to pack and 84 to multiply (Zen 5).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include <sinter/exec/columns_apart.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/exec/strip_columns.hpp>
#include <sinter/exec/sum_depth.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/support/cache_lines.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Rows [i, m): as many at a time as registers allow, then half as many, and so on. All of them
// together fetch the block to come, each its part: the first alone would wait for memory, and the
// others leave it idle. One call does so many rows as there are: what a call of each tile costs is
// a tenth of it where the depth is 16.
template <int R, int W, Floating T, class Right>
[[gnu::noinline]] void multiply_rows(std::int64_t i, std::int64_t m, std::int64_t depth,
                                     placed_matrix<T> a, const Right& b, tile_target<T> c,
                                     std::int64_t rest, coming_lines& coming) {
  for (; i + R <= m; i += R) {
    coming.ask();
    multiply_one_tile<R, W>(depth, a.from_row(i), b.part(i, depth), c.at(i, 0), rest);
  }
  if constexpr (R > 1)
    if (i < m) multiply_rows<R / 2, W>(i, m, depth, a, b, c, rest, coming);
}

// The last rows of A where they fill no tile of a power of two: three take a tile of four, and five
// to seven one of eight, with zeros behind them, instead of two tiles or three, where B is deep
// enough to be worth the copy. The same bits. (On a Zen 5 3, 5, 7 and 15 rows by [768,768] take 30,
// 41, 41 and 82 instead of 43, 64, 93 and 133 µs, 7 rows by [768,2048] 127 instead of 351; 5 rows
// by [16,100], with the copy, 1.6 times as long as without.)
template <Floating T>
class last_rows {
 public:
  last_rows(std::int64_t m, std::int64_t k)
      : count_(m % tile_rows),
        tile_(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count_)))) {
    if (tile_ == count_ || k < least_depth) count_ = 0;
    first_ = m - count_;
  }

  /// All rows before these, and with these.
  std::int64_t first() const { return first_; }
  std::int64_t end() const { return first_ + count_; }

  /// Takes their columns [p, p + depth), at most most_kept_depth.
  void take(placed_matrix<T> a, std::int64_t p, std::int64_t depth) {
    if (count_ == 0) return;
    a = a.from_row(first_).from_column(p);
    for (std::int64_t i = 0; i < count_; ++i)
      for (std::int64_t q = 0; q < depth; ++q) rows_[i * most_kept_depth + q] = a(i, q);
    std::fill(rows_ + count_ * most_kept_depth, rows_ + tile_ * most_kept_depth, T(0));
  }

  /// As multiply_rows for these rows; `c` begins with the first of all.
  template <int W, class Right>
  void multiply(std::int64_t depth, const Right& b, tile_target<T> c, std::int64_t rest) const {
    if (count_ == 0) return;
    coming_lines none;
    alignas(64) T sums[static_cast<std::size_t>(tile_rows * tile_columns<T>)];
    multiply_rows<tile_rows, W>(0, tile_, depth, placed_matrix<T>{rows_, most_kept_depth, 1},
                                b.part(first_, depth), tile_target<T>{sums, W * lanes<T>, false},
                                lanes<T>, none);
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
  alignas(64) T rows_[static_cast<std::size_t>(tile_rows * most_kept_depth)];
};

// Of `behind` rows of A, which are multiplied next, as many as there are at hand, for the tiles of
// these by n columns. (Weights come from memory, and where a block has 192 elements of each row the
// hardware's prefetchers begin anew with each. Of matrices that take turns, by 49 columns on a Zen
// 3, [960,160] takes 0.8 of the time so, [1280,320] 0.83, [2048,512] 0.9; a Xeon with AVX2 0.9, 0.9
// and 0.93.) Not with AVX-512, which multiplies in half of the time: a Xeon takes 0.96, 0.96
// and 1.03 of it so, and for what is near 1.03 to 1.1. But for a Zen 4, where it takes as long as
// AVX2: 0.82, 0.87 and 0.9 there, [576,96] by 196 columns 0.94, what is near 1.0 to 1.015. Nor
// where they do not stay in L2 together: [512,2048] takes as long, [160,960] up to 1.1.
template <Floating T>
coming_lines rows_to_come(std::int64_t m, std::int64_t n, std::int64_t k, placed_matrix<T> a,
                          std::int64_t behind) {
  constexpr std::int64_t most_bytes = 256 << 10, size = sizeof(T);
  const bool follows = a.column == 1 && a.row == k;
  const bool is_fast = sizeof(simd<T>) > 32 && !is_zen4();
  if (is_fast || !follows || behind == 0 || n == 0 || k == 0 || m < tile_rows ||
      m * k * size > most_bytes)
    return {};
  const std::int64_t tiles = planning::pieces_of(k, in_place_depth) *
                             planning::pieces_of(n, tile_columns<T>) * m / tile_rows;
  const std::int64_t bytes = std::min(m, behind) * k * size;
  return {a.from_row(m).from, bytes,
          planning::pieces_of(planning::pieces_of(bytes, std::int64_t{line_bytes}), tiles)};
}

/// All rows of A by strips of a block of B's rows.
template <Floating T>
class strips_of_block {
 public:
  /// Precondition: `keeps` says that there are two tiles of rows and more.
  strips_of_block(std::int64_t m, std::int64_t k, placed_matrix<T> a, tile_target<T> c, bool keeps,
                  coming_lines coming = {})
      : a_(a),
        c_(c),
        coming_(coming),
        last_(m, k),
        keeps_(keeps),
        are_several_(last_.first() >= 2 * tile_rows) {}

  /// The block of rows [p, p + depth).
  void enter(std::int64_t p, std::int64_t depth) {
    p_ = p;
    depth_ = depth;
    last_.take(a_, p, depth);
  }

  /// The strip of W registers from column j on, of the last of which `rest` lanes are in use. The
  /// first rows keep it for the others if they are asked to, and where it is ragged, with zeros
  /// behind it: that saves a masked load per step. ([960,160] by 49 columns, of which the last
  /// strip has 25, take 0.82 of the time so on a Zen 3, [128,64] by 100 0.88, 16 rows by 49 0.93,
  /// by 100 1.0.)
  template <int W, class Columns>
  [[gnu::always_inline]] void multiply(std::int64_t j, const Columns& columns,
                                       std::int64_t rest = lanes<T>) {
    if (!keeps_ && (rest == lanes<T> || !are_several_))
      return multiply_rest<W>(0, j, columns, rest);
    const kept_columns<W, T, Columns> kept{columns.part(0, depth_), room_};
    coming_.ask();
    multiply_tile<tile_rows, W>(depth_, a_.from_column(p_), kept, target(j), rest);
    multiply_rest<W>(tile_rows, j, from_room<W, T>(columns, room_), rest);
  }

  /// The `count` columns from column j on, apart from the others; those of B begin at `from`.
  void multiply_apart(std::int64_t count, std::int64_t j, const T* from,
                      std::int64_t stride) const {
    const placed_matrix<T> a = a_.from_column(p_);
    const std::int64_t done =
        multiply_columns_apart<T>(count, last_.end(), depth_, a, from, stride, target(j));
    coming_lines none;
    multiply_rows<tile_rows, 1>(done, last_.end(), depth_, a,
                                placed_columns<T, false>{from, stride, 0, count}, target(j), count,
                                none);
  }

 private:
  tile_target<T> target(std::int64_t j) const { return {c_.to + j, c_.stride, c_.add || p_ > 0}; }

  template <int W, class Columns>
  [[gnu::always_inline]] void multiply_rest(std::int64_t first, std::int64_t j,
                                            const Columns& columns, std::int64_t rest) {
    multiply_rows<tile_rows, W>(first, last_.first(), depth_, a_.from_column(p_), columns,
                                target(j), rest, coming_);
    last_.template multiply<W>(depth_, columns, target(j), rest);
  }

  placed_matrix<T> a_;
  tile_target<T> c_;
  std::int64_t p_ = 0, depth_ = 0;
  coming_lines coming_;
  last_rows<T> last_;
  bool keeps_, are_several_;
  alignas(64) T room_[static_cast<std::size_t>(most_kept_depth * tile_columns<T>)];
};

/// From how many rows of A on do the first ones keep strips of B, whose rows have so many places in
/// L1, for the others? Of one place the others would read them from L2 again: 8, 16 and 32 rows by
/// [768,2048] reach 68, 79 and 86 GFLOP/s on one thread of a Zen 3, and 60, 63 and 64 if they do.
/// Of two 16 rows by 64 columns of [64,512] take 1.05 of the time with the copy. Of many the others
/// save asking for lines: [512,512] by 64 columns 69 instead of 59 there, [128,128] by 128 98
/// instead of 90, [64,256] by 1000 95 instead of 94; on a Xeon with AVX-512 176 instead of 156, 178
/// instead of 166, as many for rows of 640 and 1000, and 172 instead of 174 for 32 rows by [64,64].
template <Floating T>
std::int64_t least_rows_of_kept(placement rows) {
  constexpr std::int64_t some_rows = 24, many_rows = 48;
  if (rows == placement::many_places || rows == placement::few_places) return many_rows;
  return rows == placement::one_place && strips_share_lines<T> ? 2 * tile_rows : some_rows;
}

}  // namespace detail

/// C = A B, or C += A B if the target says so, for row-major B with `ldb` elements between rows.
/// How an element is summed up depends on k alone: in order, in blocks of 192. `rows` says where
/// rows of B lie in L1. `behind`: so many rows lie behind those of A, which will be multiplied
/// next.
template <Floating T>
void multiply_in_place(std::int64_t m, std::int64_t n, std::int64_t k, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c,
                       detail::placement rows, std::int64_t behind = 0) {
  constexpr std::int64_t most_depth = detail::in_place_depth;
  const std::int64_t ahead = detail::rows_ahead_of(rows) * ldb;
  const bool keeps = m >= detail::least_rows_of_kept<T>(rows);
  const std::int64_t apart = detail::columns_apart<T>(m, n, k, a), together = n - apart;
  detail::strips_of_block<T> strips(m, k, a, c, keeps,
                                    detail::rows_to_come<T>(m, together, k, a, behind));
  for (std::int64_t p = 0; p < k; p += most_depth) {
    const std::int64_t depth = std::min(most_depth, k - p);
    strips.enter(p, depth);
    detail::for_each_strip<T, true>(together, [&]<int W>(std::int64_t j, std::int64_t rest) {
      const T* const from = b + p * ldb + j;
      if (rest != lanes<T>)
        strips.template multiply<W>(j, detail::placed_columns<T, false>{from, ldb, ahead, rest},
                                    rest);
      else
        strips.template multiply<W>(j, detail::placed_columns<T, true>{from, ldb, ahead, rest});
    });
    if (apart > 0) strips.multiply_apart(apart, together, b + p * ldb + together, ldb);
  }
}

template <Floating T>
void multiply_in_place(std::int64_t m, std::int64_t n, std::int64_t k, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c,
                       std::int64_t behind = 0) {
  multiply_in_place<T>(m, n, k, a, b, ldb, c, detail::placement_of<T>(ldb), behind);
}

/// Rows up to which they may pass any B, as few do, rather than having it packed. Beyond 32 it pays
/// with registers of 64 bytes, where packing takes as long as the multiply-adds of 16 rows: parts
/// of the time on a Xeon, 33 and 64 rows by [768,3072] 0.72 and 0.78, 64 by two [768,2048] 0.8, by
/// [768,768] and [3072,768] 0.9 to 1; 96 and 128 rows 0.8 to 1.06. A Zen 3 takes 0.95 to 0.98 with
/// 48 and 64 rows, and 1.02 to 1.25 while others use its core, and L1 with it.
inline constexpr std::int64_t most_passing_rows =
    sizeof(simd<float>) >= 64 ? 64 : planning::most_few_rows;

/// What so many groups of few rows ask for, of rows of B that are `stride` elements apart. A strip
/// of AVX2 has 96 bytes in each row of B, a line and a half, and memory is slow to give lines one
/// by one. Zen 3, from memory, in turns: 16 rows by [768,2048] 38 and 50 GFLOP/s in pairs of strips
/// instead of 29 and 40, 8 rows 25 and 32 instead of 20 and 25. Pairs gain where each row begins a
/// new page and lose where pages have several rows: 16 rows by [768,768] take strip by strip 0.92
/// of the time from L3, 0.88 from memory. What asks costs the multiplication a tenth where each
/// register of a row does, most of them for a line that is on its way: line by line a Zen 4 with
/// AVX2, whose limit is 90 GFLOP/s, reaches 84 instead of 77 with 8 to 32 rows and B in L3, from
/// memory 1.02 to 1.05 times what it did. A Xeon loses 5 % with pairs, and does not gain line by
/// line.
template <Floating T>
detail::asking asking_of(std::int64_t groups, std::int64_t stride) {
  using enum detail::asking;
  if (!detail::shared_lines_are_few<T>()) return strip;
  const bool pages = stride * std::int64_t{sizeof(T)} >= 4096;
  // The lines of one group want a prefetch each.
  if (!pages && !is_zen4()) return groups == 1 ? strip : strip_by_lines;
  return groups == 1 ? pair_by_strips : pair_by_lines;
}

/// Do the first of so many rows keep strips for the others? What passes comes from L2 for all rows,
/// wherever it lies: two places are as bad as one, and many as two. (Zen 3, AVX2: 32 rows by
/// [768,768] reach 89 GFLOP/s instead of 82, by [768,1000] 88 instead of 86. 16 rows by [768,768]
/// and [768,640] take 0.95 and 0.97 of the time so while others use the core, and as long while
/// they do not, 12 rows as long, and 16 by [768,1000] 1.03. AVX-512 was not measured there.)
template <Floating T>
bool few_rows_keep_strips(std::int64_t rows, detail::placement places) {
  using enum detail::placement;
  if (places == two_places || places == one_place)
    return rows >= detail::least_rows_of_kept<T>(one_place);
  if (!detail::shared_lines_are_few<T>()) return false;
  return rows >= (places == few_places ? 16 : 24);
}

/// The same for few rows and many columns, of a B that may be larger than what the caches next to a
/// core hold: a block of B's rows passes from its first to its last column, each strip fetching the
/// one beside it, before the next one does. (16 rows by three matrices of [768,768], which come
/// from L3 of a Xeon, take 520 instead of 720 µs by hand, 8 rows 390 instead of 560: strips down
/// all of B begin a new page with every second row.) Summed up in order, in blocks of at most
/// few_rows_depth<T>(). `rows` as above.
template <Floating T>
void multiply_few_rows(std::int64_t m, std::int64_t n, depth_cut cut, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c,
                       detail::placement rows) {
  const std::int64_t groups = std::max<std::int64_t>(1, m / detail::tile_rows);
  const int slowness = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(groups))) - 1;
  const std::int64_t ahead = detail::rows_ahead_of(rows) * ldb;
  using enum detail::asking;
  const detail::asking asks = asking_of<T>(groups, ldb);
  detail::strips_of_block<T> strips(m, cut.k, a, c, few_rows_keep_strips<T>(m, rows));
  for (std::int64_t p = 0, depth = 0; p < cut.k; p += depth) {
    depth = cut.from(p);
    strips.enter(p, depth);
    detail::for_each_strip<T, true>(n, [&]<int W>(std::int64_t j, std::int64_t rest) {
      constexpr std::int64_t width = W * lanes<T>;
      const T* const from = b + p * ldb + j;
      // What lies behind this strip, or this pair of strips: the beginning of the next block there
      // where this one ends.
      const auto behind = [&](std::int64_t column) {
        return column < n ? b + p * ldb + column : b + (p + depth) * ldb;
      };
      if (rest != lanes<T>)
        return strips.template multiply<W>(
            j, detail::placed_columns<T, false>{from, ldb, ahead, rest}, rest);
      if constexpr (W == detail::tile_registers && detail::strips_share_lines<T>) {
        const std::int64_t second = j / width & 1;  // fetches the other half of the rows
        const T* const pair = behind(j + (2 - second) * width) + second * (depth / 2) * ldb;
        // Their three lines want four rows for each to come.
        if (asks == pair_by_strips)
          return strips.template multiply<W>(
              j, detail::passing_columns<T, pair_by_strips>{from, pair, ldb, 1});
        if (asks == pair_by_lines)
          return strips.template multiply<W>(
              j, detail::passing_columns<T, pair_by_lines>{from, pair, ldb, slowness + 1});
        if (asks == strip_by_lines)
          return strips.template multiply<W>(
              j, detail::passing_columns<T, strip_by_lines>{from, behind(j + width), ldb, 0});
      }
      strips.template multiply<W>(
          j, detail::passing_columns<T, strip>{from, behind(j + width), ldb, slowness});
    });
  }
}

template <Floating T>
void multiply_few_rows(std::int64_t m, std::int64_t n, depth_cut cut, detail::placed_matrix<T> a,
                       const T* b, std::int64_t ldb, detail::tile_target<T> c) {
  multiply_few_rows<T>(m, n, cut, a, b, ldb, c, detail::placement_of<T>(ldb));
}

}  // namespace sinter::inline SINTER_ABI::exec
