// SPDX-License-Identifier: MIT
// The e-graph engine beside egg, whose time on a two-core machine is the row's label, with ours to
// reach: egglog's math-microbenchmark (24 rules, 7 seeds) after n steps of the simple scheduler,
// the same seeds under all 36 rules with back-off, and a recursive program of the lambda calculus.
// Seeds and e-graph are set up anew each time. A row whose e-graph is not the known one is an
// error.
#include <chrono>
#include <cstddef>

#include <benchmark/benchmark.h>

#include "../tests/support/folded_math.hpp"
#include "../tests/support/lambda_language.hpp"
#include "../tests/support/math_language.hpp"
#include <sinter/egraph.hpp>

namespace {

namespace eq = sinter::eqsat;

eq::limits steps(std::size_t iterations) {
  return {.nodes = 100'000'000, .iterations = iterations, .time = std::chrono::minutes(10)};
}

void show(benchmark::State& state, const eq::report& report, const char* anchor) {
  state.counters["nodes"] = static_cast<double>(report.nodes);
  state.counters["classes"] = static_cast<double>(report.classes);
  state.counters["search_ms"] = report.search_seconds * 1e3;
  state.counters["apply_ms"] = report.apply_seconds * 1e3;
  state.counters["rebuild_ms"] = report.rebuild_seconds * 1e3;
  state.SetLabel(anchor);
}

struct growth {
  std::size_t steps;
  std::size_t nodes;
  std::size_t classes;
  const char* anchor;
};

// egg, egglog and oatlog count the same e-nodes, egg the same classes.
void microbenchmark(benchmark::State& state, const growth& expected) {
  const auto rules = math::microbenchmark_rules();
  eq::report report;
  for (auto _ : state) {
    math::graph g;
    math::add_microbenchmark_seeds(g);
    report = eq::saturate(g, rules, steps(expected.steps));
  }
  if (report.nodes != expected.nodes || report.classes != expected.classes)
    state.SkipWithError("not the known numbers of e-nodes and classes");
  show(state, report, expected.anchor);
}
BENCHMARK_CAPTURE(microbenchmark, 0, growth{0, 35, 35, "egg 0.006 ms"})
    ->Name("egraph/math_microbenchmark/0")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(microbenchmark, 4, growth{4, 389, 197, "egg 0.40 ms, goal 0.06"})
    ->Name("egraph/math_microbenchmark/4")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(microbenchmark, 10, growth{10, 136'446, 58'464, "egg 225 ms, goal 45"})
    ->Name("egraph/math_microbenchmark/10")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(microbenchmark, 11, growth{11, 1'047'896, 443'832, "egg 2,266 ms, goal 250"})
    ->Name("egraph/math_microbenchmark/11")
    ->Unit(benchmark::kMillisecond);

// Bans are counted on new matches only and folded classes keep their terms, so the e-graph is
// larger than egg's (37,080 e-nodes).
void math_with_backoff(benchmark::State& state) {
  const auto rules = math::folded_rules();
  eq::report report;
  for (auto _ : state) {
    math::folded::graph g;
    math::add_microbenchmark_seeds(g);
    report = eq::saturate(g, rules, steps(30), eq::scheduler::backoff());
  }
  if (report.iterations != 30 || report.nodes < 37'080 || report.refused_unions != 0)
    state.SkipWithError("stopped early, or two numbers were found equal");
  show(state, report, "egg 402 ms, goal 50");
}
BENCHMARK(math_with_backoff)->Name("egraph/math_36_rules")->Unit(benchmark::kMillisecond);

// egg proves the goal after 59 iterations, with 32,636 e-nodes.
void function_repeat(benchmark::State& state) {
  const auto rules = lambda_calculus::rules();
  eq::report report;
  bool proved = false;
  for (auto _ : state) {
    lambda_calculus::graph g;
    const eq::class_id root = lambda_calculus::add_function_repeat(g);
    report = eq::saturate(g, rules, steps(static_cast<std::size_t>(state.range(0))),
                          eq::scheduler::backoff());
    proved = lambda_calculus::adds_two(g, root);
  }
  if (!proved) state.SkipWithError("the goal was not proved");
  show(state, report, "egg 1,003 ms, goal 120");
}
BENCHMARK(function_repeat)
    ->Name("egraph/lambda_function_repeat")
    ->Arg(lambda_calculus::function_repeat_iterations)
    ->Arg(50)  // twice as many e-nodes as egg has
    ->Unit(benchmark::kMillisecond);

}  // namespace
