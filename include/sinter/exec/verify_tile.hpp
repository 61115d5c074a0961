// SPDX-License-Identifier: MIT
// Checks a bound tile program against what its commands, its kernels and its surroundings ask for:
// every place in range and written before it is read, values that somebody reads, dtypes that fit,
// results that cover their buffers, accumulators that are fed once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/exec/row_overlap.hpp>
#include <sinter/exec/text_form.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/exec/verify_frame.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

class tile_verifier {
 public:
  tile_verifier(const tile_program& p, const tile_surroundings& around, std::string_view who)
      : p_(p), around_(around), who_(who) {}

  void verify() {
    const scratch_room room = frame_verifier(p_, around_, who_).verify();
    rows_.resize(room.rows);
    singles_.resize(room.singles);
    slots_.resize(room.slots);
    kept_.resize(p_.kept_offsets.size());
    find_outputs();
    run_lists();
    check_uses();
    check_overlap();
  }

 private:
  using memory = location::memory;

  struct value {
    bool written = false, read = false, pinned = false;
    dtype type{};
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  [[noreturn]] void fail(const std::string& what) const {
    raise(graph_error(std::string(who_) + (at_.empty() ? "" : ", " + at_) + ": " + what));
  }
  void require(bool holds, const char* what) const {
    if (!holds) fail(what);
  }

  void find_outputs() {
    is_output_.assign(p_.streams.size(), 0);
    used_.assign(p_.streams.size(), false);
    fed_.assign(p_.reductions.size(), 0);
    for (const command& c : p_.commands) {
      if (c.kind == command_kind::store && is_stream(c.stream)) is_output_[index(c.stream)] = 1;
      if (c.target.where == memory::stream && is_stream(c.target.index))
        is_output_[index(c.target.index)] = 1;
    }
    holds_.assign(p_.streams.size(), 0);
    external_holds_.assign(around_.externals.size(), around_.externals_hold_values ? 1 : 0);
  }
  bool is_stream(int s) const { return s >= 0 && index(s) < p_.streams.size(); }

  // ---- the commands, in the order in which they run

  enum class list_kind : std::uint8_t { prologue, rows, phase };

  void run_lists() {
    run_list(p_.prologue, list_kind::prologue, -1, "prologue");
    for (value& slot : slots_) slot.pinned = slot.written;
    for (std::size_t i = 0; i < p_.phase_lists.size(); ++i) {
      const int phase = static_cast<int>(i);
      run_list(p_.row_lists[i], list_kind::rows, phase, "rows before phase " + std::to_string(i));
      run_list(p_.phase_lists[i], list_kind::phase, phase, "phase " + std::to_string(i));
      at_ = "phase " + std::to_string(i);
      forget_slots();
      for (const bound_reduction& r : p_.reductions)
        if (r.phase == phase && r.result.valid()) {
          const auto write_row = [&](const location& at, dtype type) {
            value& result = rows_[index(at.index)];
            require(!result.written, "an accumulator's result is written twice");
            result = {true, false, false, type};
          };
          write_row(r.result, result_type(r));
          if (r.sum.valid()) write_row(r.sum, r.type);
        }
    }
    run_list(p_.row_lists.back(), list_kind::rows, static_cast<int>(p_.phase_lists.size()),
             "rows behind the last phase");
    at_.clear();
  }

  // What a phase leaves in its slots is lost.
  void forget_slots() {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].pinned) continue;
      if (slots_[i].written && !slots_[i].read)
        fail("slot " + std::to_string(i) + " is written and never read");
      slots_[i] = {};
    }
  }

  void run_list(command_range list, list_kind kind, int phase, const std::string& list_name) {
    for (int i = list.first; i < list.last; ++i) {
      const command& c = p_.commands[index(i)];
      at_ = list_name + ", command " + std::to_string(i - list.first) + " (" +
            std::string(name_in_text(c.kind)) + ")";
      list_ = kind;
      check_command(c, phase);
    }
  }

  void check_command(const command& c, int phase) {
    require(c.first_operand >= 0 && c.operand_count >= 0 &&
                index(c.first_operand + c.operand_count) <= p_.operands.size(),
            "operands: not in the list");
    require(!c.by_row || is_map(c) || reduces_columns(c),
            "by rows: only maps and reductions of columns run by rows");
    require(!c.padded || is_map(c), "padded: only maps are padded");
    switch (c.kind) {
      case command_kind::load: {
        const stream& s = stream_of(c);
        require(s.buffer >= 0, "stream: positions are no memory");
        require(s.type == c.type, "type: not that of the stream");
        count_operands(c, 0);
        read_stream(c.stream);
        if (c.target.extent != value_class::full)
          require(s.extent() != value_class::full || p_.axes.columns <= 1,
                  "stream: one value per element where one per row is loaded");
        if (list_ == list_kind::prologue)
          require(s.invariant && p_.whole_rows(), "stream: not the same for every tile");
        return write(c);
      }
      case command_kind::iota:
      case command_kind::random: {
        require(stream_of(c).buffer < 0, "stream: memory is no position");
        require(stream_of(c).type == c.type, "type: not that of the stream");
        used_[index(c.stream)] = true;
        count_operands(c, c.kind == command_kind::random ? 1 : 0);
        if (c.kind == command_kind::random) {
          require(c.type == dtype::f32 || c.type == dtype::f64, "type: no random numbers");
          require(read(c, 0).extent == value_class::single, "operand 0: not one key");
        }
        return write(c);
      }
      case command_kind::expand: {
        count_operands(c, 1);
        const location& from = read(c, 0);
        if (c.target.where != memory::external)
          require(from.extent < c.target.extent, "operand 0: has as many values as the target");
        return write(c);
      }
      case command_kind::map:
      case command_kind::map_reduce:
      case command_kind::map_reduce_columns: return check_map(c, phase);
      case command_kind::reduce:
      case command_kind::reduce_columns:
      case command_kind::reduce_pair: {
        count_operands(c, 1);
        const bound_reduction& r = reduction_of(c, phase);
        if (c.kind == command_kind::reduce_pair)
          require((r.monoid == monoid::sum || r.monoid == monoid::max) &&
                      (r.type == dtype::f32 || r.type == dtype::f64),
                  "accumulator: no sum or max of f32 or f64");
        require(r.monoid != monoid::deviations || c.kind == command_kind::reduce,
                "accumulator: deviations of columns are of pairs");
        require(c.type == result_type(r), "type: not that of the accumulator's result");
        require(r.result.valid() == (c.kind == command_kind::reduce),
                "accumulator: not of rows, or not of columns, as the command");
        require(read(c, 0).extent == value_class::full, "operand 0: not one value per element");
        require(!c.target.valid(), "target: accumulators have none");
        check_fetched(c);
        return;
      }
      case command_kind::store: return check_store(c);
    }
    fail("kind: none");
  }

  static bool is_map(const command& c) {
    return c.kind == command_kind::map || c.kind == command_kind::map_reduce ||
           c.kind == command_kind::map_reduce_columns;
  }

  const stream& stream_of(const command& c) const {
    require(is_stream(c.stream), "stream: there is none of this number");
    return p_.streams[index(c.stream)];
  }
  void read_stream(int s) {
    used_[index(s)] = true;
    require(!is_output_[index(s)] || holds_[index(s)], "stream: read before it is written");
  }
  void count_operands(const command& c, int expected) const {
    require(c.operand_count == expected, "operands: more or fewer than it takes");
  }

  const bound_reduction& reduction_of(const command& c, int phase) {
    require(c.reduction >= 0 && index(c.reduction) < p_.reductions.size(),
            "accumulator: there is none of this number");
    const bound_reduction& r = p_.reductions[index(c.reduction)];
    require(list_ == list_kind::phase && r.phase == phase, "accumulator: of another phase");
    require(++fed_[index(c.reduction)] == 1, "accumulator: fed a second time");
    return r;
  }

  void check_map(const command& c, int phase) {
    const ir::region* region = c.fused == nullptr ? nullptr : &c.fused->structure;
    require(c.function != nullptr || (region != nullptr && c.fused->run_steps != nullptr),
            "kernel: none");
    if (region != nullptr) {
      require(c.function == c.fused->run && c.run_rows == c.fused->run_rows,
              "kernel: not that of the region");
      count_operands(c, region->leaf_count);
      const bool truth = ir::is_truth(*region, region->leaf_count + region->node_count - 1);
      require(c.type == (truth ? dtype::boolean : region->type), "type: not that of the region");
    } else {
      require(static_cast<int>(c.code) < ir::op_count && ir::is_elementwise(c.code),
              "op: not element-wise");
      require((c.code == ir::op::custom_map) == (c.custom != nullptr),
              "op: whose it is does not fit");
      const ir::op_info& facts = ir::info(c.code);
      if (c.custom != nullptr) {
        require(c.custom->elementwise, "op: not element-wise");
        require(c.type == dtype::f32 || c.type == dtype::f64, "type: not that of a custom op");
      }
      if (around_.kernels != nullptr)
        require(c.function == map_kernel(*around_.kernels, c) &&
                    c.run_rows == map_rows_kernel(*around_.kernels, c),
                "kernel: not that of the op and the dtypes");
      count_operands(c, map_arity(c));
      if (c.code == ir::op::bitcast)
        require(size_of(c.type) == size_of(c.operand_type), "type: a bitcast to another size");
      else if (c.code != ir::op::cast)
        require(c.type == (facts.yields == ir::yields::boolean ? dtype::boolean : c.operand_type),
                "type: not what the op yields");
    }
    check_mode(c);
    const value_class extent = c.target.extent;
    const std::int64_t rows = extent == value_class::full ? p_.tile_rows : p_.row_capacity;
    require(c.kind != command_kind::map_reduce_columns || !c.target.valid(),
            "target: what goes to the accumulators is not written");
    if (c.target.valid()) place(c.target, c.type, "target: ");  // is there such a place?
    bool apart = extent == value_class::full && c.target.valid() && !is_packed(c.target);
    for (int k = 0; k < c.operand_count; ++k) {
      const location& l = read(c, k);
      const bool scalar = is_scalar_leaf(c, k) || c.mode.is_single(k);
      const auto complain = [&](const char* what) { fail(operand_name(k) + what); };
      if (scalar) {
        if (l.extent == value_class::full && !is_one_per_run(p_, l))
          complain("one value per element for a scalar");
        if (l.extent == value_class::row && extent == value_class::single)
          complain("one value per row for a single one");
        apart =
            apart || (l.extent == value_class::row && extent != value_class::single && rows > 1);
      } else {
        if (l.extent != extent && !(extent == value_class::row && p_.row_capacity == 1 &&
                                    l.extent == value_class::single))
          complain("has another number of values than the result");
        apart = apart || (extent == value_class::full && !is_packed(l));
      }
      if (l == c.target && c.target.valid()) {
        if (scalar) complain("a scalar under the result");
      } else if (l.where == c.target.where && l.index == c.target.index && c.target.valid()) {
        complain("under the result, which has elements of another size");
      }
      if (c.padded && !scalar && l.where != memory::row_slot) complain("not padded");
    }
    require(!apart || c.by_row || c.kind != command_kind::map,
            "by rows: operands lie apart from row to row");
    if (c.padded)
      require(extent == value_class::row && !c.by_row && !p_.split &&
                  c.target.where == memory::row_slot,
              "padded: only whole row slots are");
    if (c.kind == command_kind::map_reduce) {
      const bound_reduction& r = reduction_of(c, phase);
      require(region != nullptr && r.type == c.type && r.result.valid(),
              "accumulator: of another dtype than the map");
      const ir::map_reduce_function both = row_kernel(c, r.monoid);
      require(both != nullptr && c.reducing == both, "kernel: not of this map and accumulator");
      if (!c.target.valid()) return;
    }
    if (c.kind == command_kind::map_reduce_columns) {
      const bound_reduction& r = reduction_of(c, phase);
      require(r.type == c.type && !r.result.valid(),
              "accumulator: of another dtype than the map, or not of columns");
      require(columns_kernel(c, r.monoid) != nullptr, "kernel: not of this map and accumulator");
      require(extent == value_class::full, "target: not a value per element");
      return;
    }
    write(c);
  }

  void check_fetched(const command& c) const {
    require(!c.mode.fetches() || can_fetch(c), "fetched ahead: by a kernel that does not");
    require(c.mode.fetches() == (c.mode.distance > 0), "fetched ahead: how far?");
    unsigned known = 0;
    for (int k = 0; k < c.operand_count; ++k)
      if (walks_memory(p_.operands_of(c)[index(k)])) known |= 1u << k;
    if (c.kind == command_kind::map && walks_memory(c.target) && !c.mode.streaming)
      known |= 1u << ir::run_mode::result;
    require((c.mode.fetched & ~known) == 0, "fetched ahead: what is no memory of the caller");
  }

  void check_mode(const command& c) const {
    require((c.mode.single == 0 && !c.mode.streaming) || takes_modes(c), "kernel: has no modes");
    check_fetched(c);
    require(c.mode.single == broadcast_operands(p_, c), "mode: not as the operands say");
    const auto is_by_run = [&](const location& l) { return is_one_per_run(p_, l); };
    require(c.by_run == std::ranges::any_of(p_.operands_of(c), is_by_run),
            "by run: not as the operands say");
    require(c.mode.single == 0 || may_broadcast(c),
            "kernel: takes no value per row for one per element");
    require(!c.mode.streaming ||
                (c.target.where == memory::stream && c.target.extent == value_class::full),
            "past the caches: what is no memory of the caller");
    require(!c.mode.streaming || p_.streaming, "past the caches: without a fence");
  }

  void check_store(const command& c) {
    const stream& s = stream_of(c);
    count_operands(c, 1);
    require(s.buffer >= 0, "stream: positions are no memory");
    require(s.type == c.type, "type: not that of the stream");
    require(!c.target.valid(), "target: a store has a stream");
    const location& from = read(c, 0);
    require(from.extent == (list_ == list_kind::rows ? value_class::row : value_class::full),
            "operand 0: has another number of values than are stored");
    cover(c, c.stream, from.extent == value_class::row);
  }

  // A stream is written, and all of its buffer with it; once more only over what waits there for
  // the command that writes.
  void cover(const command& c, int s, bool per_row) {
    const stream& own = p_.streams[index(s)];
    used_[index(s)] = true;
    const auto reads = [&](const location& l) { return l.where == memory::stream && l.index == s; };
    require(!holds_[index(s)] || std::ranges::any_of(p_.operands_of(c), reads),
            "stream: written again by a command that does not read it");
    holds_[index(s)] = 1;
    require(around_.buffers[index(own.buffer)].place != planning::place::argument,
            "stream: an argument is written");
    if (p_.axes.rows == 0 || (p_.axes.columns == 0 && !per_row)) return;
    std::int64_t count = p_.axes.rows;
    if (per_row) {
      require(own.extent() != value_class::full, "stream: not one value per row");
      require(reach_of(0, {p_.axes.outer.begin(), p_.axes.outer.size()},
                       {own.outer.begin(), own.outer.size()})
                  .injective,
              "stream: writes elements twice");
    } else {
      count *= p_.axes.columns;
      require(stream_reach(p_, own).injective, "stream: writes elements twice");
    }
    if (around_.writes_all)
      require(count == element_count(around_.buffers[index(own.buffer)].shape),
              "stream: does not cover its buffer");
  }

  // ---- places

  static std::string operand_name(int k) { return "operand " + std::to_string(k) + ": "; }

  bool is_packed(const location& l) const {
    if (p_.tile_rows == 1) return true;
    if (l.where == memory::stream) return p_.streams[index(l.index)].dense && p_.whole_rows();
    if (l.where == memory::kept) return p_.whole_rows();
    if (l.where == memory::external) return around_.externals_packed;
    return true;
  }

  // The state of a place in scratch memory, or nullptr. `what` begins messages.
  value* place(const location& l, dtype type, const std::string& what) {
    const auto need = [&](bool holds, const char* reason) {
      if (!holds) fail(what + reason);
    };
    need(l.valid() && l.index >= 0, "nowhere");
    need(l.element_size == size_of(type), "elements of another size");
    const bool single_row = l.extent == value_class::row && p_.row_capacity == 1;
    const auto elements = static_cast<std::size_t>(p_.tile_rows * p_.chunk);
    switch (l.where) {
      case memory::slot:
        need(index(l.index) < slots_.size(), "there is no such slot");
        need(l.extent == value_class::full, "slots hold a value per element");
        need(elements * l.element_size <= p_.slot_bytes, "a tile is larger than the slot");
        return &slots_[index(l.index)];
      case memory::kept: {
        need(index(l.index) < kept_.size(), "there is no such kept value");
        need(l.extent == value_class::full, "kept values are one per element");
        need(p_.tile_rows * p_.axes.columns * l.element_size <= room_for_kept(index(l.index)),
             "rows are longer than what is kept for them");
        return &kept_[index(l.index)];
      }
      case memory::row_slot:
        need(index(l.index) < rows_.size(), "there is no such row");
        need(
            l.extent == value_class::row || (l.extent == value_class::full && p_.axes.columns == 1),
            "rows hold a value per row");
        return &rows_[index(l.index)];
      case memory::single_slot:
        need(index(l.index) < singles_.size(), "there is no such single");
        need(l.extent == value_class::single || single_row, "singles hold one value");
        return &singles_[index(l.index)];
      case memory::constant:
        need(index(l.index) < p_.constants.size(), "there is no such constant");
        need(l.extent == value_class::single || single_row, "constants are one value");
        need(p_.constants[index(l.index)].type == type, "a constant of another dtype");
        return nullptr;
      case memory::stream: {
        need(is_stream(l.index), "there is no such stream");
        const stream& s = p_.streams[index(l.index)];
        need(s.buffer >= 0, "positions are no memory");
        need(s.type == type, "a stream of another dtype");
        if (l.extent == value_class::full)
          need(s.has_unit_step() || s.is_one_per_run(),
               "the stream's elements do not lie side by side");
        else if (l.extent == value_class::row)
          need(s.extent() != value_class::full || p_.axes.columns <= 1,
               "the stream has a value per element");
        else
          need(s.extent() == value_class::single, "the stream has more than one value");
        return nullptr;
      }
      case memory::external:
        need(index(l.index) < around_.externals.size(), "nobody hands in this external value");
        need(around_.externals[index(l.index)] == type, "an external value of another dtype");
        need(l.extent == value_class::full, "external values are one per element");
        return nullptr;
      case memory::none: break;
    }
    fail(what + "nowhere");
  }

  const location& read(const command& c, int k) {
    const location& l = p_.operands[index(c.first_operand + k)];
    const dtype type = exec::operand_type(p_, c, k);
    value* const held = place(l, type, operand_name(k));
    if (l.where == memory::stream) {
      read_stream(l.index);
    } else if (l.where == memory::external) {
      if (!external_holds_[index(l.index)]) fail(operand_name(k) + "read before it is written");
    } else if (held != nullptr) {
      if (!held->written) fail(operand_name(k) + "read before it is written");
      if (held->type != type)
        fail(operand_name(k) + "holds " + std::string(name(held->type)) + ", " +
             std::string(name(type)) + " is read");
      held->read = true;
    }
    return l;
  }

  void write(const command& c) {
    value* const held = place(c.target, c.type, "target: ");
    const location& l = c.target;
    require(l.where != memory::constant, "target: a constant");
    switch (list_) {
      case list_kind::rows:
        require(l.extent == value_class::row, "target: not one value per row");
        break;
      case list_kind::phase:
        require(l.extent == value_class::full, "target: not one value per element");
        break;
      case list_kind::prologue: break;
    }
    if (l.where == memory::stream) {
      require(l.extent == value_class::full, "target: not one value per element");
      return cover(c, l.index, false);
    }
    if (l.where == memory::external) {
      require(around_.writes_external && l.index == 0, "target: an external value");
      external_holds_[0] = 1;
      return;
    }
    require(!held->pinned, "target: a slot of the prologue");
    if (l.where == memory::slot && list_ == list_kind::phase)
      require(!held->written || held->read, "target: a slot whose value nobody has read");
    else
      require(!held->written, "target: written twice");
    *held = {true, false, false, c.type};
  }

  void check_uses() {
    for (std::size_t i = 0; i < p_.streams.size(); ++i)
      if (!used_[i] &&
          (p_.streams[i].buffer < 0 || p_.streams[i].buffer != around_.written_by_nest))
        fail("stream " + std::to_string(i) + ": nobody uses it");
    for (std::size_t i = 0; i < fed_.size(); ++i)
      if (fed_[i] == 0) fail("accumulator " + std::to_string(i) + ": nothing is fed to it");
    const auto all_read = [&](const std::vector<value>& values, const char* what) {
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i].written && !values[i].read)
          fail(what + std::to_string(i) + " is written and never read");
    };
    all_read(slots_, "slot ");
    all_read(kept_, "kept ");
    all_read(rows_, "row ");
    all_read(singles_, "single ");
  }

  // Bytes.
  std::int64_t room_for_kept(std::size_t i) const {
    const std::size_t end =
        i + 1 < p_.kept_offsets.size() ? p_.kept_offsets[i + 1] : p_.scratch_bytes;
    return static_cast<std::int64_t>(end - p_.kept_offsets[i]);
  }

  void check_overlap() const {
    const row_overlap overlap = find_overlap(p_);
    if (!overlap.keeps_two_tiles()) return;
    const location& l = overlap.middle->target;
    if (kept_bytes(p_, l.element_size) > room_for_kept(index(l.index)))
      fail("kept " + std::to_string(l.index) + ": too little for two tiles that overlap");
  }

  const tile_program& p_;
  const tile_surroundings& around_;
  std::string_view who_;
  std::string at_;  // what is looked at, for messages
  std::vector<value> slots_, kept_, rows_, singles_;
  std::vector<int> fed_;  // commands that feed an accumulator
  std::vector<char> is_output_, used_, holds_, external_holds_;
  list_kind list_{};
};

}  // namespace detail

/// Throws graph_error that names the command and the field if the program does not hold what its
/// runner takes for granted. `who`: whose program it is, for the message.
inline void verify_tile(const tile_program& p, const tile_surroundings& around,
                        std::string_view who = "tile program") {
  detail::tile_verifier(p, around, who).verify();
}

}  // namespace sinter::inline SINTER_ABI::exec
