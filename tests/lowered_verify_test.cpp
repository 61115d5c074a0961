// SPDX-License-Identifier: MIT
// The verifier of the lowest level on nests of every kind, custom ops, buffers and orders; see
// tile_verify_test.cpp for tile programs.
#include <functional>
#include <string>

#include <doctest/doctest.h>

#include "support/custom_ops.hpp"
#include "support/lowered_corruptions.hpp"

namespace lowered_verify_test {

using namespace test_support::corruptions;

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

}  // namespace lowered_verify_test
