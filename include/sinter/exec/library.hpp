// SPDX-License-Identifier: MIT
// Common superinstructions: short regions that rewriting produces or that graphs loaded at run time
// are made of. Each saves a write and a read of the tile per op it absorbs: two-op
// superinstructions bring a chain of 8 cheap ops from 1.25-1.65 times the fused kernel
// to 1.02-1.12.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include <sinter/exec/map_reduce.hpp>
#include <sinter/graph/regions.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The regions of the library, for f32 or f64, with the reductions that follow them in what users
/// write. Leaves are numbered in the order of their first use.
constexpr auto library_regions(dtype type) {
  using ir::op;
  ir::region empty;
  empty.type = type;

  // x * s + b with scalars: scale and shift.
  ir::region scale_shift = empty;
  {
    const int x = scale_shift.add_leaf(false), s = scale_shift.add_leaf(true),
              b = scale_shift.add_leaf(true);
    scale_shift.add_node(op::add, scale_shift.add_node(op::mul, x, s), b);
  }
  // x * y + z: the affine part of a normalisation.
  ir::region multiply_then_add = empty;
  {
    const int x = multiply_then_add.add_leaf(false), y = multiply_then_add.add_leaf(false);
    const int z = multiply_then_add.add_leaf(false);
    multiply_then_add.add_node(op::add, multiply_then_add.add_node(op::mul, x, y), z);
  }
  // (x - m) * s: the normalisation itself.
  ir::region center_scale = empty;
  {
    const int x = center_scale.add_leaf(false), m = center_scale.add_leaf(true),
              s = center_scale.add_leaf(true);
    center_scale.add_node(op::mul, center_scale.add_node(op::sub, x, m), s);
  }
  // e^(x - m): softmax.
  ir::region exp_shifted = empty;
  {
    const int x = exp_shifted.add_leaf(false), m = exp_shifted.add_leaf(true);
    exp_shifted.add_node(op::exp, exp_shifted.add_node(op::sub, x, m));
  }
  // (x - m)^2: variance.
  ir::region squared_deviation = empty;
  {
    const int x = squared_deviation.add_leaf(false), m = squared_deviation.add_leaf(true);
    const int d = squared_deviation.add_node(op::sub, x, m);
    squared_deviation.add_node(op::mul, d, d);
  }
  // silu(x) * y: the gate of a SwiGLU.
  ir::region gated_silu = empty;
  {
    const int x = gated_silu.add_leaf(false), y = gated_silu.add_leaf(false);
    gated_silu.add_node(op::mul, gated_silu.add_node(op::silu, x), y);
  }
  // relu(x + b) and gelu(x + b): a bias and an activation.
  ir::region relu_bias = empty;
  {
    const int x = relu_bias.add_leaf(false), b = relu_bias.add_leaf(false);
    relu_bias.add_node(op::relu, relu_bias.add_node(op::add, x, b));
  }
  ir::region gelu_bias = empty;
  {
    const int x = gelu_bias.add_leaf(false), b = gelu_bias.add_leaf(false);
    gelu_bias.add_node(op::gelu, gelu_bias.add_node(op::add, x, b));
  }
  // w - s * g: a step of gradient descent.
  ir::region descent = empty;
  {
    const int w = descent.add_leaf(false), s = descent.add_leaf(true), g = descent.add_leaf(false);
    descent.add_node(op::sub, w, descent.add_node(op::mul, s, g));
  }
  // s * x + t * y: moving averages of optimizers.
  ir::region blend = empty;
  {
    const int s = blend.add_leaf(true), x = blend.add_leaf(false), t = blend.add_leaf(true);
    const int y = blend.add_leaf(false);
    const int first = blend.add_node(op::mul, s, x);
    blend.add_node(op::add, first, blend.add_node(op::mul, t, y));
  }
  // (x - m) * s * y + z: a whole layer norm.
  ir::region normalize = empty;
  {
    const int x = normalize.add_leaf(false), m = normalize.add_leaf(true);
    const int s = normalize.add_leaf(true), y = normalize.add_leaf(false);
    const int z = normalize.add_leaf(false);
    const int centered = normalize.add_node(op::mul, normalize.add_node(op::sub, x, m), s);
    normalize.add_node(op::multiply_add, centered, y, z);
  }
  // 1 / sqrt(x * s + e): the scale of a normalisation, of a sum of squares.
  ir::region inverse_deviation = empty;
  {
    const int x = inverse_deviation.add_leaf(false), s = inverse_deviation.add_leaf(true);
    const int e = inverse_deviation.add_leaf(true);
    const int variance =
        inverse_deviation.add_node(op::add, inverse_deviation.add_node(op::mul, x, s), e);
    inverse_deviation.add_node(op::rsqrt, variance);
  }
  // x * y, for its sum: a dot product.
  ir::region product = empty;
  {
    const int x = product.add_leaf(false), y = product.add_leaf(false);
    product.add_node(op::mul, x, y);
  }
  // x^2 and x * s * y: the two halves of an RMS norm.
  ir::region square = empty;
  {
    const int x = square.add_leaf(false);
    square.add_node(op::mul, x, x);
  }
  ir::region scaled_product = empty;
  {
    const int x = scaled_product.add_leaf(false), s = scaled_product.add_leaf(true),
              y = scaled_product.add_leaf(false);
    scaled_product.add_node(op::mul, scaled_product.add_node(op::mul, x, s), y);
  }
  // (x - y)^2: the mean squared error.
  ir::region squared_difference = empty;
  {
    const int x = squared_difference.add_leaf(false), y = squared_difference.add_leaf(false);
    const int d = squared_difference.add_node(op::sub, x, y);
    squared_difference.add_node(op::mul, d, d);
  }
  // a c - b s and a c + b s: a rotated pair.
  ir::region turned_first = empty;
  {
    const int a = turned_first.add_leaf(false), c = turned_first.add_leaf(false);
    const int b = turned_first.add_leaf(false), s = turned_first.add_leaf(false);
    const int first = turned_first.add_node(op::mul, a, c);
    turned_first.add_node(op::sub, first, turned_first.add_node(op::mul, b, s));
  }
  ir::region turned_second = empty;
  {
    const int a = turned_second.add_leaf(false), c = turned_second.add_leaf(false);
    const int b = turned_second.add_leaf(false), s = turned_second.add_leaf(false);
    const int first = turned_second.add_node(op::mul, a, c);
    turned_second.add_node(op::add, first, turned_second.add_node(op::mul, b, s));
  }
  // g where 0 < y: the gradient of y = relu(x), of y, so that x need not be kept for it.
  ir::region relu_gradient = empty;
  {
    const int zero = relu_gradient.add_leaf(true), y = relu_gradient.add_leaf(false);
    const int g = relu_gradient.add_leaf(false);
    relu_gradient.add_node(op::where, relu_gradient.add_node(op::less, zero, y), g, zero);
  }
  // x + b between two bounds, as relu6 has it, and relu(x + (y + b)): behind the products of
  // convolutional networks.
  ir::region bounded_bias = empty;
  {
    const int x = bounded_bias.add_leaf(false), b = bounded_bias.add_leaf(false);
    const int low = bounded_bias.add_leaf(true), high = bounded_bias.add_leaf(true);
    const int above = bounded_bias.add_node(op::maximum, bounded_bias.add_node(op::add, x, b), low);
    bounded_bias.add_node(op::minimum, above, high);
  }
  ir::region relu_residual = empty;
  {
    const int x = relu_residual.add_leaf(false), y = relu_residual.add_leaf(false);
    const int b = relu_residual.add_leaf(false);
    const int sum = relu_residual.add_node(op::add, x, relu_residual.add_node(op::add, y, b));
    relu_residual.add_node(op::relu, sum);
  }
  // The second half of a norm, behind a reduction.
  const auto behind = [](const ir::region& r, ir::row_behind reduction) {
    ir::traced_region out{r};
    out.behind = reduction;
    return out;
  };
  return std::array<ir::traced_region, 21>{{{scale_shift},
                                            {multiply_then_add},
                                            behind(center_scale, ir::row_behind::deviations),
                                            {exp_shifted, true},
                                            {squared_deviation, true},
                                            {gated_silu},
                                            {relu_bias},
                                            {gelu_bias},
                                            {descent},
                                            {blend},
                                            behind(normalize, ir::row_behind::deviations),
                                            {inverse_deviation},
                                            {product, true, false, true},
                                            {square, true},
                                            behind(scaled_product, ir::row_behind::squares),
                                            {squared_difference, true, false, true},
                                            {turned_first},
                                            {turned_second},
                                            {relu_gradient},
                                            {bounded_bias},
                                            {relu_residual}}};
}

/// The library's instructions for T (float or double).
template <Floating T>
constexpr auto library_instructions() {
  constexpr auto regions = library_regions(dtype_of<T>);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<ir::instruction, regions.size()>{instruction_for<regions[I]>()...};
  }(std::make_index_sequence<regions.size()>{});
}

}  // namespace sinter::inline SINTER_ABI::exec
