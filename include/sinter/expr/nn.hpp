// SPDX-License-Identifier: MIT
// Normalisations and losses of neural networks. Floats (dtype_error) unless a function says
// otherwise. The composites (softmax, log_softmax, layer_norm, rms_norm, cross_entropy) are single
// nodes with gradient rules of their own.
#pragma once

#include <utility>

#include <sinter/expr/axes.hpp>
#include <sinter/expr/reductions.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

template <ir::op Op>
struct softmax_function {
  static constexpr ir::op code = Op;
  axis_list axes = -1;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    axes.attributes(sink);
  }
  constexpr handle operator()(handle x) const {
    const std::int64_t mask = mask_of(x, Op, axes);
    return handle({x.node.owner, ir::append(x.graph(), Op, {x.node.id}, {mask})});
  }
};

// Without attributes, so that the compiler can trace an expression that has it.
template <ir::op Op>
struct softmax_last_function {
  static constexpr ir::op code = Op;
  constexpr handle operator()(handle x) const { return softmax_function<Op>{}(x); }
};

// x normalised over its last axis, times gamma, plus beta, as far as these are given.
template <ir::op Op>
struct norm_function {
  static constexpr ir::op code = Op;
  double eps = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(ir::bits_of(eps));
  }
  constexpr handle operator()(handle x, std::same_as<handle> auto... parameters) const {
    const int axis = axis_of(x, Op, -1);
    if (axis < 0) return x;
    ir::value out{x.node.owner, ir::append(x.graph(), Op, {x.node.id},
                                           {std::int64_t{1} << axis, ir::bits_of(eps)})};
    const std::array<handle, sizeof...(parameters)> given{parameters...};
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].rank() != 1) fail(given[i], Op, ir::fault_kind::wrong_rank, given[i].rank(), 1);
      if (x.graph().failed()) return x;
      // To the normalised axis and no further: a parameter must not change the shape of the result.
      const ir::value parameter = ir::broadcast_to(given[i].node, {x.node.extent(axis)});
      out = i == 0 ? out * parameter : out + parameter;
    }
    return handle(out);
  }
};

struct cross_entropy_function {
  static constexpr ir::op code = ir::op::cross_entropy;
  static constexpr unsigned dtypes = dtype_bits(dtype::i32);  // labels of fewer bits
  constexpr handle operator()(handle logits, handle labels) const {
    const ir::value rows{logits.node.owner,
                         ir::append(logits.graph(), code, {logits.node.id, labels.node.id})};
    return logits.graph().failed() ? logits : handle(ir::mean(rows, ir::all_axes(rows), false));
  }
};

struct mse_function {
  static constexpr ir::op code = ir::op::sub;
  constexpr handle operator()(handle a, handle b) const {
    const ir::value difference = a.node - b.node;
    return reduce_function<reduction::mean>{}(handle(difference * difference));
  }
};

}  // namespace detail

/// exp(x) / sum(exp(x)) along the last axis, or along the axes given, in the shape of x. The
/// largest element is subtracted first. axis_error for a scalar without axes, for an axis outside
/// of the rank, and for one named twice.
template <Operand X>
constexpr auto softmax(X&& x) {
  return sinter::apply(detail::softmax_last_function<ir::op::softmax>{}, std::forward<X>(x));
}
template <Operand X>
constexpr auto softmax(X&& x, const axis_list& axes) {
  return sinter::apply(detail::softmax_function<ir::op::softmax>{axes}, std::forward<X>(x));
}

/// log(softmax(x)), without underflow. axis_error as softmax.
template <Operand X>
constexpr auto log_softmax(X&& x) {
  return sinter::apply(detail::softmax_last_function<ir::op::log_softmax>{}, std::forward<X>(x));
}
template <Operand X>
constexpr auto log_softmax(X&& x, const axis_list& axes) {
  return sinter::apply(detail::softmax_function<ir::op::log_softmax>{axes}, std::forward<X>(x));
}

/// (x - mean) / sqrt(var + eps) over the last axis (Ba, Kiros, Hinton, "Layer normalization",
/// 2016), in the shape of x. axis_error for a scalar; graph_error in the first call if eps is below
/// 0.
template <Operand X>
constexpr auto layer_norm(X&& x, double eps = 1e-5) {
  return sinter::apply(detail::norm_function<ir::op::layer_norm>{eps}, std::forward<X>(x));
}

/// The same times gamma plus beta, both vectors of x's dtype (dtype_error) along the last axis.
/// shape_error if one of them has another rank than 1 or does not broadcast against that axis.
template <Operand X, Operand Gamma, Operand Beta>
constexpr auto layer_norm(X&& x, Gamma&& gamma, Beta&& beta, double eps = 1e-5) {
  return sinter::apply(detail::norm_function<ir::op::layer_norm>{eps}, std::forward<X>(x),
                       std::forward<Gamma>(gamma), std::forward<Beta>(beta));
}

/// x / sqrt(mean(x^2) + eps) over the last axis (Zhang and Sennrich, "Root mean square layer
/// normalization", 2019), in the shape of x. axis_error for a scalar; graph_error in the first call
/// if eps is below 0.
template <Operand X>
constexpr auto rms_norm(X&& x, double eps = 1e-6) {
  return sinter::apply(detail::norm_function<ir::op::rms_norm>{eps}, std::forward<X>(x));
}

/// The same times gamma, a vector of x's dtype along the last axis. Throws as layer_norm.
template <Operand X, Operand Gamma>
constexpr auto rms_norm(X&& x, Gamma&& gamma, double eps = 1e-6) {
  return sinter::apply(detail::norm_function<ir::op::rms_norm>{eps}, std::forward<X>(x),
                       std::forward<Gamma>(gamma));
}

/// The mean over all rows of -log_softmax(logits)[label]: floating logits [..., classes], integer
/// labels [...] of any width (dtype_error otherwise); a scalar of the dtype of the logits, NaN
/// without rows. A label outside of [0, classes) is no error: such a row counts with
/// logsumexp(logits), as if the logit of its class were 0. shape_error unless the labels have the
/// extents of the logits but the last.
template <Operand Logits, Operand Labels>
constexpr auto cross_entropy(Logits&& logits, Labels&& labels) {
  return sinter::apply(detail::cross_entropy_function{}, std::forward<Logits>(logits),
                       std::forward<Labels>(labels));
}

/// The mean of (x - y)^2 over all elements; x and y broadcast (shape_error) and are numbers of one
/// dtype (dtype_error). Integers are subtracted and squared in their own dtype, where they may
/// wrap, and averaged in f32: cast them first. NaN without elements.
template <Operand X, Operand Y>
constexpr auto mse(X&& x, Y&& y) {
  return sinter::apply(detail::mse_function{}, std::forward<X>(x), std::forward<Y>(y));
}

}  // namespace sinter::inline SINTER_ABI
