// SPDX-License-Identifier: MIT
// The second half of binding a tile program: the steps of every phase become commands whose
// operands have places, and the slots of scratch memory are shared between values that are not
// alive together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/exec/emit_step.hpp>
#include <sinter/exec/fetched_tiles.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

class tile_emitter : private step_emitter {
 public:
  tile_emitter(tile_schedule& schedule, const kernel_table& kernels)
      : step_emitter(schedule, kernels) {}

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
    if (walks_memory_alone()) widen_chunk();
    if (reduces_rows_alone())
      p_.row_capacity =
          std::min(p_.axes.rows, detail::rows_of_kernel(p_.tile_rows, p_.axes.columns));
    if (reduces_columns_alone()) p_.tile_rows = p_.row_capacity = rows_of_columns();
    places_.lay_out(p_, largest_element());
    choose_fetched(s_, p_);
  }

  // Upper bounds, so that binding to other shapes allocates nothing.
  void reserve() {
    const std::size_t steps = s_.values.size() + 1, stores = s_.stores.size();
    const std::size_t lists = static_cast<std::size_t>(s_.facts().phases) + 2;
    const std::size_t commands = lists * (3 * steps + 2 * stores);
    p_.commands.reserve(commands + 3 * steps);
    prologue_.reserve(3 * steps);
    p_.operands.reserve((commands + 3 * steps) + lists * steps * ir::region::max_leaves);
    p_.reductions.reserve(steps + stores);
    p_.sums.reserve(stores);
    p_.row_steps.reserve((steps + stores) * max_rank);
    p_.row_lists.reserve(lists);
    p_.phase_lists.reserve(lists);
    p_.kept_offsets.reserve(steps);
    places_.reserve(steps, stores);
  }

 private:
  void clear() {
    p_.commands.clear();
    p_.operands.clear();
    p_.reductions.clear();
    p_.sums.clear();
    p_.row_lists.clear();
    p_.phase_lists.clear();
    prologue_.clear();
    places_.clear();
    columns_absorbed_ = false;
    p_.streaming = false;
  }

  // Is every phase one kernel that reads and writes memory where it is?
  bool walks_memory_alone() const {
    const geometry kind = s_.facts().kind;
    if (kind != geometry::free && kind != geometry::rows) return false;
    if (p_.aligned_rows || p_.tile_rows > 1 || s_.facts().external >= 0) return false;
    const auto is_one_kernel = [&](const command_range& phase) {
      if (phase.size() != 1) return phase.size() == 0;
      const command_kind only = p_.commands[index(phase.first)].kind;
      return only == command_kind::map || only == command_kind::map_reduce ||
             only == command_kind::reduce;
    };
    return places_.has_no_slots() && std::ranges::all_of(p_.phase_lists, is_one_kernel);
  }

  // Then nothing has to stay in L1 from one command to the next, and each call costs some 40 ns and
  // the start of the memory's streams: a kernel takes what a task does. ((x - y)^2 summed over 16 M
  // elements: 3.45 ms, 3.65 in pieces of 4096; silu(2x + 1/2) y of 128 K: 19.0 µs instead of 19.7.)
  void widen_chunk() {
    const bool free = s_.facts().kind == geometry::free;
    const std::int64_t of_task =
        planning::divide_tile(p_.axes.rows, p_.axes.columns, p_.tile_rows, p_.chunk, p_.split, free)
            .columns;
    // A row that one task takes whole is summed in pieces all the same.
    const std::int64_t most =
        p_.split ? of_task
                 : std::min(of_task, planning::whole_units(planning::elements_per_task, p_.chunk));
    p_.chunk = std::max(p_.chunk, std::min(p_.axes.columns, most));
  }

  // Does one kernel reduce rows of what it reads where it is, each for itself? Then it takes more
  // of them than a tile has.
  bool reduces_rows_alone() const {
    const bool walks_tiles = s_.facts().kind == geometry::rows && !p_.split && !p_.aligned_rows;
    if (!walks_tiles || p_.tile_rows == 1) return false;
    if (!places_.has_no_slots() || !p_.is_one_kernel() || !p_.sums.empty()) return false;
    const auto is_row_by_row = [&](const command_range& phase) {
      if (phase.size() == 0) return true;
      const command& only = p_.commands[index(phase.first)];
      return only.kind == command_kind::map_reduce ||
             (only.kind == command_kind::reduce &&
              rows_are_independent(p_.reductions[index(only.reduction)].monoid));
    };
    return std::ranges::all_of(p_.phase_lists, is_row_by_row);
  }

  // Does one kernel, which is the reduction then, reduce columns of what it reads where it is? It
  // goes block by block through as many rows as it is given, and each call costs some 0.1 µs, in
  // which nothing is read: sums of [128,128] to [8192,512] take 0.93 to 1.0 of the time with 256
  // rows at once instead of 32, of [16384,64] 0.82, log-sum-exp, whose spans are of 64 rows, 0.87
  // to 0.92 (Zen 5).
  bool reduces_columns_alone() const {
    return s_.facts().kind == geometry::columns && places_.has_no_slots() && p_.is_one_kernel();
  }
  // Rows behind the last outer axis are another distance apart.
  std::int64_t rows_of_columns() const {
    constexpr std::int64_t most = 8 * column_block_rows;
    const std::int64_t together = p_.axes.outer.empty() ? most : p_.axes.outer.back(),
                       rows = std::min(most, together / column_block_rows * column_block_rows);
    return std::max(p_.tile_rows, std::min(p_.axes.rows, rows));
  }

  std::size_t largest_element() const {
    std::size_t largest = 1;
    for (int i = 0; i < s_.step_count(); ++i)
      if (s_.alive(i)) largest = std::max(largest, size_of(s_.step(i).type));
    return largest;
  }

  command store_command(std::size_t i) const {
    command c;
    c.kind = command_kind::store;
    c.type = s_.step(s_.store(i).step).type;
    c.stream = s_.stores[i].stream;
    return c;
  }

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
        v.at = {memory::stream, value_class::row, tile_places::size_byte(step.type), v.stream};
      } else {
        const location target = places_.row_slot(step.type);
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

  void emit_phase(int phase) {
    command_range range{static_cast<int>(p_.commands.size()), 0};
    phase_ = phase;
    places_.begin_phase();
    for (bound_value& v : s_.values) {
      if (v.at.where == memory::slot && v.at.index < slot_assigner::pinned) v.at = {};
      v.spread = {};
    }
    mark_needed(phase);
    for (int i = 0; i < s_.step_count(); ++i) {
      bound_value& v = s_.values[index(i)];
      if (!s_.alive(i) || !s_.is_origin(i)) continue;
      if (v.needed && !v.at.valid()) emit_full(i, phase);
      if (v.needed) emit_stores_of(i, phase, false);
      if (s_.facts().reduces(s_.step(i)) && i != s_.facts().external) emit_reduction(i, phase);
    }
    for (int i = 0; i < s_.step_count(); ++i)
      if (s_.alive(i) && s_.is_origin(i)) {
        if (s_.values[index(i)].extent != value_class::full) emit_stores_of(i, phase, false);
      }
    for (int i = 0; i < s_.step_count(); ++i)
      if (s_.alive(i) && s_.is_origin(i)) emit_stores_of(i, phase, true);
    range.last = static_cast<int>(p_.commands.size());
    p_.phase_lists.push_back(range);
    places_.end_phase(p_, range);
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
      if (s_.facts().reduces(step) && s_.ready(step.operands[0]) == phase)
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
      if (!is_full_store(k, phase) || s_.stores[k].deferred || s_.stores[k].summed ||
          !stores_value(k, i))
        continue;
      if (s_.request().result_is_external) {
        const location target{memory::external, value_class::full,
                              tile_places::size_byte(step.type), 0};
        emit_step(p_.commands, i, target);
        v.at = target;
        return;
      }
      if (!s_.stores_in_place(k)) continue;
      const location target = place_of_store(static_cast<int>(k), step.type);
      emit_step(p_.commands, i, target);
      v.at = target;
      stream_past_caches(i, k);
      return;
    }
    // Operands that are the same for every row are loaded once per task.
    if (step.kind == planning::step_kind::load && s_.stream_of(v).invariant && s_.whole_rows() &&
        !p_.split && !p_.axes.outer.empty() && s_.facts().kind != geometry::block) {
      v.at = places_.pinned_slot(step.type);
      emit_step(prologue_, i, v.at);
      return;
    }
    const location target = !stays           ? places_.slot(step.type)
                            : v.waits_in < 0 ? places_.kept(step.type)
                                             : place_of_store(v.waits_in, step.type);
    emit_step(p_.commands, i, target);
    v.at = target;
  }

  location place_of_store(int k, dtype type) const {
    return {memory::stream, value_class::full, tile_places::size_byte(type),
            s_.stores[index(k)].stream};
  }

  // The last command writes store k in place. What is too large for the caches goes past them, and
  // no line is read to be overwritten. (silu(2x + 1/2) y of 16 M elements: 4.2 ms, 5.6 without.)
  void stream_past_caches(int i, std::size_t k) {
    command& c = p_.commands.back();
    const bool walks_once = s_.facts().kind == geometry::free || s_.facts().kind == geometry::rows;
    c.mode.streaming = s_.stores[k].passes_caches && walks_once && takes_modes(c) &&
                       c.type == operand_type(p_, c, 0) && s_.is_only_stored(i, k);
    p_.streaming = p_.streaming || c.mode.streaming;
  }

  void emit_stores_of(int i, int phase, bool deferred) {
    for (std::size_t k = 0; k < s_.stores.size(); ++k) {
      if (!is_full_store(k, phase) || s_.stores[k].deferred != deferred || !stores_value(k, i))
        continue;
      const location source = full_vector(i);
      if (s_.stores[k].summed) {
        add_sum(k, source);
        continue;
      }
      if (s_.request().result_is_external) {
        // What no command computes (a load in place, a value per row) is copied there.
        const dtype type = s_.step(s_.store(k).step).type;
        if (source.where != memory::external)
          expand(p_.commands, source, type,
                 {memory::external, value_class::full, tile_places::size_byte(type), 0});
        continue;
      }
      if (source.where == memory::stream && source.index == s_.stores[k].stream)
        continue;  // computed in place
      add(p_.commands, store_command(k), {&source, 1});
    }
  }

  // What store k sums up of this phase's tile.
  void add_sum(std::size_t k, const location& source) {
    const int i = s_.store(k).step, reduction = add_column_sum(i, s_.stores[k].phase);
    p_.sums.push_back({reduction, s_.store(k).buffer, s_.stores[k].offset});
    reduce(command_kind::reduce_columns, i, reduction, source);
  }

  // The values of `source` to a reduction of the program, which has the dtype of step i.
  void reduce(command_kind kind, int i, int reduction, const location& source) {
    command c;
    c.kind = kind;
    c.type = s_.step(i).type;
    c.target.extent = value_class::full;  // it walks every element
    c.reduction = reduction;
    add(p_.commands, c, {&source, 1});
  }

  void emit_reduction(int i, int phase) {
    const int operand = s_.step(i).operands[0];
    const bool columns = i == s_.facts().column_reduction;
    if (s_.ready(operand) != phase) return;
    // A map may have done it, or deviations will.
    if (columns ? columns_absorbed_ : s_.values[index(i)].at.valid() || is_beside(i)) return;
    const command_kind kind = !columns              ? command_kind::reduce
                              : s_.facts().has_pair ? command_kind::reduce_pair
                                                    : command_kind::reduce_columns;
    const int reduction = add_reduction(i);
    reduce(kind, i, reduction, full_vector(operand));
  }
};

}  // namespace sinter::inline SINTER_ABI::exec
