// SPDX-License-Identifier: MIT
// What recording proofs costs: egglog's math-microbenchmark without and with it, and explaining and
// checking 100 random equalities of the e-graph afterwards. A file of its own: GCC inlines less of
// the saturation where it sees the recording one too.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "../tests/support/math_language.hpp"
#include <sinter/egraph.hpp>

namespace {

namespace eq = sinter::eqsat;

eq::limits steps(benchmark::State& state) {
  return {.nodes = 100'000'000,
          .iterations = static_cast<std::size_t>(state.range(0)),
          .time = std::chrono::minutes(10)};
}

void saturate(benchmark::State& state, bool record) {
  const auto rules = math::microbenchmark_rules();
  std::size_t nodes = 0, terms = 0, equalities = 0;
  for (auto _ : state) {
    math::graph g;
    if (record) eq::record_proofs(g);
    math::add_microbenchmark_seeds(g);
    nodes = eq::saturate(g, rules, steps(state)).nodes;
    if (record) {
      terms = g.proofs()->terms().size();
      equalities = g.proofs()->equalities().size();
    }
  }
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["terms"] = static_cast<double>(terms);
  state.counters["equalities"] = static_cast<double>(equalities);
}
BENCHMARK_CAPTURE(saturate, off, false)
    ->Name("egraph/not_recorded")
    ->Arg(4)
    ->Arg(10)
    ->Arg(11)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(saturate, on, true)
    ->Name("egraph/recorded")
    ->Arg(4)
    ->Arg(10)
    ->Arg(11)
    ->Unit(benchmark::kMillisecond);

void explain_and_check(benchmark::State& state) {
  const auto rules = math::microbenchmark_rules();
  math::graph g;
  eq::record_proofs(g);
  math::add_microbenchmark_seeds(g);
  eq::saturate(g, rules, steps(state));
  std::mt19937 random(1);
  std::vector<std::pair<eq::class_id, eq::class_id>> pairs;
  while (pairs.size() < 100) {
    const auto a = static_cast<eq::class_id>(random() % g.class_id_end());
    if (g.find(a) != a) pairs.push_back({a, g.find(a)});
  }
  const auto texts = eq::texts_of(rules);
  eq::judges judges;
  judges.literal = [](const eq::term_list& terms, eq::term_id id, std::string_view text) {
    double value = 0;
    return terms[id].op == math::constant && math::language::parse_literal(text, value) &&
           static_cast<int>(terms[id].payload) == static_cast<int>(value);
  };
  std::size_t length = 0;
  for (auto _ : state) {
    length = 0;
    for (const auto& [a, b] : pairs) {
      const auto why = eq::explain(g, a, b);
      length += why.steps.size();
      const eq::asked_terms asked{why.terms, why.from, why.to};
      if (!eq::check_explanation<math::language>(why, asked, texts, judges))
        state.SkipWithError("an explanation was not accepted");
    }
  }
  state.counters["steps"] = static_cast<double>(length);
}
BENCHMARK(explain_and_check)
    ->Name("egraph/explain_and_check_100")
    ->Arg(8)
    ->Arg(10)
    ->Unit(benchmark::kMillisecond);

}  // namespace
