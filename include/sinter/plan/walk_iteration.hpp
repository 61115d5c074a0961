// SPDX-License-Identifier: MIT
// Walking an iteration as its loops say: pieces of pieces, down to single indices.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinter/plan/schedule.hpp>

namespace sinter::inline SINTER_ABI::planning {

/// The number of positions of a loop whose axes have these extents.
inline std::int64_t loop_size(const loop& l, const shape_vector& extents) {
  std::int64_t out = 1;
  for (int a : l.axes) out *= extents[a];
  return out;
}

/// The indices of the loop's axes at a position, into `index`.
inline void set_position(const loop& l, const shape_vector& extents, std::int64_t position,
                         shape_vector& index) {
  for (std::size_t i = l.axes.size(); i-- > 0;) {
    index[l.axes[i]] = position % extents[l.axes[i]];
    position /= extents[l.axes[i]];
  }
}

namespace detail {

struct loop_range {
  std::int64_t begin, end;
};

// What one instruction does, position by position.
template <class Visit>
void walk_units(std::span<const loop> loops, const shape_vector& extents, std::size_t number,
                const std::vector<loop_range>& ranges, shape_vector& index, const Visit& visit) {
  if (number == loops.size()) return visit(index);
  for (std::int64_t i = ranges[number].begin; i < ranges[number].end; ++i) {
    set_position(loops[number], extents, i, index);
    walk_units(loops, extents, number + 1, ranges, index, visit);
  }
}

template <class Visit>
void walk_levels(std::span<const loop> loops, const shape_vector& extents, std::size_t depth,
                 std::vector<loop_range>& ranges, shape_vector& index, const Visit& visit) {
  if (depth == 3 * loops.size()) return walk_units(loops, extents, 0, ranges, index, visit);
  const std::size_t own = depth % loops.size();
  const std::int64_t step = loops[own].levels[depth / loops.size()].step;
  const loop_range all = ranges[own];
  for (std::int64_t i = all.begin; i < all.end; i += step) {
    ranges[own] = {i, std::min(all.end, i + step)};
    walk_levels(loops, extents, depth + 1, ranges, index, visit);
  }
  ranges[own] = all;
}

}  // namespace detail

/// Calls visit(index) for every index of the axes of `loops`, in their order: tasks, in them tiles,
/// in them what one instruction does, the first loop outermost in each. Axes of no loop keep what
/// `index` has.
template <class Visit>
void walk_loops(std::span<const loop> loops, const shape_vector& extents, shape_vector& index,
                const Visit& visit) {
  std::vector<detail::loop_range> ranges;
  for (const loop& l : loops) ranges.push_back({0, loop_size(l, extents)});
  if (loops.empty()) return visit(index);
  detail::walk_levels(loops, extents, 0, ranges, index, visit);
}

/// Calls tile(begin, end) for the tiles of [begin, end) of one task of a loop, in order.
template <class Tile>
void walk_tiles(const loop& l, std::int64_t begin, std::int64_t end, const Tile& tile) {
  const std::int64_t step = l.levels[loop::tile].step;
  for (std::int64_t i = begin; i < end; i += step) tile(i, std::min(end, i + step));
}

}  // namespace sinter::inline SINTER_ABI::planning
