// SPDX-License-Identifier: MIT
// Tile programs that only copy columns which lie side by side, as the pieces of a pad or a concat
// and permutations of leading axes are, or every other one, as images in front of a convolution
// with a stride of 2, or write one element into all columns of a row, as enlarging an image does:
// rows are copied where they lie, without tiles. What a pad has around them is written on the way.
// (Rows of 28 f32 with zeros around them, in L2: 1.9 ns each; by commands that find the place of
// each, into zeros that were written before, 9.5.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include <sinter/exec/copy.hpp>
#include <sinter/exec/copy_rows.hpp>
#include <sinter/exec/tile_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

class sole_copy {
 public:
  /// Binds to a program, which must outlive this. False where it is anything else: then there is
  /// nothing to run. Allocates nothing.
  bool bind(const tile_program& p) {
    fills_ = false;
    axes_ = &p.axes;
    std::tie(from_, to_) = ends_of(p);
    if (from_ == nullptr) std::tie(from_, to_) = ends_of_repetition(p);
    const bool goes = from_ != nullptr && (from_->has_unit_step() || repeats() ||
                                           (takes_every_other() && !p.streaming));
    if (!goes || !to_->has_unit_step()) from_ = nullptr;
    return is_bound();
  }
  bool is_bound() const { return from_ != nullptr; }

  /// From now on parts of whole rows write `value` around what they copy, so that all together
  /// write elements [begin, begin + count) of the target's buffer. False where rows do not follow
  /// each other there: then they write nothing else. Precondition: is_bound().
  bool fill_around(std::int64_t begin, std::int64_t count, std::span<const std::byte> value) {
    std::int64_t size = axes_->columns;
    for (std::size_t axis = axes_->outer.size(); axis-- > 0;) {
      if (to_->outer[axis] < size) return false;
      size = to_->outer[axis] * axes_->outer[axis];
    }
    fills_ = true;
    begin_ = begin;
    end_ = begin + count;
    for (std::size_t i = 0; i < pattern_.size(); ++i) pattern_[i] = value[i % to_->element_size];
    return true;
  }

  /// Copies rows [row, row_end) and columns [column, column_end) of the walk between buffers that
  /// begin at `bases`. Precondition: is_bound().
  [[gnu::noinline]] void run(std::byte* const* bases, std::int64_t row, std::int64_t row_end,
                             std::int64_t column, std::int64_t column_end) const {
    const auto size = static_cast<std::int64_t>(from_->element_size);
    const std::int64_t bytes = (column_end - column) * size;
    row_cursor at(*this, bases, row, column);
    std::byte* const target = bases[to_->buffer];
    std::byte* written = row == 0 ? target + begin_ * size : at.to;
    const auto fill_up_to = [&](const std::byte* end) {
      if (fills_) fill_bytes(end - written, pattern_, written);
    };
    while (row < row_end) {
      fill_up_to(at.to);
      const std::int64_t rows = std::min(row_end - row, at.even_rows());
      if (fills_) fill_between(rows, bytes, at.to, at.to_step);
      if (repeats())
        spread_rows(rows, column_end - column, at);
      else if (takes_every_other())
        copy_every_other(rows, column_end - column, from_->element_size, at.from, at.from_step,
                         at.to, at.to_step);
      else
        copy_rows(rows, bytes, at.from, at.from_step, at.to, at.to_step);
      written = at.to + (rows - 1) * at.to_step + bytes;
      at.advance(rows);
      row += rows;
    }
    fill_up_to(row == axes_->rows ? target + end_ * size : at.to);
  }

 private:
  // Where a row lies in both streams.
  struct row_cursor {
    const std::byte* from;
    std::byte* to;
    std::int64_t from_step = 0, to_step = 0;  // bytes to the next row of the last axis

    row_cursor(const sole_copy& copy, std::byte* const* bases, std::int64_t row,
               std::int64_t column)
        : from(bases[copy.from_->buffer]),
          to(bases[copy.to_->buffer]),
          copy_(copy),
          size_(static_cast<std::int64_t>(copy.from_->element_size)),
          index_(extents()) {
      from += (copy.from_->offset + column * copy.from_->step) * size_;
      to += (copy.to_->offset + column) * size_;
      for (std::size_t axis = extents().size(); axis-- > 0; row /= extents()[axis]) {
        index_[axis] = row % extents()[axis];
        move(axis, index_[axis]);
      }
      if (extents().empty()) return;
      from_step = copy.from_->outer.back() * size_;
      to_step = copy.to_->outer.back() * size_;
    }

    // From here to the end of the last axis.
    std::int64_t even_rows() const {
      return extents().empty() ? 1 : extents().back() - index_.back();
    }
    // By at most so many.
    void advance(std::int64_t rows) {
      if (extents().empty()) return;
      std::size_t axis = extents().size() - 1;
      index_[axis] += rows;
      move(axis, rows);
      for (; axis > 0 && index_[axis] == extents()[axis]; --axis) {
        move(axis, -index_[axis]);
        index_[axis] = 0;
        ++index_[axis - 1];
        move(axis - 1, 1);
      }
    }

   private:
    const shape_vector& extents() const { return copy_.axes_->outer; }
    void move(std::size_t axis, std::int64_t places) {
      from += places * copy_.from_->outer[axis] * size_;
      to += places * copy_.to_->outer[axis] * size_;
    }

    const sole_copy& copy_;
    std::int64_t size_;
    shape_vector index_;
  };

  // Is it one element that all columns of a row get?
  bool repeats() const { return from_->linear && from_->step == 0; }
  bool takes_every_other() const { return from_->linear && from_->step == 2; }

  // The streams that a program copies from and to: in a command that loads or stores another
  // stream, or in both, by way of a slot. Null if it does anything else.
  static std::pair<const stream*, const stream*> ends_of(const tile_program& p) {
    const auto number = [&](int i) { return &p.streams[static_cast<std::size_t>(i)]; };
    if (p.phase_lists.size() != 1 || p.phase_lists[0].size() != static_cast<int>(p.commands.size()))
      return {};
    const auto is = [&](std::size_t i, command_kind kind) {
      return i < p.commands.size() && p.commands[i].kind == kind;
    };
    const auto stored = [&](std::size_t i) { return p.operands_of(p.commands[i])[0]; };
    constexpr auto in_stream = location::memory::stream;
    if (p.commands.size() == 1 && is(0, command_kind::load)) {
      const command& load = p.commands[0];
      if (load.target.where == in_stream) return {number(load.stream), number(load.target.index)};
    } else if (p.commands.size() == 1 && is(0, command_kind::store)) {
      if (stored(0).where == in_stream)
        return {number(stored(0).index), number(p.commands[0].stream)};
    } else if (p.commands.size() == 2 && is(0, command_kind::load) && is(1, command_kind::store)) {
      if (stored(1) == p.commands[0].target)
        return {number(p.commands[0].stream), number(p.commands[1].stream)};
    }
    return {};
  }

  // The same of a program that stores an element for each row in all columns, by way of a slot;
  // where elements do not lie side by side, they are loaded before.
  static std::pair<const stream*, const stream*> ends_of_repetition(const tile_program& p) {
    const int last = static_cast<int>(p.commands.size());
    if (last < 2 || last > 3 || p.phase_lists.size() != 1 ||
        p.row_lists[0] != command_range{0, last - 2} ||
        p.phase_lists[0] != command_range{last - 2, last})
      return {};
    const command &first = p.commands[0], &expand = p.commands[static_cast<std::size_t>(last - 2)],
                  &store = p.commands[static_cast<std::size_t>(last - 1)];
    if (expand.kind != command_kind::expand || store.kind != command_kind::store ||
        expand.target != p.operands_of(store)[0])
      return {};
    const location value = p.operands_of(expand)[0];
    int source = -1;
    if (last == 2 && value.where == location::memory::stream) source = value.index;
    if (last == 3 && first.kind == command_kind::load && first.target == value)
      source = first.stream;
    if (source < 0) return {};
    return {&p.streams[static_cast<std::size_t>(source)],
            &p.streams[static_cast<std::size_t>(store.stream)]};
  }

  void spread_rows(std::int64_t rows, std::int64_t columns, const row_cursor& at) const {
    const std::size_t size = from_->element_size;
    if (at.to_step == columns * static_cast<std::int64_t>(size))
      return spread(rows, columns, at.from, at.from_step, size, at.to);
    for (std::int64_t row = 0; row < rows; ++row)
      fill(columns, at.from + row * at.from_step, size, at.to + row * at.to_step);
  }

  // Before rows are copied: each overwrites what the place in front of it was too large for.
  void fill_between(std::int64_t rows, std::int64_t bytes, std::byte* to,
                    std::int64_t to_step) const {
    const std::int64_t between = to_step - bytes;
    to += bytes;
    if (bytes >= static_cast<std::int64_t>(sizeof(fill_pattern)))
      return fill_rows(rows - 1, between, pattern_, to, to_step);
    for (std::int64_t row = 1; row < rows; ++row, to += to_step) fill_bytes(between, pattern_, to);
  }

  const stream *from_ = nullptr, *to_ = nullptr;
  const walk* axes_ = nullptr;
  bool fills_ = false;
  std::int64_t begin_ = 0, end_ = 0;
  fill_pattern pattern_{};
};

}  // namespace sinter::inline SINTER_ABI::exec
