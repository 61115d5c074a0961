// SPDX-License-Identifier: MIT
// One or more functions per differentiable op for the gradient check: what is differentiated and at
// which point. The points keep a distance from kinks and jumps that is large beside the step of a
// central difference.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <sinter/graph/build.hpp>
#include <sinter/graph/reference_tensor.hpp>

namespace test_support {

using sinter::dtype;
using sinter::shape_vector;
using sinter::ir::dim;
using sinter::ir::op;
using sinter::ir::reference_tensor;
using sinter::ir::symbolic_shape;
using sinter::ir::value;

struct gradient_case {
  std::string name;
  op covers;
  value (*function)(const std::vector<value>&);
  std::vector<reference_tensor> point;
};

// `count` irregular values in [low, high], no two of them close to each other for small counts.
inline reference_tensor spread_out(const shape_vector& shape, double low, double high,
                                   double seed = 0) {
  reference_tensor out = sinter::ir::filled(dtype::f64, shape, 0);
  double position = 0.37 + seed * 0.2718281828;
  for (double& x : out.data) {
    position += 0.61803398875;  // golden ratio: low-discrepancy
    position -= std::floor(position);
    x = low + (high - low) * position;
  }
  return out;
}
inline reference_tensor of(const shape_vector& shape, std::vector<double> data,
                           dtype type = dtype::f64) {
  return {type, shape, std::move(data)};
}

template <op Code>
value apply_unary(const std::vector<value>& x) {
  return sinter::ir::unary(Code, x[0]);
}
template <op Code>
value apply_binary(const std::vector<value>& x) {
  return sinter::ir::elementwise(Code, {x[0], x[1]});
}

// Every way in which two operands meet: equal shapes, broadcasting of either and of both, scalars,
// the same one twice.
template <op Code>
void add_binary(std::vector<gradient_case>& out, const std::string& name, double low_a,
                double high_a, double low_b, double high_b) {
  const auto a = [&](const shape_vector& shape) { return spread_out(shape, low_a, high_a, 1); };
  const auto b = [&](const shape_vector& shape) { return spread_out(shape, low_b, high_b, 2); };
  out.push_back({name, Code, apply_binary<Code>, {a({2, 3}), b({2, 3})}});
  out.push_back({name + " row", Code, apply_binary<Code>, {a({2, 3}), b({3})}});
  out.push_back({name + " column", Code, apply_binary<Code>, {a({2, 1}), b({2, 3})}});
  out.push_back({name + " outer", Code, apply_binary<Code>, {a({2, 1}), b({1, 3})}});
  out.push_back({name + " by scalar", Code, apply_binary<Code>, {a({2, 2}), b({})}});
  out.push_back({name + " of scalar", Code, apply_binary<Code>, {a({}), b({2, 2})}});
  out.push_back({name + " of scalars", Code, apply_binary<Code>, {a({}), b({})}});
}

inline std::vector<gradient_case> elementwise_gradient_cases() {
  using namespace sinter::ir;
  std::vector<gradient_case> out;
  const reference_tensor any = spread_out({2, 3}, -2, 2), positive = spread_out({2, 3}, 0.4, 2.5);
  out.push_back({"neg", op::neg, apply_unary<op::neg>, {any}});
  out.push_back({"abs", op::abs, apply_unary<op::abs>, {any}});
  out.push_back({"sqrt", op::sqrt, apply_unary<op::sqrt>, {positive}});
  out.push_back({"rsqrt", op::rsqrt, apply_unary<op::rsqrt>, {positive}});
  out.push_back({"recip", op::recip, apply_unary<op::recip>, {positive}});
  out.push_back({"exp", op::exp, apply_unary<op::exp>, {any}});
  out.push_back({"exp2", op::exp2, apply_unary<op::exp2>, {any}});
  out.push_back({"log", op::log, apply_unary<op::log>, {positive}});
  out.push_back({"log2", op::log2, apply_unary<op::log2>, {positive}});
  out.push_back({"sin", op::sin, apply_unary<op::sin>, {any}});
  out.push_back({"cos", op::cos, apply_unary<op::cos>, {any}});
  out.push_back({"tanh", op::tanh, apply_unary<op::tanh>, {any}});
  out.push_back({"erf", op::erf, apply_unary<op::erf>, {any}});
  out.push_back({"sigmoid", op::sigmoid, apply_unary<op::sigmoid>, {any}});
  out.push_back({"relu", op::relu, apply_unary<op::relu>, {any}});
  out.push_back({"gelu", op::gelu, apply_unary<op::gelu>, {any}});
  out.push_back({"gelu_tanh", op::gelu_tanh, apply_unary<op::gelu_tanh>, {any}});
  out.push_back({"silu", op::silu, apply_unary<op::silu>, {any}});
  out.push_back({"softplus", op::softplus, apply_unary<op::softplus>, {any}});
  out.push_back({"exp of a scalar", op::exp, apply_unary<op::exp>, {spread_out({}, 0.5, 1)}});
  out.push_back({"exp of nothing", op::exp, apply_unary<op::exp>, {spread_out({0, 3}, 0.5, 1)}});
  // The interpreter does not round f32, so the way through it and back is smooth.
  out.push_back({"cast",
                 op::cast,
                 [](const std::vector<value>& x) {
                   return cast(cast(x[0], dtype::f32) * 3.0, dtype::f64) * x[0];
                 },
                 {any}});

  add_binary<op::add>(out, "add", -2, 2, -2, 2);
  add_binary<op::sub>(out, "sub", -2, 2, -2, 2);
  add_binary<op::mul>(out, "mul", -2, 2, -2, 2);
  add_binary<op::div>(out, "div", -2, 2, 0.5, 2);
  add_binary<op::pow>(out, "pow", 0.5, 2, -2, 2);
  add_binary<op::maximum>(out, "maximum", -2, 2, -1.5, 2.5);
  add_binary<op::minimum>(out, "minimum", -2, 2, -1.5, 2.5);
  // Quotients 2.5, -1.67, 3.4 and so on: far from integers.
  out.push_back({"mod",
                 op::mod,
                 apply_binary<op::mod>,
                 {of({2, 2}, {5, -5, 6.8, -7.1}), of({2, 2}, {2, 3, 2, -2})}});
  out.push_back(
      {"mod row", op::mod, apply_binary<op::mod>, {of({2, 2}, {5, -5, 7.2, -7}), of({2}, {2, 3})}});
  out.push_back(
      {"mod by scalar", op::mod, apply_binary<op::mod>, {of({3}, {5, -5, 7.2}), of({}, {2})}});

  out.push_back({"mul by itself",
                 op::mul,
                 [](const std::vector<value>& x) { return x[0] * x[0] * x[0] + x[0]; },
                 {any}});
  out.push_back({"div by itself",
                 op::div,
                 [](const std::vector<value>& x) { return x[0] / (x[0] * x[0] + 1.0); },
                 {any}});
  out.push_back({"add with its own row sum",
                 op::add,
                 [](const std::vector<value>& x) { return x[0] * (x[0] + sum(x[0], 2)); },
                 {any}});
  out.push_back({"pow 3",
                 op::pow,
                 [](const std::vector<value>& x) {
                   return elementwise(op::pow, {x[0], constant_like(x[0], 3)});
                 },
                 {any}});
  out.push_back({"pow 2",
                 op::pow,
                 [](const std::vector<value>& x) {
                   return elementwise(op::pow, {x[0], constant_like(x[0], 2)});
                 },
                 {any}});
  out.push_back({"pow 1",
                 op::pow,
                 [](const std::vector<value>& x) {
                   return elementwise(op::pow, {x[0], constant_like(x[0], 1)});
                 },
                 {any}});
  out.push_back({"pow 0",
                 op::pow,
                 [](const std::vector<value>& x) {
                   return elementwise(op::pow, {x[0], constant_like(x[0], 0)});
                 },
                 {any}});
  out.push_back({"pow -1.5",
                 op::pow,
                 [](const std::vector<value>& x) {
                   return elementwise(op::pow, {x[0], constant_like(x[0], -1.5)});
                 },
                 {positive}});
  out.push_back({"pow of a constant",
                 op::pow,
                 [](const std::vector<value>& x) {
                   return elementwise(op::pow, {constant_like(x[0], 2.5), x[0]});
                 },
                 {any}});
  out.push_back({"pow x x",
                 op::pow,
                 [](const std::vector<value>& x) {
                   return elementwise(op::pow, {x[0], x[0]});
                 },
                 {positive}});

  const auto choose = [](const std::vector<value>& x) {
    return where(elementwise(op::less, {x[0], x[1]}), x[0] * x[1], x[2]);
  };
  out.push_back({"where",
                 op::where,
                 choose,
                 {any, spread_out({2, 3}, -2, 2, 1), spread_out({2, 3}, -2, 2, 2)}});
  out.push_back({"where row and scalar",
                 op::where,
                 choose,
                 {any, spread_out({3}, -2, 2, 1), spread_out({}, -2, 2, 2)}});
  out.push_back({"where by scalar",
                 op::where,
                 choose,
                 {spread_out({}, -1, 0), spread_out({}, 1, 2), spread_out({2, 2}, -2, 2, 2)}});
  const auto fma = [](const std::vector<value>& x) {
    return elementwise(op::multiply_add, {x[0], x[1], x[2]});
  };
  out.push_back({"multiply_add",
                 op::multiply_add,
                 fma,
                 {any, spread_out({2, 3}, -2, 2, 1), spread_out({2, 3}, -2, 2, 2)}});
  out.push_back({"multiply_add broadcasts",
                 op::multiply_add,
                 fma,
                 {spread_out({2, 1}, -2, 2), spread_out({}, -2, 2, 1), spread_out({3}, -2, 2, 2)}});
  return out;
}

template <op Code, std::int64_t Axes, bool Keep>
value apply_reduction(const std::vector<value>& x) {
  return sinter::ir::reduce(Code, x[0], Axes, Keep);
}
template <op Code>
void add_reduction(std::vector<gradient_case>& out, const std::string& name) {
  const reference_tensor x = spread_out({2, 3, 2}, 0.3, 2);
  out.push_back({name + " of columns", Code, apply_reduction<Code, 1, true>, {x}});
  out.push_back({name + " of rows", Code, apply_reduction<Code, 2, false>, {x}});
  out.push_back({name + " of two axes", Code, apply_reduction<Code, 5, false>, {x}});
  out.push_back({name + " of all", Code, apply_reduction<Code, 7, false>, {x}});
  out.push_back({name + " of an extent of one",
                 Code,
                 apply_reduction<Code, 2, true>,
                 {spread_out({3, 1}, 0.3, 2)}});
}

using steps = sinter::inline_vector<std::int64_t, sinter::max_rank>;

inline std::vector<gradient_case> structural_gradient_cases() {
  using namespace sinter::ir;
  std::vector<gradient_case> out;
  add_reduction<op::reduce_sum>(out, "reduce_sum");
  add_reduction<op::reduce_max>(out, "reduce_max");
  add_reduction<op::reduce_min>(out, "reduce_min");
  add_reduction<op::reduce_prod>(out, "reduce_prod");
  // A product is a polynomial: its derivatives of both orders exist where elements are zero.
  out.push_back({"reduce_prod with zeros",
                 op::reduce_prod,
                 apply_reduction<op::reduce_prod, 2, false>,
                 {of({5, 4}, {2, 0, 3, -1, 0, 2, 0, 5, 0, 0, 0, 2, 1, 2, -3, 4, 0, 0, 0, 0})}});

  const reference_tensor x = spread_out({2, 3}, -2, 2), cube = spread_out({2, 3, 2}, -2, 2);
  // Squares, so that a gradient that lands in the wrong place is seen: it is multiplied by another
  // element.
  out.push_back({"reshape",
                 op::reshape,
                 [](const std::vector<value>& v) {
                   return reshape(v[0] * v[0], {dim(3), dim(2)});
                 },
                 {x}});
  out.push_back({"permute",
                 op::permute,
                 [](const std::vector<value>& v) {
                   const std::int64_t axes[] = {2, 0, 1};
                   return permute(v[0] * v[0], axes);
                 },
                 {cube}});
  out.push_back({"broadcast_to",
                 op::broadcast_to,
                 [](const std::vector<value>& v) {
                   return broadcast_to(v[0] * v[0], {dim(2), dim(4), dim(3)});
                 },
                 {spread_out({2, 1, 3}, -2, 2)}});
  out.push_back({"broadcast_to higher rank",
                 op::broadcast_to,
                 [](const std::vector<value>& v) {
                   return broadcast_to(v[0] * v[0], {dim(2), dim(3)});
                 },
                 {spread_out({3}, -2, 2)}});
  out.push_back(
      {"sum_to",
       op::sum_to,
       [](const std::vector<value>& v) {
         const symbolic_shape shape{dim(3), dim(1)};
         return value{v[0].owner, append(*v[0].owner, op::sum_to, {(v[0] * v[0]).id}, {}, shape)};
       },
       {cube}});
  out.push_back({"pad",
                 op::pad,
                 [](const std::vector<value>& v) {
                   return pad(v[0] * v[0], {dim(1), dim(0)}, {dim(2), dim(1)}, 7);
                 },
                 {x}});
  out.push_back({"slice",
                 op::slice,
                 [](const std::vector<value>& v) {
                   return slice(v[0] * v[0], {dim(1), dim(1)}, {dim(2), dim(3)}, steps{1, 1});
                 },
                 {x}});
  out.push_back(
      {"slice with a step",
       op::slice,
       [](const std::vector<value>& v) { return slice(v[0] * v[0], {dim(1)}, {dim(7)}, steps{2}); },
       {spread_out({7}, -2, 2)}});
  out.push_back(
      {"slice that ends in a step",
       op::slice,
       [](const std::vector<value>& v) { return slice(v[0] * v[0], {dim(0)}, {dim(8)}, steps{3}); },
       {spread_out({8}, -2, 2)}});
  out.push_back({"slice with two steps",
                 op::slice,
                 [](const std::vector<value>& v) {
                   return slice(v[0] * v[0], {dim(0), dim(1), dim(0)},
                                {v[0].extent(0), v[0].extent(1), v[0].extent(2)}, steps{2, 3, 1});
                 },
                 {spread_out({3, 5, 2}, -2, 2)}});
  out.push_back(
      {"slice of nothing with a step",
       op::slice,
       [](const std::vector<value>& v) { return slice(v[0] * v[0], {dim(2)}, {dim(2)}, steps{3}); },
       {spread_out({5}, -2, 2)}});
  out.push_back(
      {"flip", op::flip, [](const std::vector<value>& v) { return flip(v[0] * v[0], 5); }, {cube}});
  out.push_back({"recompute",
                 op::recompute,
                 [](const std::vector<value>& v) {
                   const int square = (v[0] * v[0]).id;
                   const value again{v[0].owner, append(*v[0].owner, op::recompute, {square}, {7})};
                   return again * v[0];
                 },
                 {cube}});
  // With a value from outside, a variable within, and a checkpoint inside of it.
  out.push_back(
      {"checkpoint",
       op::checkpoint,
       [](const std::vector<value>& v) {
         sinter::ir::graph& g = *v[0].owner;
         const value outside = v[1] * 2.0, inside = unary(op::tanh, v[0]) * outside;
         const value inner{
             &g, append(g, op::checkpoint, {unary(op::sin, inside * inside).id, inside.id})};
         return value{&g, append(g, op::checkpoint, {(inner * v[0] + outside).id, v[0].id})} * v[0];
       },
       {spread_out({2, 3}, -1, 1), spread_out({3}, 0.5, 1)}});
  out.push_back({"windows",
                 op::windows,
                 [](const std::vector<value>& v) {
                   const value w = windows(v[0] * v[0], 0, dim(3));
                   return w * w;
                 },
                 {spread_out({5}, -2, 2)}});
  out.push_back({"windows with stride and dilation between other axes",
                 op::windows,
                 [](const std::vector<value>& v) { return windows(v[0] * v[0], 1, dim(3), 2, 3); },
                 {spread_out({2, 12, 2}, -2, 2)}});
  out.push_back({"windows far apart",
                 op::windows,
                 [](const std::vector<value>& v) { return windows(v[0] * v[0], 0, dim(2), 4); },
                 {spread_out({9, 2}, -2, 2)}});
  out.push_back({"windows of windows, as long as another tensor",
                 op::windows,
                 [](const std::vector<value>& v) {
                   const value rows = windows(v[0] * v[0], 1, v[1].extent(0), 1, 2);
                   return windows(rows, 0, v[1].extent(1), 2) * sum(v[1], 3, false);
                 },
                 {spread_out({5, 6}, -2, 2), spread_out({2, 3}, -2, 2)}});
  out.push_back({"sum_windows",
                 op::sum_windows,
                 [](const std::vector<value>& v) {
                   const value s = sum_windows(v[0] * v[0], 1, dim(8), 2, 1);
                   return s * s;
                 },
                 {spread_out({2, 3, 3, 2}, -2, 2)}});
  out.push_back({"concat",
                 op::concat,
                 [](const std::vector<value>& v) {
                   const value parts[] = {v[0] * v[0], v[1], v[0]};
                   return concat(parts, 1);
                 },
                 {x, spread_out({2, 1}, -2, 2, 1)}});

  out.push_back({"matmul",
                 op::matmul,
                 [](const std::vector<value>& v) { return matmul(v[0], v[1]); },
                 {spread_out({2, 3}, -2, 2), spread_out({3, 2}, -2, 2, 1)}});
  out.push_back({"matmul transpose a",
                 op::matmul,
                 [](const std::vector<value>& v) { return matmul(v[0], v[1], true, false); },
                 {spread_out({3, 2}, -2, 2), spread_out({3, 4}, -2, 2, 1)}});
  out.push_back({"matmul transpose b",
                 op::matmul,
                 [](const std::vector<value>& v) { return matmul(v[0], v[1], false, true); },
                 {spread_out({2, 3}, -2, 2), spread_out({4, 3}, -2, 2, 1)}});
  out.push_back({"matmul transpose both",
                 op::matmul,
                 [](const std::vector<value>& v) { return matmul(v[0], v[1], true, true); },
                 {spread_out({3, 2}, -2, 2), spread_out({4, 3}, -2, 2, 1)}});
  out.push_back({"matmul in batches",
                 op::matmul,
                 [](const std::vector<value>& v) { return matmul(v[0], v[1], false, true); },
                 {spread_out({2, 2, 3}, -2, 2), spread_out({2, 1, 3}, -2, 2, 1)}});
  out.push_back({"matmul with a broadcast batch",
                 op::matmul,
                 [](const std::vector<value>& v) { return matmul(v[0], v[1]); },
                 {spread_out({2, 1, 2, 2}, -2, 2), spread_out({2, 2, 1}, -2, 2, 1)}});
  out.push_back(
      {"matmul with itself",
       op::matmul,
       [](const std::vector<value>& v) { return matmul(v[0], matmul(v[0], v[0], true, false)); },
       {spread_out({2, 2}, -2, 2)}});

  const reference_tensor indices = of({2, 2}, {2, 0, 2, 1}, dtype::i64);
  out.push_back({"gather",
                 op::gather,
                 [](const std::vector<value>& v) { return gather(v[0] * v[0], v[1], 1); },
                 {cube, indices}});
  out.push_back({"gather rows",
                 op::gather,
                 [](const std::vector<value>& v) { return gather(v[0] * v[0], v[1], 0); },
                 {spread_out({4, 2}, -2, 2), of({3}, {3, 0, 3}, dtype::i32)}});
  out.push_back({"scatter_add",
                 op::scatter_add,
                 [](const std::vector<value>& v) {
                   const symbolic_shape shape{dim(4), v[0].extent(1)};
                   const value y = scatter_add(v[0] * v[0], v[1], 0, shape);
                   return y * y;
                 },
                 {spread_out({3, 2}, -2, 2), of({3}, {3, 0, 3}, dtype::i64)}});
  out.push_back({"cumsum",
                 op::cumsum,
                 [](const std::vector<value>& v) {
                   const value y = sinter::ir::cumsum(v[0] * v[0], 1);
                   return y * y;
                 },
                 {spread_out({2, 4}, -2, 2)}});
  out.push_back({"cumsum of what is behind",
                 op::cumsum,
                 [](const std::vector<value>& v) {
                   const value y = sinter::ir::cumsum(v[0] * v[0], 0, true, true);
                   return y * y;
                 },
                 {spread_out({4, 2}, -2, 2)}});
  return out;
}

template <op Code, std::int64_t Axes>
value apply_softmax(const std::vector<value>& x) {
  return {x[0].owner, sinter::ir::append(*x[0].owner, Code, {x[0].id}, {Axes})};
}
template <op Code, std::int64_t Axes>
value apply_norm(const std::vector<value>& x) {
  const std::int64_t eps = sinter::ir::bits_of(0.01);
  return {x[0].owner, sinter::ir::append(*x[0].owner, Code, {x[0].id}, {Axes, eps})};
}
template <std::int64_t Neighbours, std::int64_t Inverse, std::int64_t Axis>
value apply_rope(const std::vector<value>& x) {
  return {x[0].owner, sinter::ir::append(*x[0].owner, op::rope, {x[0].id, x[1].id},
                                         {sinter::ir::bits_of(10), Neighbours, Inverse, Axis})};
}
inline value apply_cross_entropy(const std::vector<value>& x) {
  return {x[0].owner, sinter::ir::append(*x[0].owner, op::cross_entropy, {x[0].id, x[1].id})};
}

inline std::vector<gradient_case> composite_gradient_cases() {
  using namespace sinter::ir;
  std::vector<gradient_case> out;
  const reference_tensor x = spread_out({2, 3}, -2, 2), cube = spread_out({2, 2, 3}, -2, 2);
  out.push_back({"softmax", op::softmax, apply_softmax<op::softmax, 2>, {x}});
  out.push_back({"softmax of columns", op::softmax, apply_softmax<op::softmax, 1>, {x}});
  out.push_back({"softmax of two axes", op::softmax, apply_softmax<op::softmax, 5>, {cube}});
  out.push_back({"softmax of one element",
                 op::softmax,
                 apply_softmax<op::softmax, 2>,
                 {spread_out({2, 1}, -2, 2)}});
  out.push_back({"log_softmax", op::log_softmax, apply_softmax<op::log_softmax, 2>, {x}});
  out.push_back(
      {"log_softmax of two axes", op::log_softmax, apply_softmax<op::log_softmax, 6>, {cube}});
  out.push_back({"layer_norm", op::layer_norm, apply_norm<op::layer_norm, 2>, {x}});
  out.push_back({"layer_norm of two axes", op::layer_norm, apply_norm<op::layer_norm, 6>, {cube}});
  out.push_back({"rms_norm", op::rms_norm, apply_norm<op::rms_norm, 2>, {x}});
  out.push_back({"rms_norm of columns", op::rms_norm, apply_norm<op::rms_norm, 1>, {x}});
  out.push_back({"first_max", op::first_max, apply_softmax<op::first_max, 2>, {x}});
  out.push_back({"first_max of two axes", op::first_max, apply_softmax<op::first_max, 5>, {cube}});
  out.push_back(
      {"cross_entropy", op::cross_entropy, apply_cross_entropy, {x, of({2}, {2, 0}, dtype::i64)}});
  out.push_back({"cross_entropy with bytes",
                 op::cross_entropy,
                 apply_cross_entropy,
                 {cube, of({2, 2}, {2, 0, 1, 1}, dtype::u8)}});
  const reference_tensor places = of({3}, {0, 7, 2}, dtype::i64);
  out.push_back(
      {"rope of halves", op::rope, apply_rope<0, 0, 1>, {spread_out({2, 3, 4}, -2, 2), places}});
  out.push_back({"rope of neighbours",
                 op::rope,
                 apply_rope<1, 0, 1>,
                 {spread_out({2, 3, 4}, -2, 2), places}});
  out.push_back({"rope of places in front of heads, backwards",
                 op::rope,
                 apply_rope<0, 1, 0>,
                 {spread_out({3, 2, 6}, -2, 2), of({3}, {5, 1, 1}, dtype::u8)}});
  out.push_back({"cross_entropy of one row",
                 op::cross_entropy,
                 apply_cross_entropy,
                 {spread_out({4}, -2, 2), of({}, {1}, dtype::i32)}});
  return out;
}

inline std::vector<gradient_case> all_gradient_cases() {
  std::vector<gradient_case> out = elementwise_gradient_cases();
  for (gradient_case& each : structural_gradient_cases()) out.push_back(each);
  for (gradient_case& each : composite_gradient_cases()) out.push_back(each);
  return out;
}

}  // namespace test_support
