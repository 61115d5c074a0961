// SPDX-License-Identifier: MIT
// Transposing copies, in square tiles that registers hold. Elements are known by their size alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sinter/exec/copy.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/support/abi.hpp>
#include <sinter/support/cache_lines.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// A register of N elements, of bits that nothing looks at.
template <class Word, std::size_t N>
using row_of [[gnu::vector_size(N * sizeof(Word))]] = Word;

// Shuffles within 16 bytes are one instruction, across them two or three.
inline constexpr std::size_t lane_bytes = 16;
template <class Word>
inline constexpr std::size_t lane_elements = lane_bytes / sizeof(Word);

// Elements a side of a tile: of bytes and of two bytes one lane, of others a register, or half of
// one of AVX-512.
#if defined(__AVX__)
inline constexpr std::size_t longest_row = 2 * lane_bytes;
#else
inline constexpr std::size_t longest_row = lane_bytes;
#endif
template <std::size_t Size>
inline constexpr std::size_t tile_side = (Size < 4 ? lane_bytes : longest_row) / Size;

// The lower, or upper, halves of all lanes of two rows, their elements taking turns.
template <class Word, std::size_t N, bool Upper>
[[gnu::always_inline]] inline row_of<Word, N> interleave_lanes(row_of<Word, N> a,
                                                               row_of<Word, N> b) {
  constexpr std::size_t lane = std::min(N, lane_elements<Word>);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return __builtin_shufflevector(
        a, b, (I / lane * lane + (Upper ? lane / 2 : 0) + I % lane / 2 + I % 2 * N)...);
  }(std::make_index_sequence<N>());
}

// As many rows as lanes have elements become columns, lane by lane: in log2(Rows) rounds, each
// interleaving the rows of the upper half with those of the lower half. (Loops that are not
// unrolled go by memory.)
template <class Word, std::size_t N, std::size_t Rows>
[[gnu::always_inline]] inline void transpose_lanes(row_of<Word, N>* rows) {
#pragma GCC unroll 4
  for (std::size_t round = 1; round < Rows; round *= 2) {
    row_of<Word, N> mixed[Rows];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Rows / 2; ++i) {
      mixed[2 * i] = interleave_lanes<Word, N, false>(rows[i], rows[i + Rows / 2]);
      mixed[2 * i + 1] = interleave_lanes<Word, N, true>(rows[i], rows[i + Rows / 2]);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < Rows; ++i) rows[i] = mixed[i];
  }
}

// The first lanes of two rows of two, or the second ones.
template <class Word, std::size_t N, std::size_t Lane>
[[gnu::always_inline]] inline row_of<Word, N> pick_lanes(row_of<Word, N> a, row_of<Word, N> b) {
  constexpr std::size_t lane = lane_elements<Word>;
  static_assert(N == 2 * lane);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, (I % lane + Lane * lane + I / lane * N)...);
  }(std::make_index_sequence<N>());
}

// Rows in registers, of one lane or two, as many as they have elements.
template <class Word, std::size_t N>
[[gnu::always_inline]] inline void transpose_registers(row_of<Word, N> (&rows)[N]) {
  constexpr std::size_t lane = lane_elements<Word>;
  if constexpr (N <= lane) {
    transpose_lanes<Word, N, N>(rows);
  } else {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < lane; ++i) {
      const row_of<Word, N> above = rows[i], below = rows[i + lane];
      rows[i] = pick_lanes<Word, N, 0>(above, below);
      rows[i + lane] = pick_lanes<Word, N, 1>(above, below);
    }
    transpose_lanes<Word, N, lane>(rows);
    transpose_lanes<Word, N, lane>(rows + lane);
  }
}

template <class Word, std::size_t N>
[[gnu::always_inline]] inline row_of<Word, 2 * N> join(row_of<Word, N> a, row_of<Word, N> b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return __builtin_shufflevector(a, b, I...);
  }(std::make_index_sequence<2 * N>());
}

// A square tile of N elements a side. Lanes are put beside each other as they are loaded, which
// costs no shuffle: 8 x 8 f32 take 16 then, instead of the 48 of whole rows that are interleaved
// (1024 x 1024 of them, rows of 1040, Zen 3: 0.14 instead of 0.45 ms).
template <class Word, std::size_t N>
[[gnu::always_inline]] inline void transpose_tile(const std::byte* from, std::int64_t from_stride,
                                                  std::byte* to, std::int64_t to_stride) {
  constexpr std::size_t lane = std::min(N, lane_elements<Word>);
  const auto load = [&](std::size_t row, std::size_t column) {
    row_of<Word, lane> out;
    std::memcpy(&out, from + static_cast<std::int64_t>(row) * from_stride + column * sizeof(Word),
                sizeof out);
    return out;
  };
#pragma GCC unroll 2
  for (std::size_t column = 0; column < N; column += lane) {
    row_of<Word, N> rows[lane];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < lane; ++i)
      if constexpr (lane == N)
        rows[i] = load(i, column);
      else
        rows[i] = join<Word, lane>(load(i, column), load(i + lane, column));
    transpose_lanes<Word, N, lane>(rows);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < lane; ++i)
      std::memcpy(to + static_cast<std::int64_t>(column + i) * to_stride, &rows[i], sizeof rows[i]);
  }
}

// Rows of so few elements, one behind the other, are taken apart, and so few rows become columns:
// in registers, where the compiler knows how many there are. ([1000,3] of f32: 0.6 µs instead
// of 2.0 one by one, and back 0.55 instead of 4.3.)
template <std::size_t Size, std::int64_t Columns>
void take_apart(std::int64_t rows, const std::byte* __restrict from, std::byte* __restrict to,
                std::int64_t to_stride) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  for (std::int64_t r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (std::int64_t c = 0; c < Columns; ++c)
      std::memcpy(to + (c * to_stride + r) * size, from + (r * Columns + c) * size, Size);
}
template <std::size_t Size, std::int64_t Rows>
void put_together(std::int64_t columns, const std::byte* __restrict from, std::int64_t from_stride,
                  std::byte* __restrict to) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  for (std::int64_t c = 0; c < columns; ++c)
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < Rows; ++r)
      std::memcpy(to + (c * Rows + r) * size, from + (r * from_stride + c) * size, Size);
}

// Whether it was that narrow.
template <std::size_t Size>
bool transpose_narrow(std::int64_t rows, std::int64_t columns, const std::byte* from,
                      std::int64_t from_stride, std::byte* to, std::int64_t to_stride) {
  const auto with = [=](auto count) {
    constexpr std::int64_t narrow = count;
    if (columns == narrow && from_stride == narrow)
      take_apart<Size, narrow>(rows, from, to, to_stride);
    else if (rows == narrow && to_stride == narrow)
      put_together<Size, narrow>(columns, from, from_stride, to);
    else
      return false;
    return true;
  };
  return with(size_constant<2>{}) || with(size_constant<3>{}) || with(size_constant<4>{});
}

// What no tile fits into: column by column, or row by row.
template <std::size_t Size>
void transpose_each(std::int64_t rows, std::int64_t columns, const std::byte* from,
                    std::int64_t from_stride, std::byte* to, std::int64_t to_stride) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  if (columns <= rows)
    for (std::int64_t c = 0; c < columns; ++c)
      load_elements<Size>(rows, from + c * size, from_stride, to + c * to_stride * size);
  else
    for (std::int64_t r = 0; r < rows; ++r)
      store_elements<Size>(columns, from + r * from_stride * size, to + r * size, to_stride);
}

// Tile by tile, row after row of them; the last ones begin within those before. At least a tile of
// rows and of columns, whose rows begin so many bytes after each other.
template <std::size_t Size>
void transpose_tiles(std::int64_t rows, std::int64_t columns, const std::byte* from,
                     std::int64_t from_step, std::byte* to, std::int64_t to_step) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  constexpr auto tile = static_cast<std::int64_t>(tile_side<Size>);
  for (std::int64_t i = 0; i < rows; i += tile)
    for (std::int64_t j = 0; j < columns; j += tile) {
      const std::int64_t r = std::min(i, rows - tile), c = std::min(j, columns - tile);
      transpose_tile<unsigned_word<Size>, tile_side<Size>>(
          from + r * from_step + c * size, from_step, to + c * to_step + r * size, to_step);
    }
}

// What is written one row behind the other stays in L1, and whole rows of tiles are moved: where
// rows that are read share places there, others would drive out what the hardware has fetched
// beside their lines. Else by blocks of as many elements a side as a line has, so that lines are
// read whole and written whole. (1024 x 1024 f32, Zen 3: into 8 KB again and again 165 us, by
// blocks 230; into as many elements 550, by blocks 450. Blocks that are put together beside rows
// which share one place would take 360, but from memory 1.2 to 2 times as long.)
template <std::size_t Size>
void transpose_elements(std::int64_t rows, std::int64_t columns, const std::byte* from,
                        std::int64_t from_stride, std::byte* to, std::int64_t to_stride) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  constexpr auto tile = static_cast<std::int64_t>(tile_side<Size>);
  constexpr std::int64_t line = std::int64_t{line_bytes} / size;
  if (transpose_narrow<Size>(rows, columns, from, from_stride, to, to_stride)) return;
  if (rows < tile || columns < tile)
    return transpose_each<Size>(rows, columns, from, from_stride, to, to_stride);
  const std::int64_t from_step = from_stride * size, to_step = to_stride * size;
  if (to_stride == rows) return transpose_tiles<Size>(rows, columns, from, from_step, to, to_step);
  for (std::int64_t i = 0; i < rows; i += line)
    for (std::int64_t j = 0; j < columns; j += line) {
      const std::int64_t r = std::min(i, rows - tile), c = std::min(j, columns - tile);
      transpose_tiles<Size>(std::min(line, rows - r), std::min(line, columns - c),
                            from + r * from_step + c * size, from_step, to + c * to_step + r * size,
                            to_step);
    }
}

}  // namespace detail

/// to[j * to_stride + i] = from[i * from_stride + j] for i in [0, rows), j in [0, columns): writes
/// the transpose of a rows x columns matrix. Strides count elements between the starts of
/// consecutive rows. Ranges must not overlap.
inline void transpose_copy(std::int64_t rows, std::int64_t columns, const void* from,
                           std::int64_t from_stride, std::size_t element_size, void* to,
                           std::int64_t to_stride) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  detail::for_size(element_size, [=]<std::size_t Size>(detail::size_constant<Size>) {
    detail::transpose_elements<Size>(rows, columns, source, from_stride, target, to_stride);
  });
}

}  // namespace sinter::inline SINTER_ABI::exec
