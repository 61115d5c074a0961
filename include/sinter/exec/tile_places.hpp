// SPDX-License-Identifier: MIT
// The places of values in the scratch memory of a tile program, counted while its commands are
// emitted, and where each of them then lies.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/exec/row_overlap.hpp>
#include <sinter/exec/slot_assigner.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/support/cache_lines.hpp>

namespace sinter::inline SINTER_ABI::exec {

class tile_places {
 public:
  void clear() {
    kept_sizes_.clear();
    row_slots_ = single_slots_ = pinned_slots_ = virtual_slots_ = 0;
    slots_.clear();
  }
  // Upper bounds, so that binding to other shapes allocates nothing.
  void reserve(std::size_t steps, std::size_t stores) {
    kept_sizes_.reserve(steps);
    slots_.reserve(3 * steps + 2 * stores);
  }

  // Of the phase at hand; values that are not alive together share one.
  location slot(dtype type) {
    return {memory::slot, value_class::full, size_byte(type), virtual_slots_++};
  }
  location pinned_slot(dtype type) {
    return {memory::slot, value_class::full, size_byte(type),
            slot_assigner::pinned + pinned_slots_++};
  }
  location row_slot(dtype type) {
    return {memory::row_slot, value_class::row, size_byte(type), row_slots_++};
  }
  location single_slot(dtype type) {
    return {memory::single_slot, value_class::single, size_byte(type), single_slots_++};
  }
  location kept(dtype type) {
    kept_sizes_.push_back(size_byte(type));
    return {memory::kept, value_class::full, size_byte(type),
            static_cast<int>(kept_sizes_.size()) - 1};
  }
  static std::uint8_t size_byte(dtype type) { return static_cast<std::uint8_t>(size_of(type)); }

  void begin_phase() { virtual_slots_ = 0; }
  void end_phase(tile_program& p, command_range commands) {
    slots_.assign(p, commands, virtual_slots_);
  }

  // Does nothing keep a tile's values from one command to the next?
  bool has_no_slots() const { return pinned_slots_ == 0 && slots_.count() == 0; }

  // When all commands are there. `largest`: bytes of an element.
  void lay_out(tile_program& p, std::size_t largest) {
    slots_.place_pinned(p, pinned_slots_);
    p.lay_row_steps();
    const auto rows = static_cast<std::size_t>(p.row_capacity);
    const auto elements =
        static_cast<std::size_t>(p.tile_rows * std::max<std::int64_t>(1, p.chunk));
    // One line more: slots that lie whole pages apart make loads wait for unrelated stores (4 KiB
    // aliasing).
    p.slot_bytes = round_to_lines(elements * largest) + 64;
    constexpr auto padding = static_cast<std::size_t>(row_padding);
    p.row_slot_bytes = (rows + padding - 1) / padding * padding * 8;
    std::size_t end = round_to_lines(p.streams.size() * (rows + 1) *
                                     sizeof(std::int64_t));  // offsets of rows, and of the next
    const auto take = [&](std::size_t bytes) {
      const std::size_t begin = end;
      end += round_to_lines(bytes);
      return begin;
    };
    p.rows_offset = take(static_cast<std::size_t>(row_slots_) * p.row_slot_bytes);
    p.accumulators_bytes = lay_out_accumulators(p);
    p.accumulators_offset = take(p.accumulators_bytes);
    p.singles_offset = take(static_cast<std::size_t>(single_slots_) * 8);
    p.slots_offset = take(static_cast<std::size_t>(slots_.count()) * p.slot_bytes);
    p.sums_offset = p.sums.empty() ? 0 : take(bytes_of_sums(p));
    p.kept_offsets.clear();
    for (std::uint8_t size : kept_sizes_)
      p.kept_offsets.push_back(take(static_cast<std::size_t>(kept_bytes(p, size)) + 64));
    p.scratch_bytes = end;
  }

 private:
  using memory = location::memory;

  // One per row of each reduction whose results are none themselves; their bytes.
  static std::size_t lay_out_accumulators(tile_program& p) {
    std::size_t end = 0;
    for (bound_reduction& r : p.reductions) {
      if (!r.result.valid() || r.in_place) continue;
      r.offset = end;
      end +=
          round_to_lines(static_cast<std::size_t>(p.row_capacity) * r.kernels->accumulator_bytes);
    }
    return end;
  }

  std::vector<std::uint8_t> kept_sizes_;
  slot_assigner slots_;
  int row_slots_ = 0, single_slots_ = 0, pinned_slots_ = 0, virtual_slots_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
