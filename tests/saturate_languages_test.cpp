// SPDX-License-Identifier: MIT
// The languages of egg's test suite that the benchmarks use: what their rules prove and what not.
#include <cstddef>

#include <doctest/doctest.h>

#include "support/folded_math.hpp"
#include "support/lambda_language.hpp"
#include "support/math_language.hpp"
#include <sinter/egraph.hpp>

namespace saturate_languages_test {

namespace eq = sinter::eqsat;

TEST_CASE("36 rules of mathematics with folded constants") {
  const auto rules = math::folded_rules();
  CHECK(rules.size() == 24 + 10 + 2 * math::folded::operators.size());
  using math::number;
  // d/dx (1 + 2x) = 2 and (2 - 1)a = a
  math::folded::graph g;
  const eq::class_id x = g.add(math::variable, 'x', {}), a = g.add(math::variable, 'a', {});
  const eq::class_id product = g.add(math::mul, 0, {number(g, 2), x});
  const eq::class_id line = g.add(math::add, 0, {number(g, 1), product});
  const eq::class_id slope = g.add(math::diff, 0, {x, line});
  const eq::class_id one = g.add(math::sub, 0, {number(g, 2), number(g, 1)});
  const eq::class_id same = g.add(math::mul, 0, {one, a});
  const eq::report report = eq::saturate(g, rules, {.iterations = 10}, eq::scheduler::backoff());
  CHECK(g.find(slope) == g.find(number(g, 2)));
  CHECK(g.find(same) == g.find(a));
  CHECK(g.find(x) != g.find(a));
  CHECK(report.refused_unions == 0);
}

TEST_CASE("a recursive program of the lambda calculus, with back-off") {
  for (const bool enough : {false, true}) {
    lambda_calculus::graph g;
    const eq::class_id root = lambda_calculus::add_function_repeat(g);
    const std::size_t iterations = lambda_calculus::function_repeat_iterations;
    eq::saturate(g, lambda_calculus::rules(), {.iterations = enough ? iterations : iterations - 1},
                 eq::scheduler::backoff());
    CHECK(lambda_calculus::adds_two(g, root) == enough);
  }
}

TEST_CASE("substitution does not capture") {
  using namespace lambda_calculus;
  // (let y (var x) (lam x (var y))) is a constant function, not the identity.
  graph g;
  const eq::class_id x = g.add(name, 1, {}), y = g.add(name, 2, {});
  const eq::class_id free_x = g.add(var, 0, {x});
  const eq::class_id function = g.add(lam, 0, {x, g.add(var, 0, {y})});
  const eq::class_id substituted = g.add(let, 0, {y, free_x, function});
  eq::saturate(g, rules(), {.iterations = 20}, eq::scheduler::backoff());
  const auto identity = g.lookup(lam, 0, {x, free_x});
  CHECK((!identity || g.find(*identity) != g.find(substituted)));
  CHECK(g.data(substituted).free == language::names{1});
}

}  // namespace saturate_languages_test
