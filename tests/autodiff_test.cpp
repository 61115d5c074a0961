// SPDX-License-Identifier: MIT
// Differentiation as a transformation of graphs: what it builds, shares, leaves out and refuses,
// and that the compiler can do it. The derivatives themselves are checked in
// gradient_check_test.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/autodiff/expand.hpp>
#include <sinter/graph/interpret.hpp>

namespace autodiff_test {

using namespace sinter;
using namespace sinter::ir;

namespace {

constexpr value gradient(value loss, value x) {
  return {loss.owner, append(*loss.owner, op::gradient, {loss.id, x.id})};
}
constexpr value total(value x) { return sum(x, all_axes(x), false); }
constexpr value cross_entropy(value logits, value labels) {
  return {logits.owner, append(*logits.owner, op::cross_entropy, {logits.id, labels.id})};
}
constexpr void set_outputs(graph& g, std::initializer_list<value> values) {
  for (value v : values) g.outputs.push_back({v.id, -1});
}

constexpr int count(const graph& g, op code) {
  int n = 0;
  for (const node& each : g.nodes()) n += each.code == code ? 1 : 0;
  return n;
}

reference_tensor vector_of(std::vector<double> data) {
  const std::int64_t n = static_cast<std::int64_t>(data.size());
  return {dtype::f64, {n}, std::move(data)};
}

// d total(f(x)) / dx for a vector x.
template <class Function>
std::vector<double> slope(Function f, std::vector<double> at) {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(static_cast<std::int64_t>(at.size()))});
  set_outputs(g, {gradient(total(f(x)), x)});
  return interpret(expand_gradients(g), std::vector{vector_of(at)})[0].data;
}
using numbers = std::vector<double>;

// ---- in constant evaluation

struct sizes {
  int traced, expanded;
};

// The step of a two-layer perceptron: loss, gradients, updates; every extent but the number of
// classes is a symbol.
constexpr graph perceptron_step() {
  graph g;
  const auto symbol = [&](std::int64_t i) { return g.dims.symbol(i); };
  const value x = argument(g, dtype::f32, 0, {symbol(0), symbol(1)}),
              labels = argument(g, dtype::i64, 1, {symbol(0)});
  const value w1 = argument(g, dtype::f32, 2, {symbol(1), symbol(2)}),
              b1 = argument(g, dtype::f32, 3, {symbol(2)});
  const value w2 = argument(g, dtype::f32, 4, {symbol(2), dim(10)}),
              b2 = argument(g, dtype::f32, 5, {dim(10)});
  const value rate = argument(g, dtype::f32, 6, {}, true);
  const value hidden = unary(op::relu, matmul(x, w1) + b1);
  const value loss = mean(cross_entropy(matmul(hidden, w2) + b2, labels), 1, false);
  g.outputs.push_back({loss.id, -1});
  for (value p : {w1, b1, w2, b2}) {
    const int number = static_cast<int>(g.attributes(p.id)[1]);
    g.outputs.push_back({(p - rate * gradient(loss, p)).id, number});
  }
  return g;
}

constexpr sizes perceptron_sizes() {
  const graph traced = perceptron_step(), expanded = expand_gradients(traced);
  return {expanded.failed() ? -1 : traced.size(), expanded.size()};
}
constexpr sizes perceptron = perceptron_sizes();
static_assert(perceptron.traced > 25 && perceptron.traced <= 40);
static_assert(perceptron.expanded <= 60);

// A long residual chain stays inside of the default limits of GCC and Clang: the work per node is
// bounded.
constexpr sizes residual_chain(int layers) {
  graph g;
  const dim rows = g.dims.symbol(0), width = g.dims.symbol(1);
  value x = argument(g, dtype::f32, 0, {rows, width});
  std::vector<value> parameters;
  for (int i = 0; i < layers; ++i) {
    parameters.push_back(argument(g, dtype::f32, 2 * i + 1, {width, width}));
    parameters.push_back(argument(g, dtype::f32, 2 * i + 2, {width}));
    x = x +
        unary(op::relu, matmul(x, parameters[static_cast<std::size_t>(2 * i)]) + parameters.back());
  }
  const value loss = mean(x * x, 3, false);
  for (value p : parameters) g.outputs.push_back({gradient(loss, p).id, -1});
  return {g.size(), expand_gradients(g).size()};
}
constexpr sizes chain = residual_chain(80);
static_assert(chain.traced >= 800 && chain.expanded >= 1200 && chain.expanded < 16 * 80);

constexpr fault_kind fault_of_wrong_loss() {
  graph g;
  const value x = argument(g, dtype::f32, 0, {dim(3)});
  set_outputs(g, {gradient(x * x, x)});
  return expand_gradients(g).first_fault.kind;
}
static_assert(fault_of_wrong_loss() == fault_kind::wrong_rank);

}  // namespace

TEST_CASE("a training step keeps outputs and assignments and has no gradient node left") {
  const graph traced = perceptron_step(), g = expand_gradients(traced);
  CHECK(count(g, op::gradient) == 0);
  REQUIRE(g.outputs.size() == 5);
  CHECK(g.outputs[0].assigned_argument == -1);
  for (std::size_t i = 1; i < 5; ++i) {
    CHECK(g.outputs[i].assigned_argument == static_cast<int>(i) + 1);
    CHECK(g[g.outputs[i].node].shape == traced[traced.outputs[i].node].shape);
    CHECK(g[g.outputs[i].node].type == dtype::f32);
  }
  MESSAGE("two-layer step: " << traced.size() << " nodes traced, " << g.size()
                             << " with gradients");

  // Two products forward; backward dW1, dW2 and dhidden, none for x; transposition is an attribute.
  CHECK(count(g, op::matmul) == 5);
  CHECK(count(g, op::permute) == 0);
  CHECK(count(g, op::softmax) == 1);
}

TEST_CASE("a training step in numbers lowers the loss") {
  const graph g = expand_gradients(perceptron_step());
  const auto filled_like = [](const shape_vector& shape, double scale) {
    reference_tensor out = filled(dtype::f32, shape, 0);
    for (std::size_t i = 0; i < out.data.size(); ++i)
      out.data[i] = scale * std::sin(1.7 * static_cast<double>(i) + scale);
    return out;
  };
  std::vector<reference_tensor> arguments{
      filled_like({4, 6}, 1),      {dtype::i64, {4}, {3, 0, 9, 3}}, filled_like({6, 5}, 0.4),
      filled_like({5}, 0.1),       filled_like({5, 10}, 0.3),       filled_like({10}, 0.2),
      filled(dtype::f32, {}, 0.05)};
  double previous = 1e9;
  for (int step = 0; step < 5; ++step) {
    const std::vector<reference_tensor> results = interpret(g, arguments);
    CHECK(results[0].data[0] < previous);
    previous = results[0].data[0];
    for (std::size_t i = 1; i < results.size(); ++i)
      arguments[static_cast<std::size_t>(g.outputs[i].assigned_argument)] = results[i];
  }
}

TEST_CASE("a graph without gradients is returned as it is") {
  graph g;
  const value x = argument(g, dtype::f32, 0, {g.dims.symbol(0)});
  set_outputs(g, {x * x});
  g.random_streams = 3;
  const graph same = expand_gradients(g);
  CHECK(same.size() == g.size());
  CHECK(same.outputs == g.outputs);
  CHECK(same.random_streams == 3);
}

TEST_CASE("what the graph knows besides its nodes is kept") {
  graph g;
  const dim n = g.dims.symbol(0), twice = g.dims.add(n, n);
  const value x = argument(g, dtype::f64, 0, {n});
  g.random_streams = 2;
  g.guards.push_back({guard::fact::differ, n, dim(1)});
  const value parts[] = {x, x * x};
  const value y = concat(parts, 0);
  set_outputs(g, {gradient(total(y), x), y});
  const graph e = expand_gradients(g);
  CHECK(e.random_streams == 2);
  CHECK(e.guards.size() == 1);
  CHECK(e[e.outputs[1].node].shape[0] == twice);
  CHECK(interpret(e, std::vector{vector_of({1, 2, 5})})[0].data == numbers{3, 5, 11});
}

TEST_CASE("gradients of one loss share one sweep") {
  const auto size_with = [](bool both) {
    graph g;
    const value x = argument(g, dtype::f64, 0, {dim(2), dim(2)}),
                w = argument(g, dtype::f64, 1, {dim(2), dim(2)});
    const value b = argument(g, dtype::f64, 2, {dim(2)});
    const value loss = total(unary(op::tanh, matmul(x, w) + b));
    set_outputs(g, {gradient(loss, b)});
    if (both) set_outputs(g, {gradient(loss, w)});
    return expand_gradients(g).size();
  };
  CHECK(size_with(true) == size_with(false) + 1);  // one matmul more
}

TEST_CASE("only what leads to a variable is differentiated") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(2), dim(2)}),
              w = argument(g, dtype::f64, 1, {dim(2), dim(2)});
  const value before = unary(op::exp, unary(op::sin, x));
  set_outputs(g, {gradient(total(matmul(before, w)), w)});
  const graph e = expand_gradients(g);
  CHECK(count(e, op::cos) == 0);
  CHECK(count(e, op::matmul) == 2);
  CHECK(e[e.outputs[0].node].code == op::matmul);
}

TEST_CASE("a variable may be any node: an inner one, the loss, or one that the loss does not see") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(3)}),
              other = argument(g, dtype::f64, 1, {dim(2)});
  const value square = x * x, loss = total(square * square);
  const value later = loss * 2.0;
  set_outputs(g, {gradient(loss, square), gradient(loss, loss), gradient(loss, other),
                  gradient(loss, later), gradient(loss, x)});
  const graph e = expand_gradients(g);
  const auto found = interpret(e, std::vector{vector_of({1, 2, 3}), vector_of({1, 1})});
  CHECK(found[0].data == numbers{2, 8, 18});
  CHECK(found[1].data == numbers{1});
  CHECK(found[2].data == numbers{0, 0});
  CHECK(found[3].data == numbers{0});
  CHECK(found[4].data == numbers{4, 32, 108});
}

TEST_CASE("several losses, and one that is made of gradients of another") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(2)}), y = argument(g, dtype::f64, 1, {dim(2)});
  const value first = total(x * x * y), second = total(x * y * y);
  const value by_x = gradient(first, x);  // 2xy
  const value penalty = total(by_x * by_x);
  set_outputs(g, {gradient(penalty, y), gradient(second, y), gradient(first, y),
                  gradient(first + penalty, x)});
  const auto found =
      interpret(expand_gradients(g), std::vector{vector_of({2, -1}), vector_of({3, 0.5})});
  CHECK(found[0].data == numbers{8 * 4 * 3, 8 * 1 * 0.5});
  CHECK(found[1].data == numbers{2 * 2 * 3, 2 * -1 * 0.5});
  CHECK(found[2].data == numbers{4, 1});
  CHECK(found[3].data == numbers{2 * 2 * 3 + 8 * 2 * 9, 2 * -1 * 0.5 + 8 * -1 * 0.25});
}

TEST_CASE("a loss of shape [1, 1] is a scalar, one of [1, n] is not") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(2), dim(3)});
  set_outputs(g, {gradient(sum(x * x, 3), x)});
  CHECK(interpret(expand_gradients(g),
                  std::vector<reference_tensor>{{dtype::f64, {2, 3}, {1, 2, 3, 4, 5, 6}}})[0]
            .data == numbers{2, 4, 6, 8, 10, 12});

  graph wrong;
  const value z = argument(wrong, dtype::f64, 0, {dim(2), wrong.dims.symbol(0)});
  set_outputs(wrong, {gradient(sum(z, 1), z)});
  CHECK_THROWS_AS(expand_gradients(wrong), shape_error);
}

TEST_CASE("integers have no gradient") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(2)}), n = argument(g, dtype::i64, 1, {dim(2)});
  const value loss = total(x * cast(n, dtype::f64));
  set_outputs(g, {gradient(loss, n)});
  CHECK_THROWS_AS(expand_gradients(g), dtype_error);

  graph h;
  const value y = argument(h, dtype::i32, 0, {dim(2)});
  set_outputs(h, {gradient(total(y), y)});
  CHECK_THROWS_AS(expand_gradients(h), dtype_error);
}

TEST_CASE("ops without a derivative stop it") {
  const numbers at{-1.3, 0.4, 2.6}, zero{0, 0, 0};
  for (op code : {op::sign, op::floor, op::ceil, op::round, op::stop_gradient}) {
    INFO(ir::name(code));
    CHECK(slope([=](value x) { return unary(code, x); }, at) == zero);
    CHECK(slope([=](value x) { return unary(code, x) + x * 2.0; }, at) == numbers{2, 2, 2});
  }
  CHECK(slope(
            [](value x) {
              return elementwise(op::floor_divide, {x, constant_like(x, 0.7)});
            },
            at) == zero);
  CHECK(slope(
            [](value x) {
              return cast(elementwise(op::less, {x, constant_like(x, 0)}), dtype::f64);
            },
            at) == zero);
  CHECK(slope([](value x) { return cast(cast(x, dtype::i64), dtype::f64); }, at) == zero);
  CHECK(slope([](value x) { return cast(reduce(op::argmax, x, 1), dtype::f64) + x; }, at) ==
        numbers{1, 1, 1});
  CHECK(slope([](value x) { return iota(*x.owner, dtype::f64, x.shape(), 0); }, at) == zero);
}

TEST_CASE("a random mask is constant: the gradient sees the mask of the forward pass") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(8)}), key = argument(g, dtype::i64, 1, {});
  const symbolic_shape shape{dim(8)};
  const value noise{&g, append(g, op::random_uniform, {key.id},
                               {static_cast<std::int64_t>(dtype::f64), 0}, shape)};
  g.random_streams = 1;
  const value kept =
      where(elementwise(op::less, {noise, constant_like(x, 0.5)}), x * 2.0, constant_like(x, 0));
  set_outputs(g, {kept, gradient(total(kept), x)});
  const auto found =
      interpret(expand_gradients(g),
                std::vector<reference_tensor>{filled(dtype::f64, {8}, 1), {dtype::i64, {}, {7}}});
  CHECK(found[0].data == found[1].data);
  CHECK(std::count(found[0].data.begin(), found[0].data.end(), 0.0) > 0);
  CHECK(std::count(found[0].data.begin(), found[0].data.end(), 2.0) > 0);
}

TEST_CASE("subgradients at corners and shares of ties") {
  CHECK(slope([](value x) { return unary(op::abs, x); }, {-2, 0, 3}) == numbers{-1, 0, 1});
  CHECK(slope([](value x) { return unary(op::relu, x); }, {-2, 0, 3}) == numbers{0, 0, 1});
  const auto against_one = [](op code) {
    return [code](value x) { return elementwise(code, {x, constant_like(x, 1)}); };
  };
  CHECK(slope(against_one(op::maximum), {0, 1, 2}) == numbers{0, 0.5, 1});
  CHECK(slope(against_one(op::minimum), {0, 1, 2}) == numbers{1, 0.5, 0});
  CHECK(slope([](value x) { return elementwise(op::maximum, {x, x}); }, {0, 1}) == numbers{1, 1});
  CHECK(slope([](value x) { return reduce(op::reduce_max, x, 1); }, {4, 1, 4, 4, 0}) ==
        numbers{1.0 / 3, 0, 1.0 / 3, 1.0 / 3, 0});
  CHECK(slope([](value x) { return reduce(op::reduce_min, x, 1); }, {4, 0, 4, 0}) ==
        numbers{0, 0.5, 0, 0.5});
}

TEST_CASE("products and powers at zero") {
  const auto product = [](value x) { return reduce(op::reduce_prod, x, 1); };
  CHECK(slope(product, {2, 3, 5}) == numbers{15, 10, 6});
  CHECK(slope(product, {2, 0, 5}) == numbers{0, 10, 0});
  CHECK(slope(product, {0, 3, 0}) == numbers{0, 0, 0});
  CHECK(slope(product, {0}) == numbers{1});

  const auto power = [](double exponent) {
    return [exponent](value x) { return elementwise(op::pow, {x, constant_like(x, exponent)}); };
  };
  CHECK(slope(power(2), {0, -3}) == numbers{0, -6});
  CHECK(slope(power(0), {0, -3}) == numbers{0, 0});
  CHECK(slope(power(1), {0, -3}) == numbers{1, 1});
  // By the exponent: 0^b is flat for b > 0; by the base with an exponent of 0 that is not a
  // constant: flat as well.
  CHECK(slope([](value x) { return elementwise(op::pow, {x * 0.0, x}); }, {2}) == numbers{0});
  CHECK(slope(
            [](value x) {
              return elementwise(op::pow, {x, unary(op::stop_gradient, x)});
            },
            {0}) == numbers{0});
}

TEST_CASE("empty tensors") {
  CHECK(slope([](value x) { return x * x; }, {}).empty());
  CHECK(slope([](value x) { return reduce(op::reduce_prod, x, 1); }, {}).empty());
  CHECK(slope([](value x) { return unary(op::exp, x) - mean(x, 1); }, {}).empty());
}

}  // namespace autodiff_test
