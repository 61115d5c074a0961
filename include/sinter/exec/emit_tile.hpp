// SPDX-License-Identifier: MIT
// The second half of binding a tile program: the steps of every phase become commands whose
// operands have places, and the slots of scratch memory are shared between values that are not
// alive together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/schedule_tile.hpp>
#include <sinter/exec/slot_assigner.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

class tile_emitter {
 public:
  tile_emitter(tile_schedule& schedule, const kernel_table& kernels)
      : s_(schedule), p_(schedule.program), kernels_(kernels) {}

  void emit() {
    clear();
    for (int i = 0; i < s_.step_count(); ++i)
      if (computes(i) && s_.values[index(i)].extent == value_class::single) emit_single(i);
    for (int phase = 0; phase < s_.facts().phases; ++phase) {
      emit_row_list(phase);
      emit_phase(phase);
    }
    emit_row_list(s_.facts().phases);
    p_.prologue.first = static_cast<int>(p_.commands.size());
    p_.commands.insert(p_.commands.end(), prologue_.begin(), prologue_.end());
    p_.prologue.last = static_cast<int>(p_.commands.size());
    slots_.place_pinned(p_, pinned_slots_);
    lay_out();
    choose_prefetched();
  }

  // Upper bounds, so that binding to other shapes allocates nothing.
  void reserve() {
    const std::size_t steps = s_.values.size() + 1, stores = s_.stores.size();
    const std::size_t lists = static_cast<std::size_t>(s_.facts().phases) + 2;
    const std::size_t commands = lists * (3 * steps + 2 * stores);
    p_.commands.reserve(commands + 3 * steps);
    prologue_.reserve(3 * steps);
    p_.operands.reserve((commands + 3 * steps) + lists * steps * ir::region::max_leaves);
    p_.reductions.reserve(steps);
    p_.row_steps.reserve((steps + stores) * max_rank);
    p_.prefetched.reserve(steps + stores);
    p_.row_lists.reserve(lists);
    p_.phase_lists.reserve(lists);
    p_.kept_offsets.reserve(steps);
    kept_sizes_.reserve(steps);
    slots_.reserve(3 * steps + 2 * stores);
  }

 private:
  using memory = location::memory;
  static constexpr int pinned = slot_assigner::pinned;

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static std::uint8_t size_byte(dtype type) { return static_cast<std::uint8_t>(size_of(type)); }
  // Steps that are computed here, under their own name.
  bool computes(int i) const { return s_.alive(i) && i != s_.facts().external && s_.is_origin(i); }

  void clear() {
    p_.commands.clear();
    p_.operands.clear();
    p_.reductions.clear();
    p_.row_lists.clear();
    p_.phase_lists.clear();
    prologue_.clear();
    kept_sizes_.clear();
    row_slots_ = single_slots_ = pinned_slots_ = virtual_slots_ = 0;
    slots_.clear();
    accumulators_ = 0;
    columns_absorbed_ = false;
    p_.streaming = false;
  }

  // ---- places

  location slot(dtype type) {
    return {memory::slot, value_class::full, size_byte(type), virtual_slots_++};
  }
  location pinned_slot(dtype type) {
    return {memory::slot, value_class::full, size_byte(type), pinned + pinned_slots_++};
  }
  location row_slot(dtype type) {
    return {memory::row_slot, value_class::row, size_byte(type), row_slots_++};
  }
  location kept(dtype type) {
    kept_sizes_.push_back(size_byte(type));
    return {memory::kept, value_class::full, size_byte(type),
            static_cast<int>(kept_sizes_.size()) - 1};
  }

  // Do the rows of a tile lie one behind the other?
  bool is_packed(const location& l) const {
    if (p_.tile_rows == 1) return true;
    if (l.where == memory::stream) return p_.streams[index(l.index)].dense && s_.whole_rows();
    if (l.where == memory::kept) return s_.whole_rows();
    if (l.where == memory::external) return s_.request().external_packed;
    return true;
  }

  // A value as one value per element; expands it where it is not.
  location full_vector(int i) {
    bound_value& v = s_.value_of(i);
    const dtype type = s_.step(i).type;
    if (v.extent == value_class::full) return v.at;
    if (v.extent == value_class::single) {
      if (!v.filled.valid()) v.filled = expand(prologue_, v.at, type, pinned_slot(type));
      return v.filled;
    }
    if (p_.axes.columns == 1) {  // a row is an element
      location same = v.at;
      same.extent = value_class::full;
      return same;
    }
    if (!v.spread.valid()) v.spread = expand(p_.commands, v.at, type, slot(type));
    return v.spread;
  }

  // A value as one value per row, for row commands.
  location row_vector(int i) {
    bound_value& v = s_.value_of(i);
    const dtype type = s_.step(i).type;
    if (v.extent == value_class::full)
      raise(graph_error("executor: " + s_.nest().label +
                        ": a value per element where one per row is expected"));
    if (v.extent == value_class::row || p_.row_capacity == 1) return v.at;
    // Once per task where the row values are the task's own.
    if (!v.row_vector.valid())
      v.row_vector = expand(p_.split ? p_.commands : prologue_, v.at, type, row_slot(type));
    return v.row_vector;
  }

  location expand(std::vector<command>& list, const location& from, dtype type,
                  const location& target) {
    command c;
    c.kind = command_kind::expand;
    c.type = type;
    c.target = target;
    return add(list, c, {&from, 1});
  }

  command store_command(std::size_t i) const {
    command c;
    c.kind = command_kind::store;
    c.type = s_.step(s_.store(i).step).type;
    c.stream = s_.stores[i].stream;
    return c;
  }

  location add(std::vector<command>& list, command c, std::span<const location> operands) {
    c.first_operand = static_cast<int>(p_.operands.size());
    c.operand_count = static_cast<int>(operands.size());
    p_.operands.insert(p_.operands.end(), operands.begin(), operands.end());
    list.push_back(c);
    return c.target;
  }

  // ---- steps

  // Does the kernel take a value per row, or a single one, as it is where it wants one per element?
  // Rows that are calls of their own for that have to be long: a call costs as much as 64 elements.
  bool broadcasts(const command& c, const bound_value& v) const {
    return may_broadcast(c) && c.target.extent == value_class::full && p_.axes.columns > 1 &&
           (v.extent == value_class::single ||
            (v.extent == value_class::row && (p_.tile_rows == 1 || p_.chunk >= 64)));
  }

  // Commands of the kinds load, iota, random and map, into `target`.
  void emit_step(std::vector<command>& list, int i, const location& target) {
    const planning::step& step = s_.step(i);
    const bound_value& v = s_.values[index(i)];
    command c;
    c.type = step.type;
    c.stream = v.stream;
    c.target = target;
    switch (step.kind) {
      case planning::step_kind::load:
      case planning::step_kind::scalar: c.kind = command_kind::load; break;
      case planning::step_kind::iota: c.kind = command_kind::iota; break;
      case planning::step_kind::random: {
        c.kind = command_kind::random;
        c.attribute = step.attribute;
        const location key = s_.value_of(step.operands[0]).at;
        if (key.extent != value_class::single || s_.step(step.operands[0]).type != dtype::i64)
          raise(graph_error("executor: " + s_.nest().label +
                            ": the key of random numbers is one i64"));
        add(list, c, {&key, 1});
        return;
      }
      case planning::step_kind::map: emit_map(list, i, c); return;
      default: return;
    }
    add(list, c, {});
  }

  void emit_map(std::vector<command>& list, int i, command c) {
    const planning::step& step = s_.step(i);
    const value_class extent = c.target.extent;
    const std::int64_t rows = extent == value_class::full ? p_.tile_rows : p_.row_capacity;
    inline_vector<location, ir::region::max_leaves> operands;
    c.kind = command_kind::map;
    name_kernel(step, c);
    if (extent == value_class::full) absorb_reduction(i, c);
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const int o = step.operands[k];
      const bound_value& v = s_.value_of(o);
      if (is_scalar_operand(step, k) || broadcasts(c, v)) {
        if (v.extent == value_class::full)
          raise(graph_error("executor: " + s_.nest().label + ": leaf " + std::to_string(k) +
                            " of a fused instruction is a scalar, its operand is not"));
        operands.push_back(v.at);
        c.by_row =
            c.by_row || (v.extent == value_class::row && extent != value_class::single && rows > 1);
      } else {
        operands.push_back(extent == value_class::full  ? full_vector(o)
                           : extent == value_class::row ? row_vector(o)
                                                        : v.at);
        c.by_row = c.by_row || (extent == value_class::full && !is_packed(operands.back()));
      }
    }
    c.by_row = c.by_row || (extent == value_class::full && !is_packed(c.target));
    c.padded = extent == value_class::row && !c.by_row && !p_.split && p_.row_capacity > 1 &&
               is_padded(c.target);
    for (std::size_t k = 0; c.padded && k < operands.size(); ++k)
      c.padded = is_padded(operands[k]) || is_scalar_operand(step, k);
    if (c.kind == command_kind::map_reduce_columns) c.by_row = false;
    add(list, c, {operands.data(), operands.size()});
    list.back().mode.single = broadcast_operands(p_, list.back());
  }

  static bool is_padded(const location& l) { return l.where == memory::row_slot; }
  static bool is_scalar_operand(const planning::step& step, std::size_t k) {
    return step.fused != nullptr && step.fused->structure.is_scalar(static_cast<int>(k));
  }

  // Where a reduction of the result follows and there is a kernel for both, one command does both.
  // The result itself is written only if somebody else reads it.
  void absorb_reduction(int i, command& c) {
    const planning::step& step = s_.step(i);
    if (step.fused == nullptr) return;
    if (s_.facts().kind == geometry::columns) return absorb_column_reduction(i, c);
    if (s_.facts().kind != geometry::rows) return;
    for (int r = i + 1; r < s_.step_count(); ++r) {
      if (!computes(r) || s_.step(r).kind != planning::step_kind::reduce ||
          s_.facts().origin[index(s_.step(r).operands[0])] != i || s_.values[index(r)].at.valid())
        continue;
      const ir::map_reduce_function both = step.fused->reduced_by(s_.step(r).code);
      if (both == nullptr) continue;
      c.kind = command_kind::map_reduce;
      c.reducing = both;
      c.reduction = add_reduction(r);
      if (c.target.where == memory::slot ? !is_read_now(i, r) : !s_.is_used_beside(i, r))
        c.target = {};
      return;
    }
  }

  void absorb_column_reduction(int i, command& c) {
    if (s_.facts().mapped_into_columns != i) return;
    columns_absorbed_ = true;
    c.kind = command_kind::map_reduce_columns;
    c.reduction = add_reduction(s_.facts().column_reduction);
    c.target = {};
  }

  // Does anything but reduction r read the value of step i in the phase at hand? What later phases
  // read and is not kept is computed again there.
  bool is_read_now(int i, int r) {
    for (std::size_t k = 0; k < s_.stores.size(); ++k)
      if (is_full_store(k, phase_) && stores_value(k, i)) return true;
    for (int j = i + 1; j < s_.step_count(); ++j) {
      if (!computes(j) || j == r) continue;
      const planning::step& step = s_.step(j);
      const bound_value& v = s_.values[index(j)];
      const bool reads = step.kind == planning::step_kind::reduce
                             ? s_.ready(step.operands[0]) == phase_
                             : step.kind == planning::step_kind::map && v.needed && !v.at.valid();
      if (reads && std::ranges::any_of(step.operands,
                                       [&](int o) { return s_.facts().origin[index(o)] == i; }))
        return true;
    }
    return false;
  }

  // What a step runs, and its kernel.
  void name_kernel(const planning::step& step, command& c) const {
    if (step.fused != nullptr) {
      c.fused = step.fused;
      c.function = step.fused->run;
      c.run_rows = step.fused->run_rows;
      return;
    }
    c.code = step.code;
    c.operand_type = s_.step(step.operands[step.code == ir::op::where ? 1 : 0]).type;
    c.custom = step.custom;
    c.function = map_kernel(kernels_, c);
    c.run_rows = map_rows_kernel(kernels_, c);
    if (c.function == nullptr)
      raise(dtype_error("executor: no kernel for " + std::string(map_name(c)) + " on " +
                        std::string(sinter::name(c.operand_type)) + " yielding " +
                        std::string(sinter::name(step.type))));
  }

  // A value that is the same for all rows: read where it is, or computed once per task.
  void emit_single(int i) {
    bound_value& v = s_.values[index(i)];
    if (v.at.valid()) return;
    const planning::step& step = s_.step(i);
    if (step.kind == planning::step_kind::load || step.kind == planning::step_kind::scalar) {
      v.at = {memory::stream, value_class::single, size_byte(step.type), v.stream};
      return;
    }
    v.at = {memory::single_slot, value_class::single, size_byte(step.type), single_slots_++};
    emit_step(prologue_, i, v.at);
  }

  // ---- lists

  void emit_row_list(int list) {
    command_range range{static_cast<int>(p_.commands.size()), 0};
    for (int i = 0; i < s_.step_count(); ++i) {
      bound_value& v = s_.values[index(i)];
      if (!computes(i) || v.extent != value_class::row || s_.ready(i) != list || v.at.valid())
        continue;
      const planning::step& step = s_.step(i);
      const bool is_load =
          step.kind == planning::step_kind::load || step.kind == planning::step_kind::scalar;
      if (is_load &&
          (p_.row_capacity == 1 || detail::crosses_with(p_.axes.outer, s_.stream_of(v).outer, 1))) {
        v.at = {memory::stream, value_class::row, size_byte(step.type), v.stream};
      } else {
        const location target = row_slot(step.type);
        emit_step(p_.commands, i, target);
        v.at = target;
      }
    }
    for (std::size_t i = 0; i < s_.stores.size(); ++i) {
      const int stored = s_.store(i).step;
      if (!s_.stores[i].per_row || s_.ready(stored) != list) continue;
      const location source = row_vector(stored);
      add(p_.commands, store_command(i), {&source, 1});
      p_.operands.back().extent = value_class::row;
    }
    range.last = static_cast<int>(p_.commands.size());
    p_.row_lists.push_back(range);
  }

  bool stores_value(std::size_t k, int i) const {
    return s_.facts().origin[index(s_.store(k).step)] == i;
  }

  bool is_full_store(std::size_t i, int phase) const {
    return !s_.stores[i].per_row && s_.stores[i].phase == phase &&
           s_.facts().stores[i] != s_.request().stored_external;
  }

  void emit_phase(int phase) {
    command_range range{static_cast<int>(p_.commands.size()), 0};
    phase_ = phase;
    virtual_slots_ = 0;
    for (bound_value& v : s_.values) {
      if (v.at.where == memory::slot && v.at.index < pinned) v.at = {};
      v.spread = {};
    }
    mark_needed(phase);
    for (int i = 0; i < s_.step_count(); ++i) {
      bound_value& v = s_.values[index(i)];
      if (!s_.alive(i) || !s_.is_origin(i)) continue;
      if (v.needed && !v.at.valid()) emit_full(i, phase);
      if (v.needed) emit_stores_of(i, phase, false);
      if (s_.step(i).kind == planning::step_kind::reduce && i != s_.facts().external)
        emit_reduction(i, phase);
    }
    for (int i = 0; i < s_.step_count(); ++i)
      if (s_.alive(i) && s_.is_origin(i)) {
        if (s_.values[index(i)].extent != value_class::full) emit_stores_of(i, phase, false);
      }
    for (int i = 0; i < s_.step_count(); ++i)
      if (s_.alive(i) && s_.is_origin(i)) emit_stores_of(i, phase, true);
    range.last = static_cast<int>(p_.commands.size());
    p_.phase_lists.push_back(range);
    slots_.assign(p_, range, virtual_slots_);
  }

  // Full values that this phase has to compute or read: what its reductions and stores go back to.
  void mark_needed(int phase) {
    for (bound_value& v : s_.values) v.needed = false;
    for (std::size_t i = 0; i < s_.stores.size(); ++i)
      if (is_full_store(i, phase)) s_.value_of(s_.store(i).step).needed = true;
    for (int i = s_.step_count() - 1; i >= 0; --i) {
      if (!computes(i)) continue;
      const planning::step& step = s_.step(i);
      bound_value& v = s_.values[index(i)];
      if (step.kind == planning::step_kind::reduce && s_.ready(step.operands[0]) == phase)
        s_.value_of(step.operands[0]).needed = true;
      if (s_.keep && s_.is_kept(i) && v.first_phase == phase) v.needed = true;
      if (v.extent != value_class::full) v.needed = false;
      if (!v.needed || v.at.valid() || step.kind != planning::step_kind::map) continue;
      for (int o : step.operands) s_.value_of(o).needed = true;
    }
  }

  void emit_full(int i, int phase) {
    bound_value& v = s_.values[index(i)];
    const planning::step& step = s_.step(i);
    const bool stays = s_.keep && s_.is_kept(i);
    // Straight into the output where that can be written in place.
    for (std::size_t k = 0; k < s_.stores.size(); ++k) {
      if (!is_full_store(k, phase) || s_.stores[k].deferred || !stores_value(k, i)) continue;
      if (s_.request().result_is_external) {
        const location target{memory::external, value_class::full, size_byte(step.type), 0};
        emit_step(p_.commands, i, target);
        v.at = target;
        return;
      }
      if (!s_.usable_in_place(p_.streams[index(s_.stores[k].stream)])) continue;
      const location target{memory::stream, value_class::full, size_byte(step.type),
                            s_.stores[k].stream};
      emit_step(p_.commands, i, target);
      v.at = target;
      stream_past_caches(i, k);
      return;
    }
    // Operands that are the same for every row are loaded once per task.
    if (step.kind == planning::step_kind::load && s_.stream_of(v).invariant && s_.whole_rows() &&
        !p_.split && !p_.axes.outer.empty() && s_.facts().kind != geometry::block) {
      v.at = pinned_slot(step.type);
      emit_step(prologue_, i, v.at);
      return;
    }
    const location target = stays ? kept(step.type) : slot(step.type);
    emit_step(p_.commands, i, target);
    v.at = target;
  }

  // The last command writes store k in place. What is too large for the caches goes past them, and
  // no line is read to be overwritten. (silu(2x + 1/2) y of 16 M elements: 4.2 ms, 5.6 without.)
  void stream_past_caches(int i, std::size_t k) {
    command& c = p_.commands.back();
    const bool walks_once = s_.facts().kind == geometry::free || s_.facts().kind == geometry::rows;
    c.mode.streaming = s_.stores[k].leaves_caches && walks_once && c.kind == command_kind::map &&
                       c.run_rows != nullptr && c.type == operand_type(p_, c, 0) &&
                       s_.is_only_stored(i, k);
    p_.streaming = p_.streaming || c.mode.streaming;
  }

  bool is_streamed(int stream) const {
    return std::ranges::any_of(p_.commands, [&](const command& c) {
      return c.mode.streaming && c.target.index == stream;
    });
  }

  void emit_stores_of(int i, int phase, bool deferred) {
    for (std::size_t k = 0; k < s_.stores.size(); ++k) {
      if (!is_full_store(k, phase) || s_.stores[k].deferred != deferred || !stores_value(k, i))
        continue;
      const location source = full_vector(i);
      if (s_.request().result_is_external) {
        // What no command computes (a load in place, a value per row) is copied there.
        const dtype type = s_.step(s_.store(k).step).type;
        if (source.where != memory::external)
          expand(p_.commands, source, type,
                 {memory::external, value_class::full, size_byte(type), 0});
        continue;
      }
      if (source.where == memory::stream && source.index == s_.stores[k].stream)
        continue;  // computed in place
      add(p_.commands, store_command(k), {&source, 1});
    }
  }

  // Enters reduction i into the program; its number.
  int add_reduction(int i) {
    const planning::step& step = s_.step(i);
    const int operand = step.operands[0];
    bound_reduction reduction;
    reduction.monoid = monoid_of(step.code);
    reduction.type = s_.step(operand).type;
    reduction.kernels = &kernels_.reduction(reduction.monoid, reduction.type);
    if (reduction.kernels->row == nullptr)
      raise(dtype_error("executor: no kernel for " + std::string(ir::name(step.code)) + " on " +
                        std::string(sinter::name(s_.step(operand).type))));
    reduction.phase = s_.ready(operand);
    reduction.offset = accumulators_;
    if (i != s_.facts().column_reduction) {
      reduction.in_place = !p_.split && reduction.kernels->accumulator_bytes == size_of(step.type);
      if (!reduction.in_place)
        accumulators_ += round_up(static_cast<std::size_t>(p_.row_capacity) *
                                  reduction.kernels->accumulator_bytes);
      reduction.result = row_slot(step.type);
      s_.values[index(i)].at = reduction.result;
    }
    p_.reductions.push_back(reduction);
    return static_cast<int>(p_.reductions.size()) - 1;
  }

  void emit_reduction(int i, int phase) {
    const int operand = s_.step(i).operands[0];
    const bool columns = i == s_.facts().column_reduction;
    if (s_.ready(operand) != phase) return;
    // A map may have done it.
    if (columns ? columns_absorbed_ : s_.values[index(i)].at.valid()) return;
    command c;
    c.kind = !columns                 ? command_kind::reduce
             : s_.facts().has_moments ? command_kind::moments
                                      : command_kind::reduce_columns;
    c.type = s_.step(i).type;
    c.target.extent = value_class::full;  // it walks every element
    c.reduction = add_reduction(i);
    const location source = full_vector(operand);
    add(p_.commands, c, {&source, 1});
  }

  // ---- memory

  static std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

  void lay_out() {
    p_.lay_row_steps();
    std::size_t largest = 1;
    for (int i = 0; i < s_.step_count(); ++i)
      if (s_.alive(i)) largest = std::max(largest, size_of(s_.step(i).type));
    const auto rows = static_cast<std::size_t>(p_.row_capacity);
    const auto elements =
        static_cast<std::size_t>(p_.tile_rows * std::max<std::int64_t>(1, p_.chunk));
    // One line more: slots that lie whole pages apart make loads wait for unrelated stores (4 KiB
    // aliasing).
    p_.slot_bytes = round_up(elements * largest) + 64;
    constexpr auto padding = static_cast<std::size_t>(row_padding);
    p_.row_slot_bytes = (rows + padding - 1) / padding * padding * 8;
    std::size_t end = round_up(p_.streams.size() * (rows + 1) *
                               sizeof(std::int64_t));  // offsets of rows, and of the next
    const auto take = [&](std::size_t bytes) {
      const std::size_t begin = end;
      end += round_up(bytes);
      return begin;
    };
    p_.rows_offset = take(static_cast<std::size_t>(row_slots_) * p_.row_slot_bytes);
    p_.accumulators_bytes = accumulators_;
    p_.accumulators_offset = take(accumulators_);
    p_.singles_offset = take(static_cast<std::size_t>(single_slots_) * 8);
    p_.slots_offset = take(static_cast<std::size_t>(slots_.count()) * p_.slot_bytes);
    p_.kept_offsets.clear();
    for (std::uint8_t size : kept_sizes_)
      p_.kept_offsets.push_back(
          take(static_cast<std::size_t>(p_.tile_rows * p_.axes.columns) * size + 64));
    p_.scratch_bytes = end;
  }

  // Streams whose next tile is fetched while this one is computed: only where it comes from memory,
  // since in L2 prefetching just costs instructions, and where a tile is what several commands work
  // on, so that the hardware sees no steady stream. (Layer norm over 12 MB: 0.6 ms with, 1.2
  // without; relu(x + b) over 8 MB, a steady stream, 0.23 with and 0.21 without.)
  void choose_prefetched() {
    p_.prefetched.clear();
    p_.prefetch_steps = 0;
    int commands = 0;
    for (const command_range& phase : p_.phase_lists) commands += phase.size();
    const bool streams_by = s_.facts().kind == geometry::free || s_.facts().kind == geometry::rows;
    if (streams_by && commands > 1 && streamed_bytes(p_) > cache_resident_bytes)
      for (int i = 0; i < static_cast<int>(p_.streams.size()); ++i) {
        const stream& s = p_.streams[index(i)];
        if (s.buffer < 0 || s.extent() != value_class::full || s.invariant || is_streamed(i))
          continue;
        if (s.linear && s.step == 1 && (p_.tile_rows == 1 || (s.dense && s_.whole_rows())))
          p_.prefetched.push_back({i, 0});
      }
    if (p_.prefetched.empty()) return;
    for (const command_range& phase : p_.phase_lists)
      if (s_.whole_rows() || &phase == &p_.phase_lists.front())
        p_.prefetch_steps += phase.last - phase.first;
    for (prefetched_stream& fetched : p_.prefetched) {
      const std::int64_t bytes =
          p_.tile_rows * p_.chunk *
          static_cast<std::int64_t>(p_.streams[index(fetched.stream)].element_size);
      fetched.bytes_per_step = (bytes / std::max(1, p_.prefetch_steps) + 63) / 64 * 64;
    }
  }

  tile_schedule& s_;
  tile_program& p_;
  const kernel_table& kernels_;
  std::vector<command> prologue_;
  std::vector<std::uint8_t> kept_sizes_;
  slot_assigner slots_;
  int row_slots_ = 0, single_slots_ = 0, pinned_slots_ = 0, virtual_slots_ = 0;
  int phase_ = 0;                  // that is emitted
  bool columns_absorbed_ = false;  // a map reduces its values down the columns
  std::size_t accumulators_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
