// SPDX-License-Identifier: MIT
// Convolution of images: padding, sliding windows and a matrix product, which is what the optimizer
// sees.
#pragma once

#include <utility>

#include <sinter/expr/plane.hpp>

namespace sinter::inline SINTER_ABI {

/// Numbers are for both directions, or {vertical, horizontal}.
struct convolution_options {
  plane stride = 1;         // from window to window, at least 1
  plane padding = 0;        // zeros on each side
  plane dilation = 1;       // from element to element of a window, at least 1
  std::int64_t groups = 1;  // of channels that do not mix; divides both numbers of channels
};

namespace detail {

struct convolution_function {
  // Faults are reported in the name of what takes the image apart.
  static constexpr ir::op code = ir::op::windows;
  convolution_options options;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink_plane(sink, options.stride);
    sink_plane(sink, options.padding);
    sink_plane(sink, options.dilation);
    sink(options.groups);
  }

  constexpr handle operator()(handle x, handle weights) const {
    if (!fits(x, weights)) return x;
    return handle(convolved(x.node, weights.node, {}));
  }
  constexpr handle operator()(handle x, handle weights, handle bias) const {
    if (bias.rank() != 1) fail(bias, code, ir::fault_kind::wrong_rank, bias.rank(), 1);
    if (!fits(x, weights)) return x;
    // To the channels and no further: a bias must not change the shape of the result.
    const ir::value each = ir::broadcast_to(bias.node, {weights.node.extent(0)});
    return x.graph().failed() ? x : handle(convolved(x.node, weights.node, each));
  }

 private:
  constexpr bool fits(handle x, handle weights) const {
    for (handle each : {x, weights})
      if (each.rank() != 4) fail(each, code, ir::fault_kind::wrong_rank, each.rank(), 4);
    if (options.groups < 1) fail(x, code, ir::fault_kind::bad_option, options.groups, 1);
    if (!require_at_least(x, code, options.stride, 1) ||
        !require_at_least(x, code, options.padding, 0) ||
        !require_at_least(x, code, options.dilation, 1))
      return false;
    const std::array channels{x.node.extent(1), weights.node.extent(0)};
    for (ir::dim d : channels)
      if (d.is_constant() && d.constant() % options.groups != 0)
        fail(x, code, ir::fault_kind::not_divisible, d.constant(), options.groups);
    const ir::dim inputs = channels[0], each = weights.node.extent(1);
    if (inputs.is_constant() && each.is_constant() &&
        inputs.constant() != each.constant() * options.groups)
      fail(x, code, ir::fault_kind::extents_disagree, inputs.constant(),
           each.constant() * options.groups);
    return !x.graph().failed();
  }

  // weights [groups, outputs, inputs * window] times windows [images, groups, inputs * window,
  // places], without the axis of groups where there is one. Channels are cut into groups while they
  // are those of an image, so that windows are a view of which each group is a matrix.
  constexpr ir::value convolved(ir::value x, ir::value w, ir::value bias) const {
    ir::graph& g = *x.owner;
    const bool grouped = options.groups != 1;
    const ir::dim groups(options.groups), inputs = grouped ? w.extent(1) : x.extent(1);
    ir::value image = pad_plane(x, options.padding, 0);
    if (g.failed()) return x;
    if (grouped)
      image = ir::reshape(image, {x.extent(0), groups, inputs, image.extent(2), image.extent(3)});
    const int plane = grouped ? 3 : 2;
    if (g.failed()) return x;
    const ir::value rows =
        ir::windows(image, plane, w.extent(2), options.stride.vertical, options.dilation.vertical);
    if (g.failed()) return x;
    const ir::value both = ir::windows(rows, plane + 2, w.extent(3), options.stride.horizontal,
                                       options.dilation.horizontal);
    if (g.failed()) return x;
    const std::int64_t order[] = {0, 1, 2, 4, 3, 5}, order_of_groups[] = {0, 1, 2, 3, 5, 4, 6};
    const ir::value taken = grouped ? ir::permute(both, order_of_groups) : ir::permute(both, order);

    const ir::dim height = taken.extent(plane + 2), width = taken.extent(plane + 3);
    const ir::dim window = g.dims.mul(w.extent(2), w.extent(3));
    ir::symbolic_shape columns{x.extent(0), groups, g.dims.mul(inputs, window),
                               g.dims.mul(height, width)};
    ir::symbolic_shape filters{groups, g.dims.floor_div(w.extent(0), groups),
                               g.dims.mul(w.extent(1), window)};
    if (!grouped) {
      columns.erase(columns.begin() + 1);
      filters.erase(filters.begin());
    }
    ir::value product = ir::matmul(ir::reshape(w, filters), ir::reshape(taken, columns));
    if (g.failed()) return x;
    // While it is a matrix: the bias belongs to the product's epilogue.
    if (bias.owner != nullptr) {
      filters.back() = ir::dim(1);
      product = product + ir::reshape(bias, filters);
    }
    return ir::reshape(product, {x.extent(0), w.extent(0), height, width});
  }
};

}  // namespace detail

/// The convolution (cross-correlation, as in all frameworks) of images [n, channels, height, width]
/// with weights [outputs, channels / groups, rows, columns]: [n, outputs, height', width'] with
/// height' = (height + 2 padding - dilation (rows - 1) - 1) / stride + 1, rounded down, and width'
/// likewise. Numbers of one dtype (dtype_error). `groups` equal to the channels is a depthwise
/// convolution. shape_error, in the name of windows, reshape or matmul, for other ranks than 4, if
/// the channels do not fit, if a window is empty or larger than the padded image, for a stride,
/// dilation or number of groups below 1, and for negative padding. The product of floats gathers
/// windows from the padded image, as it packs or multiplies them: nothing of their size is stored.
template <Operand X, Operand Weights>
constexpr auto conv2d(X&& x, Weights&& weights, const convolution_options& options = {}) {
  return sinter::apply(detail::convolution_function{options}, std::forward<X>(x),
                       std::forward<Weights>(weights));
}

/// The same plus a bias, a vector with one element per output channel or one for all (shape_error,
/// dtype_error).
template <Operand X, Operand Weights, Operand Bias>
constexpr auto conv2d(X&& x, Weights&& weights, Bias&& bias,
                      const convolution_options& options = {}) {
  return sinter::apply(detail::convolution_function{options}, std::forward<X>(x),
                       std::forward<Weights>(weights), std::forward<Bias>(bias));
}

}  // namespace sinter::inline SINTER_ABI
