// SPDX-License-Identifier: MIT
// How a strip of a product's right side B is read from where it is, row by row, and what of B it
// asks for meanwhile.
#pragma once

#include <cstdint>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/product_tile.hpp>
#include <sinter/support/cache_lines.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// Is what a strip has in a row of B no whole number of lines?
template <Floating T>
inline constexpr bool strips_share_lines =
    tile_columns<T> * std::int64_t{sizeof(T)} % std::int64_t{line_bytes} != 0;

/// Is that so where L1 has few lines for each place, and memory is slow to give lines one by one?
template <Floating T>
bool shared_lines_are_few() {
  return strips_share_lines<T> && this_family() == processor_family::amd_19h;
}

/// How many places in L1, where an address goes by its place in 4 KiB, all rows of B have. There
/// are 8 lines for each on Zen 3 and 4: of rows that have one place, or two, those that are fetched
/// drive out those that are needed next. (GFLOP/s on a Zen 4 with AVX2, [64,256] by 64 columns of
/// rows of 512 elements, fetched 8 and 3 rows ahead: 62 and 83; of rows of 1024, fetched 8 and 3
/// rows ahead and not at all: 32, 41 and 52. Of rows of 1000 86. A Xeon, with 12 lines for each,
/// loses nothing.) Few places are four or eight: no block of B's rows stays in these.
enum class placement : std::uint8_t { many_places, few_places, two_places, one_place };

template <Floating T>
placement placement_of(std::int64_t stride) {
  const std::int64_t bytes = stride * std::int64_t{sizeof(T)};
  if (this_family() != processor_family::amd_19h || bytes % 512 != 0) return placement::many_places;
  if (bytes % 2048 != 0) return placement::few_places;
  return bytes % 4096 == 0 ? placement::one_place : placement::two_places;
}

inline std::int64_t rows_ahead_of(placement p) {
  return p == placement::one_place ? 0 : p == placement::two_places ? 3 : 8;
}

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
/// every other row for the second's; one of the lines of two, the rows taking turns; or one of the
/// two lines of one, groups of rows taking turns. The last needs no address of its own: while
/// others use the core 16 rows by [768,768] take 0.88 of the time with it, 32 rows 0.94.
enum class asking : std::uint8_t { strip, pair_by_strips, pair_by_lines, strip_by_lines };

/// Whole registers of a matrix that passes once, block by block. Rows of the block to come, from
/// `next` on, come into L2 meanwhile: one for 2^slowness of this one's, or, line by line of one
/// strip, as many. `Kept`: `from` is where kept_columns of so many registers left them.
template <Floating T, asking Asking, int Kept = 0>
struct passing_columns {
  static constexpr std::int64_t line = line_bytes / sizeof(T);

  const T* from;
  const T* next;
  std::int64_t stride;
  int slowness;

  // For rows from i on. Where there are more groups of rows than parts, some fetch again.
  passing_columns part(std::int64_t i, std::int64_t depth) const {
    const std::int64_t group = i / tile_rows;
    if constexpr (Asking == asking::strip_by_lines)
      return {from, next + (group & 1) * line, stride, slowness};
    constexpr int pairs = Asking != asking::strip;
    const std::int64_t part = group & ((std::int64_t{1} << (slowness - pairs)) - 1);
    return {from, next + part * (depth >> slowness) * stride, stride, slowness};
  }
  [[gnu::always_inline]] simd<T> operator()(std::int64_t p, int w, bool) const {
    ask(p, w);
    return load<T>(from + p * (Kept != 0 ? Kept * lanes<T> : stride) + w * lanes<T>);
  }

 private:
  [[gnu::always_inline]] void ask(std::int64_t p, int w) const {
    constexpr int read = 0, into_second_level = 2;
    if constexpr (Asking == asking::strip_by_lines) {
      if (w == 0) __builtin_prefetch(next + p * stride, read, into_second_level);
      return;
    }
    const T* const row = next + (p >> slowness) * stride;
    if constexpr (Asking == asking::pair_by_lines) {
      if (w == 0) __builtin_prefetch(row + (p & 3) * line, read, into_second_level);
    } else {
      const std::int64_t strip = Asking == asking::strip ? 0 : (p & 1) * tile_columns<T>;
      __builtin_prefetch(row + strip + w * lanes<T>, read, into_second_level);
    }
  }
};

// Rows that lie far apart the hardware's prefetcher follows, too, which goes by the address of a
// load: with four loads instead of one 8 rows by 24 of [768,2048], which come from memory, take
// 1.15 to 1.3 of the time on a Zen 3, 64 rows by [768,3072] 1.06 on a Xeon with AVX-512.
template <Floating T, asking Asking, int Kept>
inline constexpr bool four_steps_per_turn<passing_columns<T, Asking, Kept>> =
    Asking == asking::strip_by_lines;

/// The same columns, W registers, which are kept in `room` for other rows of A.
template <int W, Floating T, class Columns>
struct kept_columns {
  Columns from;
  T* room;

  [[gnu::always_inline]] simd<T> operator()(std::int64_t p, int w, bool last) const {
    const simd<T> columns = from(p, w, last);
    store<T>(room + (p * W + w) * lanes<T>, columns);
    return columns;
  }
};

template <int W, Floating T, class Columns>
inline constexpr bool four_steps_per_turn<kept_columns<W, T, Columns>> =
    four_steps_per_turn<Columns>;

/// Where W registers were kept, row behind row.
template <int W, Floating T>
struct room_columns {
  const T* from;

  room_columns part(std::int64_t, std::int64_t) const { return *this; }
  [[gnu::always_inline]] simd<T> operator()(std::int64_t p, int w, bool) const {
    return load<T>(from + (p * W + w) * lanes<T>);
  }
};

/// The same columns, read from where they were kept.
template <int W, Floating T, bool Whole>
room_columns<W, T> from_room(const placed_columns<T, Whole>&, const T* room) {
  return {room};
}
template <int W, Floating T, asking Asking>
passing_columns<T, Asking, W> from_room(const passing_columns<T, Asking>& from, const T* room) {
  return {room, from.next, from.stride, from.slowness};
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
