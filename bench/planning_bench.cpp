// SPDX-License-Identifier: MIT
// The first call: a traced training step of a transformer becomes a plan. Counters split the time
// by stage, in milliseconds, and say how far the plan may be above the least (gap).
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "transformer_graph.hpp"
#include <sinter/plan/instructions.hpp>
#include <sinter/plan/planner.hpp>
#include <sinter/rules/saturate.hpp>
#include <sinter/sinter.hpp>

namespace {

namespace sn = sinter;
namespace ir = sinter::ir;

class stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double milliseconds = std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
    return milliseconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void plan_step(benchmark::State& state, const sn::test::transformer_sizes& sizes) {
  const ir::graph bound = sn::test::transformer_training_step(sizes);
  const auto instructions = sn::detail::all_code().instructions;
  std::vector<int> assigned;
  int arguments = 0;
  for (const ir::output& o : bound.outputs) assigned.push_back(o.assigned_argument);
  for (int id = 0; id < bound.size(); ++id)
    if (bound[id].code == ir::op::argument) ++arguments;
  std::map<std::string, double> stages;
  const auto add = [&](const char* name, double milliseconds) { stages[name] += milliseconds; };
  std::size_t enodes = 0;
  for (auto _ : state) {
    stopwatch watch;
    sn::rules::tensor_egraph graph;
    const auto outputs = sn::rules::load(graph, bound);
    add("load", watch.lap());
    if (sn::rules::saturate(graph).out_of_time()) state.SkipWithError("saturation ran out of time");
    add("saturate", watch.lap());
    sn::planning::add_instructions(graph, instructions);
    enodes = graph.node_count();
    add("instructions", watch.lap());
    const auto made = sn::planning::make_plan(graph, bound.symbol_values, outputs, assigned,
                                              arguments, instructions);
    add("enumerate", made.seconds.enumeration * 1e3);
    add("select", made.seconds.selection * 1e3);
    add("layout", made.seconds.layout * 1e3);
    state.counters["gap_%"] = 100 * (1 - made.plan.cost_bound / made.plan.cost);
    state.counters["nests"] = static_cast<double>(made.plan.nests.size());
  }
  for (const auto& [name, milliseconds] : stages)
    state.counters[name] = benchmark::Counter(milliseconds, benchmark::Counter::kAvgIterations);
  state.counters["nodes"] = bound.size();
  state.counters["growth"] = static_cast<double>(enodes) / bound.size();
}

void add(const char* name, const sn::test::transformer_sizes& sizes) {
  benchmark::RegisterBenchmark(name, plan_step, sizes)->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  add("plan/gradient_descent_3_blocks", {.blocks = 3});
  add("plan/adam_2_blocks", {.blocks = 2, .adam = true});
  add("plan/gradient_descent_26_blocks", {.blocks = 26});
  add("plan/adam_16_blocks", {.blocks = 16, .adam = true});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
