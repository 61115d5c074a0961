// SPDX-License-Identifier: MIT
// Every rule is right: the two sides of each case agree in the reference interpreter over random
// shapes and values, and after saturation with all rules every e-node of every class denotes the
// same tensor.
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "support/class_check.hpp"
#include "support/rule_cases_tensor.hpp"
#include <sinter/rules/saturate.hpp>

namespace rule_soundness_test {

using namespace sinter;

namespace {

// The interpreter computes in double and rounds only constants to f32, so exact rules agree bit by
// bit; the others to the rounding of a few constants (2^-24 each).
constexpr double tolerance(rules::rounding r) { return r == rules::rounding::exact ? 0 : 2e-6; }

struct saturated_case {
  explicit saturated_case(const test::rule_case& each, std::uint64_t seed,
                          const rules::saturate_options& options)
      : made(seed, each.type) {
    const ir::value x = made.arg({made.a, made.n}), y = made.arg({made.a, made.n});
    const test::sides sides = each.build(made, x, y);
    made.g.outputs = {{sides.left.id, -1}, {sides.right.id, -1}};
    rules::load(graph, made.g);
    report = rules::saturate(graph, options);
  }
  test::case_graph made;
  rules::tensor_egraph graph;
  rules::saturation_report report;
};

rules::rounding rounding_of(std::string_view name) {
  rules::rounding worst = rules::rounding::exact;
  for (const auto& rule : rules::all_rules())
    if (rule.name == name) worst = std::max(worst, rule.error);
  return worst;
}

rules::saturate_options only(std::string_view wanted) {
  rules::saturate_options out;
  for (std::string_view name : rules::rule_names())
    if (name != wanted) out.disabled.emplace_back(name);
  return out;
}

}  // namespace

TEST_CASE("each rule alone keeps every class one tensor") {
  for (const auto& each : test::all_cases()) {
    const rules::saturate_options options = only(each.rule);
    for (std::uint64_t seed = 10; seed < 16; ++seed) {
      saturated_case c(each, seed, options);
      const auto found = test::check_classes(c.graph, test::random_arguments(c.made.g, seed));
      INFO(std::string(each.rule) << " seed " << seed << ": " << found.text);
      CHECK(found.difference <= tolerance(rounding_of(each.rule)));
    }
  }
}

TEST_CASE("exact rules keep NaN and infinity") {
  for (const auto& each : test::all_cases()) {
    if (rounding_of(each.rule) != rules::rounding::exact) continue;
    const rules::saturate_options options = only(each.rule);
    for (std::uint64_t seed = 20; seed < 24; ++seed) {
      saturated_case c(each, seed, options);
      const auto found = test::check_classes(c.graph, test::random_arguments(c.made.g, seed, true));
      INFO(std::string(each.rule) << " seed " << seed << ": " << found.text);
      CHECK(found.difference == 0);
    }
  }
}

TEST_CASE("all rules together keep every class one tensor") {
  std::size_t compared = 0;
  for (const auto& each : test::all_cases()) {
    for (std::uint64_t seed = 30; seed < 33; ++seed) {
      saturated_case c(each, seed, {});
      CHECK(c.report.saturated());
      CHECK(c.report.refused_unions == 0);
      const auto found = test::check_classes(c.graph, test::random_arguments(c.made.g, seed));
      INFO(std::string(each.rule) << " seed " << seed << ": " << found.text);
      CHECK(found.difference <= 1e-5);
      compared += found.compared;
    }
  }
  CHECK(compared > 2000);
}

TEST_CASE("rules assume nothing about extents") {
  for (const auto& each : test::all_cases()) {
    saturated_case c(each, 40, {});
    INFO(std::string(each.rule));
    for (const ir::guard& g : c.graph.language().terms().guards)
      CHECK(g.holds != ir::guard::fact::equal);
  }
}

}  // namespace rule_soundness_test
