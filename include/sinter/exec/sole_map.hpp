// SPDX-License-Identifier: MIT
// Tile programs that are one map and nothing else, as most element-wise functions and what follows
// most products are: its kernel walks all rows itself, without tiles and scratch memory.
// (relu(x + b) on 16 floats: 700 of a call's 1,800 instructions went to a tile of one command.)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/tile_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Do all rows lie side by side, and are one row for the kernel?
inline bool is_one_row(const tile_program& p, const command& c) {
  return !c.by_row && p.tile_rows > 1;
}

}  // namespace detail

/// The map that is all of a program, on operands and a result where the caller has them; nullptr
/// where the program does anything else.
inline const command* sole_map(const tile_program& p) {
  if (p.commands.size() != 1 || p.phase_lists.size() != 1 || p.phase_lists[0].size() != 1 ||
      !p.reductions.empty())
    return nullptr;
  const command& c = p.commands[0];
  const auto stays = [](const location& l) {
    return l.where == location::memory::stream || l.where == location::memory::constant ||
           l.where == location::memory::external;
  };
  const bool can_walk = !detail::is_one_row(p, c) || p.axes.outer.size() <= 1;
  const bool is_sole = takes_modes(c) && can_walk && c.target.where == location::memory::stream &&
                       c.target.extent == value_class::full &&
                       std::ranges::all_of(p.operands_of(c), stays);
  return is_sole ? &c : nullptr;
}

/// Runs it for rows [row, row_end) and columns [column, column_end) of the walk, on the blocks that
/// the nest hands in.
inline void run_sole_map(const tile_program& p, const command& c, std::byte* const* bases,
                         std::span<const external_block> blocks, std::int64_t row,
                         std::int64_t row_end, std::int64_t column, std::int64_t column_end) {
  const shape_vector& outer = p.axes.outer;
  const auto first_element = [&](const location& l) {
    if (l.where == location::memory::constant)
      return reinterpret_cast<std::byte*>(
          const_cast<std::int64_t*>(&p.constants[static_cast<std::size_t>(l.index)].word));
    if (l.where == location::memory::external) {
      const external_block& b = blocks[static_cast<std::size_t>(l.index)];
      return b.at + ((row - b.row) * b.pitch + column - b.column) * std::int64_t{l.element_size};
    }
    const stream& s = p.streams[static_cast<std::size_t>(l.index)];
    std::int64_t at = s.offset + (l.extent == value_class::full ? column : 0), rest = row;
    for (std::size_t axis = outer.size(); axis-- > 0; rest /= outer[axis])
      at += rest % outer[axis] * s.outer[axis];
    return bases[s.buffer] + at * std::int64_t{l.element_size};
  };
  const auto bytes_to_next_row = [&](const location& l) -> std::int64_t {
    if (l.where == location::memory::external)
      return blocks[static_cast<std::size_t>(l.index)].pitch * l.element_size;
    return l.where == location::memory::constant || outer.empty()
               ? 0
               : p.streams[static_cast<std::size_t>(l.index)].outer.back() * l.element_size;
  };
  const std::span<const location> operands = p.operands_of(c);
  std::array<const void*, ir::region::max_leaves> pointers;
  std::array<std::int64_t, ir::region::max_leaves> steps;
  for (std::size_t k = 0; k < operands.size(); ++k) steps[k] = bytes_to_next_row(operands[k]);
  // Rows equally far apart: as far as the last outer axis goes.
  const bool at_once = detail::is_one_row(p, c);
  const std::int64_t length = at_once || outer.empty() ? row_end : outer.back();
  const std::int64_t columns = column_end - column;
  while (row < row_end) {
    const std::int64_t rows = std::min(row_end - row, length - row % length);
    for (std::size_t k = 0; k < operands.size(); ++k) pointers[k] = first_element(operands[k]);
    const ir::map_run run =
        at_once ? ir::map_run{.count = rows * columns, .mode = c.mode}
                : ir::map_run{columns, c.mode, rows, steps.data(), bytes_to_next_row(c.target)};
    run_map_rows(c, run, pointers.data(), first_element(c.target));
    row += rows;
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
