// SPDX-License-Identifier: MIT
// Binding a walk: which axes are outer and inner, which of them act as one, and how large a tile
// is. Everything here depends on shapes and strides alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/tile_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

// How a nest walks its space.
enum class geometry : std::uint8_t {
  free,     // a map: any axes may be inner
  rows,     // reductions over the inner axes
  columns,  // reductions over the outer axes
  block,    // the epilogue of a matrix product, over parts of rows
};

/// Rows of so many elements and more are reduced by the command that computes them, where there is
/// one for both; see reduces_rows_together.
inline constexpr std::int64_t shortest_row_alone = 128;

namespace detail {

// Streams hold the strides of all axes in `outer` so far; axes [0, outer_count) stay outer.
inline void merge_axes(tile_program& p, const shape_vector& extents, std::size_t outer_count) {
  shape_vector merged;
  std::size_t merged_outer = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    const bool first_of_group = axis < outer_count ? merged.empty() : merged.size() == merged_outer;
    const bool joins = !first_of_group && std::ranges::all_of(p.streams, [&](const stream& s) {
      return s.outer[merged.size() - 1] == s.outer[axis] * extents[axis];
    });
    if (!joins) merged.push_back(1);
    merged.back() *= extents[axis];
    for (stream& s : p.streams) s.outer[merged.size() - 1] = s.outer[axis];
    if (axis < outer_count) merged_outer = merged.size();
  }
  for (stream& s : p.streams) {
    s.inner = shape_vector(s.outer.begin() + merged_outer, s.outer.begin() + merged.size());
    s.outer.resize(merged_outer);
  }
  p.axes.outer = shape_vector(merged.begin(), merged.begin() + merged_outer);
  p.axes.inner = shape_vector(merged.begin() + merged_outer, merged.end());
}

inline bool crosses_with(const shape_vector& extents, const shape_vector& strides,
                         std::int64_t step) {
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    if (strides[axis] != step) return false;
    step *= extents[axis];
  }
  return true;
}

inline void classify(const walk& axes, stream& s) {
  // With a single column any step will do; 1 lets streams whose rows are neighbours count as dense.
  s.step = s.inner.empty() ? 1 : s.inner.back();
  s.linear = crosses_with(axes.inner, s.inner, s.step) ||
             std::ranges::all_of(s.inner, [](std::int64_t stride) { return stride == 0; });
  s.dense = s.has_unit_step() && crosses_with(axes.outer, s.outer, axes.columns);
  s.invariant = std::ranges::all_of(s.outer, [](std::int64_t stride) { return stride == 0; });
}

// A stream that jumps along the columns and has neighbouring rows: it is moved in square tiles.
// Returns the outer axis with unit stride, or -1.
inline int transposing_axis(const tile_program& p) {
  if (p.axes.columns < 2) return -1;
  for (const stream& s : p.streams) {
    if (s.buffer < 0 || s.extent() != value_class::full || !s.linear || s.step == 1) continue;
    for (std::size_t axis = s.outer.size(); axis-- > 0;)
      if (s.outer[axis] == 1) return static_cast<int>(axis);
  }
  return -1;
}

}  // namespace detail

/// Divides `extents` (in the order in which they are walked) into outer and inner axes and merges
/// what can be merged. Every stream of the program comes with one stride per extent, in `outer`.
inline void bind_walk(tile_program& p, const shape_vector& extents, std::size_t outer_count,
                      geometry kind) {
  detail::merge_axes(p, extents, kind == geometry::free ? extents.size() : outer_count);
  if (kind == geometry::free && !p.axes.outer.empty()) {
    // The order of the outer axes is free. Rows that are neighbours in a transposed operand shall
    // be in one tile.
    p.axes.inner = {p.axes.outer.back()};
    p.axes.outer.pop_back();
    for (stream& s : p.streams) {
      s.inner = {s.outer.back()};
      s.outer.pop_back();
    }
  }
  p.axes.rows = 1;
  p.axes.columns = 1;
  for (std::int64_t e : p.axes.outer) p.axes.rows *= e;
  for (std::int64_t e : p.axes.inner) p.axes.columns *= e;
  for (stream& s : p.streams) detail::classify(p.axes, s);
  if (kind != geometry::free) return;
  if (const int axis = detail::transposing_axis(p); axis >= 0) {
    std::swap(p.axes.outer[axis], p.axes.outer.back());
    for (stream& s : p.streams) std::swap(s.outer[axis], s.outer.back());
    for (stream& s : p.streams) detail::classify(p.axes, s);
  }
}

/// Bytes of memory that a walk over the whole space touches, operands that are broadcast along rows
/// not counted.
inline std::int64_t streamed_bytes(const tile_program& p) {
  std::int64_t bytes = 0;
  const bool one_row = p.axes.rows <= 1;  // which is not read again
  for (const stream& s : p.streams)
    if (s.buffer >= 0 && (one_row || !s.invariant) && s.extent() == value_class::full)
      bytes += p.axes.rows * p.axes.columns * static_cast<std::int64_t>(s.element_size);
  return bytes;
}

// Less than this stays in L2 from nest to nest; what is more comes from memory.
inline constexpr std::int64_t cache_resident_bytes = 1 << 20;

namespace detail {

// Rows of a tile with reductions along them. Row-level steps are calls for a few values, which rows
// share, and while one row waits for its sum the next is read. What is read again shall be in L1,
// and what comes from memory comes row by row, as the next is fetched while one is computed. (Layer
// norm over rows of 768: 130 ns per row one by one, 115 by fours; softmax 234 and 227 in L2, but
// 250 and 400 over 25 MB; of 1024 neither gains by threes: EPYC, Zen 4. A Xeon, which fetches by
// itself what comes from L3: layer norm 0.92 of the time by fours in L2, 1.31 from L3.) What one
// kernel reads once may be longer: rows share what is set up for a call. (Sums of squares over rows
// of 1024 in L2: 65 ns per row by fours, 69 one by one: EPYC, Zen 3.) And what is reduced where it
// lies leaves nothing in L1, so that as many rows come together as registers have lanes.
inline std::int64_t rows_of_tile(const tile_program& p, std::int64_t columns, int phases,
                                 int maps) {
  constexpr std::int64_t long_row = 512, longest = 768, lanes = 16;
  const std::int64_t most_bytes =
      this_family() == processor_family::amd_19h ? 8 << 20 : cache_resident_bytes;
  // Short rows are reduced side by side, as many as a register has lanes.
  const auto of_elements = [&](std::int64_t elements) {
    const std::int64_t rows = elements / std::max<std::int64_t>(1, columns);
    const std::int64_t unit = columns < shortest_row_alone && rows >= lanes ? lanes : 1;
    return std::max<std::int64_t>(1, rows / unit * unit);
  };
  const bool in_place =
      phases == 1 && maps == 0 && std::ranges::all_of(p.streams, [](const stream& s) {
        return s.extent() != value_class::full || (s.buffer >= 0 && s.has_unit_step());
      });
  if (columns < long_row) return in_place ? std::max(lanes, of_elements(2048)) : of_elements(2048);
  const std::int64_t together =
      p.axes.outer.empty() ? 1 : std::max<std::int64_t>(1, p.axes.outer.back());
  if (in_place) return std::min({lanes, of_elements(16'384), together});
  if (phases == 1 && maps == 1) return std::min<std::int64_t>({8, of_elements(4096), together});
  if (columns > longest || streamed_bytes(p) > most_bytes) return 1;
  return std::min<std::int64_t>(4, together);
}

// Rows that one kernel reduces where it does all of a tile: in whole tiles. Between two calls are
// some 70 ns in which nothing is read, and what follows, one value per row, waits for its store. (A
// Zen 4, sums and means of [1024,256] 0.9 and 0.83 of the time of tiles, of [20000,100] 0.88 and
// 0.77, of [65536,16] 0.94 and 0.9; but maxima of those 1.1. A Xeon: 0.9, 0.9 and 0.93.)
inline std::int64_t rows_of_kernel(std::int64_t tile, std::int64_t columns) {
  constexpr std::int64_t elements = 1 << 16, most_rows = 256;
  const std::int64_t rows = std::min(most_rows, elements / std::max<std::int64_t>(1, columns));
  return std::max<std::int64_t>(1, rows / tile) * tile;
}

inline std::int64_t widest_element(const tile_program& p) {
  std::size_t bytes = 1;
  for (const stream& s : p.streams) bytes = std::max(bytes, s.element_size);
  return static_cast<std::int64_t>(bytes);
}

// Rows, of 64 elements, of a tile whose rows and columns change places. Memory gives four lines
// beside each other, whichever way they are walked, sooner than two: x^T + y over [4096,4096] of
// f32 takes 16.5 ms in tiles of 64 rows and 24.3 in tiles of 32, over [1536,1536] 1.9 and 2.4 (Zen
// 3); from L3 and L2 both take as long. Where micro-ops hand on tiles, and where elements are of 8
// bytes, as many rows would leave L1.
inline std::int64_t transposed_rows(const tile_program& p, int maps) {
  return maps > 1 || widest_element(p) > 4 ? 32 : 64;
}

// Columns of a tile of `rows` rows with reductions along them, of which an operand is transposed.
// Where a row is walked more than once, what was moved is kept if L2 can: softmax over the rows of
// x^T for x of [512,1024] takes 0.40 instead of 0.54 ms, layer norm of [768,512] 0.14 instead of
// 0.23 (Zen 3).
inline std::int64_t transposed_columns(const tile_program& p, std::int64_t rows,
                                       std::int64_t columns, int phases) {
  const bool keeps = phases > 1 && rows * columns * widest_element(p) <= 64 << 10;
  return keeps ? columns : std::min<std::int64_t>(columns, 128);
}

}  // namespace detail

/// Chooses the size of a tile. `phases` is the number of sweeps over a row, `maps` of element-wise
/// instructions per element, `block_columns` the columns of a block (geometry::block only);
/// `sums_rows`: the program has sums.
inline void choose_tile(tile_program& p, geometry kind, int phases, int maps,
                        std::int64_t block_columns, bool sums_rows) {
  const std::int64_t rows = std::max<std::int64_t>(1, p.axes.rows);
  const std::int64_t columns = std::max<std::int64_t>(1, p.axes.columns);
  // 1024 elements of several values stay in L1 from one micro-op to the next. A single instruction
  // that reads and writes memory itself has nothing to keep there, and longer runs save calls. What
  // comes from memory gains from runs of several pages, which the hardware's prefetcher follows: (x
  // - y)^2 summed over 16 M elements takes 8.5 ms in pieces of 1024 and 6.8 in pieces of 4096; with
  // more values per element the slots then leave L1.
  const bool from_memory = streamed_bytes(p) > cache_resident_bytes;
  const std::int64_t elements = maps <= 1 || (maps <= 3 && from_memory) ? 4096
                                : from_memory                           ? 2048
                                                                        : 1024;
  const std::int64_t last =
      p.axes.outer.empty() ? 1 : std::max<std::int64_t>(1, p.axes.outer.back());
  const int transposing = detail::transposing_axis(p);
  p.aligned_rows = transposing >= 0 &&
                   static_cast<std::size_t>(transposing) + 1 == p.axes.outer.size() && last > 1;
  p.split = false;
  switch (kind) {
    case geometry::free:
      // Equal pieces, in whole lines, rather than full ones and a small rest.
      p.chunk = columns <= elements + elements / 2 ? columns : elements;
      p.tile_rows = columns >= 256 ? 1 : std::max<std::int64_t>(1, elements / columns);
      if (p.aligned_rows) {
        // Fewer rows are longer, shorter rows more.
        const std::int64_t most = detail::transposed_rows(p, maps);
        p.chunk = std::min(columns, most / std::min(last, most) * 64);
        p.tile_rows = std::max(most, most * 64 / p.chunk);
      }
      break;
    case geometry::rows:
      p.split = !sums_rows && rows < 8 && columns >= 32768;
      p.chunk = columns <= 2 * elements ? columns : elements;
      p.tile_rows = p.split ? 1 : detail::rows_of_tile(p, columns, phases, maps);
      if (p.split) p.aligned_rows = false;
      if (p.aligned_rows) {
        p.tile_rows = 16;
        p.chunk = detail::transposed_columns(p, p.tile_rows, columns, phases);
      }
      break;
    case geometry::columns:
      p.chunk = std::min<std::int64_t>(columns, maps == 0 ? 1024 : 256);
      p.tile_rows = std::max<std::int64_t>(32, 4096 / p.chunk / 32 * 32);
      break;
    case geometry::block:
      p.chunk = std::max<std::int64_t>(1, std::min<std::int64_t>({columns, block_columns, 1024}));
      p.tile_rows = std::max<std::int64_t>(1, 2048 / p.chunk);
      break;
  }
  p.tile_rows = std::min({p.tile_rows, rows, p.aligned_rows ? last : rows});
  p.row_capacity = p.split ? rows : p.tile_rows;
}

}  // namespace sinter::inline SINTER_ABI::exec
