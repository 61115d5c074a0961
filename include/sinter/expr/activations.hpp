// SPDX-License-Identifier: MIT
// Activations that are short expressions of others. Floats of any dtype (dtype_error), in the shape
// of x; the optimizer sees what they are made of.
#pragma once

#include <utility>

#include <sinter/expr/elementwise.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// e^x - 1 where x is negative, 0 elsewhere: nothing overflows, nor does its derivative.
constexpr ir::value exponential_below_zero(ir::value x) {
  return ir::unary(ir::op::exp, ir::elementwise(ir::op::minimum, {x, ir::constant_like(x, 0)})) -
         1.0;
}

struct elu_function {
  static constexpr ir::op code = ir::op::exp;
  double alpha = 1, scale = 1;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(ir::bits_of(alpha));
    sink(ir::bits_of(scale));
  }
  constexpr handle operator()(handle x) const {
    const ir::value negative = exponential_below_zero(x.node) * (alpha * scale);
    const ir::value positive = ir::unary(ir::op::relu, x.node);
    return handle((scale == 1 ? positive : positive * scale) + negative);
  }
};

struct celu_function {
  static constexpr ir::op code = ir::op::exp;
  double alpha = 1;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(ir::bits_of(alpha));
  }
  constexpr handle operator()(handle x) const {
    return handle(ir::unary(ir::op::relu, x.node) +
                  exponential_below_zero(x.node * (1 / alpha)) * alpha);
  }
};

struct hard_sigmoid_function {
  static constexpr ir::op code = ir::op::minimum;
  double slope = 1.0 / 6, offset = 0.5;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(ir::bits_of(slope));
    sink(ir::bits_of(offset));
  }
  constexpr handle operator()(handle x) const {
    const ir::value line = x.node * slope + offset;
    const ir::value raised = ir::elementwise(ir::op::maximum, {line, ir::constant_like(line, 0)});
    return handle(ir::elementwise(ir::op::minimum, {raised, ir::constant_like(line, 1)}));
  }
};

struct hard_swish_function {
  static constexpr ir::op code = ir::op::minimum;
  constexpr handle operator()(handle x) const {
    return handle(x.node * hard_sigmoid_function{}(x).node);
  }
};

struct softsign_function {
  static constexpr ir::op code = ir::op::div;
  constexpr handle operator()(handle x) const {
    return handle(x.node / (ir::unary(ir::op::abs, x.node) + 1.0));
  }
};

struct mish_function {
  static constexpr ir::op code = ir::op::softplus;
  constexpr handle operator()(handle x) const {
    return handle(x.node * ir::unary(ir::op::tanh, ir::unary(code, x.node)));
  }
};

struct tan_function {
  static constexpr ir::op code = ir::op::sin;
  constexpr handle operator()(handle x) const {
    return handle(ir::unary(ir::op::sin, x.node) / ir::unary(ir::op::cos, x.node));
  }
};

}  // namespace detail

/// x where positive, alpha (e^x - 1) elsewhere (Clevert et al. 2015).
template <Operand X>
constexpr auto elu(X&& x, double alpha = 1) {
  return sinter::apply(detail::elu_function{alpha, 1}, std::forward<X>(x));
}

/// scale * elu(x, alpha) (Klambauer et al. 2017, "Self-normalizing neural networks"); the numbers
/// are theirs.
template <Operand X>
constexpr auto selu(X&& x, double alpha = 1.6732632423543772848,
                    double scale = 1.0507009873554804934) {
  return sinter::apply(detail::elu_function{alpha, scale}, std::forward<X>(x));
}

/// x where positive, alpha (e^(x / alpha) - 1) elsewhere (Barron 2017).
template <Operand X>
constexpr auto celu(X&& x, double alpha = 1) {
  return sinter::apply(detail::celu_function{alpha}, std::forward<X>(x));
}

/// slope * x + offset limited to [0, 1].
template <Operand X>
constexpr auto hard_sigmoid(X&& x, double slope = 1.0 / 6, double offset = 0.5) {
  return sinter::apply(detail::hard_sigmoid_function{slope, offset}, std::forward<X>(x));
}

/// x * hard_sigmoid(x) (Howard et al. 2019, "Searching for MobileNetV3").
template <Operand X>
constexpr auto hard_swish(X&& x) {
  return sinter::apply(detail::hard_swish_function{}, std::forward<X>(x));
}

/// x / (1 + |x|).
template <Operand X>
constexpr auto softsign(X&& x) {
  return sinter::apply(detail::softsign_function{}, std::forward<X>(x));
}

/// x * tanh(softplus(x)) (Misra 2019).
template <Operand X>
constexpr auto mish(X&& x) {
  return sinter::apply(detail::mish_function{}, std::forward<X>(x));
}

/// sin(x) / cos(x).
template <Operand X>
constexpr auto tan(X&& x) {
  return sinter::apply(detail::tan_function{}, std::forward<X>(x));
}

}  // namespace sinter::inline SINTER_ABI
