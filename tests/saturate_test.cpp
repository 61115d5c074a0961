// SPDX-License-Identifier: MIT
// The runner: exact growth on a published benchmark, limits, schedulers, conditions, computed
// sides, semi-naive search.
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/math_language.hpp"
#include "support/sums_language.hpp"
#include <sinter/egraph.hpp>

namespace saturate_test {

namespace eq = sinter::eqsat;
using sinter::test::sum_graph;
using sinter::test::sums;

namespace {

eq::limits steps(std::size_t iterations) {
  return {.nodes = 10'000'000, .iterations = iterations, .time = std::chrono::minutes(1)};
}

const std::vector<eq::rule<sums>> sum_rules{
    eq::rewrite<sums>("zero", "(+ ?a 0)", "?a"),
    eq::rewrite<sums>("one", "(* ?a 1)", "?a"),
    eq::rewrite<sums>("associate", "(+ ?a (+ ?b ?c))", "(+ (+ ?a ?b) ?c)"),
    eq::rewrite<sums>("factor", "(+ (* ?a ?b) (* ?a ?c))", "(* ?a (+ ?b ?c))"),
    eq::rewrite<sums>(
        "half of even", "(half ?a)",
        [](sum_graph& graph, const eq::match& m) -> std::optional<eq::class_id> {
          return graph.add(sums::number, static_cast<std::uint32_t>(*graph.data(m["?a"]) / 2), {});
        },
        [](const sum_graph& graph, const eq::match& m) {
          const auto value = graph.data(m["?a"]);
          return value && *value % 2 == 0;
        }),
};

eq::class_id name(sum_graph& g, std::uint32_t n) { return g.add(sums::name, n, {}); }
eq::class_id number(sum_graph& g, std::uint32_t n) { return g.add(sums::number, n, {}); }

}  // namespace

TEST_CASE("math-microbenchmark grows exactly as in egg, egglog and oatlog") {
  const std::size_t nodes[] = {35, 69, 118, 208, 389, 784, 1576, 3160, 8113, 28303, 136446};
  const std::size_t classes[] = {35, 50, 71, 116, 197, 361, 666, 1347, 3576, 12445, 58464};
  const auto rules = math::microbenchmark_rules();
  math::graph g;
  math::add_microbenchmark_seeds(g);
  eq::runner<math::language> one_by_one(g, rules);
  for (std::size_t step = 0; step <= 10; ++step) {
    CAPTURE(step);
    const eq::report report = one_by_one.run(steps(step == 0 ? 0 : 1));
    CHECK(report.stop_reason == eq::stop_reason::iteration_limit);
    CHECK(g.node_count() == nodes[step]);
    CHECK(g.class_count() == classes[step]);
  }
}

TEST_CASE("the seeds are distinct terms") {
  // egg finds 35 classes for 35 nodes: nothing is shared by accident.
  math::graph g;
  math::add_microbenchmark_seeds(g);
  CHECK(g.node_count() == 35);
  CHECK(g.class_count() == 35);
}

TEST_CASE("one run gives what single steps give, node for node") {
  const auto rules = math::microbenchmark_rules();
  math::graph a, b;
  math::add_microbenchmark_seeds(a);
  math::add_microbenchmark_seeds(b);
  eq::saturate(a, rules, steps(8));
  eq::saturate(b, rules, steps(8));
  CHECK(eq::to_text(a) == eq::to_text(b));
  // Without the semi-naive delta the matches come in another order, so ids differ, but not the
  // e-graph.
  math::graph c;
  math::add_microbenchmark_seeds(c);
  auto searched_fully = rules;
  for (auto& rule : searched_fully) rule = rule.searched_fully();
  const eq::report full = eq::saturate(c, searched_fully, steps(8));
  CHECK(full.nodes == a.node_count());
  CHECK(full.classes == a.class_count());
}

TEST_CASE("the node limit is never exceeded") {
  const auto rules = math::microbenchmark_rules();
  for (const std::size_t limit : {35u, 36u, 50u, 100u, 777u, 5000u}) {
    CAPTURE(limit);
    math::graph g;
    math::add_microbenchmark_seeds(g);
    const eq::report report = eq::saturate(g, rules, {.nodes = limit, .iterations = 100});
    CHECK(report.stop_reason == eq::stop_reason::node_limit);
    CHECK(report.nodes <= limit);
    CHECK(g.clean());
    // It can go on from there, and nothing that was cut off is lost.
    eq::saturate(g, rules, steps(20 > limit ? 1 : 2));
    CHECK(g.node_count() > limit);
  }
}

TEST_CASE("a limit of time stops a run") {
  const auto rules = math::microbenchmark_rules();
  math::graph g;
  math::add_microbenchmark_seeds(g);
  const eq::report report = eq::saturate(
      g, rules, {.nodes = 100'000'000, .iterations = 100, .time = std::chrono::milliseconds(20)});
  CHECK(report.stop_reason == eq::stop_reason::time_limit);
  CHECK(g.clean());
}

TEST_CASE("a run that was cut off reaches the same end as one that was not") {
  // x + y + z + u + v under associativity: the sums of all subsets, a finite e-graph.
  const auto build = [](sum_graph& g) {
    eq::class_id sum = name(g, 1);
    for (std::uint32_t i = 2; i <= 5; ++i) sum = g.add(sums::plus, 0, {sum, name(g, i)});
  };
  sum_graph whole;
  build(whole);
  const eq::report report = eq::saturate(whole, sum_rules);
  CHECK(report.stop_reason == eq::stop_reason::saturated);
  CHECK(report.classes == 31);  // non-empty subsets of five names
  CHECK(report.nodes ==
        5 + 10 * 1 + 10 * 3 + 5 * 7 + 15);  // names, and the unordered splits of each subset

  sum_graph parts;
  build(parts);
  eq::runner<sums> runner(parts, sum_rules);
  for (std::size_t limit = 12; limit < 95; limit += 3) {
    CHECK(runner.run({.nodes = limit}).nodes <= limit);
  }
  CHECK(runner.run().stop_reason == eq::stop_reason::saturated);
  CHECK(parts.node_count() == whole.node_count());
  CHECK(parts.class_count() == whole.class_count());
}

TEST_CASE("back-off reaches saturation and counts its bans") {
  sum_graph g;
  eq::class_id sum = name(g, 1);
  for (std::uint32_t i = 2; i <= 5; ++i) sum = g.add(sums::plus, 0, {sum, name(g, i)});
  const eq::report report =
      eq::saturate(g, sum_rules, {.iterations = 1000}, eq::scheduler::backoff(4, 2));
  CHECK(report.stop_reason == eq::stop_reason::saturated);
  CHECK(report.classes == 31);
  std::size_t bans = 0;
  for (const auto& rule : report.rules) bans += rule.bans;
  CHECK(bans > 0);
}

TEST_CASE("analysis folds constants, also ones that rewriting produces") {
  sum_graph g;
  const eq::class_id x = name(g, 1);
  const eq::class_id product = g.add(sums::times, 0, {x, number(g, 3)});
  const eq::class_id sum =
      g.add(sums::plus, 0, {product, g.add(sums::times, 0, {x, number(g, 4)})});
  const eq::class_id half =
      g.add(sums::half, 0, {g.add(sums::times, 0, {number(g, 2), number(g, 7)})});
  const eq::report report = eq::saturate(g, sum_rules);
  CHECK(report.stop_reason == eq::stop_reason::saturated);
  CHECK(g.find(half) == g.find(number(g, 7)));
  CHECK(g.find(sum) == g.lookup(sums::times, 0, {x, number(g, 7)}));
  CHECK(report.rules[3].name == "factor");
  CHECK(report.rules[3].applications >= 1);
  CHECK(report.to_text().find("factor: ") != std::string::npos);
}

TEST_CASE("semi-naive matching sees data that arrives late") {
  sum_graph g;
  const eq::class_id x = name(g, 1), y = name(g, 2);
  const eq::class_id half = g.add(sums::half, 0, {g.add(sums::times, 0, {x, number(g, 2)})});
  const eq::class_id sum = g.add(sums::plus, 0, {y, x});
  const std::vector<eq::rule<sums>> rules{sum_rules[0], sum_rules[4]};
  eq::runner<sums> runner(g, rules);
  CHECK(runner.run().stop_reason == eq::stop_reason::saturated);
  CHECK_FALSE(g.data(half).has_value());
  // x turns out to be 0: the condition on the product's value and the literal in (+ ?a 0) hold from
  // now on.
  g.unite(x, number(g, 0));
  CHECK(runner.run().stop_reason == eq::stop_reason::saturated);
  CHECK(g.data(half) == 0);
  CHECK(g.find(sum) == g.find(y));
}

TEST_CASE("unions of different constants are refused and counted, congruence included") {
  sum_graph g;
  const eq::class_id two = number(g, 2), three = number(g, 3);
  CHECK_FALSE(g.unite(two, three));
  CHECK(g.refused_unions() == 1);
  // half(x) = 2, half(y) = 3, then x = y: congruence would make 2 = 3.
  const eq::class_id x = name(g, 1), y = name(g, 2);
  const eq::class_id a = g.add(sums::half, 0, {x}), b = g.add(sums::half, 0, {y});
  g.unite(a, two);
  g.unite(b, three);
  g.rebuild();
  const std::size_t nodes = g.node_count();
  g.unite(x, y);
  g.rebuild();
  CHECK(g.find(a) != g.find(b));
  CHECK(g.refused_unions() == 2);
  CHECK(g.node_count() == nodes);
  CHECK(g.lookup(sums::half, 0, {x}).has_value());
  // Merging the child again must find the twin that is not in the table.
  g.unite(x, name(g, 3));
  g.rebuild();
  CHECK(g.data(a) == 2);
  CHECK(g.data(b) == 3);
  CHECK(g.node_count() == nodes + 1);
}

TEST_CASE("rules can be switched off and on by name") {
  sum_graph g;
  const eq::class_id x = name(g, 1);
  const eq::class_id sum = g.add(sums::plus, 0, {x, number(g, 0)});
  eq::runner<sums> runner(g, sum_rules);
  runner.disable("zero");
  const eq::report off = runner.run();
  CHECK(off.rules[0].disabled);
  CHECK(g.find(sum) != g.find(x));
  runner.enable("zero");
  runner.run();
  CHECK(g.find(sum) == g.find(x));
  CHECK_THROWS_AS(runner.disable("no such rule"), sinter::error);
}

TEST_CASE("a multi-pattern joins over a shared variable") {
  // half(x) and x + y in the e-graph: unite both with fresh names through right sides that share
  // variables.
  const std::vector<eq::rule<sums>> rules{eq::multi_rewrite<sums>(
      "pair", {{"(half ?x)", "(* ?x ?y)"}, {"(+ ?x ?y)", "(+ (half ?x) ?y)"}})};
  sum_graph g;
  const eq::class_id x = name(g, 1), y = name(g, 2), z = name(g, 3);
  const eq::class_id half = g.add(sums::half, 0, {x});
  const eq::class_id sum = g.add(sums::plus, 0, {y, x});
  const eq::class_id other = g.add(sums::plus, 0, {y, z});
  const eq::report report = eq::saturate(g, rules, {.iterations = 1});
  CHECK(report.rules[0].matches == 1);
  CHECK(g.lookup(sums::times, 0, {x, y}) == g.find(half));
  CHECK(g.lookup(sums::plus, 0, {half, y}) == g.find(sum));
  CHECK(g.find(other) != g.find(sum));
  // A second pair that arrives through the second pattern is found although the first pattern's
  // node is old.
  eq::runner<sums> runner(g, rules);
  runner.run({.iterations = 1});
  g.add(sums::plus, 0, {x, z});
  runner.run({.iterations = 1});
  CHECK(g.lookup(sums::times, 0, {x, z}) == g.find(half));
}

TEST_CASE("semi-naive and full search agree on random e-graphs") {
  int compared = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    sum_graph delta, full;
    auto full_rules = sum_rules;
    for (auto& rule : full_rules) rule = rule.searched_fully();
    const auto change = [&](sum_graph& g, std::mt19937& random) {
      std::vector<eq::class_id> made;
      for (std::uint32_t i = 0; i < 3; ++i) made.push_back(name(g, i + 1));
      for (std::uint32_t i = 0; i < 2; ++i) made.push_back(number(g, i));
      const auto any = [&] { return made[random() % made.size()]; };
      for (int i = 0; i < 6; ++i) {
        const auto op = static_cast<std::uint16_t>(random() % 3 == 0 ? sums::times : sums::plus);
        const eq::class_id a = any(), b = any();
        made.push_back(g.add(op, 0, {a, b}));
      }
      const eq::class_id a = any(), b = any();
      g.unite(a, b);
    };
    eq::runner<sums> delta_runner(delta, sum_rules);
    eq::runner<sums> full_runner(full, full_rules);
    std::mt19937 random_delta(seed), random_full(seed);
    for (int round = 0; round < 3; ++round) {
      change(delta, random_delta);
      change(full, random_full);
      const eq::limits limit{.nodes = 3000, .iterations = 12};
      const auto a = delta_runner.run(limit), b = full_runner.run(limit);
      // Unions that were refused depend on the order of the others, limits on the order of the
      // matches.
      if (a.stop_reason != eq::stop_reason::saturated ||
          b.stop_reason != eq::stop_reason::saturated)
        break;
      if (delta.refused_unions() + full.refused_unions() > 0) break;
      REQUIRE(a.nodes == b.nodes);
      REQUIRE(a.classes == b.classes);
      ++compared;
    }
  }
  CHECK(compared > 100);
}

}  // namespace saturate_test
