// SPDX-License-Identifier: MIT
// Every rule fires: with it alone two values meet that do not meet without it.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "support/rule_cases_tensor.hpp"
#include <sinter/rules/saturate.hpp>
#include <sinter/sinter.hpp>

namespace rules_test {

using namespace sinter;

namespace {

struct outcome {
  bool meet = false;
  std::size_t applied = 0;
};

// Saturates the case's graph with the rules that `options` leaves.
outcome run(const test::rule_case& each, std::uint64_t seed,
            const rules::saturate_options& options) {
  test::case_graph c(seed, each.type);
  const ir::value x = c.arg({c.a, c.n}), y = c.arg({c.a, c.n});
  const test::sides sides = each.build(c, x, y);
  REQUIRE(sides.left.get().shape == sides.right.get().shape);
  c.g.outputs = {{sides.left.id, -1}, {sides.right.id, -1}};
  rules::tensor_egraph graph;
  const auto roots = rules::load(graph, c.g);
  const auto report = rules::saturate(graph, options);
  const rules::rule_count* count = report.find(each.rule);
  CHECK(report.saturated());
  return {graph.find(roots[0]) == graph.find(roots[1]), count == nullptr ? 0 : count->applied};
}

}  // namespace

TEST_CASE("every rule has a case") {
  std::set<std::string_view> covered;
  for (const auto& each : test::all_cases()) covered.insert(each.rule);
  for (std::string_view name : rules::rule_names())
    CHECK_MESSAGE(covered.count(name) == 1, std::string(name));
  for (std::string_view name : covered)
    CHECK_MESSAGE(std::ranges::count(rules::rule_names(), name) == 1, std::string(name));
}

TEST_CASE("each rule alone makes its two sides meet, and nothing does without rules") {
  const auto names = rules::rule_names();
  for (const auto& each : test::all_cases()) {
    INFO(std::string(each.rule));
    rules::saturate_options alone, none;
    for (std::string_view name : names) {
      none.disabled.emplace_back(name);
      if (name != each.rule) alone.disabled.emplace_back(name);
    }
    for (std::uint64_t seed : {1u, 2u, 3u}) {
      const outcome with = run(each, seed, alone), without = run(each, seed, none);
      CHECK(with.meet);
      CHECK(with.applied > 0);
      CHECK_FALSE(without.meet);
      CHECK(without.applied == 0);
    }
  }
}

TEST_CASE("a rule that is switched off is not counted") {
  for (const auto& each : test::all_cases()) {
    rules::saturate_options options;
    options.disabled = {std::string(each.rule)};
    CHECK(run(each, 4, options).applied == 0);
  }
}

namespace {

// Arguments that the op accepts, and their dtype.
std::vector<ir::value> operands_of(ir::op code, test::case_graph& c,
                                   std::initializer_list<ir::symbolic_shape> shapes) {
  const ir::accepts what = ir::info(code).accepts;
  const dtype type = what == ir::accepts::integral || what == ir::accepts::integral_or_bool
                         ? dtype::i32
                     : what == ir::accepts::boolean ? dtype::boolean
                                                    : dtype::f32;
  std::vector<ir::value> out;
  for (const auto& shape : shapes) {
    if (static_cast<int>(out.size()) == ir::info(code).arity) break;
    out.push_back(c.arg(code == ir::op::where && out.empty() ? dtype::boolean : type, shape));
  }
  return out;
}

ir::value applied(ir::op code, const std::vector<ir::value>& in) {
  ir::graph& g = *in[0].owner;
  std::vector<int> ids;
  for (ir::value v : in) ids.push_back(v.id);
  std::vector<std::int64_t> attributes;
  if (code == ir::op::cast) attributes.push_back(static_cast<std::int64_t>(dtype::f64));
  if (code == ir::op::bitcast) attributes.push_back(static_cast<std::int64_t>(dtype::u32));
  return {&g, ir::append(g, code, ids, attributes)};
}

std::size_t times_applied(const ir::graph& g, std::string_view rule) {
  rules::tensor_egraph graph;
  rules::load(graph, g);
  rules::saturate_options alone;
  for (std::string_view name : rules::rule_names())
    if (name != rule) alone.disabled.emplace_back(name);
  return rules::saturate(graph, alone).find(rule)->applied;
}

}  // namespace

TEST_CASE("movement changes places with every element-wise op") {
  using namespace test::write;
  for (const ir::op_info& row : ir::op_table) {
    if (!ir::is_elementwise(row.code) || row.code == ir::op::stop_gradient ||
        ir::is_custom(row.code))
      continue;
    INFO(std::string(row.name));
    const auto moved = [&](std::string_view rule, auto move) {
      test::case_graph c(7);
      const ir::value v =
          move(applied(row.code, operands_of(row.code, c, {{c.a, c.n}, {c.a, c.n}, {c.a, c.n}})));
      c.g.outputs = {{v.id, -1}};
      CHECK(times_applied(c.g, rule) == 1);
    };
    moved("sink-permute", [](ir::value x) { return transpose(x); });
    moved("sink-slice", [](ir::value x) { return slice(x, {0, 1}, {x.extent(0), x.extent(1)}); });
    moved("sink-flip", [](ir::value x) { return ir::flip(x, 1); });
    if (row.arity > 2) continue;
    const auto hoisted = [&](std::string_view rule, auto move) {
      test::case_graph c(8);
      std::vector<ir::value> in = operands_of(row.code, c, {{1, c.n}, {1, c.n}});
      for (ir::value& v : in) v = move(v, c);
      c.g.outputs = {{applied(row.code, in).id, -1}};
      CHECK(times_applied(c.g, rule) > 0);
    };
    hoisted("hoist-broadcast", [](ir::value x, test::case_graph& c) {
      return broadcast_to(x, {c.a, c.n});
    });
    hoisted("hoist-reshape", [](ir::value x, test::case_graph& c) { return reshape(x, {c.n, 1}); });
    if (row.arity == 1) continue;
    test::case_graph c(9);
    std::vector<ir::value> in = operands_of(row.code, c, {{c.a, c.n}, {}});
    in[1] = broadcast_to(in[1], {c.a, c.n});
    c.g.outputs = {{applied(row.code, in).id, -1}};
    CHECK(times_applied(c.g, "scalar-operand") == 1);
  }
}

TEST_CASE("the exact policy admits exact rules alone, and what ops without a kernel are made of") {
  rules::saturate_options exact;
  exact.reassociate = false;
  for (const auto& rule : rules::all_rules())
    CHECK(exact.policy().admits(rule) == (rule.error != rules::rounding::reassociates));
  for (const auto& rule : rules::all_rules())
    if (rule.error == rules::rounding::defines) CHECK(rule.phase == rules::phase::expand);
}

TEST_CASE("composites run where sums are to stay as written") {
  sinter::tensor<float, 2> x(3, 20);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 7) - 3;
  sinter::tensor<std::int64_t, 1> label(3);
  for (std::int64_t& each : label) each = 4;
  const sinter::program_options exact{.reassociate = false};
  const auto check = [&](auto f, const auto&... in) {
    const auto written = sinter::fuse(f, exact)(in...), free = sinter::fuse(f)(in...);
    REQUIRE(written.size() == free.size());
    for (std::int64_t i = 0; i < written.size(); ++i)
      CHECK(written.data()[i] == doctest::Approx(free.data()[i]).epsilon(1e-5));
  };
  check([](auto a) { return sinter::softmax(a, -1); }, x);
  check([](auto a) { return sinter::log_softmax(a, -1); }, x);
  check([](auto a) { return sinter::layer_norm(a); }, x);
  check([](auto a) { return sinter::rms_norm(a); }, x);
  check([](auto a, auto l) { return sinter::cross_entropy(a, l); }, x, label);
  check([](auto a) { return sinter::silu(a) + sinter::gelu(a) + sinter::softplus(a); }, x);
}

}  // namespace rules_test
