// SPDX-License-Identifier: MIT
// Vector-Jacobian products: of values of any shape, by any value of the graph, and derivatives of
// them, by the cotangent too. With fuse, the compiler traces them.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/gradient_cases.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/sinter.hpp>

namespace vjp_test {

namespace sn = sinter;
using namespace sinter::ir;
using sinter::dtype;
using sn::handle;
using test_support::gradient_case;
using test_support::spread_out;

namespace {

value vjp(value y, value x, value cotangent) {
  return {y.owner, append(*y.owner, op::vjp, {y.id, x.id, cotangent.id})};
}
value gradient(value loss, value x) {
  return {loss.owner, append(*loss.owner, op::gradient, {loss.id, x.id})};
}
value total(value x) { return sum(x, all_axes(x), false); }

void check_close(const reference_tensor& found, const reference_tensor& expected,
                 double tolerance) {
  REQUIRE(found.shape == expected.shape);
  for (std::size_t i = 0; i < found.data.size(); ++i) {
    INFO("element " << i << ": " << found.data[i] << " where " << expected.data[i]
                    << " is expected");
    CHECK(std::abs(found.data[i] - expected.data[i]) <=
          tolerance * std::max(1.0, std::abs(expected.data[i])));
  }
}

int count(const graph& g, op code) {
  int n = 0;
  for (const node& each : g.nodes()) n += each.code == code ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE(
    "a vjp is the gradient of the sum of y times its cotangent, for every differentiable op") {
  for (const gradient_case& c : test_support::all_gradient_cases()) {
    for (const bool symbolic : {false, true}) {
      INFO(c.name << ", symbolic: " << symbolic);
      graph g;
      std::vector<value> arguments;
      std::int64_t symbols = 0;
      for (std::size_t i = 0; i < c.point.size(); ++i) {
        symbolic_shape shape;
        for (std::int64_t extent : c.point[i].shape)
          shape.push_back(symbolic ? g.dims.symbol(symbols++) : dim(extent));
        arguments.push_back(argument(g, c.point[i].type, static_cast<int>(i), shape));
      }
      const value y = c.function(arguments);
      value weight = constant(g, dtype::f64, 0.3);
      for (int axis = 0; axis < y.rank(); ++axis)
        weight = weight + iota(g, y.type(), y.shape(), axis) * (1.3 - 0.5 * axis);
      const value cotangent = broadcast_to(unary(op::cos, weight), y.shape());
      for (value x : arguments)
        if (sn::is_floating(x.type())) {
          g.outputs.push_back({vjp(y, x, cotangent).id, -1});
          g.outputs.push_back({gradient(total(y * cotangent), x).id, -1});
        }
      const graph whole = expand_gradients(g);
      CHECK(count(whole, op::vjp) == 0);
      verify(whole);
      const auto results = interpret(whole, c.point);
      for (std::size_t i = 0; i < results.size(); i += 2)
        check_close(results[i], results[i + 1], 1e-13);
    }
  }
}

TEST_CASE("the cotangent is a constant of the sweep, and derivatives by it are exact") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(3)}), c = argument(g, dtype::f64, 1, {dim(3)});
  // v = c x cos(x) + ..., where c may depend on x: that dependence does not count here.
  const value v = vjp(unary(op::sin, x), x, x * c);  // x c cos(x)
  g.outputs.push_back({v.id, -1});
  g.outputs.push_back({gradient(total(v), c).id, -1});  // x cos(x)
  g.outputs.push_back({gradient(total(v), x).id, -1});  // c cos(x) - x c sin(x)
  const auto px = spread_out({3}, -1, 1, 1), pc = spread_out({3}, 1, 2, 2);
  const auto r = interpret(expand_gradients(g), std::vector{px, pc});
  for (std::size_t i = 0; i < 3; ++i) {
    const double a = px.data[i], b = pc.data[i];
    CHECK(r[0].data[i] == doctest::Approx(a * b * std::cos(a)));
    CHECK(r[1].data[i] == doctest::Approx(a * std::cos(a)));
    CHECK(r[2].data[i] == doctest::Approx(b * std::cos(a) - a * b * std::sin(a)));
  }
}

TEST_CASE("by intermediate values: the derivative is what goes through the value asked for") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(4)});
  const value h = unary(op::exp, x), k = h * x;  // y depends on h directly and through k
  const value y = h * k, ones = broadcast_to(constant(g, dtype::f64, 1), y.shape());
  for (value by : {x, h, k, y, unary(op::floor, h)}) g.outputs.push_back({vjp(y, by, ones).id, -1});
  const auto p = spread_out({4}, -1, 1);
  const auto r = interpret(expand_gradients(g), std::vector{p});
  for (std::size_t i = 0; i < 4; ++i) {
    const double at = p.data[i], e = std::exp(at);
    CHECK(r[0].data[i] == doctest::Approx(2 * e * e * at + e * e));
    CHECK(r[1].data[i] == doctest::Approx(2 * e * at));
    CHECK(r[2].data[i] == doctest::Approx(e));
    CHECK(r[3].data[i] == 1);
    CHECK(r[4].data[i] == 0);  // y does not depend on it
  }
}

TEST_CASE("vjps with one cotangent share a sweep; another cotangent is another sweep") {
  graph g;
  const value a = argument(g, dtype::f32, 0, {dim(4), dim(4)}),
              b = argument(g, dtype::f32, 1, {dim(4), dim(4)});
  const value y = matmul(unary(op::tanh, matmul(a, b)), b);
  for (value x : {a, b}) g.outputs.push_back({vjp(y, x, a).id, -1});
  const graph one = expand_gradients(g);
  CHECK(count(one, op::matmul) == 6);  // two forward, and two per product backward
  for (value x : {a, b}) g.outputs.push_back({vjp(y, x, b).id, -1});
  CHECK(count(expand_gradients(g), op::matmul) == 10);
}

TEST_CASE("what does not fit is refused with both shapes") {
  graph g;
  const value x = argument(g, dtype::f32, 0, {dim(3)}),
              wrong = argument(g, dtype::f32, 1, {dim(4)}),
              wide = argument(g, dtype::f64, 2, {dim(3)}), i = argument(g, dtype::i32, 3, {dim(3)});
  const auto message = [&](auto f) -> std::string {
    try {
      f();
    } catch (const sn::error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(message([&] { vjp(x, x, wrong); }) ==
        "vjp(f32[3], f32[3], f32[4]): extents 4 and 3 disagree");
  CHECK(message([&] { vjp(x, x, wide); }).find("dtypes f64 and f32 differ") != std::string::npos);
  CHECK(message([&] { vjp(x, i, x); }).find("not defined for dtype i32") != std::string::npos);
  CHECK(message([&] {
          sn::vjp(handle(x), handle(broadcast_to(x, {dim(2), dim(3)})), handle(x));
        }).find("rank 2 where rank 1 is expected") != std::string::npos);
}

TEST_CASE("in fused functions") {
  auto f = sn::fuse([](auto x, auto w, auto d) {
    const auto hidden = sn::tanh(sn::matmul(x, w));
    const auto [dw, dh] = sn::vjp(sn::matmul(hidden, w), d, w, hidden);
    return sn::outputs(dw, dh);
  });
  static_assert(std::same_as<decltype(f(sn::tensor<float, 2>(), sn::tensor<float, 2>(),
                                        sn::tensor<float, 2>())),
                             std::tuple<sn::tensor<float, 2>, sn::tensor<float, 2>>>);
  sn::tensor<float, 2> x(2, 3), w(3, 3), d(2, 3);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) x(i, j) = 0.1f * static_cast<float>(3 * i + j), d(i, j) = 1.0f;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) w(i, j) = i == j ? 1.0f : 0.0f;
  const auto [dw, dh] = f(x, w, d);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) CHECK(dh(i, j) == 1.0f);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double expected = 0;
      for (int r = 0; r < 2; ++r) {
        const double t = std::tanh(x(r, i)), u = std::tanh(x(r, j));
        expected += t + x(r, i) * (1 - u * u);
      }
      CHECK(dw(i, j) == doctest::Approx(expected).epsilon(1e-5));
    }
  // A number as the cotangent is broadcast.
  auto sum_of_columns = sn::fuse(
      [](auto a, auto b) { return sn::vjp(sn::matmul(a, b), sn::sum(a) * 0.0f + 1.0f, a)[0]; });
  CHECK(sum_of_columns(x, w)(1, 2) == 1.0f);
}

}  // namespace vjp_test
