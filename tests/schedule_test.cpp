// SPDX-License-Identifier: MIT
// What schedules say of known functions: axes, mapping, work, layouts, dependencies, critical path
// and memory.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/named_nests.hpp"
#include "support/schedule_graph.hpp"
#include <sinter/exec/gemm.hpp>
#include <sinter/plan/schedule_names.hpp>
#include <sinter/plan/verify_schedule.hpp>

namespace schedule_test {

namespace {

using sinter::planning::dependency_kind;
using sinter::planning::loop;
using sinter::planning::mapped_to;
using sinter::planning::schedule;

schedule schedule_of(const std::string& text, const std::vector<bool>& frozen = {}) {
  static const sinter::program_code code = sinter::detail::all_code();
  const sinter::ir::graph graph = sinter::ir::parse_graph(text, test_support::named_custom_ops);
  sinter::program p(graph, code);
  return test_support::schedules_of(p, test_support::arguments_of(graph), frozen).back();
}
schedule schedule_named(const std::string& name) {
  const auto& all = test_support::named_graphs();
  const auto found = std::ranges::find(all, name, &test_support::named_graph::name);
  return schedule_of(found->text, found->frozen);
}

std::vector<std::int64_t> steps(const loop& l) {
  return {l.levels[0].step, l.levels[1].step, l.levels[2].step};
}

}  // namespace

TEST_CASE("a product with epilogue: blocks of the product, work, bytes") {
  const schedule s = schedule_named("product with epilogue");
  REQUIRE(s.items.size() == 1);
  const auto& item = s.items[0];
  constexpr std::int64_t m = 136, n = 160, k = 48;
  CHECK(item.flops == 2 * m * n * k + 2 * m * n);
  CHECK(item.bytes_read == 4 * (m * k + k * n + n));
  CHECK(item.bytes_written == 4 * m * n);
  REQUIRE(item.iterations.size() == 2);
  CHECK(item.iterations[0].work == sinter::planning::work_kind::product);
  CHECK(item.iterations[1].work == sinter::planning::work_kind::epilogue);
  REQUIRE(item.iterations[0].axes.size() == 3);
  CHECK(item.iterations[0].axes[2].name == "depth");
  CHECK(item.iterations[0].axes[2].role == sinter::planning::axis_role::reduction);
  const sinter::exec::gemm_blocks blocks = sinter::exec::gemm_block_grid(m, n, k);
  const auto& loops = item.iterations[0].loops;
  REQUIRE(loops.size() == 3);
  CHECK(loops[0].levels[loop::task].step == blocks.rows);
  CHECK(loops[2].levels[loop::task].step == blocks.columns);
  CHECK(loops[1].levels[loop::task].step == k);
  CHECK(s.critical.items == std::vector{0});
  CHECK(s.critical.nanoseconds == s.plan.nests[0].predicted_nanoseconds);
}

TEST_CASE("rows: threads take rows, lanes columns; every reduction has its plan") {
  const schedule s = schedule_named("rows");
  REQUIRE(s.items.size() == 1);
  const auto& it = s.items[0].iterations[0];
  CHECK(it.axes[0].role == sinter::planning::axis_role::parallel);
  CHECK(it.axes[1].role == sinter::planning::axis_role::reduction);
  CHECK(it.loops[0].axes == std::vector{0});
  CHECK(it.loops[0].levels[loop::task].to == mapped_to::threads);
  CHECK(it.loops[1].axes == std::vector{1});
  CHECK(steps(it.loops[1])[0] == 1000);
  CHECK(it.loops[1].levels[loop::unit].to == mapped_to::lanes);
  CHECK(it.loops[1].levels[loop::unit].step == s.layouts[0].vector_width);
  REQUIRE(s.items[0].reductions.size() == 2);
  for (const auto& r : s.items[0].reductions) {
    CHECK(r.accumulators == 4 * s.layouts[0].vector_width);
    CHECK(r.block == 64 * s.layouts[0].vector_width);
    CHECK(r.partials == 1);
  }
}

TEST_CASE("few long rows are parts that combine in order") {
  const schedule s = schedule_named("a long row");
  bool found = false;
  for (const auto& item : s.items)
    for (const auto& r : item.reductions) {
      const auto& l = item.iterations[static_cast<std::size_t>(r.iteration)].loops.back();
      CHECK(r.partials == (100000 + l.levels[loop::task].step - 1) / l.levels[loop::task].step);
      found = found || r.partials > 1;
    }
  CHECK(found);
}

TEST_CASE("a transposed operand is walked in squares") {
  const schedule s = schedule_named("transposed operand");
  const auto& it = s.items[0].iterations[0];
  // [3, 200, 100], of which the last two are merged in no operand.
  CHECK(it.loops[0].axes == std::vector{0, 1});
  CHECK(it.loops[1].axes == std::vector{2});
  CHECK(steps(it.loops[0])[1] == 64);
  CHECK(steps(it.loops[1])[1] == 64);
}

TEST_CASE("chains wait for what they read, and the longest is critical") {
  const schedule s = schedule_of(R"(%0 = argument {number: 0} : f32[40, 30]
%1 = argument {number: 1} : f32[30, 40]
%2 = matmul(%0, %1) : f32[40, 40]
%3 = matmul(%2, %2) : f32[40, 40]
%4 = reduce_sum(%1) {axes: [0, 1]} : f32[1, 1]
output: %3
output: %4
)");
  REQUIRE(s.items.size() == 3);
  CHECK(s.critical.items.size() == 2);
  double longest = 0;
  for (int i : s.critical.items)
    longest += s.plan.nests[static_cast<std::size_t>(i)].predicted_nanoseconds;
  CHECK(s.critical.nanoseconds == longest);
  int data = 0;
  for (const auto& item : s.items)
    for (const auto& d : item.depends_on) data += d.kind == dependency_kind::data ? 1 : 0;
  CHECK(data == 1);
  CHECK(s.plan.arena_bytes == 40 * 40 * 4);
  CHECK(s.plan.lower_bound_bytes == s.plan.arena_bytes);
  REQUIRE(s.allocations.size() == 1);
  CHECK(s.allocations[0].last > s.allocations[0].first);
}

TEST_CASE("an assigned argument is overwritten behind its readers, for order alone") {
  const schedule s = schedule_of(R"(%0 = argument {number: 0} : f32[50, 50]
%1 = argument {number: 1} : f32[50, 50]
%2 = matmul(%0, %1) : f32[50, 50]
%3 = sub(%0, %1) : f32[50, 50]
output: %3 -> argument 0
output: %2
)");
  CHECK(s.assigned == std::vector{0, -1});
  REQUIRE(s.items.size() == 2);
  CHECK(s.plan.nests[0].kind == sinter::planning::nest_kind::matmul);
  CHECK(s.items[0].depends_on.empty());
  REQUIRE(s.items[1].depends_on.size() == 1);
  CHECK(s.items[1].depends_on[0].item == 0);
  CHECK(s.items[1].depends_on[0].kind == dependency_kind::order);
  // The other way round the product would read what was overwritten.
  schedule wrong = s;
  std::swap(wrong.plan.nests[0], wrong.plan.nests[1]);
  std::swap(wrong.items[0], wrong.items[1]);
  wrong.items[0].depends_on.clear();
  CHECK_THROWS_AS(sinter::planning::verify_schedule(wrong), sinter::graph_error);
}

TEST_CASE("names of one memory are one group") {
  const schedule s = schedule_named("a step of training");
  for (const auto& a : s.allocations)
    for (const auto& b : s.allocations) {
      const auto &x = s.plan.buffers[static_cast<std::size_t>(a.buffer)],
                 &y = s.plan.buffers[static_cast<std::size_t>(b.buffer)];
      if (a.group == b.group) CHECK(x.offset == y.offset);
    }
}

TEST_CASE("a custom op on rows: tasks of rows, each of them whole") {
  const schedule s = schedule_named("rows of a custom op");
  const auto of = [&](const std::string& name) {
    for (std::size_t i = 0; i < s.plan.nests.size(); ++i)
      if (s.plan.nests[i].custom != nullptr && s.plan.nests[i].custom->name == name) return i;
    FAIL("no nest of " << name);
    return std::size_t{0};
  };
  const auto& item = s.items[of("scaled_sums")];
  CHECK(item.flops == 12 * 40 * 15 * 100);
  CHECK(item.bytes_read == 4 * 40 * 15 * 100);
  CHECK(item.bytes_written == item.bytes_read);
  CHECK(item.reductions.empty());
  CHECK(item.hints.empty());
  REQUIRE(item.iterations.size() == 1);
  const auto& it = item.iterations[0];
  CHECK(it.axes[1].role == sinter::planning::axis_role::parallel);
  CHECK(it.axes[2].role == sinter::planning::axis_role::whole);
  REQUIRE(it.loops.size() == 2);
  CHECK(it.loops[0].axes == std::vector{0, 1});
  CHECK(it.loops[0].levels[loop::task].to == mapped_to::threads);
  CHECK(steps(it.loops[0]) == std::vector<std::int64_t>{32768 / 100, 32768 / 100, 1});
  CHECK(steps(it.loops[1]) == std::vector<std::int64_t>{100, 100, 1});
  CHECK(s.items[of("mirrored")].iterations[0].loops[0].levels[loop::task].to == mapped_to::threads);
  // Fewer rows make two tasks, too, but their work does not pay for threads.
  const schedule fewer = schedule_of(R"(%0 = argument {number: 0} : f32[23, 15, 100]
%1 = mirrored(%0) : f32[23, 15, 100]
output: %1
)");
  REQUIRE(fewer.items.size() == 1);
  const auto& rows = fewer.items[0].iterations[0].loops[0];
  CHECK(rows.levels[loop::task].step < 23 * 15);
  CHECK(rows.levels[loop::task].to == mapped_to::serial);
}

TEST_CASE("a custom op on whole arrays is one task, in another one's body it is a step") {
  const schedule whole = schedule_named("custom ops on arrays");
  for (std::size_t i = 0; i < whole.items.size(); ++i) {
    const auto* custom = whole.plan.nests[i].custom;
    if (custom == nullptr || custom->name != "segment_total") continue;
    const auto& it = whole.items[i].iterations.at(0);
    for (const auto& a : it.axes) CHECK(a.role == sinter::planning::axis_role::whole);
    CHECK(it.loops[0].axes.empty());
    CHECK(it.loops[1].levels[loop::task].step == 45);
  }
  const schedule among = schedule_named("a custom op among others");
  int steps = 0;
  for (const auto& n : among.plan.nests) {
    CHECK(n.kind == sinter::planning::nest_kind::tile);
    for (const auto& s : n.body) steps += s.custom != nullptr ? 1 : 0;
  }
  CHECK(steps == 1);
}

TEST_CASE("copies read and write, and compute nothing") {
  const schedule s = schedule_named("another shape of an argument");
  for (const auto& item : s.items) {
    CHECK(item.flops == 0);
    REQUIRE(item.iterations.size() == 1);
    CHECK(item.bytes_read == 480);
    CHECK(item.bytes_written == 480);
  }
}

TEST_CASE("empty and single extents") {
  for (const std::string text : {"%0 = argument {number: 0} : f32[0, 3]\n"
                                 "%1 = reduce_sum(%0) {axes: [0]} : f32[1, 3]\noutput: %1\n",
                                 "%0 = argument {number: 0} : f32[]\n%1 = exp(%0) : f32[]\n"
                                 "output: %1\n",
                                 "%0 = argument {number: 0} : f32[2, 0]\n"
                                 "%1 = argument {number: 1} : f32[0, 3]\n"
                                 "%2 = matmul(%0, %1) : f32[2, 3]\noutput: %2\n"}) {
    CAPTURE(text);
    const schedule s = schedule_of(text);
    CHECK_NOTHROW(sinter::planning::verify_schedule(s));
    CHECK(s.items.size() >= 1);
  }
}

}  // namespace schedule_test
