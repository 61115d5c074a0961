// SPDX-License-Identifier: MIT
// Convolutions of 3x3 windows by Winograd's F(2x2, 3x3) (Lavin and Gray, "Fast algorithms for
// convolutional neural networks", 2016), which takes 16 products where a tile of 2x2 results and 9
// elements of a window have 36: how such a product is divided.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::planning {

/// Of a result of filters x height x width per image. Images have two rows and columns more.
struct winograd_extents {
  std::int64_t images = 0, channels = 0, filters = 0, height = 0, width = 0;

  constexpr std::int64_t tile_rows() const { return pieces_of(height, 2); }
  constexpr std::int64_t tile_columns() const { return pieces_of(width, 2); }
  friend bool operator==(const winograd_extents&, const winograd_extents&) = default;
};

/// A task computes `tile_rows` of `images` images. It goes through the filters by `filters` and
/// adds up channels by `depth`.
struct winograd_blocks {
  std::int64_t images = 1, tile_rows = 1, filters = 1, depth = 1;
  friend bool operator==(const winograd_blocks&, const winograd_blocks&) = default;
};

/// Tiles of a task stand in one line. A register takes `register_tiles` of them, the fastest loop
/// of the product `panel_tiles`; by fewer than `busy_tiles` it waits for its own sums.
struct winograd_units {
  std::int64_t register_tiles = 16, panel_tiles = 48, busy_tiles = 16;
  friend bool operator==(const winograd_units&, const winograd_units&) = default;
};

/// A task never has more images.
inline constexpr std::int64_t most_winograd_images = 16;

/// The elements of a line of tiles.
constexpr std::int64_t winograd_line(std::int64_t tiles, const winograd_units& units) {
  return whole_units(std::max<std::int64_t>(1, tiles), units.register_tiles);
}

/// What products of a line take, in tiles of whole panels.
constexpr std::int64_t winograd_line_work(std::int64_t tiles, const winograd_units& units) {
  const std::int64_t line = whole_units(tiles, units.register_tiles),
                     rest = line % units.panel_tiles;
  return line - rest + (rest == 0 ? 0 : std::max(rest, units.busy_tiles));
}

/// And those of `count` rows or images of so many tiles each, `piece` of them at a time.
constexpr std::int64_t winograd_lines_work(std::int64_t count, std::int64_t piece,
                                           std::int64_t tiles, const winograd_units& units) {
  return count / piece * winograd_line_work(piece * tiles, units) +
         winograd_line_work(count % piece * tiles, units);
}

/// What all products of one filter and one channel take, in tiles.
constexpr std::int64_t winograd_work(const winograd_extents& of, const winograd_blocks& blocks,
                                     const winograd_units& units) {
  const std::int64_t columns = of.tile_columns();
  if (blocks.tile_rows >= of.tile_rows())
    return winograd_lines_work(of.images, blocks.images, of.tile_rows() * columns, units);
  return of.images * winograd_lines_work(of.tile_rows(), blocks.tile_rows, columns, units);
}

/// Has one task all tiles? It transforms a block of filters when it comes to it, so that nothing of
/// them passes memory but what they are made of.
constexpr bool has_one_winograd_task(const winograd_extents& of, const winograd_blocks& blocks) {
  return blocks.images >= of.images && blocks.tile_rows >= of.tile_rows();
}

/// Are there so few tasks of tiles that each may transform its filters itself, where threads would
/// else wait until all are? Several do it then, for the same filters.
constexpr bool has_few_winograd_tasks(const winograd_extents& of, const winograd_blocks& blocks) {
  constexpr std::int64_t few = 8;
  return pieces_of(of.images, blocks.images) * pieces_of(of.tile_rows(), blocks.tile_rows) <= few;
}

/// By extents and units alone. The transformed tiles of a task take some 640 KiB, and what a block
/// of filters makes of them, or the block itself where the task transforms it, 256 KiB, so that
/// both stay in L2; within that, as little work as possible, in equal pieces if they are no more.
/// Whole images, several of them, where they are small. Of filters 32 at most, as threads that have
/// no piece of an image take some of them: of one image of [256,14,14] eight had 4 times 6 of 7
/// rows by 80 filters to do before, and take as many of 4 rows by 64 now.
constexpr winograd_blocks divide_winograd(const winograd_extents& of, std::int64_t element_bytes,
                                          const winograd_units& units) {
  constexpr std::int64_t products = 16, least_filters = 16, most_filters = 32;
  const std::int64_t channels = std::max<std::int64_t>(1, of.channels),
                     images = std::max<std::int64_t>(1, of.images),
                     rows = std::max<std::int64_t>(1, of.tile_rows()),
                     columns = std::max<std::int64_t>(1, of.tile_columns());
  const std::int64_t most_tiles =
      std::max(units.panel_tiles, (640 << 10) / (products * element_bytes * channels));
  const auto best_piece = [&](std::int64_t count, std::int64_t most, std::int64_t tiles) {
    std::int64_t best = 1;
    for (std::int64_t piece = 2; piece <= std::min(count, most); ++piece)
      if (winograd_lines_work(count, piece, tiles, units) <=
          winograd_lines_work(count, best, tiles, units))
        best = piece;
    const std::int64_t equal = pieces_of(count, pieces_of(count, best));
    const bool is_no_more = winograd_lines_work(count, equal, tiles, units) ==
                            winograd_lines_work(count, best, tiles, units);
    return is_no_more ? equal : best;
  };
  winograd_blocks out;
  // Equal pieces of at most 256.
  out.depth = pieces_of(channels, pieces_of(channels, 256));
  out.tile_rows = best_piece(rows, most_tiles / columns, columns);
  if (rows * columns <= most_tiles) {
    // 8 tasks at least, where there are as many images.
    const std::int64_t several = best_piece(
        images, std::min({most_winograd_images, most_tiles / (rows * columns), images / 8}),
        rows * columns);
    const winograd_blocks whole{several, rows, 1, 1};
    if (winograd_work(of, whole, units) <= winograd_work(of, out, units)) {
      out.tile_rows = rows;
      out.images = several;
    }
  }
  const std::int64_t line = winograd_line(out.images * out.tile_rows * columns, units),
                     beside = has_one_winograd_task(of, out) ? std::max(line, out.depth) : line,
                     fitting = (256 << 10) / (products * element_bytes * beside) / 8 * 8;
  out.filters =
      std::clamp<std::int64_t>(of.filters, 1, std::clamp(fitting, least_filters, most_filters));
  return out;
}

}  // namespace sinter::inline SINTER_ABI::planning
