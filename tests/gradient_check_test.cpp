// SPDX-License-Identifier: MIT
// Gradients of every differentiable op against central differences in double, first and second
// order; the same with symbolic extents, interpreted as they are and bound to a class of shapes.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/gradient_cases.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/interpret.hpp>

namespace gradient_check_test {

using namespace sinter;
using namespace sinter::ir;
using test_support::gradient_case;

namespace {

// A scalar that depends on every element of y in a different way.
value weighted_sum(value y) {
  graph& g = *y.owner;
  value weight = constant(g, y.type(), 0.7);
  for (int axis = 0; axis < y.rank(); ++axis)
    weight = weight + iota(g, y.type(), y.shape(), axis) * (1.9 - 0.6 * axis);
  return sum(y * (unary(op::sin, weight) + 1.3), all_axes(y), false);
}

struct problem {
  graph whole;  // outputs: the loss, then its gradients by every floating argument
  std::vector<int> variables;
};

// order 1: the loss is a weighted sum of the case's function; order 2: of the gradients of that.
problem build(const gradient_case& c, int order, bool symbolic) {
  graph g;
  std::vector<value> arguments, variables;
  std::vector<int> numbers;
  std::int64_t symbols = 0;
  for (std::size_t i = 0; i < c.point.size(); ++i) {
    symbolic_shape shape;
    for (std::int64_t extent : c.point[i].shape)
      shape.push_back(symbolic ? g.dims.symbol(symbols++) : dim(extent));
    arguments.push_back(argument(g, c.point[i].type, static_cast<int>(i), shape));
    if (!is_floating(c.point[i].type)) continue;
    variables.push_back(arguments.back());
    numbers.push_back(static_cast<int>(i));
  }
  value loss = weighted_sum(c.function(arguments));
  const auto gradient_of = [&](value scalar, value x) {
    return value{&g, append(g, op::gradient, {scalar.id, x.id})};
  };
  for (int i = 1; i < order; ++i) {
    value next = constant(g, dtype::f64, 0);
    for (value x : variables) next = next + weighted_sum(gradient_of(loss, x));
    loss = next;
  }
  g.outputs.push_back({loss.id, -1});
  for (value x : variables) g.outputs.push_back({gradient_of(loss, x).id, -1});
  return {expand_gradients(g), numbers};
}

// All in units of 1 or the value's magnitude. A step of 1e-5 leaves an error of about 1e-10 from
// the third derivative and 1e-11 from rounding.
void check_close(const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("element " << i << ": " << found[i] << " where " << expected[i] << " is expected");
    CHECK(std::abs(found[i] - expected[i]) <= tolerance * std::max(1.0, std::abs(expected[i])));
  }
}

std::vector<double> central_differences(const graph& g, std::vector<reference_tensor> point,
                                        int variable) {
  graph loss_only = g;
  loss_only.outputs.resize(1);
  std::vector<double> out;
  const double step = 1e-5;
  std::vector<double>& data = point[static_cast<std::size_t>(variable)].data;
  for (double& x : data) {
    const double at = x;
    x = at + step;
    const double above = interpret(loss_only, point)[0].data[0];
    x = at - step;
    const double below = interpret(loss_only, point)[0].data[0];
    x = at;
    out.push_back((above - below) / (2 * step));
  }
  return out;
}

void check(const gradient_case& c, int order) {
  INFO(c.name << ", order " << order);
  const problem known = build(c, order, false);
  const std::vector<reference_tensor> results = interpret(known.whole, c.point);
  for (std::size_t i = 0; i < known.variables.size(); ++i) {
    const reference_tensor& x = c.point[static_cast<std::size_t>(known.variables[i])];
    INFO("by argument " << known.variables[i]);
    CHECK(results[i + 1].shape == x.shape);
    CHECK(results[i + 1].type == x.type);
    check_close(results[i + 1].data, central_differences(known.whole, c.point, known.variables[i]),
                1e-7);
  }

  const problem open = build(c, order, true);
  std::vector<shape_vector> shapes;
  for (const reference_tensor& x : c.point) shapes.push_back(x.shape);
  for (const graph& g : {open.whole, ir::bind(open.whole, shapes)}) {
    const std::vector<reference_tensor> symbolic = interpret(g, c.point);
    for (std::size_t i = 0; i < results.size(); ++i) {
      CHECK(symbolic[i].shape == results[i].shape);
      check_close(symbolic[i].data, results[i].data, 1e-12);
    }
  }
}

}  // namespace

TEST_CASE("first derivatives agree with central differences") {
  for (const gradient_case& c : test_support::all_gradient_cases()) check(c, 1);
}

TEST_CASE("gradients of gradients agree with central differences") {
  for (const gradient_case& c : test_support::all_gradient_cases()) check(c, 2);
}

TEST_CASE("third derivatives of smooth functions") {
  for (const gradient_case& c : test_support::composite_gradient_cases()) check(c, 3);
  for (const gradient_case& c : test_support::elementwise_gradient_cases())
    if (c.name == "exp" || c.name == "mul by itself" || c.name == "tanh" || c.name == "div")
      check(c, 3);
}

TEST_CASE("every differentiable op has a gradient case") {
  std::array<bool, op_count> covered{};
  for (const gradient_case& c : test_support::all_gradient_cases()) {
    graph g;
    std::vector<value> arguments;
    for (std::size_t i = 0; i < c.point.size(); ++i) {
      symbolic_shape shape(c.point[i].shape.begin(), c.point[i].shape.end());
      arguments.push_back(argument(g, c.point[i].type, static_cast<int>(i), shape));
    }
    c.function(arguments);
    bool present = false;
    for (const node& n : g.nodes()) present = present || n.code == c.covers;
    INFO(c.name);
    CHECK(present);
    covered[static_cast<std::size_t>(c.covers)] = present;
  }
  for (const op_info& row : op_table) {
    INFO(row.name);
    if (!is_custom(row.code))  // each has a gradient of its own or none
      CHECK(covered[static_cast<std::size_t>(row.code)] == differentiable(row.code));
  }
}

}  // namespace gradient_check_test
