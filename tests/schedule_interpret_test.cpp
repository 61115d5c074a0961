// SPDX-License-Identifier: MIT
// Random graphs at three levels: the graph's interpreter, the interpreter of its schedule, and the
// executor.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/close.hpp"
#include "support/named_nests.hpp"
#include "support/random_graph.hpp"
#include "support/run_graph.hpp"
#include "support/schedule_graph.hpp"
#include <sinter/graph/print.hpp>
#include <sinter/plan/interpret_schedule.hpp>
#include <sinter/plan/parse_schedule.hpp>

namespace schedule_interpret_test {

namespace {

using sinter::ir::reference_tensor;

// As fuzz_test judges the executor: relative to the output's size; in a few elements a comparison
// or a rounding may fall the other way.
std::string difference(const std::vector<reference_tensor>& got,
                       const std::vector<reference_tensor>& expected) {
  if (got.size() != expected.size()) return "number of outputs";
  for (std::size_t k = 0; k < got.size(); ++k) {
    // A schedule may know an output by another shape of as many elements.
    if (got[k].data.size() != expected[k].data.size() || got[k].type != expected[k].type)
      return "type of output " + std::to_string(k);
    double scale = 1;
    for (double e : expected[k].data)
      if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
    const bool floating = sinter::is_floating(got[k].type);
    const double tolerance = floating ? sinter::test::random_graph_tolerance : 0;
    std::size_t flipped = 0;
    for (std::size_t i = 0; i < got[k].data.size(); ++i) {
      const double a = got[k].data[i], b = expected[k].data[i];
      if (test_support::close(a, b, tolerance, tolerance * scale)) continue;
      const bool near = got[k].type == sinter::dtype::boolean ||
                        (floating && test_support::close(a, b, 0x1p-6, 0x1p-6 * scale));
      if (near && ++flipped * 20 <= got[k].data.size()) continue;
      return "output " + std::to_string(k) + ", element " + std::to_string(i) + ": " +
             std::to_string(a) + " instead of " + std::to_string(b);
    }
  }
  return "";
}

// All three levels; the schedule once more after it was written and read.
std::vector<sinter::planning::schedule> check_levels(const sinter::ir::graph& graph,
                                                     const std::vector<reference_tensor>& arguments,
                                                     const std::vector<bool>& frozen,
                                                     const sinter::program_code& code) {
  const auto expected = sinter::ir::interpret(graph, arguments);
  sinter::program p(graph, code);
  const auto executed = test_support::run(p, arguments, frozen);
  const auto schedules = test_support::schedules_of(p, arguments, frozen);
  std::string text;
  for (const auto& each : schedules) text += sinter::planning::to_text(each);
  CHECK(difference(executed, expected) == "");
  const std::string found = difference(test_support::interpret(schedules, arguments), expected);
  if (!found.empty()) FAIL_CHECK(found << "\n" << sinter::ir::to_text(graph) << text);
  CHECK(sinter::planning::parse_schedules(text, test_support::named_custom_ops) == schedules);
  return schedules;
}

void check(std::uint64_t seed, const sinter::program_code& code, bool all_dtypes) {
  CAPTURE(seed);
  CAPTURE(all_dtypes);
  sinter::test::random_graph_options options;
  options.steps = static_cast<int>(5 + seed % 25);
  options.extents = seed % 2 == 0 ? sinter::test::extent_kind::constant
                                  : sinter::test::extent_kind::traced_symbols;
  options.all_dtypes = all_dtypes;
  const sinter::test::random_graph sample = sinter::test::make_random_graph(seed, options);
  std::vector<bool> frozen;
  for (std::size_t a = 0; a < sample.arguments.size(); ++a)
    frozen.push_back(seed % 3 != 0 && (a + seed) % 2 == 0);
  check_levels(sample.graph, sample.arguments, frozen, code);
}

void find_kinds(const sinter::planning::schedule& s, std::set<sinter::planning::nest_kind>& found) {
  for (const sinter::planning::nest& n : s.plan.nests) found.insert(n.kind);
}

}  // namespace

TEST_CASE("graph, schedule and executor agree on random graphs") {
  const sinter::program_code code = sinter::detail::all_code();
  for (std::uint64_t seed = 1; seed <= 150; ++seed) check(seed, code, seed % 5 == 0);
}

TEST_CASE("graph, schedule and executor agree on every kind of nest") {
  const sinter::program_code code = sinter::detail::all_code();
  std::set<sinter::planning::nest_kind> found;
  std::set<sinter::planning::hint_kind> hints;
  bool threads = false, partials = false, computes_operands = false, second_product = false;
  for (const test_support::named_graph& each : test_support::named_graphs()) {
    CAPTURE(each.name);
    const sinter::ir::graph graph = test_support::graph_of(each);
    for (const auto& s :
         check_levels(graph, test_support::arguments_of(graph), each.frozen, code)) {
      find_kinds(s, found);
      for (const auto& n : s.plan.nests) {
        computes_operands = computes_operands || !n.prologues[1].empty();
        for (const auto& step : n.body)
          second_product = second_product ||
                           (step.kind == sinter::planning::step_kind::product && step.access >= 0);
      }
      for (const auto& item : s.items) {
        for (const auto& h : item.hints) hints.insert(h.kind);
        for (const auto& r : item.reductions) partials = partials || r.partials > 1;
        for (const auto& it : item.iterations)
          for (const auto& l : it.loops)
            threads = threads || l.levels[0].to == sinter::planning::mapped_to::threads;
      }
    }
  }
  for (std::size_t k = 0; k < sinter::planning::words_of<sinter::planning::nest_kind>.size(); ++k) {
    const auto kind = static_cast<sinter::planning::nest_kind>(k);
    CAPTURE(sinter::planning::word_of(kind));
    CHECK(found.contains(kind));
  }
  CHECK(threads);
  CHECK(partials);
  CHECK(computes_operands);
  CHECK(second_product);
  CHECK(hints.contains(sinter::planning::hint_kind::prefetch));
  CHECK(hints.contains(sinter::planning::hint_kind::pack));
  CHECK(hints.contains(sinter::planning::hint_kind::gather));
}

TEST_CASE("a lifetime that ends too early shows in the result") {
  const sinter::program_code code = sinter::detail::all_code();
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    sinter::test::random_graph_options options;
    options.steps = 20;
    const sinter::test::random_graph sample = sinter::test::make_random_graph(seed, options);
    sinter::program p(sample.graph, code);
    auto schedules = test_support::schedules_of(p, sample.arguments);
    for (sinter::planning::buffer& b : schedules.back().plan.buffers) b.offset = 0;
    const auto expected = sinter::ir::interpret(sample.graph, sample.arguments);
    try {
      wrong += difference(test_support::interpret(schedules, sample.arguments), expected).empty()
                   ? 0
                   : 1;
    } catch (const sinter::error&) {  // an index was overwritten
      ++wrong;
    }
  }
  CHECK(wrong > 5);
}

TEST_CASE("arguments that do not fit, and indices out of range") {
  const sinter::program_code code = sinter::detail::all_code();
  const auto& all = test_support::named_graphs();
  const auto graph = test_support::graph_of(all[1]);
  const auto arguments = test_support::arguments_of(graph);
  sinter::program p(graph, code);
  const auto schedules = test_support::schedules_of(p, arguments);
  CHECK_THROWS_AS(sinter::planning::interpret_schedule(schedules.back(), {}), sinter::graph_error);
  auto other = arguments;
  other[0] = sinter::ir::filled(sinter::dtype::f64, arguments[0].shape, 0);
  CHECK_THROWS_AS(sinter::planning::interpret_schedule(schedules.back(), other),
                  sinter::shape_error);
  const auto picks = sinter::ir::parse_graph(R"(%0 = argument {number: 0} : f32[3, 2]
%1 = argument {number: 1} : i64[4]
%2 = gather(%0, %1) {axis: 0} : f32[4, 2]
output: %2
)");
  std::vector<reference_tensor> values{sinter::ir::filled(sinter::dtype::f32, {3, 2}, 1),
                                       sinter::ir::filled(sinter::dtype::i64, {4}, 2)};
  sinter::program q(picks, code);
  const auto picked = test_support::schedules_of(q, values);
  CHECK(test_support::interpret(picked, values)[0].data == std::vector<double>(8, 1));
  values[1].data[2] = 3;
  CHECK_THROWS_AS(test_support::interpret(picked, values), sinter::index_error);
}

}  // namespace schedule_interpret_test
