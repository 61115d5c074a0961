// SPDX-License-Identifier: MIT
// Traces a lambda on handles and evaluates the graph with the reference interpreter. Scalars become
// weak arguments, as the C++ numbers given to a fused function.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include <sinter/expr/expr.hpp>
#include <sinter/graph/interpret.hpp>

namespace test_support {

using sinter::dtype;
using sinter::handle;
using sinter::shape_vector;
using sinter::ir::reference_tensor;

// 0, 1, 2... in row-major order.
inline reference_tensor counted(dtype type, const shape_vector& shape, double first = 0) {
  reference_tensor out = sinter::ir::filled(type, shape, 0);
  for (double& x : out.data) x = first++;
  return out;
}

// An argument: what a fused function gets, and whether it is a C++ scalar.
struct given {
  reference_tensor value;
  bool weak = false;

  given(reference_tensor v) : value(std::move(v)) {}
  given(float x) : value{dtype::f32, {}, {x}}, weak(true) {}
  given(double x) : value{dtype::f64, {}, {x}}, weak(true) {}
  given(int x) : value{dtype::i32, {}, {static_cast<double>(x)}}, weak(true) {}
};

// The graph of f(arguments...): all extents symbols, or all as they are.
template <class F, class... A>
sinter::ir::graph traced(F f, bool dynamic, const A&... arguments) {
  sinter::ir::graph g;
  int number = 0;
  std::int64_t symbols = 0;
  const auto write = [&](const given& a) {
    sinter::ir::symbolic_shape shape;
    for (std::int64_t extent : a.value.shape)
      shape.push_back(dynamic ? g.dims.symbol(symbols++) : sinter::ir::dim(extent));
    return handle(sinter::ir::argument(g, a.value.type, number++, shape, a.weak));
  };
  const std::array<handle, sizeof...(A)> handles{write(arguments)...};
  sinter::set_outputs(g, std::apply(f, handles));
  return g;
}

// Equal dtype and shape, and elements within 1e-6 (relative to numbers above 1); NaN equals NaN.
inline bool close(const reference_tensor& a, const reference_tensor& b) {
  if (a.type != b.type || a.shape != b.shape || a.data.size() != b.data.size()) return false;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    const double x = a.data[i], y = b.data[i];
    if (x == y || (x != x && y != y)) continue;
    const double distance = x < y ? y - x : x - y, size = y < 0 ? -y : y;
    if (!(distance <= 1e-6 * (size > 1 ? size : 1))) return false;
  }
  return true;
}

// The results of f(arguments...), traced with static extents; the trace with symbols must give the
// same.
template <class F, class... A>
std::vector<reference_tensor> results(F f, const A&... arguments) {
  std::vector<reference_tensor> values;
  (values.push_back(given(arguments).value), ...);
  const auto fixed = sinter::ir::interpret(traced(f, false, given(arguments)...), values);
  const auto dynamic = sinter::ir::interpret(traced(f, true, given(arguments)...), values);
  for (std::size_t i = 0; i < fixed.size(); ++i)
    if (!close(fixed[i], dynamic[i]))
      throw sinter::graph_error("static and dynamic extents give different results");
  return fixed;
}

template <class F, class... A>
reference_tensor result(F f, const A&... arguments) {
  return results(f, arguments...)[0];
}

inline reference_tensor floats(const shape_vector& shape, std::initializer_list<double> data) {
  return {dtype::f32, shape, data};
}
inline reference_tensor doubles(const shape_vector& shape, std::initializer_list<double> data) {
  return {dtype::f64, shape, data};
}
inline reference_tensor ints(const shape_vector& shape, std::initializer_list<double> data) {
  return {dtype::i32, shape, data};
}
inline reference_tensor bools(const shape_vector& shape, std::initializer_list<double> data) {
  return {dtype::boolean, shape, data};
}

}  // namespace test_support
