// SPDX-License-Identifier: MIT
// Checks of a function of the front end in double: its values against given ones, its gradients
// against central differences; each traced with known and with unknown extents, interpreted and
// run through the whole pipeline.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "close.hpp"
#include "run_graph.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/sinter.hpp>

namespace test_support {

using sinter::handle;
using sinter::ir::value;

// A tensor of doubles, f64, that no two elements of are alike.
inline reference_tensor scattered(const shape_vector& shape, int seed = 0) {
  reference_tensor out = sinter::ir::filled(dtype::f64, shape, 0);
  double position = 0.37 + seed * 0.2718281828;
  for (double& x : out.data) {
    position += 0.61803398875;
    position -= std::floor(position);
    x = 4 * position - 2;
  }
  return out;
}

inline reference_tensor integers(const shape_vector& shape, std::vector<double> data) {
  return {dtype::i64, shape, std::move(data)};
}

// Arguments as handles; extents are symbols or known.
inline std::vector<handle> arguments_of(sinter::ir::graph& g,
                                        const std::vector<reference_tensor>& point, bool dynamic) {
  std::vector<handle> out;
  std::int64_t symbols = 0;
  for (std::size_t i = 0; i < point.size(); ++i) {
    sinter::ir::symbolic_shape shape;
    for (std::int64_t extent : point[i].shape)
      shape.push_back(dynamic ? g.dims.symbol(symbols++) : sinter::ir::dim(extent));
    out.push_back(handle(sinter::ir::argument(g, point[i].type, static_cast<int>(i), shape)));
  }
  return out;
}

// What an expression of tensors would not even compile: the fault of a trace at run time.
template <class F>
void trace(F f, const std::vector<reference_tensor>& point) {
  sinter::ir::graph g;
  f(arguments_of(g, point, false));
}

inline void check_same(const reference_tensor& got, const reference_tensor& expected,
                       double tolerance) {
  REQUIRE(got.type == expected.type);
  REQUIRE(got.shape == expected.shape);
  for (std::size_t i = 0; i < got.data.size(); ++i) {
    INFO("element " << i << ": " << got.data[i] << " where " << expected.data[i] << " is expected");
    CHECK(close(got.data[i], expected.data[i], tolerance, tolerance));
  }
}

template <class F>
void check_values(F f, const std::vector<reference_tensor>& point,
                  const reference_tensor& expected) {
  for (const bool dynamic : {false, true}) {
    INFO("dynamic: " << dynamic);
    sinter::ir::graph g;
    const std::vector<handle> x = arguments_of(g, point, dynamic);
    g.outputs.push_back({f(x).node.id, -1});
    check_same(sinter::ir::interpret(g, point)[0], expected, 1e-12);
    check_same(run(g, point)[0], expected, 1e-12);
  }
}

// The loss that is differentiated weighs every element of the result in another way.
inline value weighted_sum(value y) {
  sinter::ir::graph& g = *y.owner;
  value weight = sinter::ir::constant(g, y.type(), 0.7);
  for (int axis = 0; axis < y.rank(); ++axis)
    weight = weight + sinter::ir::iota(g, y.type(), y.shape(), axis) * (1.9 - 0.6 * axis);
  return sinter::ir::sum(y * (sinter::ir::unary(sinter::ir::op::sin, weight) + 1.3),
                         sinter::ir::all_axes(y), false);
}

template <class F>
void check_gradients(F f, const std::vector<reference_tensor>& point) {
  std::vector<reference_tensor> first;
  for (const bool dynamic : {false, true}) {
    INFO("dynamic: " << dynamic);
    sinter::ir::graph g;
    const std::vector<handle> x = arguments_of(g, point, dynamic);
    const value loss = weighted_sum(f(x).node);
    g.outputs.push_back({loss.id, -1});
    std::vector<std::size_t> variables;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!sinter::is_floating(point[i].type)) continue;
      variables.push_back(i);
      g.outputs.push_back(
          {sinter::ir::append(g, sinter::ir::op::gradient, {loss.id, x[i].node.id}), -1});
    }
    g = sinter::ir::expand_gradients(g);
    const std::vector<reference_tensor> found = sinter::ir::interpret(g, point),
                                        ran = run(g, point);
    for (std::size_t k = 0; k < found.size(); ++k) check_same(ran[k], found[k], 1e-11);
    if (dynamic) {
      for (std::size_t k = 0; k < found.size(); ++k) check_same(found[k], first[k], 1e-12);
      continue;
    }
    first = found;
    sinter::ir::graph loss_only = g;
    loss_only.outputs.resize(1);
    for (std::size_t k = 0; k < variables.size(); ++k) {
      std::vector<reference_tensor> moved = point;
      reference_tensor expected = found[k + 1];
      REQUIRE(expected.shape == point[variables[k]].shape);
      for (std::size_t i = 0; i < expected.data.size(); ++i) {
        double& at = moved[variables[k]].data[i];
        const double here = at, step = 1e-5;
        at = here + step;
        const double above = sinter::ir::interpret(loss_only, moved)[0].data[0];
        at = here - step;
        const double below = sinter::ir::interpret(loss_only, moved)[0].data[0];
        at = here;
        expected.data[i] = (above - below) / (2 * step);
      }
      INFO("by argument " << variables[k]);
      check_same(found[k + 1], expected, 1e-6);
    }
  }
}

}  // namespace test_support
