// SPDX-License-Identifier: MIT
// run: serial
// Whole graphs: they saturate, stay right, and find what they should.
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "../bench/transformer_graph.hpp"
#include "support/class_check.hpp"
#include "support/random_expression.hpp"
#include "support/random_graph.hpp"
#include <sinter/rules/saturate.hpp>

namespace saturate_tensor_test {

using namespace sinter;
using ir::dim;
using ir::op;
using ir::value;

namespace {

struct saturated {
  explicit saturated(const ir::graph& g, const rules::saturate_options& options = {})
      : roots(rules::load(graph, g)) {
    report = rules::saturate(graph, options);
  }
  bool same(std::size_t a, std::size_t b) const {
    return graph.find(roots[a]) == graph.find(roots[b]);
  }
  // The first node of an op in the class of an output, or nothing.
  std::optional<eqsat::enode_view> node(eqsat::class_id id, op code) const {
    for (const eqsat::enode_view& each : graph.nodes(id))
      if (each.op == static_cast<std::uint16_t>(code)) return each;
    return std::nullopt;
  }
  rules::tensor_egraph graph;
  std::vector<eqsat::class_id> roots;
  rules::saturation_report report;
};

struct written {
  ir::graph g;
  int arguments = 0;
  written() { g.symbol_values = {5}; }
  value arg(const ir::symbolic_shape& shape) {
    return ir::argument(g, dtype::f32, arguments++, shape);
  }
  void output(value v) { g.outputs.push_back({v.id, -1}); }
};

value exp(value x) { return ir::unary(op::exp, x); }

}  // namespace

TEST_CASE("composites meet the same thing written by hand") {
  written w;
  const dim rows = w.g.dims.symbol(0);
  const value x = w.arg({rows, 7});
  const auto composite = [&](op code, std::initializer_list<std::int64_t> attributes) {
    return value{&w.g, ir::append(w.g, code, {x.id}, attributes)};
  };
  const value e = exp(x - ir::reduce(op::reduce_max, x, 2)),
              shifted = x - ir::reduce(op::reduce_max, x, 2);
  const value centred = x - ir::sum(x, 2) / 7.0;
  const value deviation = ir::unary(op::sqrt, ir::sum(centred * centred, 2) / 7.0 + 1e-5);
  const value square = ir::elementwise(op::pow, {x, ir::constant_like(x, 2)});
  w.output(composite(op::softmax, {2}));
  w.output(e / ir::sum(e, 2));
  w.output(exp(x) / ir::sum(exp(x), 2));
  w.output(composite(op::log_softmax, {2}));
  w.output(shifted - ir::unary(op::log, ir::sum(exp(shifted), 2)));
  w.output(composite(op::layer_norm, {2, ir::bits_of(1e-5)}));
  w.output(centred / deviation);
  w.output(composite(op::rms_norm, {2, ir::bits_of(1e-6)}));
  w.output(x / ir::unary(op::sqrt, ir::mean(square, 2) + 1e-6));
  const saturated s(w.g);
  CHECK(s.report.saturated());
  CHECK(s.same(0, 1));
  CHECK(s.same(0, 2));
  CHECK(s.same(3, 4));
  CHECK(s.same(5, 6));
  CHECK(s.same(7, 8));
  CHECK_FALSE(s.same(0, 3));
  CHECK_FALSE(s.same(5, 7));
}

TEST_CASE("two rms_norm with different eps stay apart") {
  written w;
  const value x = w.arg({3, 7});
  for (double eps : {1e-5, 1e-6})
    w.output({&w.g, ir::append(w.g, op::rms_norm, {x.id}, {2, ir::bits_of(eps)})});
  const saturated s(w.g);
  CHECK(s.report.saturated());
  CHECK_FALSE(s.same(0, 1));
}

TEST_CASE("activations in their usual spellings") {
  written w;
  const value x = w.arg({w.g.dims.symbol(0), 8}), u = w.arg({w.g.dims.symbol(0), 8});
  const auto f = [](op code, value v) { return ir::unary(code, v); };
  const double root_two = std::sqrt(2.0), c = 0.7978845608;
  const value cube = x * x * x;
  const std::vector<std::vector<value>> groups = {
      {f(op::gelu, x), (x * 0.5) * (f(op::erf, x / root_two) + 1.0),
       x * ((f(op::erf, x / root_two) + 1.0) * 0.5),
       (x / 2.0) * (f(op::erf, x * (1 / root_two)) + 1.0),
       (x * (f(op::erf, x / root_two) + 1.0)) * 0.5},
      {f(op::gelu_tanh, x), (x * 0.5) * (f(op::tanh, (x + cube * 0.044715) * c) + 1.0),
       (x * 0.5) * (f(op::tanh, (x + (x * 0.044715 * x) * x) * c) + 1.0),
       x * ((f(op::tanh, (x * c) * ((x * x) * 0.044715 + 1.0)) + 1.0) * 0.5),
       (x * 0.5) * (f(op::tanh,
                      (x + ir::elementwise(op::pow, {x, ir::constant_like(x, 3)}) * 0.044715) * c) +
                    1.0)},
      {f(op::silu, x), x * (1.0 / (exp(-x) + 1.0)), x / (exp(-x) + 1.0),
       x * (exp(x) / (exp(x) + 1.0))},
      {f(op::sigmoid, x), 1.0 / (exp(-x) + 1.0), 1.0 / (exp(x * -1.0) + 1.0),
       1.0 / (exp(0.0 - x) + 1.0)},
      {f(op::relu, x), ir::elementwise(op::maximum, {x, ir::constant_like(x, 0)}),
       ir::elementwise(op::maximum,
                       {ir::broadcast_to(ir::constant_like(x, 0), x.shape()), f(op::relu, x)})},
      {f(op::silu, x) * u, u * (x * f(op::sigmoid, x))},  // SwiGLU, both orders
  };
  for (const auto& group : groups)
    for (value v : group) w.output(v);
  const saturated s(w.g);
  CHECK(s.report.saturated());
  std::size_t first = 0;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    for (std::size_t i = 1; i < groups[k].size(); ++i)
      CHECK_MESSAGE(s.same(first, first + i), "group " << k << " spelling " << i);
    first += groups[k].size();
  }
}

TEST_CASE("a matmul written as a sum of products is found, also under a transposition") {
  written w;
  const dim m = w.g.dims.symbol(0);
  const value a = w.arg({m, 6}), b = w.arg({6, 4}), c = w.arg({4, 6});
  w.output(ir::matmul(a, b));
  w.output(ir::sum(ir::reshape(a, {m, 6, 1}) * ir::reshape(b, {1, 6, 4}), 2, false));
  w.output(ir::matmul(a, c, false, true));
  w.output(ir::sum(ir::reshape(a, {m, 6, 1}) * ir::reshape(ir::transpose(c), {1, 6, 4}), 2, false));
  w.output(ir::sum(ir::reshape(a, {m, 1, 6}) * ir::reshape(c, {1, 4, 6}), 4, false));
  const saturated s(w.g);
  CHECK(s.report.saturated());
  CHECK(s.same(0, 1));
  CHECK(s.same(2, 3));
  CHECK(s.same(2, 4));
}

TEST_CASE("a chain of matmuls is associated by its extents") {
  // (A B) v with a vector: B v first. 5 factors: the textbook example of the interval dynamic
  // programme.
  const std::int64_t extents[] = {30, 35, 15, 5, 10, 20, 25};
  written w;
  value chain = w.arg({extents[0], extents[1]});
  std::vector<value> factors{chain};
  for (int i = 1; i < 6; ++i) factors.push_back(w.arg({extents[i], extents[i + 1]}));
  for (std::size_t i = 1; i < factors.size(); ++i) chain = ir::matmul(chain, factors[i]);
  const auto& f = factors;
  w.output(chain);
  w.output(ir::matmul(ir::matmul(f[0], ir::matmul(f[1], f[2])),
                      ir::matmul(ir::matmul(f[3], f[4]), f[5])));  // 15,125 multiplications
  const saturated s(w.g);
  CHECK(s.report.saturated());
  CHECK(s.same(0, 1));
}

TEST_CASE(
    "a dense layer on a tensor of rank three is one matmul, and so is the gradient of its "
    "weights") {
  written w;
  const dim batch = w.g.dims.symbol(0);
  const value x = w.arg({batch, 4, 6}), weight = w.arg({6, 3}), d = w.arg({batch, 4, 3});
  w.output(ir::matmul(x, ir::with_leading_ones(weight, 3)));
  w.output(ir::sum_to(ir::matmul(x, d, true), {6, 3}));
  const saturated s(w.g);
  CHECK(s.report.saturated());
  const auto reshaped = s.node(s.roots[0], op::reshape);
  REQUIRE(reshaped);
  const auto product = s.node(reshaped->children[0], op::matmul);
  REQUIRE(product);
  CHECK(rules::shape_of(s.graph, product->children[0]).size() == 2);
  const auto gradient = s.node(s.roots[1], op::matmul);
  REQUIRE(gradient);
  CHECK(rules::shape_of(s.graph, gradient->children[0]) ==
        ir::symbolic_shape{w.g.dims.mul(batch, dim(4)), dim(6)});
}

TEST_CASE("an empty extent is not divided by, and its sums are 0") {
  // s0 may be 0: then sum(x * (1/0)) is 0 and sum(x) * (1/0) is not a number. The scalar must stay
  // inside.
  written w;
  w.g.symbol_values = {0};
  const value x = w.arg({w.g.dims.symbol(0), 3}), scale = w.arg({});
  w.output(ir::sum(x * scale, 1));
  w.output(ir::sum(ir::broadcast_to(ir::reshape(scale, {1, 1}), {w.g.dims.symbol(0), dim(3)}), 1));
  saturated s(w.g);
  CHECK(s.report.find("sum-scaled")->applied == 0);
  const double infinity = std::numeric_limits<double>::infinity();
  const ir::reference_tensor none{dtype::f32, {0, 3}, {}}, factor{dtype::f32, {}, {infinity}};
  const auto found = test::check_classes(s.graph, {none, factor});
  CHECK_MESSAGE(found.difference == 0, found.text);
}

TEST_CASE("random graphs saturate and every class stays one tensor") {
  std::size_t compared = 0;
  double growth = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const test::random_expression expression(seed, 15 + static_cast<int>(seed % 15));
    saturated s(expression.graph());
    INFO("seed " << seed);
    CHECK(s.report.saturated());
    const auto found = test::check_classes(
        s.graph, test::random_arguments(expression.graph(), seed), test::comparison::finite);
    CHECK_MESSAGE(found.difference <= 1e-4, found.text);
    compared += found.compared;
    growth = std::max(
        growth, static_cast<double>(s.report.nodes) / static_cast<double>(s.report.nodes_before));
    for (const ir::guard& g : s.graph.language().terms().guards)
      CHECK(g.holds != ir::guard::fact::equal);
  }
  CHECK(compared > 15000);
  MESSAGE(compared << " e-nodes compared, largest growth " << growth);
}

TEST_CASE("random graphs of all ops saturate and every class stays one tensor") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const test::random_graph random = test::make_random_graph(seed);
    saturated s(random.graph);
    INFO("seed " << seed);
    CHECK(s.report.saturated());
    const auto found = test::check_classes(s.graph, random.arguments, test::comparison::finite);
    CHECK_MESSAGE(found.difference <= test::random_graph_tolerance, found.text);
  }
}

TEST_CASE("with exact rules alone random graphs keep every bit, NaN and infinity") {
  rules::saturate_options exact;
  exact.reassociate = false;
  // What composites are computed by is rounded where the interpreter does not.
  for (const auto& rule : sinter::rules::all_rules())
    if (rule.error == sinter::rules::rounding::defines) exact.disabled.emplace_back(rule.name);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const test::random_expression expression(seed, 15 + static_cast<int>(seed % 15), dtype::f64);
    saturated s(expression.graph(), exact);
    INFO("seed " << seed);
    CHECK(s.report.saturated());
    const auto found =
        test::check_classes(s.graph, test::random_arguments(expression.graph(), seed, true));
    CHECK_MESSAGE(found.difference == 0, found.text);
  }
}

TEST_CASE("a training step of a transformer saturates under a second") {
  const ir::graph step = test::transformer_training_step();
  CHECK(step.size() > 700);
  saturated s(step);
  CHECK(s.report.saturated());
  CHECK(s.report.seconds < 1);
  CHECK(s.report.nodes < 30 * s.report.nodes_before);
  CHECK(s.report.refused_unions == 0);
  MESSAGE(step.size() << " nodes: " << s.report.nodes_before << " e-nodes before, "
                      << s.report.nodes << " after, " << s.report.seconds * 1e3 << " ms");
  MESSAGE(s.report.to_text());
}

TEST_CASE("every class of a small transformer's training step is one tensor") {
  test::transformer_sizes sizes;
  sizes.blocks = 1;
  sizes.batch = 2;
  sizes.length = 3;
  sizes.width = 4;
  sizes.heads = 2;
  sizes.hidden = 6;
  const ir::graph step = test::transformer_training_step(sizes);
  saturated s(step);
  CHECK(s.report.saturated());
  const auto found = test::check_classes(s.graph, test::random_arguments(step, 1));
  CHECK_MESSAGE(found.difference <= 1e-4, found.text);
}

TEST_CASE("saturation gives the same e-graph every time") {
  const ir::graph step = test::transformer_training_step();
  const saturated a(step), b(step);
  CHECK(a.report.nodes == b.report.nodes);
  CHECK(a.report.classes == b.report.classes);
  CHECK(a.report.to_text() == b.report.to_text());
}

TEST_CASE("a node limit is kept and reported") {
  const ir::graph step = test::transformer_training_step();
  rules::saturate_options options;
  options.least_nodes = 0;
  options.nodes_per_traced_node = 2;
  const saturated s(step, options);
  CHECK_FALSE(s.report.saturated());
  CHECK(s.report.nodes <= 2 * s.report.nodes_before);
}

}  // namespace saturate_tensor_test
