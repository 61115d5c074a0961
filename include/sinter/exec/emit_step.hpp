// SPDX-License-Identifier: MIT
// Steps of a tile nest as commands: operands are brought into the form that a kernel takes, and a
// reduction that follows a map joins it where there is a kernel for both.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/schedule_tile.hpp>
#include <sinter/exec/tile_places.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

class step_emitter {
 protected:
  using memory = location::memory;

  step_emitter(tile_schedule& schedule, const kernel_table& kernels)
      : s_(schedule), p_(schedule.program), kernels_(kernels) {}

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  // Steps that are computed here, under their own name.
  bool computes(int i) const { return s_.alive(i) && i != s_.facts().external && s_.is_origin(i); }
  bool stores_value(std::size_t k, int i) const {
    return s_.facts().origin[index(s_.store(k).step)] == i;
  }
  bool is_full_store(std::size_t i, int phase) const {
    return !s_.stores[i].per_row && s_.stores[i].phase == phase &&
           s_.facts().stores[i] != s_.request().stored_external;
  }

  // ---- operands

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
      if (!v.filled.valid()) v.filled = expand(prologue_, v.at, type, places_.pinned_slot(type));
      return v.filled;
    }
    if (p_.axes.columns == 1) {  // a row is an element
      location same = v.at;
      same.extent = value_class::full;
      return same;
    }
    if (!v.spread.valid()) v.spread = expand(p_.commands, v.at, type, places_.slot(type));
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
      v.row_vector = expand(p_.split ? p_.commands : prologue_, v.at, type, places_.row_slot(type));
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
    set_broadcast_operands(p_, list.back());
  }

  static bool is_padded(const location& l) { return l.where == memory::row_slot; }
  static bool is_scalar_operand(const planning::step& step, std::size_t k) {
    return step.fused != nullptr && step.fused->structure.is_scalar(static_cast<int>(k));
  }

  // Are rows so short that a call for each costs more than what a command for both saves? Then a
  // map of all rows of the tile comes first, and they are reduced together. (sqrt(sum(x x)) over
  // rows of 3, 16 and 100, ns per row of a Zen 4: 1.8, 2.3 and 11.4 so, 10.3, 8.8 and 15.4 row by
  // row; softmax 17, 17 and 52 instead of 27, 25 and 60.)
  bool reduces_rows_together() const {
    return p_.tile_rows > 1 && p_.axes.columns < shortest_row_alone;
  }

  // Where a reduction of the result follows and there is a kernel for both, one command does both.
  // The result itself is written only if somebody else reads it.
  void absorb_reduction(int i, command& c) {
    const planning::step& step = s_.step(i);
    if (step.fused == nullptr) return;
    if (s_.facts().kind == geometry::columns) return absorb_column_reduction(i, c);
    if (s_.facts().kind != geometry::rows || reduces_rows_together()) return;
    for (int r = i + 1; r < s_.step_count(); ++r) {
      if (!computes(r) || s_.step(r).kind != planning::step_kind::reduce ||
          s_.facts().origin[index(s_.step(r).operands[0])] != i || s_.values[index(r)].at.valid() ||
          is_beside(r))
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

  // Is step r the sum that deviations of the same elements, which come later, give as well?
  bool is_beside(int r) const { return sum_beside(r) == r; }
  // The sum of what the deviations i, or the sum i, are of, if it has deviations beside it; or -1.
  int sum_beside(int i) const {
    const auto is_of = [&](int j, planning::step_kind kind) {
      return computes(j) && s_.step(j).kind == kind && s_.facts().reduces(s_.step(j)) &&
             s_.facts().origin[index(s_.step(j).operands[0])] ==
                 s_.facts().origin[index(s_.step(i).operands[0])];
    };
    int sum = -1;
    bool found = false;
    for (int j = 0; j < s_.step_count(); ++j) {
      if (is_of(j, planning::step_kind::reduce) && s_.step(j).code == ir::op::reduce_sum && sum < 0)
        sum = j;
      found = found || is_of(j, planning::step_kind::deviations);
    }
    return found ? sum : -1;
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
      const bool reads = s_.facts().reduces(step)
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
      v.at = {memory::stream, value_class::single, tile_places::size_byte(step.type), v.stream};
      return;
    }
    v.at = places_.single_slot(step.type);
    emit_step(prologue_, i, v.at);
  }

  // Enters reduction i into the program; its number.
  int add_reduction(int i) {
    const planning::step& step = s_.step(i);
    const int operand = step.operands[0];
    bound_reduction reduction;
    reduction.monoid =
        step.kind == planning::step_kind::deviations ? monoid::deviations : monoid_of(step.code);
    reduction.type = s_.step(operand).type;
    reduction.kernels = &kernels_.reduction(reduction.monoid, reduction.type);
    if (reduction.kernels->row == nullptr)
      raise(dtype_error("executor: no kernel for " + std::string(ir::name(step.code)) + " on " +
                        std::string(sinter::name(s_.step(operand).type))));
    reduction.phase = s_.ready(operand);
    const bool per_row = i != s_.facts().column_reduction;
    reduction.in_place =
        per_row && !p_.split && reduction.kernels->accumulator_bytes == size_of(step.type);
    if (per_row) {
      reduction.result = places_.row_slot(step.type);
      s_.values[index(i)].at = reduction.result;
    }
    if (const int sum = reduction.monoid == monoid::deviations ? sum_beside(i) : -1; sum >= 0) {
      reduction.sum = places_.row_slot(step.type);
      s_.values[index(sum)].at = reduction.sum;
    }
    p_.reductions.push_back(reduction);
    return static_cast<int>(p_.reductions.size()) - 1;
  }

  // Enters the sum of step i down the columns into the program; its number.
  int add_column_sum(int i, int phase) {
    bound_reduction reduction;
    reduction.monoid = monoid::sum;
    reduction.type = s_.step(i).type;
    reduction.kernels = &kernels_.reduction(monoid::sum, reduction.type);
    reduction.phase = phase;
    reduction.offset = bytes_of_sums(p_);
    p_.reductions.push_back(reduction);
    return static_cast<int>(p_.reductions.size()) - 1;
  }

  tile_schedule& s_;
  tile_program& p_;
  const kernel_table& kernels_;
  tile_places places_;
  std::vector<command> prologue_;
  int phase_ = 0;                  // that is emitted
  bool columns_absorbed_ = false;  // a map reduces its values down the columns
};

}  // namespace sinter::inline SINTER_ABI::exec
