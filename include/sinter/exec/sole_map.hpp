// SPDX-License-Identifier: MIT
// Tile programs that are one map and nothing else, as most element-wise functions and what follows
// most products are: its kernel walks all rows itself, without tiles and scratch memory. Where its
// operands lie is found out when the program is bound.
// (relu(x + b) on 16 floats: 700 of a call's 1,800 instructions went to a tile of one command, and
// with operands looked up in each call this here was 250 of 1,300 instead of 180.)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sinter/exec/tile_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

class sole_map {
 public:
  /// Binds to a program, which must outlive this. False where it is anything else than one map on
  /// operands and a result where the caller has them: then there is nothing to run. Allocates
  /// nothing.
  bool bind(const tile_program& p) {
    command_ = nullptr;
    if (p.commands.size() != 1 || p.phase_lists.size() != 1 || p.phase_lists[0].size() != 1 ||
        !p.reductions.empty())
      return false;
    const command& c = p.commands[0];
    is_one_row_ = !c.by_row && p.tile_rows > 1;
    const bool can_walk = !is_one_row_ || p.axes.outer.size() <= 1;
    const bool is_sole =
        takes_modes(c) && !c.by_run && can_walk && c.target.where == location::memory::stream &&
        c.target.extent == value_class::full && std::ranges::all_of(p.operands_of(c), stays);
    if (!is_sole) return false;
    command_ = &c;
    outer_ = &p.axes.outer;
    operands_ = static_cast<std::size_t>(c.operand_count);
    for (std::size_t k = 0; k < operands_; ++k) places_[k] = place_of(p, p.operands_of(c)[k]);
    places_[operands_] = place_of(p, c.target);
    return true;
  }
  bool is_bound() const { return command_ != nullptr; }

  /// Runs it for rows [row, row_end) and columns [column, column_end) of the walk, on buffers that
  /// begin at `bases` and the blocks that the nest hands in. Precondition: is_bound().
  void run(std::byte* const* bases, std::span<const external_block> blocks, std::int64_t row,
           std::int64_t row_end, std::int64_t column, std::int64_t column_end) const {
    // Rows equally far apart: as far as the last outer axis goes.
    while (row < row_end) {
      std::int64_t rows = row_end - row;
      if (outer_->size() > 1) rows = std::min(rows, outer_->back() - row % outer_->back());
      run_rows(bases, blocks, row, rows, column, column_end - column);
      row += rows;
    }
  }

 private:
  static constexpr std::size_t most = ir::region::max_leaves;

  // Element (row, column) of the walk begins `first` bytes, and for each row and column so many
  // more, behind the beginning of a buffer, of a constant (which has neither) or of a block, whose
  // rows are as far apart as the nest says.
  struct place {
    location::memory where{};
    int number = 0;         // of the buffer or block
    std::int64_t size = 0;  // of an element
    std::int64_t first = 0, row = 0, column = 0;
    const void* constant = nullptr;
    const shape_vector* strides = nullptr;  // elements, along several outer axes
  };

  static bool stays(const location& l) {
    return l.where == location::memory::stream || l.where == location::memory::constant ||
           l.where == location::memory::external;
  }

  static place place_of(const tile_program& p, const location& l) {
    const std::int64_t size = l.element_size;
    const auto index = static_cast<std::size_t>(l.index);
    if (l.where == location::memory::constant)
      return {.where = l.where, .constant = &p.constants[index].word};
    if (l.where == location::memory::external)
      return {.where = l.where, .number = l.index, .size = size};
    const stream& s = p.streams[index];
    place out{.where = l.where,
              .number = s.buffer,
              .size = size,
              .first = s.offset * size,
              .row = s.outer.empty() ? 0 : s.outer.back() * size,
              .column = l.extent == value_class::full ? size : 0};
    if (s.outer.size() > 1) out.strides = &s.outer;
    return out;
  }

  // Rows [row, row + rows), equally far apart.
  void run_rows(std::byte* const* bases, std::span<const external_block> blocks, std::int64_t row,
                std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    std::array<const void*, most> pointers;
    std::array<std::int64_t, most> steps;
    for (std::size_t k = 0; k < operands_; ++k) {
      const place& p = places_[k];
      steps[k] = p.row;
      if (p.where == location::memory::stream) {
        pointers[k] = element(p, bases, row, column);
      } else if (p.where == location::memory::constant) {
        pointers[k] = p.constant;
      } else {
        const external_block& b = blocks[static_cast<std::size_t>(p.number)];
        pointers[k] = b.at + ((row - b.row) * b.pitch + column - b.column) * p.size;
        steps[k] = b.pitch * p.size;
      }
    }
    const place& target = places_[operands_];
    const ir::map_run run =
        is_one_row_ ? ir::map_run{.count = rows * columns, .mode = command_->mode}
                    : ir::map_run{columns, command_->mode, rows, steps.data(), target.row};
    run_map_rows(*command_, run, pointers.data(), element(target, bases, row, column));
  }

  // Of a buffer.
  std::byte* element(const place& p, std::byte* const* bases, std::int64_t row,
                     std::int64_t column) const {
    const std::int64_t at = p.first + column * p.column;
    if (p.strides == nullptr) return bases[p.number] + at + row * p.row;
    std::int64_t elements = 0;
    for (std::size_t axis = outer_->size(); axis-- > 0; row /= (*outer_)[axis])
      elements += row % (*outer_)[axis] * (*p.strides)[axis];
    return bases[p.number] + at + elements * p.size;
  }

  const command* command_ = nullptr;
  const shape_vector* outer_ = nullptr;  // extents
  bool is_one_row_ = false;  // all rows lie side by side, and are one row for the kernel
  std::size_t operands_ = 0;
  std::array<place, most + 1> places_;  // of the operands, then of the result
};

}  // namespace sinter::inline SINTER_ABI::exec
