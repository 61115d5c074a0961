// SPDX-License-Identifier: MIT
// The verifier of the lowest level: it accepts what executors bind and refuses every corruption of
// it, naming the command and the field.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "support/lowered_corruptions.hpp"

namespace tile_verify_test {

using namespace test_support::corruptions;

TEST_CASE("corrupted loops, streams and scratch memory are refused") {
  check_corruptions(
      "element-wise, broadcast and transposed",
      {
          {"rows: not the product", [](tile_program& p) { ++p.axes.rows; }},
          {"columns: not the product", [](tile_program& p) { --p.axes.columns; }},
          {"strides: not one per axis", [](tile_program& p) { p.axes.inner.push_back(1); }},
          {"rows: not the product", [](tile_program& p) { p.axes.outer.back() *= 2; }},
          {"tile: without rows", [](tile_program& p) { p.tile_rows = 0; }},
          {"tile: without rows or columns", [](tile_program& p) { p.chunk = 0; }},
          {"capacity: ", [](tile_program& p) { p.row_capacity += 5; }},
          {"split: ", [](tile_program& p) { p.split = true, p.row_capacity = p.axes.rows; }},
          {"buffer: there is none", [](tile_program& p) { p.streams[0].buffer = 99; }},
          {"type: not that of the buffer", [](tile_program& p) { p.streams[0].type = dtype::i32; }},
          {"type: of another size", [](tile_program& p) { p.streams[0].element_size = 8; }},
          {"offset and strides: leave", [](tile_program& p) { ++p.streams[0].offset; }},
          {"offset and strides: leave", [](tile_program& p) { --p.streams[0].offset; }},
          {"row steps: ", [](tile_program& p) { p.row_steps[0] += 1; }},
          {"step: ", [](tile_program& p) { ++p.streams[0].step; }},
          {"linear: ", [](tile_program& p) { p.streams[0].linear ^= true; }},
          {"dense: ", [](tile_program& p) { p.streams[0].dense ^= true; }},
          {"invariant: ", [](tile_program& p) { p.streams[0].invariant ^= true; }},
          {"streams", [](tile_program& p) { p.rows_offset = 0; }},
          {"scratch: ", [](tile_program& p) { p.accumulators_offset = p.singles_offset + 64; }},
          {"scratch: ", [](tile_program& p) { p.accumulators_bytes += 4096; }},
          {"scratch: ", [](tile_program& p) { p.scratch_bytes = p.slots_offset - 64; }},
          {"scratch: rows: too short", [](tile_program& p) { p.row_slot_bytes /= 2; }},
          {"a tile is larger than the slot", [](tile_program& p) { p.slot_bytes = 64; }},
          {"there is no such slot", [](tile_program& p) { p.scratch_bytes = p.slots_offset; }},
          {"lists: they do not follow", [](tile_program& p) { ++p.phase_lists[0].first; }},
          {"lists: they do not follow", [](tile_program& p) { --p.phase_lists[0].last; }},
          {"lists: they leave out", [](tile_program& p) { p.commands.push_back({}); }},
          {"lists: they do not follow", [](tile_program& p) { p.prologue.last = 0; }},
          {"phases: ", [](tile_program& p) { p.row_lists.pop_back(); }},
      });
}

TEST_CASE("more rows than a tile are refused, but where one kernel reduces them") {
  check_corruptions(
      "sum of squares",
      {
          {"capacity: ", [](tile_program& p) { p.row_capacity = p.axes.rows + 1; }},
          {"capacity: ", [](tile_program& p) { p.row_capacity = p.tile_rows - 1; }},
          {"capacity: ", [](tile_program& p) { p.sums.push_back({}); }},
          {"capacity: ", [](tile_program& p) { ++p.phase_lists[0].last; }},
          {"split: ", [](tile_program& p) { p.split = true; }},
          {"slots: too short", [](tile_program& p) { p.scratch_bytes += p.slot_bytes; }},
      });
  const tile_program& sound =
      std::get<lowered_tiles>(plan_of("sum of squares").nests.front()).program;
  CHECK(sound.row_capacity > sound.tile_rows);
}

TEST_CASE("corrupted commands are refused, with their place") {
  const auto flip_class = [](value_class& c) {
    c = c == value_class::full ? value_class::row : value_class::full;
  };
  check_corruptions(
      "element-wise, broadcast and transposed",
      {
          {"(load): stream: there is none",
           [](tile_program& p) { find(p, command_kind::load).stream = 77; }},
          {"(load): type: not that of the stream",
           [](tile_program& p) { find(p, command_kind::load).type = dtype::i32; }},
          {"(load): target: elements of another size",
           [](tile_program& p) { find(p, command_kind::load).target.element_size = 8; }},
          {"(load): target: there is no such slot",
           [](tile_program& p) { find(p, command_kind::load).target.index = 1000; }},
          {"(load): target: nowhere",
           [](tile_program& p) { find(p, command_kind::load).target = {}; }},
          {"(load): stream: one value per element",
           [&](tile_program& p) { flip_class(find(p, command_kind::load).target.extent); }},
          {"(load): operands: more or fewer",
           [](tile_program& p) { find(p, command_kind::load).operand_count = 1; }},
          {"operands: not in the list",
           [](tile_program& p) { find(p, command_kind::map).first_operand = 100000; }},
          {"(load): by rows", [](tile_program& p) { find(p, command_kind::load).by_row = true; }},
          {"(load): padded", [](tile_program& p) { find(p, command_kind::load).padded = true; }},
          {"(map): kernel: none",
           [](tile_program& p) { find(p, command_kind::map).function = nullptr; }},
          {"(map): operands: more or fewer",
           [](tile_program& p) { --find(p, command_kind::map).operand_count; }},
          {"by run: not as the operands say",
           [](tile_program& p) { find(p, command_kind::map).by_run = true; }},
          {"(map): operand 0: not padded",
           [](tile_program& p) { find(p, command_kind::map).padded = true; }},
          {"operand 0: ", [](tile_program& p) { operand(p, command_kind::map).index += 1000; }},
          {"operand 0: elements of another size",
           [](tile_program& p) { operand(p, command_kind::map).element_size = 2; }},
          {"mode: not as the operands say",
           [&](tile_program& p) { flip_class(operand(p, command_kind::map).extent); }},
          {"operand 0: nowhere",
           [](tile_program& p) { operand(p, command_kind::map).where = memory::none; }},
          {"operand 0: nobody hands in",
           [](tile_program& p) { operand(p, command_kind::map).where = memory::external; }},
          {"operand 0: there is no such kept",
           [](tile_program& p) { operand(p, command_kind::map).where = memory::kept; }},
          {"operand 0: there is no such constant",
           [](tile_program& p) { operand(p, command_kind::map).where = memory::constant; }},
      });
  // Its factors and shifts are one value per run.
  const auto each_by_run = [](tile_program& p, auto change) {
    for (command& c : p.commands)
      if (c.by_run) change(c);
  };
  check_corruptions(
      "norm of runs that chunks cut",
      {
          {"by run: not as the operands say",
           [&](tile_program& p) { each_by_run(p, [](command& c) { c.by_run = false; }); }},
          {"mode: not as the operands say",
           [&](tile_program& p) { each_by_run(p, [](command& c) { c.mode.single = 0; }); }},
      });
  check_corruptions(
      "softmax of kept rows",
      {
          {"(map_reduce): accumulator: there is none",
           [](tile_program& p) { find(p, command_kind::map_reduce).reduction = 9; }},
          {"(reduce): accumulator: of another phase",
           [](tile_program& p) { find(p, command_kind::reduce).reduction = 1; }},
          {"accumulator 0: phase", [](tile_program& p) { p.reductions[0].phase = 7; }},
          {"accumulator", [](tile_program& p) { p.reductions[0].phase = 1; }},
          {"accumulator 0: result", [](tile_program& p) { p.reductions[0].result.index = 55; }},
          {"accumulator 1: result: that of another",
           [](tile_program& p) { p.reductions[1].result = p.reductions[0].result; }},
          {"accumulator 0: result: nowhere", [](tile_program& p) { p.reductions[0].result = {}; }},
          {"accumulator 0: offset: leaves",
           [](tile_program& p) {
             p.reductions[0].in_place = false;
             p.reductions[0].offset = 1 << 20;
           }},
          // The maximum is where its result is; the sum, in f64, is elsewhere.
          {"accumulator 1: offset: over another",
           [](tile_program& p) { p.reductions[0].in_place = false; }},
          {"accumulator 1: in place: accumulators are no results",
           [](tile_program& p) { p.reductions[1].in_place = true; }},
          {"accumulator 0: kernels: none",
           [](tile_program& p) { p.reductions[0].kernels = nullptr; }},
          {"accumulator 0: result: of another size",
           [](tile_program& p) { p.reductions[0].type = dtype::f64; }},
          {"(map_reduce): fetched ahead: how far?",
           [](tile_program& p) {
             find(p, command_kind::map_reduce).mode = {0, 1, 0, false};
           }},
          {"(map_reduce): fetched ahead: what is no memory",
           [](tile_program& p) {
             find(p, command_kind::map_reduce).mode = {0, 2, 1, false};
           }},
          {"kept: over", [](tile_program& p) { p.kept_offsets[0] = 64; }},
          {"rows are longer than what is kept",
           [](tile_program& p) { p.scratch_bytes = p.kept_offsets[0] + 64; }},
          {"there is no such kept", [](tile_program& p) { p.kept_offsets.clear(); }},
          {"read before it is written",
           [](tile_program& p) { std::swap(p.commands[0], p.commands[1]); }},
      });
  check_corruptions("softmax that waits in its result",
                    {{"stream: written again by a command that does not read it",
                      [](tile_program& p) {
                        const sinter::exec::command& last =
                            p.commands[static_cast<std::size_t>(p.phase_lists.back().first)];
                        p.operands[static_cast<std::size_t>(last.first_operand)].index = 0;
                      }},
                     {"stream: read before it is written",
                      [](tile_program& p) { operand(p, command_kind::map_reduce).index = 1; }}});
}

TEST_CASE("corrupted sums of rows are refused") {
  check_corruptions(
      "rows, and what they sum up to",
      {
          {"result: nowhere, or twice", [](tile_program& p) { p.sums[0].reduction = 9; }},
          {"accumulator 1: result: nowhere, or twice",
           [](tile_program& p) { p.sums[0].reduction = p.sums[1].reduction; }},
          {"sum 1: offset: not behind",
           [](tile_program& p) { p.reductions[index(p.sums[1].reduction)].offset += 64; }},
          {"sum 0: buffer: there is none", [](tile_program& p) { p.sums[0].buffer = 99; }},
          {"sum 0: buffer: no element per column", [](tile_program& p) { ++p.sums[0].offset; }},
          {"sum 0: accumulator: no sum",
           [](tile_program& p) {
             bound_reduction& r = p.reductions[index(p.sums[0].reduction)];
             r.monoid = monoid::max;
             r.kernels = &kernels().reduction(r.monoid, r.type);
           }},
          {"result: nowhere, or twice", [](tile_program& p) { p.sums.pop_back(); }},
          {"its block: over what lies behind", [](tile_program& p) { p.sums_offset += 64; }},
          {"sums: over the slots", [](tile_program& p) { p.sums_offset = 0; }},
      });
  const lowered_plan& columns = plan_of("sums of columns and what follows");
  lowered_plan broken = columns;
  auto& map = std::get<lowered_columns>(broken.nests.front()).map;
  map.sums.push_back({0, 0, 0});
  map.sums_offset = map.scratch_bytes;
  CHECK(message_of(broken).find("result: nowhere, or twice") != std::string::npos);
}

TEST_CASE("what is not written, not read or not covered is refused") {
  // Each takes a command of a sound program away.
  for (const char* name : {"layer norm", "softmax of short rows", "integers", "sum of squares",
                           "positions and random numbers", "rows, and what they sum up to"}) {
    const lowered_plan& sound = plan_of(name);
    for (std::size_t nest = 0; nest < sound.nests.size(); ++nest) {
      const tile_program& p = std::get<lowered_tiles>(sound.nests[nest]).program;
      for (std::size_t gone = 0; gone < p.commands.size(); ++gone) {
        lowered_plan broken = sound;
        tile_program& q = std::get<lowered_tiles>(broken.nests[nest]).program;
        q.commands.erase(q.commands.begin() + static_cast<std::ptrdiff_t>(gone));
        const auto shorten = [&](command_range& r) {
          if (r.first > static_cast<int>(gone)) --r.first;
          if (r.last > static_cast<int>(gone)) --r.last;
        };
        for (command_range& r : q.row_lists) shorten(r);
        for (command_range& r : q.phase_lists) shorten(r);
        shorten(q.prologue);
        // Without an op on a slot in place, or on one that had another value before, the program
        // computes something else, soundly.
        const command& c = p.commands[gone];
        if (std::ranges::find(p.operands_of(c), c.target) != p.operands_of(c).end()) continue;
        if (c.target.where == location::memory::slot &&
            std::ranges::any_of(std::span(p.commands).first(gone),
                                [&](const command& before) { return before.target == c.target; }))
          continue;
        CAPTURE(std::string(name));
        CAPTURE(gone);
        CAPTURE(to_text(p));
        CHECK(message_of(broken) != "");
      }
    }
  }
}

TEST_CASE("a slot that is written over before it was read is refused") {
  int changed = 0;
  for (const char* name : {"integers", "softmax of long rows, in parts", "gate and up"}) {
    const lowered_plan& sound = plan_of(name);
    const auto program_of = [](lowered_plan& p) -> tile_program& {
      if (auto* tiles = std::get_if<lowered_tiles>(&p.nests.front()); tiles != nullptr)
        return tiles->program;
      return std::get<lowered_products>(p.nests.front()).parts.front().rest;
    };
    lowered_plan first = sound;
    for (std::size_t i = 0; i < program_of(first).commands.size(); ++i)
      for (int other = 0; other < 4; ++other) {
        lowered_plan broken = sound;
        command& c = program_of(broken).commands[i];
        if (c.target.where != memory::slot || c.target.index == other) continue;
        c.target.index = other;
        ++changed;
        CAPTURE(std::string(name));
        CAPTURE(i);
        CAPTURE(other);
        CHECK(message_of(broken) != "");
      }
  }
  CHECK(changed > 0);
}

TEST_CASE("kernels that are not those of their names are refused") {
  lowered_plan broken = plan_of("integers");
  tile_program& p = std::get<lowered_tiles>(broken.nests.front()).program;
  command& c = find(p, command_kind::map);
  c.function = kernels().micro_op(op::mul, dtype::f64);
  CHECK(message_of(broken) == "");  // without a table nobody knows
  CHECK_THROWS_WITH_AS(verify_lowered(broken, &kernels()),
                       doctest::Contains("kernel: not that of the op"), sinter::graph_error);
}

}  // namespace tile_verify_test
