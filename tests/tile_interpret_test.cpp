// SPDX-License-Identifier: MIT
// The three ways to compute a graph agree: the reference interpreter, the interpreter of the lowest
// level on what was bound, and the executor. Where every op is exact the last two agree bit by bit.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/close.hpp"
#include "support/lowered_cases.hpp"
#include "support/lowered_graph.hpp"
#include "support/random_graph.hpp"
#include <sinter/exec/lowered_text.hpp>
#include <sinter/exec/verify_lowered.hpp>
#include <sinter/graph/print.hpp>

namespace tile_interpret_test {

namespace {

using sinter::dtype;
using sinter::exec::lowered_plan;
using sinter::exec::tile_program;
using sinter::ir::op;
using sinter::ir::reference_tensor;

// Kernels and the C library round these alike: to the nearest.
bool is_exact(op code) {
  switch (code) {
    case op::rsqrt:
    case op::exp:
    case op::exp2:
    case op::log:
    case op::log2:
    case op::sin:
    case op::cos:
    case op::tanh:
    case op::erf:
    case op::sigmoid:
    case op::gelu:
    case op::gelu_tanh:
    case op::silu:
    case op::softplus:
    case op::pow:
    case op::custom_map: return false;
    default: return true;
  }
}

bool is_exact(const tile_program& p) {
  for (const sinter::exec::command& c : p.commands) {
    if (c.kind == sinter::exec::command_kind::reduce_pair &&
        p.reductions[static_cast<std::size_t>(c.reduction)].monoid == sinter::exec::monoid::max)
      return false;  // exponentials
    if (c.function == nullptr) continue;
    if (c.fused == nullptr && !is_exact(c.code)) return false;
    for (int i = 0; c.fused != nullptr && i < c.fused->structure.node_count; ++i)
      if (!is_exact(c.fused->structure.code(i))) return false;
  }
  return true;
}

bool is_exact(const lowered_plan& plan) {
  using namespace sinter::exec;
  return std::ranges::all_of(plan.nests, [](const lowered_nest& n) {
    if (const auto* tiles = std::get_if<lowered_tiles>(&n)) return is_exact(tiles->program);
    if (const auto* columns = std::get_if<lowered_columns>(&n))
      return is_exact(columns->map) && is_exact(columns->rest);
    if (const auto* products = std::get_if<lowered_products>(&n))
      return sinter::is_integral(products->type) &&
             std::ranges::all_of(products->parts,
                                 [](const lowered_part& p) { return is_exact(p.rest); });
    if (const auto* assembly = std::get_if<lowered_assembly>(&n))
      return std::ranges::all_of(assembly->pieces,
                                 [](const lowered_tiles& p) { return is_exact(p.program); });
    if (const auto* custom = std::get_if<lowered_custom>(&n)) return custom->kernel == nullptr;
    return !std::holds_alternative<lowered_streamed>(n);
  });
}

void compare(const reference_tensor& got, const reference_tensor& expected, double tolerance,
             const std::string& what) {
  REQUIRE(got.shape == expected.shape);
  double scale = 1;
  for (double e : expected.data)
    if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
  if (!sinter::is_floating(got.type)) tolerance = 0;
  // A comparison of two values that differ by rounding alone may fall either way.
  std::size_t flipped = 0;
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    if (test_support::close(got.data[i], expected.data[i], tolerance, tolerance * scale)) continue;
    if (got.type == dtype::boolean && ++flipped * 20 <= got.data.size()) continue;
    FAIL(what << ", element " << i << ": " << got.data[i] << " instead of " << expected.data[i]);
  }
}

int exact_plans = 0;

void check(std::uint64_t seed, const sinter::program_code& code, bool frozen) {
  CAPTURE(seed);
  CAPTURE(frozen);
  constexpr sinter::test::extent_kind kinds[] = {sinter::test::extent_kind::constant,
                                                 sinter::test::extent_kind::traced_symbols};
  const sinter::test::random_graph sample = sinter::test::make_random_graph(
      seed, {.steps = static_cast<int>(5 + seed % 25), .extents = kinds[seed % 2]});
  std::vector<bool> is_frozen(sample.arguments.size(), frozen);
  sinter::program p(sample.graph, code);
  test_support::lowered_graph low = test_support::lower(p, sample.arguments, is_frozen);
  CAPTURE(low.text);
  for (const lowered_plan& plan : low.plans) sinter::exec::verify_lowered(plan, &p.code().kernels);
  const auto expected = sinter::ir::interpret(sample.graph, sample.arguments);
  const std::vector<test_support::raw_tensor> got = test_support::interpret(low, low.plans);
  REQUIRE(got.size() == expected.size());
  const bool exact =
      std::ranges::all_of(low.plans, [](const lowered_plan& q) { return is_exact(q); });
  exact_plans += exact;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const dtype type = expected[k].type;
    const reference_tensor interpreted = got[k].to(type), run = low.out[k].to(type);
    compare(interpreted, run, exact ? 0 : sinter::test::random_graph_tolerance, "executor");
    compare(interpreted, expected[k], sinter::test::random_graph_tolerance, "graph");
  }
}

}  // namespace

TEST_CASE("random graphs: graph interpreter, lowered interpreter and executor agree") {
  const sinter::program_code code = sinter::detail::all_code();
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    check(seed, code, false);
    if (seed % 3 == 0) check(seed, code, true);
  }
  CHECK(exact_plans > 40);  // of 200
}

TEST_CASE("operands of custom ops that do not lie side by side are copied") {
  const sinter::program_code code = sinter::detail::all_code();
  const test_support::lowered_case c = test_support::make_case(
      "whole arrays and rows",
      [](auto x, auto order) {
        return sinter::outputs(sinter::custom<test_support::reordered>(x, order),
                               sinter::custom<test_support::running_sum>(x, 0));
      },
      test_support::noise({7, 9}), test_support::noise(dtype::i64, {7}, 2));
  for (const bool apart : {false, true}) {
    CAPTURE(apart);
    sinter::program p(c.graph, code);
    test_support::lowered_graph low = test_support::lower(p, c.arguments, {}, apart);
    CAPTURE(low.text);
    const lowered_plan& plan = low.plans.back();
    sinter::exec::verify_lowered(plan, &p.code().kernels);
    CHECK(sinter::exec::parse_lowered(low.text, test_support::kernels_of(p)) == plan);
    lowered_plan broken = plan;
    int copied = 0;
    for (auto& nest : broken.nests)
      if (auto* custom = std::get_if<sinter::exec::lowered_custom>(&nest); custom != nullptr)
        for (auto& operand : custom->operands) {
          copied += operand.copied;
          operand.copy_offset = 0;
        }
    CHECK(copied == (apart ? 3 : 0));
    if (apart)
      CHECK_THROWS_WITH_AS(sinter::exec::verify_lowered(broken),
                           doctest::Contains("operand 1: copied over operand 0"),
                           sinter::graph_error);
    const auto expected = sinter::ir::interpret(c.graph, c.arguments);
    const std::vector<test_support::raw_tensor> got = test_support::interpret(low, low.plans);
    for (std::size_t k = 0; k < got.size(); ++k) {
      compare(got[k].to(dtype::f32), low.out[k].to(dtype::f32), 1e-6, "executor");
      compare(got[k].to(dtype::f32), expected[k], 1e-6, "graph");
    }
  }
}

TEST_CASE("every kind of nest: graph interpreter, lowered interpreter and executor agree") {
  const sinter::program_code code = sinter::detail::all_code();
  std::vector<int> kinds(std::variant_size_v<sinter::exec::lowered_nest>, 0);
  for (const test_support::lowered_case& c : test_support::lowered_cases()) {
    CAPTURE(c.name);
    std::vector<bool> frozen(c.arguments.size(), c.frozen);
    frozen.front() = false;
    sinter::program p(c.graph, code);
    test_support::lowered_graph low = test_support::lower(p, c.arguments, frozen);
    CAPTURE(low.text);
    for (const lowered_plan& plan : low.plans) {
      sinter::exec::verify_lowered(plan, &p.code().kernels);
      for (const auto& nest : plan.nests) ++kinds[nest.index()];
    }
    const auto expected = sinter::ir::interpret(c.graph, c.arguments);
    const std::vector<test_support::raw_tensor> got = test_support::interpret(low, low.plans);
    const bool exact =
        std::ranges::all_of(low.plans, [](const lowered_plan& q) { return is_exact(q); });
    for (std::size_t k = 0; k < got.size(); ++k) {
      const dtype type = expected[k].type;
      compare(got[k].to(type), low.out[k].to(type), exact ? 0 : c.tolerance, "executor");
      compare(got[k].to(type), expected[k], 1e-4, "graph");
    }
  }
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    CAPTURE(sinter::exec::detail::nest_names[i]);
    CHECK(kinds[i] > 0);
  }
}

}  // namespace tile_interpret_test
