// SPDX-License-Identifier: MIT
// Normalisations of tensors [n, channels, ...]: over groups of channels, and over everything but
// the channels. Both are layer norms over other axes, and have its gradient.
#pragma once

#include <utility>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// The shape in which a vector over the channels meets x [n, channels, ...].
constexpr ir::symbolic_shape shape_of_channels(handle x) {
  ir::symbolic_shape shape =
      ir::symbolic_shape::filled(static_cast<std::size_t>(x.rank() - 1), ir::dim(1));
  shape[0] = x.node.extent(1);
  return shape;
}

// A vector over the channels of x, or one element for all of them, under such a shape.
constexpr ir::value per_channel(handle x, ir::op code, handle parameter,
                                const ir::symbolic_shape& shape) {
  if (parameter.rank() != 1) fail(parameter, code, ir::fault_kind::wrong_rank, parameter.rank(), 1);
  if (x.graph().failed()) return x.node;
  return ir::reshape(ir::broadcast_to(parameter.node, {x.node.extent(1)}), shape);
}

constexpr handle scaled(handle x, ir::value normal, ir::op code, handle gamma, handle beta,
                        const ir::symbolic_shape& shape) {
  const ir::value scale = per_channel(x, code, gamma, shape),
                  shift = per_channel(x, code, beta, shape);
  return x.graph().failed() ? x : handle(normal * scale + shift);
}

struct group_norm_function {
  static constexpr ir::op code = ir::op::layer_norm;
  std::int64_t groups = 1;
  double eps = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(groups);
    sink(ir::bits_of(eps));
  }
  constexpr handle operator()(handle x) const {
    const ir::value normal = normalised(x);
    return x.graph().failed() ? x : handle(ir::reshape(normal, x.node.shape()));
  }
  // Scaled and shifted before the channels are together again: in one space, the sums and products
  // of the gradient are one nest.
  constexpr handle operator()(handle x, handle gamma, handle beta) const {
    const ir::value normal = normalised(x);
    if (x.graph().failed()) return x;
    const handle y =
        scaled(x, normal, code, gamma, beta, {normal.extent(1), normal.extent(2), ir::dim(1)});
    return x.graph().failed() ? x : handle(ir::reshape(y.node, x.node.shape()));
  }

 private:
  // As [n, groups, channels of a group, the rest].
  constexpr ir::value normalised(handle x) const {
    if (x.rank() < 2) fail(x, code, ir::fault_kind::wrong_rank, x.rank(), 2);
    if (groups < 1) fail(x, code, ir::fault_kind::bad_option, groups, 1);
    if (x.graph().failed()) return x.node;
    const ir::dim channels = x.node.extent(1);
    if (channels.is_constant() && channels.constant() % groups != 0)
      fail(x, code, ir::fault_kind::not_divisible, channels.constant(), groups);
    if (x.graph().failed()) return x.node;
    ir::dim_table& dims = x.graph().dims;
    ir::dim rest(1);
    for (int axis = 2; axis < x.rank(); ++axis) rest = dims.mul(rest, x.node.extent(axis));
    const ir::value grouped = ir::reshape(
        x.node,
        {x.node.extent(0), ir::dim(groups), dims.floor_div(channels, ir::dim(groups)), rest});
    constexpr std::int64_t last_two = 0b1100;
    return {x.node.owner, ir::append(x.graph(), code, {grouped.id}, {last_two, ir::bits_of(eps)})};
  }
};

struct batch_norm_function {
  static constexpr ir::op code = ir::op::layer_norm;
  double eps = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(ir::bits_of(eps));
  }
  constexpr handle operator()(handle x, handle gamma, handle beta) const {
    if (x.rank() < 2) fail(x, code, ir::fault_kind::wrong_rank, x.rank(), 2);
    if (x.graph().failed()) return x;
    const std::int64_t all_but_channels = ir::all_axes(x.node) & ~std::int64_t{2};
    const ir::value normal{x.node.owner, ir::append(x.graph(), code, {x.node.id},
                                                    {all_but_channels, ir::bits_of(eps)})};
    return x.graph().failed() ? x : scaled(x, normal, code, gamma, beta, shape_of_channels(x));
  }
  constexpr handle operator()(handle x, handle mean, handle variance, handle gamma,
                              handle beta) const {
    if (x.rank() < 2) fail(x, code, ir::fault_kind::wrong_rank, x.rank(), 2);
    if (x.graph().failed()) return x;
    const ir::symbolic_shape shape = shape_of_channels(x);
    const ir::value centre = per_channel(x, code, mean, shape),
                    spread = per_channel(x, code, variance, shape);
    if (x.graph().failed()) return x;
    const ir::value normal = (x.node - centre) * ir::unary(ir::op::rsqrt, spread + eps);
    return scaled(x, normal, code, gamma, beta, shape);
  }
};

}  // namespace detail

/// x [n, channels, ...] with each of `groups` groups of neighbouring channels normalised together
/// with all that stands behind them: (x - mean) / sqrt(var + eps) (Wu and He, "Group
/// normalization", 2018). Floats (dtype_error). As many groups as channels: instance norm.
/// shape_error below rank 2, for groups below 1, and if they do not divide the channels;
/// graph_error in the first call if eps is below 0.
template <Operand X>
constexpr auto group_norm(X&& x, std::int64_t groups, double eps = 1e-5) {
  return sinter::apply(detail::group_norm_function{groups, eps}, std::forward<X>(x));
}

/// The same times gamma plus beta, vectors over the channels (shape_error, dtype_error).
template <Operand X, Operand Gamma, Operand Beta>
constexpr auto group_norm(X&& x, std::int64_t groups, Gamma&& gamma, Beta&& beta,
                          double eps = 1e-5) {
  return sinter::apply(detail::group_norm_function{groups, eps}, std::forward<X>(x),
                       std::forward<Gamma>(gamma), std::forward<Beta>(beta));
}

/// x [n, channels, ...] with each channel normalised by its own mean and population variance, times
/// gamma, plus beta, vectors over the channels (Ioffe and Szegedy, "Batch normalization", 2015):
/// the form for training. Running statistics are the caller's: mean(x, ...) and var(x, ...) cost
/// nothing more where they are the same sums. Floats (dtype_error). shape_error below rank 2, or
/// for parameters that are no vectors over the channels; graph_error in the first call if eps is
/// below 0.
template <Operand X, Operand Gamma, Operand Beta>
constexpr auto batch_norm(X&& x, Gamma&& gamma, Beta&& beta, double eps = 1e-5) {
  return sinter::apply(detail::batch_norm_function{eps}, std::forward<X>(x),
                       std::forward<Gamma>(gamma), std::forward<Beta>(beta));
}

/// The same with a given mean and variance per channel: the form for inference.
template <Operand X, Operand Mean, Operand Variance, Operand Gamma, Operand Beta>
constexpr auto batch_norm(X&& x, Mean&& mean, Variance&& variance, Gamma&& gamma, Beta&& beta,
                          double eps = 1e-5) {
  return sinter::apply(detail::batch_norm_function{eps}, std::forward<X>(x),
                       std::forward<Mean>(mean), std::forward<Variance>(variance),
                       std::forward<Gamma>(gamma), std::forward<Beta>(beta));
}

}  // namespace sinter::inline SINTER_ABI
