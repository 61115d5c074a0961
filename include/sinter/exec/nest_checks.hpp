// SPDX-License-Identifier: MIT
// What the checks of every kind of nest of a lowered plan stand on: the buffers, and the copies
// that a nest has besides; memory that stays inside of them; tile programs in their surroundings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/strided_runs.hpp>
#include <sinter/exec/verify_tile.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// The buffers whose memory a program writes, and those that it reads.
struct touched_buffers {
  std::vector<int> read, written;

  void add(const tile_program& p) {
    std::vector<bool> output(p.streams.size(), false), input(p.streams.size(), false);
    const auto mark = [&](std::vector<bool>& which, int stream) {
      if (stream >= 0 && static_cast<std::size_t>(stream) < which.size())
        which[static_cast<std::size_t>(stream)] = true;
    };
    for (const command& c : p.commands) {
      if (c.kind == command_kind::store) mark(output, c.stream);
      if (c.kind == command_kind::load) mark(input, c.stream);
      if (c.target.where == location::memory::stream) mark(output, c.target.index);
      for (const location& l : p.operands_of(c))
        if (l.where == location::memory::stream) mark(input, l.index);
    }
    for (const column_sum& s : p.sums) written.push_back(s.buffer);
    for (std::size_t i = 0; i < p.streams.size(); ++i) {
      if (p.streams[i].buffer < 0) continue;
      if (output[i])
        written.push_back(p.streams[i].buffer);
      else if (input[i])
        read.push_back(p.streams[i].buffer);
    }
  }
};

class nest_checks {
 public:
  nest_checks(const lowered_plan& p, const kernel_table* kernels)
      : p_(p), kernels_(kernels), buffers_(p.buffers) {}

  /// The checks that follow are of what is called so.
  void enter(std::string who) {
    who_ = std::move(who);
    buffers_.resize(p_.buffers.size());
    touched_ = {};
  }

  touched_buffers& touched() { return touched_; }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  [[noreturn]] void fail(const std::string& what) const { raise(graph_error(who_ + ": " + what)); }
  void require(bool holds, const char* what) const {
    if (!holds) fail(what);
  }

  const lowered_buffer& buffer(int b, const char* what) const {
    if (b < 0 || index(b) >= buffers_.size())
      fail(std::string(what) + ": there is no buffer " + std::to_string(b));
    return buffers_[index(b)];
  }

  // Memory in one piece.
  void check_piece(int b, std::int64_t offset, std::int64_t count, dtype type, const char* what) {
    const lowered_buffer& own = buffer(b, what);
    if (own.type != type) fail(std::string(what) + ": a buffer of another dtype");
    if (count > 0 && (offset < 0 || offset + count > element_count(own.shape) ||
                      own.strides != row_major_strides(own.shape)))
      fail(std::string(what) + ": leaves its buffer");
  }
  void check_reach(int b, dtype type, const reach& r, const char* what) {
    const lowered_buffer& own = buffer(b, what);
    if (own.type != type) fail(std::string(what) + ": a buffer of another dtype");
    if (!stays_inside(r, own)) fail(std::string(what) + ": leaves its buffer");
  }

  tile_surroundings surroundings() const {
    tile_surroundings out;
    out.buffers = buffers_;
    out.kernels = kernels_;
    return out;
  }
  void check_program(const tile_program& p, const tile_surroundings& around,
                     const std::string& part) {
    verify_tile(p, around, who_ + (part.empty() ? "" : ", " + part));
    touched_.add(p);
  }
  // Over blocks of columns a program cannot see rows as a whole.
  void check_parts(const tile_program& p, bool whole) const {
    require(whole || (p.phase_lists.size() == 1 && p.reductions.empty()),
            "columns: divided although rows are reduced");
  }

  void check_tiles(const lowered_tiles& n, const tile_surroundings& around,
                   const std::string& part) {
    const tile_program& p = n.program;
    check_program(p, around, part);
    const std::int64_t columns = std::max<std::int64_t>(1, p.axes.columns);
    require(n.rows_per_task >= 1 && n.columns_per_task >= 1, "tasks: without rows or columns");
    require(n.rows_per_task % p.tile_rows == 0 || n.rows_per_task >= p.axes.rows,
            "tasks: rows that are no whole tiles");
    require(n.columns_per_task % p.chunk == 0 || n.columns_per_task >= columns,
            "tasks: columns that are no whole tiles");
    require(!p.split || n.rows_per_task == 1, "tasks: several rows of a program that is split");
    if (!p.split) check_parts(p, n.columns_per_task >= columns);
  }
  void check_copies(const std::vector<lowered_copy>& copies) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const lowered_copy& c = copies[i];
      const std::string part = "copy " + std::to_string(i);
      if (c.buffer < 0 || index(c.buffer) < p_.buffers.size() ||
          index(c.buffer) >= p_.buffers.size() + 256)
        fail(part + ": its buffer is not the nest's own");
      if (buffers_.size() <= index(c.buffer)) buffers_.resize(index(c.buffer) + 1);
      lowered_buffer& own = buffers_[index(c.buffer)];
      own = {planning::place::arena,
             0,
             c.type,
             c.shape,
             row_major_strides(c.shape),
             c.offset,
             static_cast<std::size_t>(element_count(c.shape)) * size_of(c.type)};
      if (c.offset % 64 != 0) fail(part + ": offset is not a whole line");
      for (std::size_t k = 0; k < i; ++k) {
        const lowered_buffer& other = buffers_[index(copies[k].buffer)];
        if (copies[k].buffer == c.buffer ||
            (own.offset < other.offset + other.bytes && other.offset < own.offset + own.bytes))
          fail(part + ": over copy " + std::to_string(k));
      }
      check_tiles(c.tiles, surroundings(), part);
    }
  }

 private:
  const lowered_plan& p_;
  const kernel_table* kernels_;
  std::vector<lowered_buffer> buffers_;  // the plan's, and behind them those of a nest's copies
  touched_buffers touched_;
  std::string who_;
};

}  // namespace sinter::inline SINTER_ABI::exec::detail
