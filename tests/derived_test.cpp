// SPDX-License-Identifier: MIT
// Known optimisations, derived: each starts from the naive graph, no rule names what is found, and
// the plan shows that it is used: by its nests, and by its cost beside the cost without the rules.
// Results are those of the interpreter.
#include <cmath>
#include <random>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "support/run_graph.hpp"
#include <sinter/plan/nest.hpp>
#include <sinter/rules/saturate.hpp>

namespace derived_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using ir::dim;
using ir::op;
using ir::value;
using sn::dtype;
using sn::planning::nest_kind;
using test_support::reference_tensor;

namespace {

class naive_graph {
 public:
  value arg(std::initializer_list<std::int64_t> shape, dtype type = dtype::f32) {
    ir::symbolic_shape s;
    for (std::int64_t e : shape) s.push_back(dim(e));
    reference_tensor values{type, sn::shape_vector(shape), {}};
    values.data.resize(static_cast<std::size_t>(sn::element_count(values.shape)));
    std::normal_distribution<double> normal;
    for (double& x : values.data)
      x = sn::is_floating(type) ? static_cast<double>(static_cast<float>(normal(random_)))
                                : static_cast<double>(random_() % 3);
    const int number = static_cast<int>(arguments.size());
    arguments.push_back(std::move(values));
    return ir::argument(g, type, number, s);
  }
  void output(value v) { g.outputs.push_back({v.id, -1}); }

  ir::graph g;
  std::vector<reference_tensor> arguments;

 private:
  std::mt19937_64 random_{7};
};

value composite(op code, value x, std::initializer_list<std::int64_t> attributes) {
  return {x.owner, ir::append(*x.owner, code, {x.id}, attributes)};
}
value rms_norm(value x) { return composite(op::rms_norm, x, {2, ir::bits_of(1e-5)}); }

// Do the outputs fall into one class?
bool outputs_meet(const ir::graph& g) {
  sn::rules::tensor_egraph graph;
  const auto roots = sn::rules::load(graph, g);
  const auto report = sn::rules::saturate(graph);
  CHECK(report.saturated());
  CHECK(report.refused_unions == 0);
  for (sn::eqsat::class_id root : roots)
    if (graph.find(root) != graph.find(roots[0])) return false;
  return true;
}

struct planned {
  sn::planning::plan plan;
  std::size_t count(nest_kind kind) const {
    std::size_t found = 0;
    for (const auto& each : plan.nests) found += each.kind == kind ? 1 : 0;
    return found;
  }
  std::size_t reductions(op code) const {
    std::size_t found = 0;
    for (const auto& each : plan.nests)
      for (const auto& s : each.body)
        found += s.kind == sn::planning::step_kind::reduce && s.code == code ? 1 : 0;
    return found;
  }
  // The elements that products compute.
  double product_elements() const {
    double total = 0;
    for (const auto& each : plan.nests) {
      if (each.kind != nest_kind::matmul) continue;
      double elements = 1;
      for (dim d : each.space) elements *= static_cast<double>(d.constant());
      total += elements;
    }
    return total;
  }
};

planned plan_of(const naive_graph& n, std::vector<std::string> disabled = {}) {
  sn::program p(n.g, sn::detail::all_code(), {.disabled_rules = std::move(disabled)});
  std::vector<sn::detail::argument_memory> memory;
  std::vector<sn::shape_vector> shapes;
  for (const reference_tensor& x : n.arguments) {
    memory.push_back({nullptr, x.shape, sn::row_major_strides(x.shape), 0});
    shapes.push_back(x.shape);
  }
  return {p.prepare(memory, ir::symbol_values(p.traced(), shapes)).plan()};
}

void check_results(const naive_graph& n, double tolerance = 1e-4) {
  const auto expected = ir::interpret(n.g, n.arguments);
  const auto got = test_support::run(n.g, n.arguments);
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    REQUIRE(got[k].shape == expected[k].shape);
    double scale = 1, worst = 0;
    for (double x : expected[k].data) scale = std::max(scale, std::abs(x));
    for (std::size_t i = 0; i < got[k].data.size(); ++i)
      worst = std::max(worst, std::abs(got[k].data[i] - expected[k].data[i]));
    CHECK(worst <= tolerance * scale);
  }
}

}  // namespace

TEST_CASE("the weight of an RMS norm goes into the matrix behind it, the norm behind the product") {
  naive_graph n;
  const value x = n.arg({512, 256}), w = n.arg({256}), p = n.arg({256, 64});
  n.output(ir::matmul(rms_norm(x) * w, p));
  const planned with = plan_of(n), without = plan_of(n, {"matmul-row-factor"});
  CHECK(with.plan.cost < without.plan.cost);
  // The product reads x itself: no normalised copy of it is stored.
  for (const auto& each : with.plan.nests)
    if (each.kind == nest_kind::matmul)
      CHECK(with.plan.buffers[static_cast<std::size_t>(each.accesses[0].buffer)].place ==
            sn::planning::place::argument);
  check_results(n);

  const value r = unary(op::rsqrt, ir::mean(x * x, 2) + 1e-5);
  n.output(ir::matmul(x, p * ir::reshape(w, {256, 1})) * r);
  CHECK(outputs_meet(n.g));
}

TEST_CASE("a dense layer of rank three behind a norm, and the shift of a layer norm") {
  naive_graph n;
  const value x = n.arg({4, 16, 32}), gamma = n.arg({32}), beta = n.arg({32}), p = n.arg({32, 8});
  const value xhat = composite(op::layer_norm, x, {4, ir::bits_of(1e-5)});
  const auto dense = [](value a, value b) { return ir::matmul(a, ir::with_leading_ones(b, 3)); };
  n.output(dense(xhat * gamma + beta, p));
  const value shift = ir::matmul(ir::reshape(beta, {1, 32}), p);
  n.output(dense(xhat, p * ir::reshape(gamma, {32, 1})) + ir::reshape(shift, {1, 1, 8}));
  CHECK(outputs_meet(n.g));
  check_results(n);
}

TEST_CASE("the sum of all elements of a product, its rows, its columns") {
  for (std::int64_t axes : {3, 2, 1}) {
    naive_graph n;
    const value a = n.arg({128, 96}), b = n.arg({96, 160});
    n.output(ir::sum(ir::matmul(a, b), axes));
    const planned with = plan_of(n), without = plan_of(n, {"sum-of-product"});
    CHECK(with.plan.cost < 0.7 * without.plan.cost);
    CHECK(with.product_elements() <= 160);
    check_results(n);
  }
}

TEST_CASE("the trace of a product") {
  naive_graph n;
  const value a = n.arg({96, 128}), b = n.arg({128, 96});
  const value diagonal =
      ir::elementwise(op::equal, {ir::iota(n.g, dtype::i64, {dim(96), dim(96)}, 0),
                                  ir::iota(n.g, dtype::i64, {dim(96), dim(96)}, 1)});
  n.output(ir::sum(ir::where(diagonal, ir::matmul(a, b), ir::constant_like(a, 0)), 3));
  const planned with = plan_of(n), without = plan_of(n, {"sum-of-diagonal"});
  CHECK(with.plan.cost < without.plan.cost);
  CHECK(with.count(nest_kind::matmul) == 0);
  check_results(n);
}

TEST_CASE("a batch norm at inference goes into the weights and the bias of the layer before it") {
  naive_graph n;
  const value x = n.arg({64, 32}), w = n.arg({32, 16}), bias = n.arg({16}), mean = n.arg({16}),
              variance = unary(op::exp, n.arg({16})), gamma = n.arg({16}), beta = n.arg({16});
  n.output(((ir::matmul(x, w) + bias) - mean) / unary(op::sqrt, variance + 1e-5) * gamma + beta);
  const auto row = [](value v) { return ir::reshape(v, {1, 16}); };
  const value s = unary(op::rsqrt, row(variance) + 1e-5) * row(gamma);
  n.output(ir::matmul(x, w * s) + ((row(bias) - row(mean)) * s + row(beta)));
  CHECK(outputs_meet(n.g));
  check_results(n);
}

TEST_CASE("a scale moves between queries, keys and scores") {
  naive_graph n;
  const value q = n.arg({2, 24, 8}), k = n.arg({2, 24, 8});
  const double c = 1 / std::sqrt(8.0);
  const auto softmax = [](value x) { return composite(op::softmax, x, {4}); };
  n.output(softmax(ir::matmul(q, k, false, true) * c));
  n.output(softmax(ir::matmul(q * c, k, false, true)));
  n.output(softmax(ir::matmul(q, k * c, false, true)));
  n.output(softmax(ir::matmul(q, k, false, true) / std::sqrt(8.0) + 3.0));
  CHECK(outputs_meet(n.g));
  check_results(n);
}

TEST_CASE("a scale before a projection is in the weights, if those are smaller") {
  naive_graph n;
  const value x = n.arg({512, 64}), w = n.arg({64, 32}), c = n.arg({});
  n.output(ir::matmul(x * c, w));
  n.output(ir::matmul(x, w * c));
  n.output(ir::matmul(x, w) * c);
  CHECK(outputs_meet(n.g));
  check_results(n);
}

TEST_CASE("products with a common operand are one product") {
  naive_graph n;
  const value a = n.arg({96, 64}), b = n.arg({64, 80}), c = n.arg({64, 80}), d = n.arg({96, 64});
  n.output(ir::matmul(a, b) + ir::matmul(a, c));
  n.output(ir::matmul(a, b) - ir::matmul(d, b));
  const planned with = plan_of(n), without = plan_of(n, {"common-operand"});
  CHECK(with.plan.cost < without.plan.cost);
  CHECK(with.count(nest_kind::matmul) == 2);
  check_results(n);
}

TEST_CASE("a part of a product is the product of a part") {
  naive_graph n;
  const value x = n.arg({128, 64}), w = n.arg({64, 192});
  const auto part = ir::slice(ir::matmul(x, w), {dim(0), dim(64)}, {dim(128), dim(96)},
                              sn::inline_vector<std::int64_t, sn::max_rank>{1, 1});
  n.output(part);
  const planned with = plan_of(n), without = plan_of(n, {"slice-of-product"});
  CHECK(with.plan.cost < 0.7 * without.plan.cost);
  check_results(n);
}

TEST_CASE("a recurrent cell multiplies [x h] without putting them side by side") {
  naive_graph n;
  const value x = n.arg({64, 96}), h = n.arg({64, 128}), w = n.arg({224, 64});
  const value parts[] = {x, h};
  n.output(unary(op::tanh, ir::matmul(ir::concat(parts, 1), w)));
  const planned with = plan_of(n);
  CHECK(with.plan.cost <= plan_of(n, {"product-of-parts"}).plan.cost);
  check_results(n);
}

TEST_CASE("projections put side by side and cut apart again need no copy of the weights") {
  naive_graph n;
  const value x = n.arg({64, 32}), q = n.arg({32, 16}), k = n.arg({32, 24});
  const value parts[] = {q, k};
  const value both = ir::matmul(x, ir::concat(parts, 1));
  const auto columns = [&](std::int64_t first, std::int64_t end) {
    return ir::slice(both, {dim(0), dim(first)}, {dim(64), dim(end)},
                     sn::inline_vector<std::int64_t, sn::max_rank>{1, 1});
  };
  n.output(columns(0, 16));
  n.output(columns(16, 40));
  const planned with = plan_of(n);
  CHECK(with.count(nest_kind::assemble) == 0);
  check_results(n);
}

TEST_CASE("the row sums that the gradient of attention needs come from its output") {
  naive_graph n;
  const value s = n.arg({2, 24, 24}), v = n.arg({2, 24, 8}), d = n.arg({2, 24, 8});
  const value p = composite(op::softmax, s, {4});
  const value o = ir::matmul(p, v), dp = ir::matmul(d, v, false, true);
  n.output(ir::sum(p * dp, 4));
  n.output(ir::sum(d * o, 4));
  CHECK(outputs_meet(n.g));
  check_results(n);
}

TEST_CASE("reductions of reductions, and functions of the largest element") {
  naive_graph n;
  const value x = n.arg({16, 24});
  n.output(ir::mean(ir::mean(x, 2), 1));
  n.output(ir::mean(x, 3));
  CHECK(outputs_meet(n.g));

  naive_graph largest;
  const value y = largest.arg({64, 256});
  largest.output(ir::reduce(op::reduce_max, unary(op::exp, unary(op::tanh, y * 0.5) + 1.0), 2));
  const planned with = plan_of(largest), without = plan_of(largest, {"largest-of-monotone"});
  CHECK(with.plan.cost < without.plan.cost);
  check_results(largest);
}

TEST_CASE("activations and losses as they are often written") {
  const auto meet = [](const char* what, auto build) {
    INFO(what);
    naive_graph n;
    const value x = n.arg({8, 12});
    for (value v : build(x)) n.output(v);
    CHECK(outputs_meet(n.g));
    check_results(n);
  };
  meet("gelu", [](value x) {
    const value e = unary(op::erf, x / std::sqrt(2.0));
    return std::vector{unary(op::gelu, x), x * 0.5 + (x * 0.5) * e, (x + x * e) / 2.0};
  });
  meet("tanh", [](value x) {
    const value up = unary(op::exp, x), down = unary(op::exp, -x);
    return std::vector{unary(op::tanh, x), (up - down) / (up + down),
                       unary(op::sigmoid, x * 2.0) * 2.0 - 1.0};
  });
  meet("logistic loss", [](value x) {  // the loss of a logistic regression
    const value sigmoid = 1.0 / (1.0 + unary(op::exp, -x));
    return std::vector{-unary(op::log, sigmoid), unary(op::softplus, -x),
                       unary(op::log, 1.0 + unary(op::exp, -x))};
  });
  meet("softmax", [](value x) {
    const value top = ir::reduce(op::reduce_max, x, 2);
    return std::vector{composite(op::softmax, x, {2}), composite(op::softmax, x - top, {2}),
                       composite(op::softmax, x + 5.0, {2}),
                       unary(op::exp, composite(op::log_softmax, x, {2})),
                       composite(op::softmax, composite(op::log_softmax, x, {2}), {2})};
  });
}

TEST_CASE("a cross-entropy from a mask over log-probabilities") {
  naive_graph n;
  const value x = n.arg({6, 5}), labels = n.arg({6}, dtype::i64);
  const value counter = ir::iota(n.g, dtype::i64, {dim(6), dim(5)}, 1);
  const value hit = ir::elementwise(op::equal, {counter, ir::reshape(labels, {6, 1})});
  const value logs = composite(op::log_softmax, x, {2});
  n.output(-ir::sum(ir::where(hit, logs, ir::constant_like(x, 0)), 2, false));
  n.output({&n.g, ir::append(n.g, op::cross_entropy, {x.id, labels.id})});
  CHECK(outputs_meet(n.g));
  check_results(n);
}

TEST_CASE("an embedding is scaled after the rows are picked") {
  naive_graph n;
  const value table = n.arg({4096, 64}), rows = n.arg({16}, dtype::i64);
  n.output(ir::gather(table * 8.0, rows, 0));
  const planned with = plan_of(n), without = plan_of(n, {"gather-elementwise"});
  CHECK(with.plan.cost < 0.5 * without.plan.cost);
  check_results(n);
}

}  // namespace derived_test
