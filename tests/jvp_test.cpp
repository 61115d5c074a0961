// SPDX-License-Identifier: MIT
// Forward mode: tangents of every differentiable op against central differences in double and
// against reverse mode; with unknown extents, of gradients, and through fused functions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/gradient_cases.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/sinter.hpp>

namespace jvp_test {

namespace sn = sinter;
using namespace sinter::ir;
using sinter::dtype;
using test_support::gradient_case;
using test_support::spread_out;

namespace {

value jvp(value y, const std::vector<value>& pairs) {
  std::vector<int> in{y.id};
  for (value v : pairs) in.push_back(v.id);
  return {y.owner, append(*y.owner, op::jvp, in)};
}
value total(value x) { return sum(x, all_axes(x), false); }

// A direction that differs from element to element.
value direction(value x, double seed) {
  value at = constant(*x.owner, x.type(), seed);
  for (int axis = 0; axis < x.rank(); ++axis)
    at = at + iota(*x.owner, x.type(), x.shape(), axis) * (1.7 - 0.4 * axis);
  return broadcast_to(unary(op::sin, at), x.shape());
}

void check_close(const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("element " << i << ": " << found[i] << " where " << expected[i] << " is expected");
    CHECK(std::abs(found[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
  }
}

int count(const graph& g, op code) {
  int n = 0;
  for (const node& each : g.nodes()) n += each.code == code ? 1 : 0;
  return n;
}

// Nodes that an output needs.
int needed_nodes(const graph& g) {
  std::vector<bool> needed(static_cast<std::size_t>(g.size()));
  for (const output& o : g.outputs) needed[static_cast<std::size_t>(o.node)] = true;
  int n = 0;
  for (int id = g.size(); id-- > 0;) {
    if (!needed[static_cast<std::size_t>(id)]) continue;
    ++n;
    for (int i : g.inputs(id)) needed[static_cast<std::size_t>(i)] = true;
  }
  return n;
}

struct problem {
  // Outputs: y, its tangent, <cotangent, tangent>, sum over x of <vjp, tangent of x>; then the
  // tangents of the arguments.
  graph whole;
  std::vector<std::size_t> variables;
};

problem build(const gradient_case& c, bool symbolic, bool second_order) {
  graph g;
  std::vector<value> arguments, pairs;
  problem out;
  std::int64_t symbols = 0;
  for (std::size_t i = 0; i < c.point.size(); ++i) {
    symbolic_shape shape;
    for (std::int64_t extent : c.point[i].shape)
      shape.push_back(symbolic ? g.dims.symbol(symbols++) : dim(extent));
    arguments.push_back(argument(g, c.point[i].type, static_cast<int>(i), shape));
    if (!sn::is_floating(c.point[i].type)) continue;
    out.variables.push_back(i);
    pairs.push_back(arguments.back());
    pairs.push_back(direction(arguments.back(), 0.9 + static_cast<double>(i)));
  }
  value y = c.function(arguments);
  if (second_order)
    y = {&g, append(g, op::gradient, {total(y * direction(y, 0.2)).id, pairs[0].id})};
  const value t = jvp(y, pairs), cotangent = direction(y, 2.2);
  value other_way = constant(g, dtype::f64, 0);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const value back{&g, append(g, op::vjp, {y.id, pairs[i].id, cotangent.id})};
    other_way = other_way + total(back * pairs[i + 1]);
  }
  for (value v : {y, t, total(t * cotangent), other_way}) g.outputs.push_back({v.id, -1});
  for (std::size_t i = 1; i < pairs.size(); i += 2) g.outputs.push_back({pairs[i].id, -1});
  out.whole = expand_gradients(g);
  return out;
}

void check(const gradient_case& c, bool second_order) {
  INFO(c.name << ", second order: " << second_order);
  const problem known = build(c, false, second_order);
  CHECK(count(known.whole, op::jvp) == 0);
  verify(known.whole);
  const auto results = interpret(known.whole, c.point);
  REQUIRE(results[1].shape == results[0].shape);
  check_close(results[2].data, results[3].data, 1e-12);

  graph y_only = known.whole;
  y_only.outputs.resize(1);
  const auto moved = [&](double step) {
    std::vector<reference_tensor> at = c.point;
    for (std::size_t v = 0; v < known.variables.size(); ++v)
      for (std::size_t i = 0; i < at[known.variables[v]].data.size(); ++i)
        at[known.variables[v]].data[i] += step * results[4 + v].data[i];
    return interpret(y_only, at)[0].data;
  };
  const double step = 1e-5;
  std::vector<double> expected = moved(step), below = moved(-step);
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = (expected[i] - below[i]) / (2 * step);
  check_close(results[1].data, expected, 1e-7);

  const problem open = build(c, true, second_order);
  std::vector<sn::shape_vector> shapes;
  for (const reference_tensor& x : c.point) shapes.push_back(x.shape);
  for (const graph& g : {open.whole, sinter::ir::bind(open.whole, shapes)}) {
    const auto symbolic = interpret(g, c.point);
    REQUIRE(symbolic[1].shape == results[1].shape);
    check_close(symbolic[1].data, results[1].data, 1e-12);
  }
}

}  // namespace

TEST_CASE("tangents agree with central differences and with reverse mode") {
  for (const gradient_case& c : test_support::all_gradient_cases()) check(c, false);
}

TEST_CASE("tangents of gradients: products of a Hessian and a vector") {
  for (const gradient_case& c : test_support::all_gradient_cases()) check(c, true);
}

TEST_CASE("the first of the largest has the derivative, in both modes and rows of any length") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> all{2, 5, 5, 5, 1, 5, 3, nan, 9, nan, nan, 9, 4, 4, 4, 4, 4, 4};
  for (std::int64_t length : {1, 2, 3, 6}) {  // up to 4 are element-wise
    CAPTURE(length);
    const std::int64_t rows = static_cast<std::int64_t>(all.size()) / length;
    graph g;
    const value x = argument(g, dtype::f64, 0, {dim(rows), dim(length)});
    const value y{&g, append(g, op::first_max, {x.id}, {2})};
    const value t = direction(x, 0.7), back{&g, append(g, op::gradient, {total(y).id, x.id})};
    for (value v : {jvp(y, {x, t}), back, t}) g.outputs.push_back({v.id, -1});
    const std::vector<reference_tensor> values{{dtype::f64, {rows, length}, all}};
    const auto found = interpret(expand_gradients(g), values);
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto at = [&](std::int64_t i) { return static_cast<std::size_t>(row * length + i); };
      std::int64_t first = 0;
      for (std::int64_t i = 1; i < length; ++i) {
        const double element = all[at(i)], best = all[at(first)];
        if (!std::isnan(best) && (std::isnan(element) || element > best)) first = i;
      }
      CHECK(found[0].data[static_cast<std::size_t>(row)] == found[2].data[at(first)]);
      for (std::int64_t i = 0; i < length; ++i) CHECK(found[1].data[at(i)] == (i == first ? 1 : 0));
    }
  }
}

TEST_CASE("a tangent is as small as its op") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(9), dim(2)}),
              t = argument(g, dtype::f64, 1, {dim(9), dim(2)});
  const value y = windows(x, 0, dim(3), 2);
  g.outputs = {{jvp(y, {x, t}).id, -1}};
  CHECK(needed_nodes(expand_gradients(g)) == 2);  // windows(t)

  // What forward mode would be without rules of its own: reverse mode, twice.
  graph twice;
  const value a = argument(twice, dtype::f64, 0, x.shape()),
              da = argument(twice, dtype::f64, 1, x.shape());
  const value w = windows(a, 0, dim(3), 2), u = argument(twice, dtype::f64, 2, w.shape());
  const value back{&twice, append(twice, op::vjp, {w.id, a.id, u.id})};
  twice.outputs = {{append(twice, op::vjp, {back.id, u.id, da.id}), -1}};
  MESSAGE("tangent of strided windows: 1 node, by two reverse sweeps "
          << needed_nodes(expand_gradients(twice)) - 1);
}

TEST_CASE("tangents of intermediate values add to what comes from below") {
  graph g;
  const value x = argument(g, dtype::f64, 0, {dim(3)});
  const value h = x * x, y = unary(op::sin, h),
              two = broadcast_to(constant(g, dtype::f64, 2), x.shape()),
              one = broadcast_to(constant(g, dtype::f64, 1), x.shape());
  g.outputs = {{jvp(y, {h, two}).id, -1},
               {jvp(y, {x, one, h, two}).id, -1},
               {jvp(h, {y, one}).id, -1},
               {jvp(y, {y, two}).id, -1},
               {jvp(unary(op::stop_gradient, y), {x, one}).id, -1}};
  const auto p = spread_out({3}, 0.5, 1.5);
  const auto r = interpret(expand_gradients(g), std::vector{p});
  for (std::size_t i = 0; i < 3; ++i) {
    const double at = p.data[i], slope = std::cos(at * at);
    CHECK(r[0].data[i] == doctest::Approx(2 * slope));
    CHECK(r[1].data[i] == doctest::Approx((2 + 2 * at) * slope));
    CHECK(r[2].data[i] == 0);
    CHECK(r[3].data[i] == 2);
    CHECK(r[4].data[i] == 0);
  }
}

TEST_CASE("in fused functions: a Hessian times a vector without the Hessian") {
  auto f = sn::fuse([](auto x, auto v) {
    const auto loss = sn::sum(sn::exp(x) * sn::square(x));
    return sn::outputs(sn::jvp(loss, x, v), sn::jvp(sn::gradients(loss, x)[0], x, v));
  });
  const sn::tensor<double, 1> x{0.5, -1.0, 2.0}, v{1.0, 0.5, -2.0};
  const auto [slope, curve] = f(x, v);
  double expected = 0;
  for (int i = 0; i < 3; ++i) {
    const double at = x(i), e = std::exp(at);
    expected += v(i) * e * (at * at + 2 * at);
    CHECK(curve(i) == doctest::Approx(v(i) * e * (at * at + 4 * at + 2)));
  }
  CHECK(slope() == doctest::Approx(expected));
}

TEST_CASE("a tangent that does not look like its value is refused") {
  graph g;
  const value x = argument(g, dtype::f32, 0, {dim(3)}), t = argument(g, dtype::f32, 1, {dim(4)});
  CHECK_THROWS_WITH_AS(jvp(x * x, {x, t}), "jvp(f32[3], f32[3], f32[4]): extents 4 and 3 disagree",
                       sn::shape_error);
}

}  // namespace jvp_test
