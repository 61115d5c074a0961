// SPDX-License-Identifier: MIT
// What a convolution by Winograd's F(2x2, 3x3) is to the executor: filters, which are transformed
// once per call, before all blocks of images, or on the way of each where blocks are few, and
// pointers to kernels for them (winograd_kernel.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sinter/plan/division.hpp>
#include <sinter/plan/winograd.hpp>
#include <sinter/support/cache_lines.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Filters as they are given: rows of 9 elements per channel, `leading` elements apart, or columns
/// of a matrix whose rows are.
struct given_filters {
  const void* from = nullptr;
  std::int64_t leading = 0;
  bool transposed = false;
};

/// Filters from `first` up to `last` are transformed into `to`, which has winograd_filter_elements
/// for all of them; `first` is a multiple of the block's.
struct winograd_filters {
  planning::winograd_extents extents;
  planning::winograd_blocks blocks;
  given_filters given;
  std::int64_t first = 0, last = 0;
  void* to = nullptr;
  void* workspace = nullptr;  // winograd_workspace_bytes, 64-byte aligned
};

/// Rows [first_row, first_row + rows) of the results of some images by filters [first_filter,
/// last_filter), first_row an even number and `rows` another unless the image ends there,
/// first_filter a multiple of the block's. Element (c, y, x) of image i lies at images[i] + c *
/// channel_stride + y * row_stride + x * column_stride elements; of the result, (f, y, x) at
/// results[i] + (f - first_filter) * filter_pitch + (y - first_row) * width + x.
struct winograd_block {
  planning::winograd_extents extents;
  planning::winograd_blocks blocks;
  std::span<const void* const> images;
  std::span<void* const> results;
  std::int64_t channel_stride = 0, row_stride = 0, column_stride = 0;
  std::int64_t filter_pitch = 0;
  std::int64_t first_row = 0, rows = 0;
  std::int64_t first_filter = 0, last_filter = 0;
  // Transformed; or none, if there are few blocks of tiles (has_few_winograd_tasks), which
  // transform those that are given.
  const void* filters = nullptr;
  given_filters given;
  void* workspace = nullptr;  // winograd_workspace_bytes, 64-byte aligned
};

/// What a program has of it for a dtype; null for dtypes other than f32 and f64.
struct winograd_kernels {
  void (*filters)(const winograd_filters&) = nullptr;
  void (*block)(const winograd_block&) = nullptr;
  planning::winograd_units units;
};

using winograd_table = std::array<winograd_kernels, static_cast<std::size_t>(dtype_count)>;

/// Elements of one of 16 matrices of a block of filters and a slab of channels; whole lines, as the
/// kernel of products reads some with aligned loads, and one more, so that the 16 that are written
/// side by side do not all fall into the same set of the cache: 1.45 ns per filter and channel
/// instead of 8.2.
constexpr std::int64_t winograd_filter_matrix(const planning::winograd_blocks& blocks) {
  return planning::whole_units(blocks.filters * blocks.depth, 16) + 16;
}

constexpr std::int64_t winograd_slabs(const planning::winograd_extents& of,
                                      const planning::winograd_blocks& blocks) {
  return planning::pieces_of(std::max<std::int64_t>(1, of.channels), blocks.depth);
}

/// Elements of transformed filters, and where the matrices of those from `filter` and `channel` on
/// are.
constexpr std::int64_t winograd_filter_elements(const planning::winograd_extents& of,
                                                const planning::winograd_blocks& blocks) {
  return 16 * winograd_filter_matrix(blocks) * winograd_slabs(of, blocks) *
         planning::pieces_of(of.filters, blocks.filters);
}
constexpr std::int64_t winograd_filter_place(const planning::winograd_extents& of,
                                             const planning::winograd_blocks& blocks,
                                             std::int64_t filter, std::int64_t channel) {
  const std::int64_t block =
      filter / blocks.filters * winograd_slabs(of, blocks) + channel / blocks.depth;
  return 16 * block * winograd_filter_matrix(blocks);
}

/// So many filters are transformed at a time: as many as stand side by side in a packed left side.
inline constexpr std::int64_t winograd_filter_group = 4;

/// The parts of a block's workspace, in elements.
struct winograd_workspace {
  std::int64_t line = 0;     // tiles, whole registers
  std::int64_t rows = 0;     // a row of an image, and what is added to fill registers
  std::int64_t plane = 0;    // one of 16 of half transformed rows
  std::int64_t slab = 0;     // one of 16 of a slab's transformed tiles
  std::int64_t product = 0;  // one of 16 of a block of filters
  std::int64_t result = 0;   // one of two rows of results
  std::int64_t filters = 0;  // one of 16 of a block and a slab, if blocks may transform filters
  std::int64_t packed = 0;   // filters that are transformed at a time
  std::int64_t slabs = 0;

  constexpr winograd_workspace(const planning::winograd_extents& of,
                               const planning::winograd_blocks& blocks,
                               const planning::winograd_units& units) {
    const std::int64_t unit = units.register_tiles;
    line = planning::winograd_line(blocks.images * blocks.tile_rows * of.tile_columns(), units);
    rows = planning::whole_units(2 * of.tile_columns() + 2 + 2 * unit, unit);
    plane = line + 2 * unit;
    // A line more, so that the 16 do not all fall into the same set of the cache.
    slab = blocks.depth * line + unit;
    product = blocks.filters * line + unit;
    result = 2 * line + 2 * unit;
    filters = planning::has_few_winograd_tasks(of, blocks) ? winograd_filter_matrix(blocks) : 0;
    packed = winograd_filter_group * 9 * blocks.depth;
    slabs = winograd_slabs(of, blocks);
  }
  constexpr std::int64_t elements() const {
    return rows + 16 * (plane + slabs * slab + product + filters) + 2 * result + packed;
  }
};

constexpr std::size_t winograd_workspace_bytes(const planning::winograd_extents& of,
                                               const planning::winograd_blocks& blocks,
                                               const planning::winograd_units& units,
                                               std::int64_t element_bytes) {
  return round_to_lines(
      static_cast<std::size_t>(winograd_workspace(of, blocks, units).elements() * element_bytes));
}

}  // namespace sinter::inline SINTER_ABI::exec
