// SPDX-License-Identifier: MIT
// The verifier of the lowest level: it accepts what executors bind and refuses every corruption of
// it, naming the command and the field.
#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "support/lowered_cases.hpp"
#include "support/lowered_graph.hpp"
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/verify_lowered.hpp>

namespace tile_verify_test {

namespace {

using namespace sinter::exec;
using sinter::dtype;
using sinter::ir::op;
using memory = location::memory;

struct corruption {
  std::string what;  // part of the message that is expected
  std::function<void(tile_program&)> apply;
};

const lowered_plan& plan_of(std::string_view name) {
  static const sinter::program_code code = sinter::detail::all_code();
  static std::vector<std::pair<std::string, lowered_plan>> known;
  static std::vector<std::unique_ptr<sinter::program>> programs;
  if (known.empty())
    for (const test_support::lowered_case& c : test_support::lowered_cases()) {
      programs.push_back(std::make_unique<sinter::program>(c.graph, code));
      std::vector<bool> frozen(c.arguments.size(), c.frozen);
      frozen.front() = false;
      known.emplace_back(c.name,
                         test_support::lower(*programs.back(), c.arguments, frozen).plans.back());
    }
  for (const auto& each : known)
    if (each.first == name) return each.second;
  throw sinter::graph_error("no case " + std::string(name));
}

const kernel_table& kernels() {
  static const sinter::program_code code = sinter::detail::all_code();
  return code.kernels;
}

std::string message_of(const lowered_plan& p) {
  try {
    verify_lowered(p);
  } catch (const sinter::error& e) {
    return e.what();
  }
  return "";
}

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// The first command of a kind, and the first of its operands.
command& find(tile_program& p, command_kind kind) {
  for (command& c : p.commands)
    if (c.kind == kind) return c;
  FAIL("no command " << name_in_text(kind));
  throw sinter::graph_error("no such command");
}
location& operand(tile_program& p, command_kind kind, int k = 0) {
  return p.operands[static_cast<std::size_t>(find(p, kind).first_operand + k)];
}

void check_corruptions(const std::string& name, const std::vector<corruption>& corruptions) {
  const lowered_plan& sound = plan_of(name);
  CHECK(message_of(sound) == "");
  for (const corruption& c : corruptions) {
    lowered_plan broken = sound;
    c.apply(std::get<lowered_tiles>(broken.nests.front()).program);
    const std::string message = message_of(broken);
    CAPTURE(name);
    CAPTURE(c.what);
    CAPTURE(message);
    CHECK(message.find(c.what) != std::string::npos);
    CHECK(message.find("nest 0 (tiles)") != std::string::npos);
  }
}

}  // namespace

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

namespace {

template <class Nest>
struct nest_corruption {
  std::string what;
  std::function<void(Nest&)> apply;
};

template <class Nest>
void check_nest(const std::string& name, const std::vector<nest_corruption<Nest>>& corruptions) {
  const lowered_plan& sound = plan_of(name);
  bool found = false;
  for (std::size_t i = 0; i < sound.nests.size(); ++i) {
    if (!std::holds_alternative<Nest>(sound.nests[i])) continue;
    found = true;
    for (const nest_corruption<Nest>& c : corruptions) {
      lowered_plan broken = sound;
      c.apply(std::get<Nest>(broken.nests[i]));
      const std::string message = message_of(broken);
      CAPTURE(name);
      CAPTURE(c.what);
      CAPTURE(message);
      CHECK(message.find(c.what) != std::string::npos);
      CHECK(message.find("nest " + std::to_string(i)) != std::string::npos);
    }
    break;
  }
  CHECK_MESSAGE(found, name);
}

}  // namespace

TEST_CASE("corrupted nests of every other kind are refused") {
  check_nest<lowered_tiles>("element-wise",
                            {{"tasks: without", [](auto& n) { n.rows_per_task = 0; }},
                             {"tasks: ", [](auto& n) { n.columns_per_task = 0; }}});
  check_nest<lowered_tiles>("softmax of kept rows", {{"columns: divided", [](auto& n) {
                                                        n.columns_per_task = n.program.chunk / 2;
                                                        n.program.chunk /= 2;
                                                      }}});
  check_nest<lowered_columns>(
      "sums of columns and what follows",
      {{"map: over other", [](auto& n) { ++n.reduced; }},
       {"map: over other", [](auto& n) { ++n.batch; }},
       {"map: over other", [](auto& n) { --n.columns; }},
       {"tasks: without", [](auto& n) { n.rows_per_group = 0; }},
       {"tasks: groups", [](auto& n) { n.rows_per_group = 8, n.columns_per_task = 8; }},
       {"map, phase 0", [](auto& n) { find(n.map, command_kind::reduce_columns).reduction = 3; }},
       {"rest, stream 0: ", [](auto& n) { n.rest.streams[0].offset += 100000; }}});
  check_nest<lowered_columns>(
      "mean and variance of columns",
      {{"map: a pair without", [](auto& n) { n.pair = false; }},
       {"map: a pair without",
        [](auto& n) {
          find(n.map, command_kind::reduce_pair).kind = command_kind::reduce_columns;
        }},
       {"accumulator: no sum", [](auto& n) { n.map.reductions[0].monoid = monoid::min; }},
       {"guarded: there are no exponentials", [](auto& n) { n.guarded = true; }},
       {"nobody hands in this external value", [](auto& n) {
          for (auto& l : n.rest.operands)
            if (l.where == memory::external) l.index = 2;
        }}});
  check_nest<lowered_columns>(
      "largest of columns and exponentials",
      {{"map: a pair without", [](auto& n) { n.pair = false; }},
       {"accumulator: no sum or max", [](auto& n) { n.map.reductions[0].monoid = monoid::prod; }}});
  constexpr auto mapped = command_kind::map_reduce_columns;
  check_nest<lowered_columns>("squares down columns",
                              {{"(map_reduce_columns): accumulator: there is none",
                                [](auto& n) { find(n.map, mapped).reduction = 3; }},
                               {"(map_reduce_columns): accumulator: of another dtype",
                                [](auto& n) { n.map.reductions[0].type = dtype::f64; }},
                               {"(map_reduce_columns): kernel: not of this map",
                                [](auto& n) { n.map.reductions[0].monoid = monoid::max; }},
                               {"(map_reduce_columns): target: what goes",
                                [](auto& n) { find(n.map, mapped).target.where = memory::slot; }}});
  check_nest<lowered_products>(
      "product with an epilogue",
      {{"blocks without rows", [](auto& n) { n.rows = 0; }},
       {"left: leaves", [](auto& n) { ++n.m; }},
       {"left: leaves", [](auto& n) { n.left.offset = -1; }},
       {"left: no unit stride", [](auto& n) { n.left.column_stride = 2; }},
       {"left: there is no buffer", [](auto& n) { n.left.buffer = 50; }},
       {"left: not one stride", [](auto& n) { n.batch.push_back(1); }},
       {"of another dtype", [](auto& n) { n.type = dtype::f64; }},
       {"right: leaves", [](auto& n) { n.parts[0].right[0].row_stride *= 2; }},
       {"part: right sides", [](auto& n) { n.parts[0].right.clear(); }},
       {"parts: none", [](auto& n) { n.parts.clear(); }},
       {"right: leaves", [](auto& n) { ++n.parts[0].n; }},
       {"part: blocks without", [](auto& n) { n.parts[0].columns = 0; }},
       {"destination: ", [](auto& n) { n.parts[0].destination_offset = 1; }},
       {"runs rest", [](auto& n) { n.parts[0].runs_rest = false; }},
       {"rest: over other", [](auto& n) { ++n.parts[0].rest.axes.rows; }},
       {"nobody hands in", [](auto& n) {
          for (location& l : n.parts[0].rest.operands)
            if (l.where == memory::external) l.index = 1;
        }}});
  // Its windows are the right side: 27 rows (3 channels, 3 x 3), 99 columns (9 x 11).
  const auto windows = [](lowered_products& n) -> lowered_matrix& { return n.parts[0].right[0]; };
  check_nest<lowered_products>(
      "convolution with an epilogue",
      {{"right: leaves", [&](auto& n) { ++windows(n).offset; }},
       {"right: leaves", [&](auto& n) { windows(n).offset -= 1; }},
       {"right: leaves", [&](auto& n) { ++windows(n).rows.strides[0]; }},
       {"right: leaves", [&](auto& n) { ++windows(n).columns.strides.back(); }},
       {"right: leaves", [&](auto& n) { ++windows(n).batch_strides[0]; }},
       {"right: gathered from other", [&](auto& n) { ++windows(n).rows.extents[0]; }},
       {"right: gathered from other", [&](auto& n) { windows(n).columns.extents[0] *= 2; }},
       {"right: not one stride per axis", [&](auto& n) { windows(n).rows.strides.pop_back(); }},
       {"right: an extent below zero",
        [&](auto& n) {
          windows(n).rows.extents[0] *= -1;
          windows(n).rows.extents[1] *= -1;
        }},
       {"right: packed and gathered", [&](auto& n) { windows(n).packed = true; }},
       {"right: no unit stride", [&](auto& n) {
          windows(n).gathered = false;
          windows(n).row_stride = windows(n).column_stride = 2;
        }}});
  check_nest<lowered_products>(
      "convolution by tiles",
      {{"winograd: blocks without images", [](auto& n) { n.images = 0; }},
       {"winograd: blocks without images", [](auto& n) { n.images = 17; }},
       {"winograd: blocks without images", [](auto& n) { n.depth = 0; }},
       {"winograd: not all rows", [](auto& n) { --n.rows; }},
       {"winograd: filters differ", [](auto& n) { n.left.batch_strides[0] = 1; }},
       {"winograd: the right side has other axes",
        [&](auto& n) {
          windows(n).columns.extents = {110};
          windows(n).columns.strides = {1};
        }},
       {"winograd: no windows of 3x3",
        [&](auto& n) { std::swap(windows(n).rows.strides[1], windows(n).rows.strides[2]); }},
       {"winograd: blocks cut tiles", [](auto& n) { n.parts[0].columns = 10; }}});
  check_nest<lowered_streamed>("attention", {{"values: gathered where nothing packs",
                                              [](auto& n) { n.values.gathered = true; }}});
  check_nest<lowered_products>("batched products of a strided operand",
                               {{"copy 0", [](auto& n) { n.copies[0].buffer = 0; }},
                                {"copy 0", [](auto& n) { n.copies[0].offset = 8; }},
                                {"copy 0", [](auto& n) { n.copies[0].shape[0] = 1; }},
                                {"", [](auto& n) { n.copies.clear(); }}});
  check_nest<lowered_products>(
      "frozen weights", {{"left: ", [](auto& n) { ++n.k; }},
                         {"right: ", [](auto& n) { n.parts[0].right[0].buffer = n.left.buffer; }}});
  check_nest<lowered_streamed>(
      "attention with rotary embeddings",
      {{"scale", [](auto& n) { n.scale = 0; }},
       {"blocks", [](auto& n) { n.block_rows = 0; }},
       {"values: leaves", [](auto& n) { ++n.width; }},
       {"left: what is computed", [](auto& n) { ++n.depth; }},
       {"left: parts do not cover", [](auto& n) { n.left.parts.pop_back(); }},
       {"right: parts do not cover", [](auto& n) { ++n.right.parts.back().column; }},
       {"target: ", [](auto& n) { n.target_offset = 1; }},
       {"target: ", [](auto& n) { n.target = -1; }}});
  check_nest<lowered_assembly>("pad", {{"pieces: do not cover", [](auto& n) { n.fills ^= true; }},
                                       {"elements: ", [](auto& n) { --n.count; }},
                                       {"value: ", [](auto& n) { n.value.type = dtype::i32; }},
                                       {"target: ", [](auto& n) { n.type = dtype::f64; }}});
  check_nest<lowered_assembly>(
      "concat", {{"pieces: do not", [](auto& n) { n.pieces.pop_back(); }},
                 {"value: of another", [](auto& n) { n.fills = true; }},
                 {"pieces: do not", [](auto& n) { n.fills = true, n.value.type = n.type; }},
                 {"pieces: one over", [](auto& n) { n.pieces[2] = n.pieces[0]; }}});
  check_nest<lowered_alias>("another shape",
                            {{"source: leaves", [](auto& n) { ++n.source.offset; }},
                             {"source: another number", [](auto& n) { n.source.shape[0] = 1; }}});
  check_nest<lowered_gather>(
      "gather", {{"source: leaves", [](auto& n) { ++n.indices.extent; }},
                 {"source: ", [](auto& n) { n.before.push_back(2); }},
                 {"indices: no integers", [](auto& n) { n.indices.type = dtype::f32; }},
                 {"indices: not checked", [](auto& n) { n.indices.checked_first ^= true; }},
                 {"target: ", [](auto& n) { ++n.target_offset; }}});
  check_nest<lowered_scatter>("scatter_add",
                              {{"target: ", [](auto& n) { ++n.indices.extent; }},
                               {"source: not one update", [](auto& n) { n.indexed[0] = 3; }},
                               {"tasks: ", [](auto& n) { n.columns_per_task = 0; }}});
  check_nest<lowered_scan>("running sums",
                           {{"source: leaves", [](auto& n) { n.axis_stride = 1000; }},
                            {"source: not one stride", [](auto& n) { n.before.push_back(2); }},
                            {"target: ", [](auto& n) { --n.count; }},
                            {"target: ", [](auto& n) { n.target_offset = 1; }},
                            {"type: is not", [](auto& n) { n.type = dtype::f16; }},
                            {"blocks: ", [](auto& n) { n.lanes = 0; }},
                            {"blocks: ", [](auto& n) { n.block = n.lanes - 1; }},
                            {"tasks: ", [](auto& n) { n.columns_per_task = 0; }}});
}

TEST_CASE("corrupted custom ops are refused") {
  const auto first = [](tile_program& p) -> command& {
    for (command& c : p.commands)
      if (c.custom != nullptr) return c;
    throw sinter::graph_error("no custom op");
  };
  static constexpr const auto* rows = &sinter::custom_op_of<test_support::running_sum>;
  static constexpr const auto* elements = &sinter::custom_op_of<test_support::leak>;
  const lowered_plan& sound = plan_of("custom ops, element by element");
  verify_lowered(sound, &kernels());
  check_corruptions(
      "custom ops, element by element",
      {{"(map): op: whose it is", [&](tile_program& p) { first(p).custom = nullptr; }},
       {"(map): op: whose it is", [&](tile_program& p) { first(p).code = op::neg; }},
       {"(map): op: not element-wise", [&](tile_program& p) { first(p).custom = rows; }},
       {"(map): operands: more or fewer",
        [&](tile_program& p) { first(p).operand_count = 3 - first(p).operand_count; }},
       {"(map): operands: more or fewer",
        [&](tile_program& p) {
          if (first(p).custom == elements) first(p).operand_count = 1;
          first(p).custom = elements;
        }},
       {"(map): type: not that of a custom op",
        [&](tile_program& p) { first(p).type = dtype::f16; }},
       {"(map): type: not what the op yields",
        [&](tile_program& p) { first(p).type = dtype::f64; }}});
  lowered_plan other = sound;
  first(std::get<lowered_tiles>(other.nests.front()).program).function =
      kernels().micro_op(op::mul, dtype::f64);
  CHECK(message_of(other) == "");  // without a table nobody knows
  CHECK_THROWS_WITH_AS(verify_lowered(other, &kernels()),
                       doctest::Contains("kernel: not that of the op"), sinter::graph_error);

  check_nest<lowered_custom>(
      "custom op on rows",
      {{"op: none that works", [](auto& n) { n.op = nullptr; }},
       {"op: none that works", [](auto& n) { n.op = elements; }},
       {"operands: more or fewer", [](auto& n) { n.operands.clear(); }},
       {"attributes: more or fewer", [](auto& n) { n.attributes.clear(); }},
       {"tasks: ", [](auto& n) { n.rows_per_task = 0; }},
       {"tasks: ", [](auto& n) { n.rows_per_task = -1; }},
       {"kernel: not that", [](auto& n) { n.kernel = nullptr; }},
       {"kernel: not that", [](auto& n) { n.operands[0].type = dtype::f64; }},
       {"operand 0: leaves", [](auto& n) { ++n.operands[0].view.offset; }},
       {"operand 0: leaves", [](auto& n) { n.operands[0].view.strides[0] *= 2; }},
       {"operand 0: there is no buffer", [](auto& n) { n.operands[0].view.buffer = 50; }},
       {"operand 0: strides: not one", [](auto& n) { n.operands[0].view.strides.push_back(1); }},
       {"operand 0: shape: not that", [](auto& n) { --n.operands[0].shape[0]; }},
       {"operand 0: copied: not as", [](auto& n) { n.operands[0].copied ^= true; }},
       {"operand 0: copy: its offset", [](auto& n) { n.operands[0].copy_offset = 4; }},
       {"result: leaves", [](auto& n) { n.result.view.offset = 1; }},
       {"result: a buffer of", [](auto& n) { n.result.type = dtype::i32; }},
       {"result: does not cover", [](auto& n) { --n.result.view.shape[0], --n.result.shape[0]; }},
       {"operand 0: other rows", [](auto& n) {
          --n.operands[0].view.shape[0];
          --n.operands[0].shape[0];
        }}});
  check_nest<lowered_custom>("custom op on whole arrays",
                             {{"tasks: ", [](auto& n) { n.rows_per_task = 7; }}});
  check_nest<lowered_custom>(
      "custom op without a kernel",
      {{"kernel: not that", [](auto& n) { n.kernel = rows->kernel(dtype::f32); }}});
}

TEST_CASE("corrupted buffers and orders are refused") {
  const lowered_plan& sound = plan_of("sums of columns and what follows");
  const auto message = [&](const std::function<void(lowered_plan&)>& apply) {
    lowered_plan broken = sound;
    apply(broken);
    return message_of(broken);
  };
  CHECK(message([](lowered_plan& p) { p.buffers[0].strides.push_back(1); }).find("buffer 0") == 0);
  CHECK(message([](lowered_plan& p) { p.buffers.pop_back(); }) != "");
  const lowered_plan& chain = plan_of("another shape");
  CHECK(message_of(chain) == "");
}

}  // namespace tile_verify_test
