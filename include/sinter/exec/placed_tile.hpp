// SPDX-License-Identifier: MIT
// Tile programs that are one tile, as those of small functions are: where every operand lies, and
// how far its rows are apart, is found out when the program is bound instead of in every run.
// (A training step of 16 rows through two layers of 64 runs 14 such programs; looking for their
// operands took 13 % of it.)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <sinter/exec/copy.hpp>
#include <sinter/exec/positions.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

class placed_tile {
 public:
  /// Memory for programs of as many commands and operands as `p` has room for.
  void reserve(const tile_program& p) {
    calls_.reserve(p.commands.capacity());
    const std::size_t places = p.operands.capacity() + 2 * p.commands.capacity();
    places_.reserve(places);
    steps_.reserve(places);
  }

  /// Binds to a program, which must outlive this; allocates nothing within what was reserved. False
  /// where it is more than one tile, or does what this does not: then there is nothing to run.
  bool bind(const tile_program& p) {
    p_ = &p;
    calls_.clear();
    places_.clear();
    steps_.clear();
    clears_rows_ = false;
    is_bound_ = is_one_tile(p) &&
                std::ranges::all_of(p.commands, [&](const command& c) { return can_place(p, c); });
    if (!is_bound_) return false;
    add_list(p.prologue);
    add_list(p.row_lists.front());
    for (std::size_t phase = 0; phase < p.phase_lists.size(); ++phase) {
      add_list(p.phase_lists[phase]);
      add_list(p.row_lists[phase + 1]);
    }
    return true;
  }
  bool is_bound() const { return is_bound_; }

  /// Runs it on buffers that begin at `bases`, with p.scratch_bytes of `scratch` and the blocks
  /// that the nest hands in, each of as many columns as the tile. Precondition: is_bound().
  void run(std::byte* const* bases, std::byte* scratch,
           std::span<const external_block> blocks = {}) const {
    // Constants are never written under this name.
    auto* const constants = const_cast<bound_constant*>(p_->constants.data());
    std::array<std::byte*, 2 + most_products> own{reinterpret_cast<std::byte*>(constants), scratch};
    for (std::size_t k = 0; k < blocks.size(); ++k) own[first_block + k] = blocks[k].at;
    // Kernels compute padding too, and what somebody left there might be denormal, which is slow.
    if (clears_rows_)
      std::memset(scratch + p_->rows_offset, 0, p_->accumulators_offset - p_->rows_offset);
    for (const call& c : calls_) execute(c, bases, own.data());
  }

 private:
  // Bases that are no buffers: the program's constants, scratch memory, blocks.
  static constexpr std::size_t in_constants = 0, in_scratch = 1, first_block = 2;

  enum class call_kind : std::uint8_t {
    at_once,
    rows,
    row_by_row,
    map_reduce,
    reduce,
    reduce_pair,
    move,
    fill,
    count
  };
  struct place {
    int base;  // a buffer, or ~(one of those above)
    std::int64_t offset;
  };
  // Places: operands, then what is written, of a map_reduce its values before its result, of a
  // pair the deviations before the sum; beside each, in steps_, the bytes to its next row.
  struct call {
    call_kind kind;
    const command* source;
    std::size_t first, operands;  // places
    std::int64_t rows, elements;
    std::int64_t from_stride = 1, to_stride = 1;  // move: in elements
  };

  static bool is_one_tile(const tile_program& p) {
    return !p.split && !p.streaming && p.axes.outer.size() <= 1 && p.axes.rows > 0 &&
           p.axes.columns > 0 && p.tile_rows == p.axes.rows && p.chunk == p.axes.columns;
  }

  static bool can_place(const tile_program& p, const command& c) {
    const auto is_linear = [&] { return p.streams[static_cast<std::size_t>(c.stream)].linear; };
    switch (c.kind) {
      case command_kind::map: return !c.by_run;
      case command_kind::map_reduce:
      case command_kind::reduce: return true;
      case command_kind::load: return c.target.extent == value_class::row || moves_rows(p, c);
      case command_kind::store:
        return p.operands_of(c)[0].extent == value_class::row || moves_rows(p, c);
      case command_kind::iota: return c.target.extent != value_class::full || is_linear();
      case command_kind::expand: return true;
      default: return false;
    }
  }
  // Row by row, rather than columns that are neighbours in memory where rows are not.
  static bool moves_rows(const tile_program& p, const command& c) {
    const stream& s = p.streams[static_cast<std::size_t>(c.stream)];
    return s.linear && !p.aligned_rows;
  }

  void add_list(command_range list) {
    for (int i = list.first; i < list.last; ++i) add(p_->commands[static_cast<std::size_t>(i)]);
  }

  void add(const command& c) {
    call out{.kind = call_kind::at_once,
             .source = &c,
             .first = places_.size(),
             .operands = static_cast<std::size_t>(c.operand_count),
             .rows = p_->axes.rows,
             .elements = p_->axes.columns};
    for (const location& l : p_->operands_of(c)) add_place(l);
    switch (c.kind) {
      case command_kind::map: place_map(c, out); break;
      case command_kind::map_reduce:
        out.kind = call_kind::map_reduce;
        add_place(c.target);
        add_place(reduction(c).result);
        break;
      case command_kind::reduce:
        out.kind = reduction(c).sum.valid() ? call_kind::reduce_pair : call_kind::reduce;
        add_place(reduction(c).result);
        if (reduction(c).sum.valid()) add_place(reduction(c).sum);
        break;
      case command_kind::load:
      case command_kind::store: place_move(c, out); break;
      case command_kind::expand: place_expand(c, out); break;
      default: place_count(c, out); break;
    }
    calls_.push_back(out);
  }

  void place_map(const command& c, call& out) {
    add_place(c.target);
    clears_rows_ = clears_rows_ || c.padded;
    if (c.target.extent == value_class::single) out.rows = 1;
    if (c.target.extent != value_class::full) out.elements = 1;
    if (c.padded)
      out.elements = planning::whole_units(out.rows, row_padding);
    else if (!c.by_row)
      out.elements *= out.rows;
    else
      out.kind = c.run_rows != nullptr ? call_kind::rows : call_kind::row_by_row;
  }

  void place_move(const command& c, call& out) {
    out.kind = call_kind::move;
    const bool loads = c.kind == command_kind::load;
    const value_class extent = loads ? c.target.extent : p_->operands_of(c)[0].extent;
    const location at{location::memory::stream, extent,
                      static_cast<std::uint8_t>(streamed(c).element_size), c.stream};
    if (loads) {
      add_place(at);
      out.operands = 1;
    }
    add_place(loads ? c.target : at);
    std::int64_t& stride = loads ? out.from_stride : out.to_stride;
    if (extent == value_class::full) {
      stride = streamed(c).step;
      return;
    }
    // The values of all rows, which lie side by side here, in one go (16 sums over rows of 64: 69
    // instead of 98 ns, with a call of memcpy for each).
    stride = row_step(streamed(c));
    out.elements = extent == value_class::row ? out.rows : 1;
    out.rows = 1;
  }

  void place_expand(const command& c, call& out) {
    const location& from = p_->operands_of(c)[0];
    add_place(c.target);
    if (c.target.where == location::memory::external) {
      out.kind = call_kind::move;
      out.from_stride = from.extent == value_class::full ? 1 : 0;
      return;
    }
    out.kind = call_kind::fill;
    const bool at_once = c.target.extent == value_class::row || from.extent == value_class::single;
    if (c.target.extent != value_class::full) out.elements = 1;
    if (!at_once) return;
    out.elements *= out.rows;
    out.rows = 1;
  }

  void place_count(const command& c, call& out) {
    out.kind = call_kind::count;
    add_place(c.target);
    if (c.target.extent == value_class::full) return;
    out.elements = 1;
    if (c.target.extent == value_class::single) out.rows = 1;
  }

  const bound_reduction& reduction(const command& c) const {
    return p_->reductions[static_cast<std::size_t>(c.reduction)];
  }
  const stream& streamed(const command& c) const {
    return p_->streams[static_cast<std::size_t>(c.stream)];
  }
  std::int64_t row_step(const stream& s) const {
    return p_->axes.outer.empty() ? 0 : s.outer.back();
  }

  void add_place(const location& l) {
    places_.push_back(place_of(l));
    steps_.push_back(step_of(l));
  }

  place place_of(const location& l) const {
    const auto number = static_cast<std::size_t>(l.index);
    const auto scratch = [](std::size_t at) {
      return place{~static_cast<int>(in_scratch), static_cast<std::int64_t>(at)};
    };
    switch (l.where) {
      case location::memory::slot: return scratch(p_->slots_offset + number * p_->slot_bytes);
      case location::memory::kept: return scratch(p_->kept_offsets[number]);
      case location::memory::row_slot:
        return scratch(p_->rows_offset + number * p_->row_slot_bytes);
      case location::memory::single_slot: return scratch(p_->singles_offset + number * 8);
      case location::memory::constant:
        return {~static_cast<int>(in_constants),
                static_cast<std::int64_t>(number * sizeof(bound_constant) +
                                          offsetof(bound_constant, word))};
      case location::memory::stream: {
        const stream& s = p_->streams[number];
        return {s.buffer, s.offset * std::int64_t{l.element_size}};
      }
      case location::memory::external: return {~static_cast<int>(first_block + number), 0};
      case location::memory::none: break;
    }
    return {~static_cast<int>(in_constants), 0};
  }

  std::int64_t step_of(const location& l) const {
    const auto size = std::int64_t{l.element_size};
    switch (l.where) {
      case location::memory::slot:
      case location::memory::kept:
      case location::memory::external: return p_->axes.columns * size;
      case location::memory::row_slot: return size;
      case location::memory::stream:
        return l.extent == value_class::single
                   ? 0
                   : row_step(p_->streams[static_cast<std::size_t>(l.index)]) * size;
      default: return 0;
    }
  }

  static std::byte* address(place at, std::byte* const* bases, std::byte* const* own) {
    return (at.base >= 0 ? bases[at.base] : own[~at.base]) + at.offset;
  }

  void execute(const call& c, std::byte* const* bases, std::byte* const* own) const {
    const std::int64_t* const steps = steps_.data() + c.first;
    const auto at = [&](std::size_t k) { return address(places_[c.first + k], bases, own); };
    std::array<const void*, ir::region::max_leaves> from;
    for (std::size_t k = 0; k < c.operands; ++k) from[k] = at(k);
    std::byte* const to = at(c.operands);
    const std::int64_t to_step = steps[c.operands];
    const command& source = *c.source;
    switch (c.kind) {
      case call_kind::at_once: run_map(source, c.elements, from.data(), to); return;
      case call_kind::rows:
        source.run_rows({c.elements, source.mode, c.rows, steps, to_step}, from.data(), to);
        return;
      case call_kind::row_by_row:
        for (std::int64_t row = 0; row < c.rows; ++row) {
          run_map(source, c.elements, from.data(), to + row * to_step);
          for (std::size_t k = 0; k < c.operands; ++k)
            from[k] = static_cast<const std::byte*>(from[k]) + steps[k];
        }
        return;
      case call_kind::map_reduce:
        source.reducing({c.elements, source.mode, c.rows, steps, to_step}, from.data(),
                        source.target.valid() ? to : nullptr,
                        {.whole = at(c.operands + 1), .step = steps[c.operands + 1]});
        return;
      case call_kind::reduce:
        reduction(source).kernels->whole_rows(c.rows, c.elements, from[0], steps[0], to, to_step);
        return;
      case call_kind::reduce_pair: {
        const pair_results both{to, to_step, at(c.operands + 1), steps[c.operands + 1]};
        reduction(source).kernels->whole_rows_pair(c.rows, c.elements, from[0], steps[0], both);
        return;
      }
      case call_kind::move: move(c, from[0], steps[0], to, to_step); return;
      case call_kind::fill:
        spread(c.rows, c.elements, from[0], steps[0], source.target.element_size, to);
        return;
      case call_kind::count: {
        const stream& positions = streamed(source);
        for (std::int64_t row = 0; row < c.rows; ++row)
          write_positions(source.type, positions.offset + row * row_step(positions), positions.step,
                          c.elements, to + row * to_step);
        return;
      }
    }
  }

  static void move(const call& c, const void* source, std::int64_t step, std::byte* to,
                   std::int64_t to_step) {
    const auto* from = static_cast<const std::byte*>(source);
    const std::size_t size = size_of(c.source->type);
    for (std::int64_t row = 0; row < c.rows; ++row, from += step, to += to_step)
      if (c.to_stride == 1)
        strided_load(c.elements, from, c.from_stride, size, to);
      else
        strided_store(c.elements, from, size, to, c.to_stride);
  }

  const tile_program* p_ = nullptr;
  std::vector<call> calls_;
  std::vector<place> places_;
  std::vector<std::int64_t> steps_;
  bool is_bound_ = false, clears_rows_ = false;
};

}  // namespace sinter::inline SINTER_ABI::exec
