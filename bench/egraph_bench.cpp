// SPDX-License-Identifier: MIT
// The e-graph engine on egglog's math-microbenchmark (24 rules, 7 seeds): e-nodes after n steps of
// the simple scheduler, seeds and e-graph set up anew each time. egg on a machine like the one the
// tables were made on: step 4 0.40 ms, step 10 225 ms, step 11 2.27 s.
#include <cstddef>

#include <benchmark/benchmark.h>

#include "../tests/support/math_language.hpp"
#include <sinter/egraph.hpp>

namespace {

void microbenchmark(benchmark::State& state) {
  const auto rules = math::microbenchmark_rules();
  const sinter::eqsat::limits limits{.nodes = 100'000'000,
                                     .iterations = static_cast<std::size_t>(state.range(0)),
                                     .time = std::chrono::minutes(10)};
  sinter::eqsat::report report;
  for (auto _ : state) {
    math::graph g;
    math::add_microbenchmark_seeds(g);
    report = sinter::eqsat::saturate(g, rules, limits);
  }
  state.counters["nodes"] = static_cast<double>(report.nodes);
  state.counters["search_ms"] = report.search_seconds * 1e3;
  state.counters["apply_ms"] = report.apply_seconds * 1e3;
  state.counters["rebuild_ms"] = report.rebuild_seconds * 1e3;
}
BENCHMARK(microbenchmark)
    ->Name("egraph/math_microbenchmark")
    ->Arg(0)
    ->Arg(4)
    ->Arg(10)
    ->Arg(11)
    ->Unit(benchmark::kMillisecond);

}  // namespace
