// SPDX-License-Identifier: MIT
// Checks nests of a lowered plan that move elements, or add them up along an axis: that targets are
// covered once, and that sources stay in their buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/exec/lowered.hpp>
#include <sinter/exec/nest_checks.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// Element by element up to so many; beyond that the counts have to do.
inline constexpr std::int64_t most_overlaid_elements = 1 << 16;
inline void check_overlaps(nest_checks& checks, const lowered_assembly& n) {
  if (n.count > most_overlaid_elements) return;
  std::vector<bool> taken(static_cast<std::size_t>(n.count), false);
  for (const lowered_tiles& piece : n.pieces) {
    const tile_program& p = piece.program;
    if (p.axes.rows * p.axes.columns == 0) continue;
    for (const command& c : p.commands) {
      const int s = c.kind == command_kind::store                ? c.stream
                    : c.target.where == location::memory::stream ? c.target.index
                                                                 : -1;
      if (s < 0) continue;
      const stream& out = p.streams[nest_checks::index(s)];
      for (std::int64_t row = 0; row < p.axes.rows; ++row)
        for (std::int64_t column = 0; column < p.axes.columns; ++column) {
          const auto at = static_cast<std::size_t>(out.offset - n.offset +
                                                   offset_of(p.axes.outer, out.outer, row) +
                                                   offset_of(p.axes.inner, out.inner, column));
          checks.require(!taken[at], "pieces: one over the other");
          taken[at] = true;
        }
    }
  }
}

// Every element of the target once: by its pieces, or before them by the fill.
inline void check(nest_checks& checks, const lowered_assembly& n) {
  checks.check_piece(n.target, n.offset, n.count, n.type, "target");
  checks.require(n.count == element_count(checks.buffer(n.target, "target").shape),
                 "elements: not those of the target");
  checks.require(!n.fills || n.value.type == n.type, "value: of another dtype");
  tile_surroundings around = checks.surroundings();
  around.writes_all = false;
  std::int64_t covered = 0;
  for (std::size_t i = 0; i < n.pieces.size(); ++i) {
    const tile_program& p = n.pieces[i].program;
    checks.check_tiles(n.pieces[i], around, "piece " + std::to_string(i));
    covered += p.axes.rows * p.axes.columns;
  }
  for (int b : checks.touched().written) checks.require(b == n.target, "piece: goes elsewhere");
  checks.require(n.fills ? covered < n.count : covered == n.count,
                 "pieces: do not cover the target");
  check_overlaps(checks, n);
  checks.touched().written.push_back(n.target);
}

inline void check(nest_checks& checks, const lowered_alias& n) {
  const lowered_buffer& target = checks.buffer(n.target, "target");
  checks.check_reach(n.source.buffer, target.type,
                     reach_of(n.source.offset, {n.source.shape.begin(), n.source.shape.size()},
                              {n.source.strides.begin(), n.source.strides.size()}),
                     "source");
  checks.require(element_count(n.source.shape) == element_count(target.shape),
                 "source: another number of elements");
  checks.require(n.copy.size() <= 1, "copy: more than one");
  for (const lowered_tiles& copy : n.copy) checks.check_tiles(copy, checks.surroundings(), "copy");
  for (int b : checks.touched().written) checks.require(b == n.target, "copy: goes elsewhere");
  checks.touched().read.push_back(n.source.buffer);
}

inline std::int64_t check_indices(nest_checks& checks, const lowered_indices& n) {
  checks.require(is_integral(n.type), "indices: no integers");
  checks.check_reach(n.view.buffer, n.type,
                     reach_of(n.view.offset, {n.view.shape.begin(), n.view.shape.size()},
                              {n.view.strides.begin(), n.view.strides.size()}),
                     "indices");
  const bool is_argument =
      checks.buffer(n.view.buffer, "indices").place == planning::place::argument;
  checks.require(n.checked_first == is_argument, "indices: not checked when they are known");
  checks.touched().read.push_back(n.view.buffer);
  return element_count(n.view.shape);
}

struct axis_list {
  std::vector<std::int64_t> extents, strides;
  axis_list& add(const shape_vector& e, const shape_vector& s) {
    extents.insert(extents.end(), e.begin(), e.end());
    strides.insert(strides.end(), s.begin(), s.end());
    return *this;
  }
};

// A nest along one axis: the other axes of its operand, what stands for that one, and a result of
// so many elements, which are all of its buffer.
template <class Nest>
void check_lines(nest_checks& checks, const Nest& n, const shape_vector& along,
                 const shape_vector& along_strides, std::int64_t results) {
  checks.require(n.before.size() == n.before_strides.size() &&
                     along.size() == along_strides.size() &&
                     n.behind.size() == n.behind_strides.size(),
                 "source: not one stride per axis");
  axis_list axes;
  axes.add(n.before, n.before_strides).add(along, along_strides).add(n.behind, n.behind_strides);
  checks.check_reach(n.source, n.type, reach_of(n.offset, axes.extents, axes.strides), "source");
  const std::int64_t all = element_count(n.before) * results * element_count(n.behind);
  checks.check_piece(n.target, n.target_offset, all, n.type, "target");
  checks.require(all == element_count(checks.buffer(n.target, "target").shape),
                 "target: not as many elements as are computed");
  checks.touched().read.push_back(n.source);
  checks.touched().written.push_back(n.target);
}

inline void check(nest_checks& checks, const lowered_gather& n) {
  checks.require(n.indices.extent >= 0, "source: below zero");
  check_lines(checks, n, {n.indices.extent}, {n.axis_stride}, check_indices(checks, n.indices));
}

inline void check(nest_checks& checks, const lowered_scatter& n) {
  checks.require(n.indices.extent >= 0, "source: below zero");
  checks.require(n.columns_per_task >= 1 || element_count(n.behind) == 0, "tasks: without columns");
  checks.require(element_count(n.indexed) == check_indices(checks, n.indices),
                 "source: not one update per index");
  check_lines(checks, n, n.indexed, n.indexed_strides, n.indices.extent);
}

inline void check(nest_checks& checks, const lowered_scan& n) {
  checks.require(n.type != dtype::boolean && !is_narrow_float(n.type), "type: is not added up");
  checks.require(n.count >= 0, "source: below zero");
  checks.require(n.block >= 1 && n.lanes >= 1 && n.lanes <= n.block, "blocks: without elements");
  checks.require(n.columns_per_task >= 1 || element_count(n.behind) == 0, "tasks: without columns");
  check_lines(checks, n, {n.count}, {n.axis_stride}, n.count);
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
