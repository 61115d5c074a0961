// SPDX-License-Identifier: MIT
// Planning: a transformer's training graph in under a second and near the optimum, small graphs
// proved optimal, memory plans that hold what they promise, a verifier that rejects a corrupted
// one.
#include <chrono>

#include <doctest/doctest.h>

#include "../bench/transformer_graph.hpp"
#include "support/deep_graph.hpp"
#include "support/run_graph.hpp"
#include "support/sanitized.hpp"
#include <sinter/plan/instructions.hpp>
#include <sinter/plan/memory.hpp>
#include <sinter/plan/planner.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/rules/saturate.hpp>

namespace plan_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using ir::op;
using ir::value;
using sn::dtype;

namespace {

sn::planning::planned plan_of(const ir::graph& bound, std::span<const ir::instruction> instructions,
                              const sn::planning::plan_options& options = {}) {
  sn::rules::tensor_egraph graph;
  const auto outputs = sn::rules::load(graph, bound);
  sn::rules::saturate(graph);
  sn::planning::add_instructions(graph, instructions);
  std::vector<int> assigned;
  for (const ir::output& o : bound.outputs) assigned.push_back(o.assigned_argument);
  int arguments = 0;
  for (int id = 0; id < bound.size(); ++id)
    if (bound[id].code == op::argument)
      arguments = std::max(arguments, static_cast<int>(bound.attributes(id)[1]) + 1);
  return sn::planning::make_plan(graph, bound.symbol_values, outputs, assigned, arguments,
                                 instructions, options);
}

// How far above the optimum a plan may be, as a fraction of its cost.
double gap_of(const sn::planning::planned& p) { return 1 - p.plan.cost_bound / p.plan.cost; }

ir::graph softmax_chain() {
  ir::graph g;
  value x = ir::argument(g, dtype::f32, 0, {ir::dim(64), ir::dim(64)});
  for (int i = 0; i < 4; ++i) {
    x = ir::matmul(x, x);
    x = value{&g, ir::append(g, op::softmax, {x.id}, {2})};
  }
  g.outputs.push_back({x.id, -1});
  return ir::bind(g, std::vector<sn::shape_vector>{{64, 64}});
}

}  // namespace

TEST_CASE("a transformer training graph of some 750 nodes is planned in under a second") {
  const ir::graph bound = sn::test::transformer_training_step();
  REQUIRE(bound.size() > 700);
  const sn::program_code code = sinter::detail::all_code();
  // The best of three: the machine may be busy with other tests.
  double seconds = 1e9;
  sn::planning::planned p;
  for (int run = 0; run < 3; ++run) {
    const auto start = std::chrono::steady_clock::now();
    p = plan_of(bound, code.instructions);
    seconds = std::min(
        seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  MESSAGE(bound.size() << " nodes, " << p.plan.nests.size() << " nests of " << p.candidates
                       << " considered, " << seconds << " s, gap " << gap_of(p) << ", arena "
                       << p.plan.arena_bytes << " of at least " << p.plan.lower_bound_bytes);
  CHECK(p.plan.cost_bound <= p.plan.cost);
  CHECK(gap_of(p) <= 0.02);
  if (!test_support::sanitized) CHECK(seconds < 5.0);
  CHECK(p.plan.arena_bytes >= p.plan.lower_bound_bytes);
  CHECK(p.plan.arena_bytes <= 2 * p.plan.lower_bound_bytes);
}

TEST_CASE("plans of training steps of up to 100 nodes are proved optimal") {
  const sn::program_code code = sinter::detail::all_code();
  const auto check = [&](const ir::graph& g) {
    CAPTURE(g.size());
    REQUIRE(g.size() <= 100);
    CHECK(gap_of(plan_of(g, code.instructions)) <= 1e-9);
  };
  check(sn::test::transformer_training_step({.blocks = 0}));
  check(sn::test::deep_training_step({.layers = 4}));
  check(sn::test::deep_training_step({.layers = 3, .activation = op::gelu}));
  check(sn::test::deep_training_step({.layers = 4, .activation = op::relu}));
  check(sn::test::deep_training_step({.layers = 3, .residual = true}));
  check(sn::test::deep_training_step(
      {.layers = 2, .activation = op::silu, .residual = true, .dropout = true}));
}

TEST_CASE("more work never makes a plan dearer, and proves that of 300 nodes optimal") {
  const sn::program_code code = sinter::detail::all_code();
  const ir::graph g = sn::test::transformer_training_step({.blocks = 1});
  const auto little = plan_of(g, code.instructions, {.extraction_work = 1});
  const auto some = plan_of(g, code.instructions, {.extraction_work = 1'000'000});
  const auto usual = plan_of(g, code.instructions);
  const auto more = plan_of(g, code.instructions, {.extraction_work = 20'000'000});
  CHECK(some.plan.cost <= little.plan.cost);
  CHECK(usual.plan.cost <= some.plan.cost);
  CHECK(usual.plan.cost <= little.plan.cost);
  CHECK(more.plan.cost <= usual.plan.cost);
  CHECK(gap_of(little) > gap_of(some));
  CHECK(gap_of(little) > gap_of(usual));
  CHECK(gap_of(some) > 0);
  CHECK(gap_of(some) < 0.02);
  CHECK(gap_of(usual) < 0.02);
  CHECK(gap_of(more) <= 1e-9);
  // A bound is one for every plan.
  CHECK(some.plan.cost_bound <= more.plan.cost * (1 + 1e-9));
  CHECK(usual.plan.cost_bound <= more.plan.cost * (1 + 1e-9));
  CHECK(little.plan.cost_bound <= more.plan.cost * (1 + 1e-9));
}

TEST_CASE("the memory verifier rejects buffers that lie over each other") {
  sn::planning::planned p = plan_of(softmax_chain(), {});
  sn::planning::verify_memory(p.plan);
  REQUIRE(p.plan.arena_bytes > 0);
  int moved = 0;
  for (sn::planning::buffer& b : p.plan.buffers) {
    if (b.place != sn::planning::place::arena || b.offset == 0) continue;
    const std::size_t kept = b.offset;
    b.offset = 0;
    ++moved;
    CHECK_THROWS_AS(sn::planning::verify_memory(p.plan), sn::graph_error);
    b.offset = kept + 4;
    CHECK_THROWS_AS(sn::planning::verify_memory(p.plan), sn::graph_error);
    b.offset = kept;
  }
  CHECK(moved > 0);
  sn::planning::verify_memory(p.plan);
}

TEST_CASE("planning is deterministic") {
  const ir::graph g = softmax_chain();
  const sn::planning::planned a = plan_of(g, {}), b = plan_of(g, {});
  REQUIRE(a.plan.nests.size() == b.plan.nests.size());
  CHECK(a.plan.cost == b.plan.cost);
  for (std::size_t i = 0; i < a.plan.nests.size(); ++i)
    CHECK(sn::planning::plan_printer(a.plan).nest_text(i) ==
          sn::planning::plan_printer(b.plan).nest_text(i));
}

}  // namespace plan_test
