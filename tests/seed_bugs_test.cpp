// SPDX-License-Identifier: MIT
// labels: seed-bugs
// One regression test per bug of the systems sinter grew from, as far as its subject exists here.
// The letters are those of the list of their bugs: M and B meganeura, R rune, Z and C zyx's search
// and plan cache, A5 its runtime.
// No subject yet: R4 critical path, R8 typed constants and ranges in a lowered form, R10 symbolic
// costs, Z3 custom kernels, Z10 several memory pools, C5 a cache behind a switch, A5 bitcast.
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <unistd.h>

#include <doctest/doctest.h>

#include "support/close.hpp"
#include "support/run_graph.hpp"
#include "support/sanitized.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/plan/memory.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/rules/saturate.hpp>
#include <sinter/sinter.hpp>

namespace seed_bugs_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using ir::dim;
using ir::op;
using ir::value;
using sn::dtype;
using test_support::reference_tensor;

namespace {

reference_tensor filled(std::initializer_list<std::int64_t> shape, double scale = 0.1) {
  reference_tensor out{dtype::f32, sn::shape_vector(shape), {}};
  out.data.resize(static_cast<std::size_t>(sn::element_count(out.shape)));
  for (std::size_t i = 0; i < out.data.size(); ++i)
    out.data[i] =
        static_cast<double>(static_cast<float>(scale * (static_cast<double>((i * 29) % 23) - 11)));
  return out;
}

void check_against_interpreter(const ir::graph& g, std::vector<reference_tensor> arguments,
                               sn::program_options options = {}) {
  const auto expected = ir::interpret(g, arguments);
  const auto got = test_support::run(g, arguments, std::move(options));
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    REQUIRE(got[k].shape == expected[k].shape);
    for (std::size_t i = 0; i < got[k].data.size(); ++i)
      CHECK(test_support::close(got[k].data[i], expected[k].data[i], 1e-4, 1e-5));
  }
}

value f32_argument(ir::graph& g, int number, std::initializer_list<std::int64_t> shape) {
  ir::symbolic_shape s;
  for (std::int64_t e : shape) s.push_back(dim(e));
  return ir::argument(g, dtype::f32, number, s);
}

const sn::planning::plan& plan_of(sn::program& p, const std::vector<reference_tensor>& arguments) {
  std::vector<sn::detail::argument_memory> memory;
  std::vector<sn::shape_vector> shapes;
  for (const reference_tensor& x : arguments) {
    memory.push_back({nullptr, x.shape, sn::row_major_strides(x.shape), 0});
    shapes.push_back(x.shape);
  }
  return p.prepare(memory, ir::symbol_values(p.traced(), shapes)).plan();
}

}  // namespace

TEST_CASE("M1: the plan that runs is the one extracted: a rule switched off changes it") {
  // (A B) v costs two products of matrices as written, and two with a vector once re-associated.
  ir::graph g;
  const value a = f32_argument(g, 0, {64, 64}), b = f32_argument(g, 1, {64, 64}),
              v = f32_argument(g, 2, {64, 1});
  g.outputs.push_back({ir::matmul(ir::matmul(a, b), v).id, -1});
  const std::vector<reference_tensor> arguments{filled({64, 64}), filled({64, 64}),
                                                filled({64, 1})};
  sn::program with(g, sinter::detail::all_code());
  sn::program without(g, sinter::detail::all_code(), {.disabled_rules = {"matmul-chain"}});
  const double fast = plan_of(with, arguments).cost, slow = plan_of(without, arguments).cost;
  CHECK(fast < 0.5 * slow);
  check_against_interpreter(g, arguments);
}

TEST_CASE(
    "M2, M6, B3, Z11: a deep residual chain of 2,000 nodes is planned in seconds, without "
    "recursion or exponential walks") {
  ir::graph g;
  value x = f32_argument(g, 0, {4, 8});
  for (int i = 0; i < 1000; ++i) x = x + ir::unary(op::tanh, x);
  g.outputs.push_back({x.id, -1});
  const auto start = std::chrono::steady_clock::now();
  const std::vector<reference_tensor> arguments{filled({4, 8}, 1e-3)};
  const auto got = test_support::run(g, arguments);
  CHECK(std::isfinite(got[0].data[0]));
  if (!test_support::sanitized)
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("M3: a decomposed SwiGLU is found although it takes two steps") {
  sn::rules::tensor_egraph e;
  ir::graph& g = e.language().terms();
  const value gate = f32_argument(g, 0, {4, 8}), up = f32_argument(g, 1, {4, 8});
  const value written = gate * (1.0 / (1.0 + ir::unary(op::exp, -gate))) * up;
  const value wanted = ir::unary(op::silu, gate) * up;
  const auto a = e.language().add(e, written), b = e.language().add(e, wanted);
  e.rebuild();
  sn::rules::saturate(e, {});
  CHECK(e.find(a) == e.find(b));
}

TEST_CASE("M4, B5: two rms norms with different eps stay apart, also in the plan cache") {
  ir::graph g;
  const value x = f32_argument(g, 0, {2, 8});
  const int a = ir::append(g, op::rms_norm, {x.id}, {2, ir::bits_of(1e-6)}),
            b = ir::append(g, op::rms_norm, {x.id}, {2, ir::bits_of(1.0)});
  CHECK(a != b);
  g.outputs = {{a, -1}, {b, -1}};
  check_against_interpreter(g, {filled({2, 8})});

  sn::tensor<float, 2> t{{1, 2, 3, 4}};
  const sn::tensor<float, 2> small = sn::rms_norm(t, 1e-6), large = sn::rms_norm(t, 100.0);
  CHECK(small(0, 0) > 2 * large(0, 0));
}

TEST_CASE(
    "M5, Z9: costs are DAG costs: what is shared is paid once, and 100 doublings do not overflow") {
  ir::graph g;
  value x = f32_argument(g, 0, {8, 8});
  for (int i = 0; i < 100; ++i) x = ir::matmul(x, x) * 0.1;
  g.outputs.push_back({x.id, -1});
  sn::program p(g, sinter::detail::all_code());
  const sn::planning::plan plan = plan_of(p, {filled({8, 8})});
  CHECK(plan.cost < 1e6);
  CHECK(plan.nests.size() <= 101);
}

TEST_CASE("M7: the report counts real matches, rule by rule") {
  sn::rules::tensor_egraph e;
  ir::graph& g = e.language().terms();
  const value x = f32_argument(g, 0, {4});
  e.language().add(e, -(-x));
  e.rebuild();
  const auto report = sn::rules::saturate(e, {});
  const sn::rules::rule_count* const twice = report.find("neg-neg");
  REQUIRE(twice != nullptr);
  CHECK(twice->applied == 1);
  CHECK(twice->matches >= 1);
  std::size_t applied = 0;
  for (const auto& each : report.rules) applied += each.applied;
  CHECK(applied == 1);  // no other rule has anything to do
  CHECK(report.to_text().find("rule neg-neg: applied 1 times") != std::string::npos);
}

TEST_CASE("M8: common subexpressions and constants are found") {
  ir::graph g;
  const value x = f32_argument(g, 0, {4});
  const int nodes = g.size();
  const value once = ir::unary(op::exp, x), twice = ir::unary(op::exp, x);
  CHECK(once.id == twice.id);
  CHECK(g.size() == nodes + 1);
  g.outputs.push_back(
      {(x * (ir::constant(g, dtype::f32, 2) + ir::constant(g, dtype::f32, 3))).id, -1});
  sn::program p(g, sinter::detail::all_code());
  for (const auto& n : plan_of(p, {filled({4})}).nests)
    for (const auto& s : n.body) CHECK(s.code != op::add);
  check_against_interpreter(g, {filled({4})});
}

TEST_CASE("B1: fusing counts uses, not users: mm + mm and silu * silu") {
  ir::graph g;
  const value a = f32_argument(g, 0, {5, 6}), b = f32_argument(g, 1, {6, 7});
  const value product = ir::matmul(a, b), s = ir::unary(op::silu, product);
  g.outputs.push_back({(product + product).id, -1});
  g.outputs.push_back({(s * s).id, -1});
  check_against_interpreter(g, {filled({5, 6}), filled({6, 7})});
}

TEST_CASE("B2: a product that is an output itself survives the fusion into its epilogue") {
  ir::graph g;
  const value a = f32_argument(g, 0, {5, 6}), b = f32_argument(g, 1, {6, 7}),
              bias = f32_argument(g, 2, {7});
  const value product = ir::matmul(a, b);
  g.outputs.push_back({product.id, -1});
  g.outputs.push_back({ir::unary(op::relu, product + bias).id, -1});
  check_against_interpreter(g, {filled({5, 6}), filled({6, 7}), filled({7})});
}

TEST_CASE("B4, R9: the verifier rejects a graph whose types are not what inference says") {
  ir::graph g;
  const value x = f32_argument(g, 0, {4});
  const int in[] = {x.id};
  const int wrong = g.intern(op::exp, dtype::f64, x.shape(), in, {}, {});
  g.outputs.push_back({wrong, -1});
  CHECK_THROWS_AS(ir::verify(g), sn::graph_error);
}

TEST_CASE("B4, R3: a node that reads itself, a later node, or one of a cycle is rejected") {
  const std::int64_t axes[] = {1};
  const auto with_flips_of = [&](std::initializer_list<int> operands) {
    ir::graph g;
    const value x = f32_argument(g, 0, {4});
    int last = x.id;
    for (int operand : operands)
      last = g.intern(op::flip, dtype::f32, x.shape(), std::span<const int>(&operand, 1), axes, {});
    g.outputs.push_back({last, -1});
    return g;
  };
  ir::verify(with_flips_of({0, 1, 2}));
  const auto rejected = [&](std::initializer_list<int> operands, const char* why) {
    const ir::graph g = with_flips_of(operands);
    CHECK_THROWS_WITH_AS(ir::verify(g), doctest::Contains(why), sn::graph_error);
    CHECK_THROWS_AS(sn::program(g, sinter::detail::all_code()), sn::graph_error);
  };
  rejected({1}, "node %1 (flip): input %1 does not come before it");
  rejected({2, 0}, "node %1 (flip): input %2 does not come before it");
  rejected({3, 1, 2}, "node %1 (flip): input %3 does not come before it");
  rejected({-1}, "node %1 (flip): input %-1 does not come before it");
}

TEST_CASE("B6: the gradient of a maximum goes to the largest element, not to all") {
  auto f = sn::fuse([](auto x) {
    auto m = sn::sum(sn::max(x, 1));
    auto [d] = sn::gradients(m, x);
    return d;
  });
  sn::tensor<float, 2> x{{1, 5, 2}, {7, 3, 4}};
  CHECK(f(x) == sn::tensor<float, 2>{{0, 1, 0}, {1, 0, 0}});
}

namespace {

// The largest of each 3x3 window of the padded operand, two apart, so that windows overlap.
constexpr auto pooled = [](auto x) {
  const auto around = sn::pad(x, {{1, 1}, {1, 1}}, -std::numeric_limits<double>::infinity());
  auto rows = sn::slice(around, 0, 0, 5, 2);
  for (int i : {1, 2}) rows = sn::maximum(rows, sn::slice(around, 0, i, i + 5, 2));
  auto out = sn::slice(rows, 1, 0, 7, 2);
  for (int j : {1, 2}) out = sn::maximum(out, sn::slice(rows, 1, j, j + 7, 2));
  return out;
};
constexpr auto pooled_loss = [](auto x) {
  const auto y = pooled(x);
  return sn::sum(y * (1.0 + 0.3 * sn::iota_like(y, 0) + 0.7 * sn::iota_like(y, 1)));
};

}  // namespace

TEST_CASE("B6: max pooling with overlapping windows and padding, against central differences") {
  auto forward = sn::fuse([](auto x) { return sn::outputs(pooled(x), pooled_loss(x)); });
  auto gradient = sn::fuse([](auto x) { return sn::gradients(pooled_loss(x), x)[0]; });
  // All different, negative ones too: zeros of the padding would win where -infinity does not.
  sn::tensor<double, sn::extents<5, 7>> x;
  for (std::int64_t i = 0; i < 35; ++i)
    x.data()[i] = 0.25 * static_cast<double>((i * 13) % 35) - 6.5;

  const auto result = forward(x);
  const auto& y = std::get<0>(result);
  REQUIRE(y.shape() == sn::shape_vector{3, 4});
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 4; ++c) {
      double largest = -std::numeric_limits<double>::infinity();
      for (std::int64_t i = 2 * r - 1; i < 2 * r + 2; ++i)
        for (std::int64_t j = 2 * c - 1; j < 2 * c + 2; ++j)
          if (i >= 0 && i < 5 && j >= 0 && j < 7) largest = std::max(largest, x(i, j));
      CHECK(y(r, c) == largest);
    }
  }

  const auto d = gradient(x);
  int untouched = 0, shared = 0;
  for (std::int64_t i = 0; i < 35; ++i) {
    const double kept = x.data()[i], h = 1e-3;  // piecewise linear: exact but for rounding
    x.data()[i] = kept + h;
    const double up = std::get<1>(forward(x)).item();
    x.data()[i] = kept - h;
    const double down = std::get<1>(forward(x)).item();
    x.data()[i] = kept;
    CHECK(d.data()[i] == doctest::Approx((up - down) / (2 * h)).epsilon(1e-8));
    untouched += d.data()[i] == 0 ? 1 : 0;
    shared += d.data()[i] > 1 + 0.3 * 2 + 0.7 * 3 ? 1 : 0;  // more than any one window gives
  }
  CHECK(untouched > 20);
  CHECK(shared > 0);
}

TEST_CASE("R1: lifetimes and fusion are computed, and both are in the report") {
  ir::graph g;
  const value x = f32_argument(g, 0, {64, 64});
  value chain = x;
  for (int i = 0; i < 6; ++i) chain = ir::matmul(ir::unary(op::tanh, chain * 0.5), x);
  g.outputs.push_back({chain.id, -1});
  sn::program p(g, sinter::detail::all_code(), {.disabled_rules = {"matmul-chain"}});
  const sn::planning::plan plan = plan_of(p, {filled({64, 64})});
  // Six scaled values, six tanh and five products between argument and output: 272 KiB if all of
  // them were stored and kept.
  constexpr std::size_t bytes = 64 * 64 * sizeof(float);
  CHECK(plan.lower_bound_bytes <= 2 * bytes);
  CHECK(plan.arena_bytes == plan.lower_bound_bytes);
  bool shared = false;
  for (std::size_t a = 0; a < plan.buffers.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      shared = shared || (plan.buffers[a].place == sn::planning::place::arena &&
                          plan.buffers[b].place == sn::planning::place::arena &&
                          plan.buffers[a].offset == plan.buffers[b].offset);
  CHECK(shared);
  CHECK(plan.nests.size() <= 7);  // all tanh but the first are epilogues

  std::vector<float> memory(64 * 64, 0.01f);
  const std::vector<sn::detail::argument_memory> arguments{
      {memory.data(), {64, 64}, {64, 1}, bytes}};
  auto call = p.prepare(arguments, {});
  const std::string text = p.explain(call, arguments, {});
  CHECK(text.find("memory: arena 32.0 KiB, lower bound 32.0 KiB") != std::string::npos);
  CHECK(text.find("nest " + std::to_string(plan.nests.size() - 1)) != std::string::npos);
  CHECK(text.find("predicted") != std::string::npos);
}

TEST_CASE(
    "R2: peak memory counts what is alive but not touched, and the plan is at least the lower "
    "bound") {
  ir::graph g;
  const value x = f32_argument(g, 0, {64, 64});
  const value early = ir::matmul(x, x);
  value chain = early;
  for (int i = 0; i < 3; ++i) chain = ir::matmul(chain, x);
  g.outputs.push_back({ir::matmul(chain, early).id, -1});
  sn::program p(g, sinter::detail::all_code(), {.disabled_rules = {"matmul-chain"}});
  const sn::planning::plan plan = plan_of(p, {filled({64, 64})});
  // While the second and the third link are computed three values are alive: early, which the last
  // product still needs, the link before and the link itself. The first link has no link before it,
  // and the result is no buffer of the arena.
  REQUIRE(plan.nests.size() == 5);
  CHECK(plan.lower_bound_bytes == 3 * 64 * 64 * sizeof(float));
  CHECK(plan.arena_bytes == plan.lower_bound_bytes);
}

TEST_CASE("R5, Z2: a plan whose buffers overlap, or whose values nobody computes, is rejected") {
  ir::graph g;
  const value x = f32_argument(g, 0, {64, 64});
  const value early = ir::matmul(x, x);
  g.outputs.push_back({ir::matmul(ir::matmul(early, x), early).id, -1});
  sn::program p(g, sinter::detail::all_code(), {.disabled_rules = {"matmul-chain"}});
  const sn::planning::plan plan = plan_of(p, {filled({64, 64})});
  sn::planning::verify_memory(plan);
  REQUIRE(plan.nests.size() == 3);
  const auto rejected = [&](const char* why, auto damage) {
    sn::planning::plan damaged = plan;
    damage(damaged);
    CHECK_THROWS_WITH_AS(sn::planning::verify_memory(damaged), doctest::Contains(why),
                         sn::graph_error);
  };
  const auto stored = [](sn::planning::plan& own, std::size_t nest) -> sn::planning::buffer& {
    return own.buffers[static_cast<std::size_t>(own.nests[nest].stores[0].buffer)];
  };
  rejected("which nobody holds", [](auto& own) { own.nests.erase(own.nests.begin()); });
  rejected("which nobody holds", [](auto& own) { own.nests.erase(own.nests.begin() + 1); });
  rejected("which nobody holds", [](auto& own) { std::swap(own.nests[0], own.nests[1]); });
  rejected("over its operand", [&](auto& own) { stored(own, 1).offset = stored(own, 0).offset; });
  rejected("is not aligned", [&](auto& own) { stored(own, 1).offset += 4; });
  rejected("leaves the arena", [](auto& own) { own.arena_bytes -= 64; });
}

TEST_CASE("R6: axes past the third are not dropped") {
  ir::graph g;
  const value x = f32_argument(g, 0, {2, 3, 2, 3, 2}), y = f32_argument(g, 1, {3, 1, 3, 1});
  g.outputs.push_back({ir::sum(x * y, 0b01010, false).id, -1});
  check_against_interpreter(g, {filled({2, 3, 2, 3, 2}), filled({3, 1, 3, 1})});
}

TEST_CASE("R7: a view's bytes count its strides, and contiguous is what lies row by row") {
  std::array<float, 64> memory{};
  const auto bytes = [&](std::initializer_list<std::int64_t> shape,
                         std::initializer_list<std::int64_t> strides) {
    const sn::view<float, 2> x(memory.data(), shape, strides);
    return sn::detail::memory_of(&x).bytes / sizeof(float);
  };
  CHECK(bytes({3, 4}, {4, 1}) == 12);
  CHECK(bytes({3, 4}, {16, 1}) == 36);  // two whole strides and one row
  CHECK(bytes({3, 4}, {1, 3}) == 12);
  CHECK(bytes({3, 4}, {0, 2}) == 7);
  CHECK(bytes({0, 4}, {16, 1}) == 0);
  CHECK(sn::view<float, 2>(memory.data(), {3, 4}, {4, 1}).is_contiguous());
  CHECK_FALSE(sn::view<float, 2>(memory.data(), {3, 4}, {1, 3}).is_contiguous());
  CHECK_FALSE(sn::view<float, 2>(memory.data(), {3, 4}, {16, 1}).is_contiguous());

  // What is behind a view's shape times its element size is still the view's: writing there is
  // refused while it is read.
  auto f = sn::fuse([](auto x) { return sn::exp(sn::flip(x)); });
  const sn::view<float, 2> rows(memory.data(), {3, 4}, {16, 1});
  sn::view<float, 2> behind(memory.data() + 24, {3, 4}), apart(memory.data() + 36, {3, 4});
  CHECK_THROWS_AS(f.into(behind)(rows), sn::alias_error);
  CHECK_NOTHROW(f.into(apart)(rows));
}

TEST_CASE("Z1: every nest has a cost, and fusing is cheaper than not") {
  ir::graph g;
  const value x = f32_argument(g, 0, {512, 512});
  g.outputs.push_back({ir::unary(op::exp, ir::unary(op::tanh, x) * 2.0).id, -1});
  sn::program p(g, sinter::detail::all_code());
  const sn::planning::plan plan = plan_of(p, {filled({512, 512})});
  REQUIRE(plan.nests.size() == 1);
  CHECK(plan.nests[0].predicted_nanoseconds > 0);
}

TEST_CASE("Z4: multiply-reduce is a product only if the reduced axis is the shared one") {
  ir::graph g;
  const value a = f32_argument(g, 0, {4, 5, 1}), b = f32_argument(g, 1, {1, 5, 6});
  const value all = a * b;
  g.outputs.push_back({ir::sum(all, 0b010, false).id, -1});  // a product
  g.outputs.push_back({ir::sum(all, 0b001, false).id, -1});  // none
  g.outputs.push_back({ir::sum(all, 0b100, false).id, -1});  // none
  check_against_interpreter(g, {filled({4, 5, 1}), filled({1, 5, 6})});
}

TEST_CASE(
    "Z5, Z8: shapes of unary, binary and cast results are theirs, and a reload has the shape of "
    "what was stored") {
  ir::graph g;
  const value x = f32_argument(g, 0, {3, 4});
  const value s = ir::sum(ir::cast(ir::cast(x, dtype::f64), dtype::f32), 2);
  g.outputs.push_back({s.id, -1});
  g.outputs.push_back({(ir::unary(op::exp, x) / s).id, -1});
  check_against_interpreter(g, {filled({3, 4})});
}

TEST_CASE("Z6, Z7: constants do not end a nest, and two arguments meet in one") {
  ir::graph g;
  const value x = f32_argument(g, 0, {64}), y = f32_argument(g, 1, {64});
  g.outputs.push_back({((x * 3.0 + y) * 0.5 - 1.0).id, -1});
  sn::program p(g, sinter::detail::all_code());
  CHECK(plan_of(p, {filled({64}), filled({64})}).nests.size() == 1);
  check_against_interpreter(g, {filled({64}), filled({64})});
}

TEST_CASE("Z12: x * 1 + 0 computes nothing, unless every bit counts") {
  ir::graph g;
  const value x = f32_argument(g, 0, {64});
  const value zero = ir::constant(g, dtype::f32, 0);
  g.outputs.push_back({(x * 1.0 + zero).id, -1});
  const auto computes = [&](sn::program& p) {
    int steps = 0;
    for (const auto& n : plan_of(p, {filled({64})}).nests)
      for (const auto& s : n.body) steps += s.kind == sn::planning::step_kind::map ? 1 : 0;
    return steps;
  };
  sn::program free(g, sinter::detail::all_code());
  CHECK(computes(free) == 0);
  CHECK(plan_of(free, {filled({64})}).nests.size() == 1);
  check_against_interpreter(g, {filled({64})});

  // -0 + 0 is +0: under exact rounding the addition stays, and the product goes.
  sn::program exact(g, sinter::detail::all_code(), {.reassociate = false, .disabled_rules = {}});
  CHECK(computes(exact) == 1);
  reference_tensor negative = filled({64});
  negative.data[7] = -0.0;
  const std::vector<reference_tensor> arguments{negative};
  CHECK_FALSE(std::signbit(test_support::run(exact, arguments)[0].data[7]));
}

TEST_CASE("C1: one graph with other outputs is another plan") {
  ir::graph g;
  const value x = f32_argument(g, 0, {8});
  const value e = ir::unary(op::exp, x), s = ir::sum(e, 1);
  const std::vector<std::vector<ir::output>> requests{
      {{e.id, -1}, {s.id, -1}}, {{s.id, -1}, {e.id, -1}}, {{s.id, -1}}, {{e.id, 0}}};
  for (const auto& outputs : requests) {
    g.outputs = outputs;
    check_against_interpreter(g, {filled({8})});
  }
  // Side by side, so that one cannot take what the other kept.
  g.outputs = requests[0];
  sn::program one(g, sinter::detail::all_code());
  g.outputs = requests[1];
  sn::program other(g, sinter::detail::all_code());
  const std::vector<reference_tensor> arguments{filled({8})};
  for (int round = 0; round < 2; ++round) {
    const auto a = test_support::run(one, arguments), b = test_support::run(other, arguments);
    CHECK(a[0].shape == sn::shape_vector{8});
    CHECK(a[0] == b[1]);
    CHECK(a[1] == b[0]);
  }
}

TEST_CASE("C1: the same for two fused functions") {
  sn::tensor<float, 1> x{1, 2};
  auto one = sn::fuse([](auto a) {
    auto e = a + 1.0f;
    return sn::outputs(e, e * 2.0f);
  });
  auto other = sn::fuse([](auto a) {
    auto e = a + 1.0f;
    return sn::outputs(e * 2.0f, e);
  });
  CHECK(std::get<0>(one(x)) == std::get<1>(other(x)));
  CHECK(std::get<1>(one(x)) == std::get<0>(other(x)));
}

TEST_CASE("C2, C3: a changing scalar recompiles nothing, and a changing extent keeps the e-graph") {
  auto f = sn::fuse([](auto x, auto rate) { return x - rate * x; });
  for (int i = 1; i < 50; ++i) {
    sn::tensor<float, 1> x(i + 1);
    f(x, static_cast<float>(i));
  }
  CHECK(f.statistics().saturations == 1);
  CHECK(f.statistics().extractions <= 6);
}

TEST_CASE("C4: the plan cache is bounded, and what it forgot is made again") {
  auto f = sn::fuse([](auto x, auto y) { return sn::outputs(x * 2.0f, y + 1.0f); });
  const auto call = [&](int a, int b) {
    const sn::tensor<float, 1> x(std::int64_t{1} << a), y(std::int64_t{1} << b);
    f(x, y);
    return f.statistics().extractions;
  };
  constexpr int edge = 11;  // 11 x 11 buckets: more than are kept of a class
  std::size_t planned = 0;
  for (int a = 1; a <= edge; ++a)
    for (int b = 1; b <= edge; ++b) planned = call(a, b);
  REQUIRE(planned == edge * edge);
  CHECK(call(edge, edge) == planned);  // the last one is there
  CHECK(call(1, 1) == planned + 1);    // the first one is not
  CHECK(call(1, 1) == planned + 1);
  CHECK(f.statistics().saturations == 1);
}

TEST_CASE("A5: a file with fewer elements than its header says is refused") {
  const char* const folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/sinter_seed_bugs_" +
                           std::to_string(getpid()) + ".npy";
  const sn::tensor<float, 2> x{{1, 2, 3}, {4, 5, 6}};
  sn::save_npy(path, x);
  CHECK(sn::load_npy<float, 2>(path) == x);
  const std::uintmax_t whole = std::filesystem::file_size(path);
  for (const std::uintmax_t missing : {1u, 4u, 12u, 24u}) {
    std::filesystem::resize_file(path, whole - missing);
    CHECK_THROWS_AS((sn::load_npy<float, 2>(path)), sn::io_error);
  }
  std::filesystem::remove(path);
}

TEST_CASE("A5: padding below zero is a shape error, however large the tensor") {
  const sn::tensor<float, 1> x{1, 2, 3};
  using line = sn::tensor<float, 1>;
  CHECK_THROWS_AS(line(sn::pad(x, {{-9, 0}})), sn::shape_error);
  CHECK_THROWS_AS(line(sn::pad(x, {{0, -1}})), sn::shape_error);
  CHECK_THROWS_AS(line(sn::pad(x, {{5, -3}})), sn::shape_error);
  CHECK(line(sn::pad(x, {{1, 0}})) == line{0, 1, 2, 3});
}

TEST_CASE("A5: more than 32 constants; reshapes and broadcasts are checked in every build type") {
  ir::graph g;
  value x = f32_argument(g, 0, {4});
  for (int i = 0; i < 40; ++i) x = ir::unary(op::tanh, x * (1.0 + i * 0.01) + (0.5 - i * 0.01));
  g.outputs.push_back({x.id, -1});
  check_against_interpreter(g, {filled({4})});

  ir::graph wrong;
  const value y = f32_argument(wrong, 0, {4});
  CHECK_THROWS_AS(ir::reshape(y, {dim(3)}), sn::shape_error);
  CHECK_THROWS_AS(ir::broadcast_to(y, {dim(5)}), sn::shape_error);
}

}  // namespace seed_bugs_test
