// SPDX-License-Identifier: MIT
// labels: seed-bugs
// One regression test per bug of the systems sinter grew from, as far as its subject exists here.
// The letters are those of the list of their bugs: M and B meganeura, R rune, Z and C zyx's search
// and plan cache, A5 its runtime.
#include <chrono>
#include <cmath>
#include <set>

#include <doctest/doctest.h>

#include "support/close.hpp"
#include "support/run_graph.hpp"
#include <sinter/autodiff/reverse.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/rules/saturate.hpp>
#include <sinter/sinter.hpp>

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
  const sn::planning::plan& plan = plan_of(p, {filled({8, 8})});
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
  CHECK(report.to_text().find("neg") != std::string::npos);
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

TEST_CASE("B4, R3, R9: the verifier rejects a graph whose types are not what inference says") {
  ir::graph g;
  const value x = f32_argument(g, 0, {4});
  const int in[] = {x.id};
  const int wrong = g.intern(op::exp, dtype::f64, x.shape(), in, {}, {});
  g.outputs.push_back({wrong, -1});
  CHECK_THROWS_AS(ir::verify(g), sn::graph_error);
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
  const sn::planning::plan& plan = plan_of(p, {filled({64, 64})});
  CHECK(plan.lower_bound_bytes >= 2 * 64 * 64 * sizeof(float));
  CHECK(plan.arena_bytes >= plan.lower_bound_bytes);
}

TEST_CASE("R6: axes past the third are not dropped") {
  ir::graph g;
  const value x = f32_argument(g, 0, {2, 3, 2, 3, 2}), y = f32_argument(g, 1, {3, 1, 3, 1});
  g.outputs.push_back({ir::sum(x * y, 0b01010, false).id, -1});
  check_against_interpreter(g, {filled({2, 3, 2, 3, 2}), filled({3, 1, 3, 1})});
}

TEST_CASE("Z1: every nest has a cost, and fusing is cheaper than not") {
  ir::graph g;
  const value x = f32_argument(g, 0, {512, 512});
  g.outputs.push_back({ir::unary(op::exp, ir::unary(op::tanh, x) * 2.0).id, -1});
  sn::program p(g, sinter::detail::all_code());
  const sn::planning::plan& plan = plan_of(p, {filled({512, 512})});
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

TEST_CASE("C1: the same nodes with other outputs are another plan") {
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
