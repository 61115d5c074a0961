// SPDX-License-Identifier: MIT
// Runs a tile program whose tiles are single rows. What `tile_runner` finds out for every command
// of every tile is found out once: the commands of all phases become one list of calls, and where
// operands are moves from row to row by adding. What is left between two kernels is short enough
// that the processor reads ahead over it. (Layer norm over rows of 768 that are in L2: 160 ns per
// row with commands that are looked at for every row, 111 so, 80 by hand.)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/run_tile.hpp>
#include <sinter/exec/tile_program.hpp>

namespace sinter::inline SINTER_ABI::exec {

class row_runner {
 public:
  /// Rows for which the list of calls is worth making.
  static constexpr std::int64_t least_rows = 4;

  /// Does `program` consist of rows, and few enough commands for the list?
  static bool takes(const tile_program& program) {
    const std::size_t fetches =
        program.prefetched.size() * static_cast<std::size_t>(program.prefetch_steps);
    return program.tile_rows == 1 && !program.split &&
           program.operands.size() + program.commands.size() + program.reductions.size() +
                   fetches <=
               most_places &&
           program.commands.size() + fetches <= most_calls;
  }

  /// `tile`: began, of a program that `takes` accepts.
  explicit row_runner(tile_runner& tile)
      : tile_(tile), p_(tile.p_), ends_together_(may_end_together(tile.p_)) {}

  /// All lists for rows [row_begin, row_end) and columns [column_begin, column_end), at most a
  /// chunk of them. Precondition: neither is empty.
  void run(std::int64_t row_begin, std::int64_t row_end, std::int64_t column_begin,
           std::int64_t column_end) {
    tile_.column_ = column_begin;
    tile_.width_ = column_end - column_begin;
    const std::int64_t length = p_.axes.outer.empty() ? row_end : p_.axes.outer.back();
    for (std::int64_t row = row_begin; row < row_end;) {
      // Rows equally far apart: as far as the last outer axis goes.
      const std::int64_t end = std::min(row_end, row + length - row % length);
      tile_.seek(row);
      tile_.take_rows(row, 1);
      make_calls();
      for (std::int64_t unfinished = 0; row < end;) {
        for (std::size_t i = 0; i < row_calls_; ++i) execute(calls_[i]);
        move_places();
        if (++row < end && asks_tile_) tile_.take_rows(row, 1);
        if (!ends_together_ || (++unfinished < row_padding && row < end)) continue;
        end_rows(unfinished);
        unfinished = 0;
      }
    }
  }

 private:
  // Without initializers: a task does not fill a list that it may not need.
  enum class call_kind : std::uint8_t {
    map,
    map_rows,
    map_steps,
    map_reduce,
    reduce,
    reduce_pair,
    store,
    fetch,
    other
  };
  struct call {
    call_kind kind;
    std::uint8_t size;               // store: bytes of the element; fetch: streams
    std::uint16_t from, to, result;  // places
    ir::run_mode mode;               // map_rows, map_steps, map_reduce
    std::int64_t count;              // elements; fetch: bytes of each stream
    union {
      ir::map_function map;
      ir::map_rows_function map_rows;
      const ir::instruction* fused;
      ir::map_reduce_function map_reduce;
      whole_row_function whole_row;
      whole_row_pair_function whole_row_pair;
      const command* source;
    };
  };
  static_assert(std::is_trivially_default_constructible_v<call>);
  static constexpr std::size_t places_at_once = 8;
  static constexpr std::size_t most_places = 96, most_calls = 48;

  // Do the commands behind the last phase work on row slots alone, which have room for many rows,
  // so that one call does them all? (Log-sum-exp over rows of 1024 that are in L2: 144 ns per row
  // instead of 193, of which its logarithm, one value, takes 16; the rest is waiting for it.)
  static bool may_end_together(const tile_program& p) {
    const auto works_on_slots = [&](const command& c) {
      const location* operands = p.operands.data() + c.first_operand;
      if (c.kind == command_kind::store) return operands[0].where == location::memory::row_slot;
      if (c.kind != command_kind::map || c.by_row || !c.mode.is_plain() ||
          c.target.where != location::memory::row_slot)
        return false;
      for (int k = 0; k < c.operand_count; ++k) {
        const bool is_scalar = c.fused != nullptr && c.fused->structure.is_scalar(k);
        if (is_scalar ? operands[k].extent != value_class::single
                      : operands[k].where != location::memory::row_slot)
          return false;
      }
      return true;
    };
    const auto all = [&](command_range list, auto holds) {
      for (int i = list.first; i < list.last; ++i)
        if (!holds(p.commands[static_cast<std::size_t>(i)])) return false;
      return true;
    };
    const command_range ending = p.row_lists.back();
    if (ending.size() == 0 || !all(ending, works_on_slots)) return false;
    const auto is_call = [&](const command& c) { return becomes_call(p, c); };
    return std::ranges::all_of(p.phase_lists, [&](command_range l) { return all(l, is_call); }) &&
           std::ranges::all_of(p.row_lists, [&](command_range l) { return all(l, is_call); });
  }

  static bool stores_row(const tile_program& p, const command& c) {
    return c.kind == command_kind::store &&
           p.operands[static_cast<std::size_t>(c.first_operand)].extent == value_class::row;
  }
  static bool becomes_call(const tile_program& p, const command& c) {
    return c.kind == command_kind::map || c.kind == command_kind::map_reduce ||
           c.kind == command_kind::reduce || stores_row(p, c);
  }

  void make_calls() {
    call_count_ = place_count_ = slot_place_count_ = 0;
    asks_tile_ = false;
    int fetched = 0;
    add_list(p_.row_lists[0]);
    for (std::size_t phase = 0; phase < p_.phase_lists.size(); ++phase) {
      const command_range list = p_.phase_lists[phase];
      for (int i = list.first; i < list.last; ++i) {
        if (fetched < p_.prefetch_steps) add_fetch(fetched++);
        add_command(p_.commands[static_cast<std::size_t>(i)]);
      }
      if (phase + 1 < p_.phase_lists.size()) add_list(p_.row_lists[phase + 1]);
    }
    if (!ends_together_) add_list(p_.row_lists.back());
    fill_places();
    row_calls_ = call_count_;
    row_places_ = place_count_;
    if (!ends_together_) return;
    const std::size_t moving = slot_place_count_;
    add_list(p_.row_lists.back());
    slot_place_count_ = moving;  // the list begins where the rows began
  }

  // What follows the phases of `rows` rows, whose values the row slots have one behind the other.
  void end_rows(std::int64_t rows) {
    for (std::size_t i = 0; i < slot_place_count_; ++i)
      places_[slot_places_[i]] -= rows * steps_[slot_places_[i]];
    for (std::size_t i = row_calls_; i < call_count_; ++i) {
      call& c = calls_[i];
      if (c.kind != call_kind::store) {
        c.count = rows;
        execute(c);
        continue;
      }
      for (std::int64_t row = 0; row < rows; ++row)
        std::memcpy(places_[c.to] + row * steps_[c.to], places_[c.from] + row * c.size, c.size);
      places_[c.to] += rows * steps_[c.to];
    }
  }

  void add_list(command_range list) {
    for (int i = list.first; i < list.last; ++i)
      add_command(p_.commands[static_cast<std::size_t>(i)]);
  }

  call& add(call_kind kind) {
    call& c = calls_[call_count_++];
    c = {};
    c.kind = kind;
    return c;
  }

  std::uint16_t add_place(std::byte* at, std::int64_t step) {
    places_[place_count_] = at;
    steps_[place_count_] = step;
    return static_cast<std::uint16_t>(place_count_++);
  }
  std::uint16_t add_place(const location& l) {
    // Where rows end together, each has its own place in the row slots.
    const bool keeps = ends_together_ && l.where == location::memory::row_slot;
    const std::uint16_t place =
        add_place(tile_.address(l, 0), keeps ? std::int64_t{l.element_size} : step_of(l));
    if (keeps) slot_places_[slot_place_count_++] = place;
    return place;
  }

  // Bytes from a row to the next. What a tile keeps stays where it is.
  std::int64_t step_of(const location& l) const {
    const auto size = static_cast<std::int64_t>(l.element_size);
    const auto number = static_cast<std::size_t>(l.index);
    if (l.where == location::memory::external) return tile_.external_[number].pitch * size;
    return l.where == location::memory::stream ? stream_step(number) * size : 0;
  }
  std::int64_t stream_step(std::size_t stream) const {
    return p_.axes.outer.empty() ? 0 : p_.streams[stream].outer.back();
  }

  // Of what becomes a call: a map by the kernel that it has, in all modes if there is such a one.
  static call_kind kind_of(const command& c) {
    switch (c.kind) {
      case command_kind::map:
        return c.run_rows != nullptr   ? call_kind::map_rows
               : c.function != nullptr ? call_kind::map
                                       : call_kind::map_steps;
      case command_kind::map_reduce: return call_kind::map_reduce;
      case command_kind::store: return call_kind::store;
      default: return call_kind::reduce;
    }
  }

  void add_command(const command& c) {
    const location* operands = p_.operands.data() + c.first_operand;
    if (!becomes_call(p_, c)) {
      add(call_kind::other).source = &c;
      asks_tile_ = true;
      return;
    }
    call& out = add(kind_of(c));
    out.from = static_cast<std::uint16_t>(place_count_);
    for (int k = 0; k < c.operand_count; ++k) add_place(operands[k]);
    if (c.kind == command_kind::store) {
      const auto number = static_cast<std::size_t>(c.stream);
      const auto size = static_cast<std::int64_t>(p_.streams[number].element_size);
      out.size = static_cast<std::uint8_t>(size);
      out.to =
          add_place(tile_.stream_at(c.stream, tile_.offset(number, 0)), stream_step(number) * size);
      return;
    }
    out.count = c.target.extent == value_class::full || c.kind != command_kind::map ? tile_.width_
                : c.padded                                                          ? row_padding
                                                                                    : 1;
    if (c.kind != command_kind::reduce) out.to = add_place(c.target);
    switch (out.kind) {
      case call_kind::map: out.map = c.function; return;
      case call_kind::map_rows: out.mode = c.mode, out.map_rows = c.run_rows; return;
      case call_kind::map_steps: out.mode = c.mode, out.fused = c.fused; return;
      default: break;
    }
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    if (c.kind == command_kind::map_reduce) {
      out.mode = c.mode, out.map_reduce = c.reducing;
    } else if (r.sum.valid()) {
      out.kind = call_kind::reduce_pair, out.whole_row_pair = r.kernels->whole_row_pair;
      out.to = add_place(r.sum);
    } else {
      out.whole_row = r.kernels->whole_row;
    }
    out.result = add_place(r.result);
  }

  // A part of the next row of every stream that is fetched: one call for all that are as wide.
  void add_fetch(int step) {
    call* last = nullptr;
    for (const prefetched_stream& fetched : p_.prefetched) {
      const auto number = static_cast<std::size_t>(fetched.stream);
      const auto size = static_cast<std::int64_t>(p_.streams[number].element_size);
      const std::int64_t begin = step * fetched.bytes_per_step;
      const std::int64_t end = std::min(tile_.width_ * size, begin + fetched.bytes_per_step);
      if (begin >= end) continue;
      const std::int64_t row = stream_step(number) * size;
      const std::uint16_t place =
          add_place(tile_.stream_at(fetched.stream, tile_.offset(number, 0)) +
                        tile_.column_ * size + row + begin,
                    row);
      if (last == nullptr || last->count != end - begin) {
        last = &add(call_kind::fetch);
        last->count = end - begin;
        last->from = place;
      }
      ++last->size;
    }
  }

  void execute(const call& c) {
    const auto* from = reinterpret_cast<const void* const*>(places_.data() + c.from);
    switch (c.kind) {
      case call_kind::map: c.map(c.count, from, places_[c.to]); return;
      case call_kind::map_rows:
        c.map_rows({.count = c.count, .mode = c.mode}, from, places_[c.to]);
        return;
      case call_kind::map_steps:
        c.fused->run_steps(*c.fused->steps, c.count, c.mode, from, places_[c.to]);
        return;
      case call_kind::map_reduce:
        c.map_reduce(c.count, c.mode.fetching, from, places_[c.to], nullptr, places_[c.result]);
        return;
      case call_kind::reduce: c.whole_row(c.count, *from, places_[c.result]); return;
      case call_kind::reduce_pair:
        c.whole_row_pair(c.count, *from, places_[c.result], places_[c.to]);
        return;
      case call_kind::store: std::memcpy(places_[c.to], *from, c.size); return;
      case call_kind::fetch:
        for (std::size_t k = 0; k < c.size; ++k) fetch_lines(places_[c.from + k], c.count);
        return;
      case call_kind::other: tile_.execute(*c.source); return;
    }
  }

  // The places of every call to the next row, in whole vectors. (With this and `fetch_lines`, layer
  // norm over rows of 768 in L2 takes 177 instead of 194 ns per row on a Xeon.)
  void move_places() {
    for (std::size_t i = 0; i < row_places_; i += places_at_once)
#pragma GCC unroll 8
      for (std::size_t k = i; k < i + places_at_once; ++k) places_[k] += steps_[k];
  }

  // Places that no call has, up to a whole vector.
  void fill_places() {
    while (place_count_ % places_at_once != 0) add_place(nullptr, 0);
  }

  tile_runner& tile_;
  const tile_program& p_;
  std::array<std::byte*, most_places + places_at_once> places_;
  std::array<std::int64_t, most_places + places_at_once> steps_;
  std::array<call, most_calls> calls_;
  std::array<std::uint16_t, most_places> slot_places_;  // which move with the rows
  std::size_t place_count_ = 0, call_count_ = 0, slot_place_count_ = 0;
  std::size_t row_places_ = 0, row_calls_ = 0;  // of each row; the others are for many
  bool asks_tile_ = false;                      // some commands need to know the row
  const bool ends_together_;
};

}  // namespace sinter::inline SINTER_ABI::exec
