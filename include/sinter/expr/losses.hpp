// SPDX-License-Identifier: MIT
// Losses beside cross_entropy and mse: the mean over all elements, or over all rows, as a scalar of
// the operands' dtype; NaN where there are none. Floats (dtype_error). Predictions and targets
// broadcast (shape_error) unless a function says otherwise.
#pragma once

#include <utility>

#include <sinter/expr/axes.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

constexpr handle mean_of_all(ir::value x) { return handle(ir::mean(x, ir::all_axes(x), false)); }

// Faults unless both are floats.
constexpr bool are_floats(handle a, handle b, ir::op code) {
  for (handle x : {a, b})
    if (!is_floating(x.type()))
      fail(x, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(x.type()));
  return !a.graph().failed();
}

// -t log p - (1 - t) log(1 - p); both logarithms end at -100, so that a sure and wrong prediction
// has a finite loss.
struct bce_function {
  static constexpr ir::op code = ir::op::log;
  constexpr handle operator()(handle p, handle t) const {
    if (!are_floats(p, t, code)) return p;
    const auto log_of = [](ir::value x) {
      return ir::elementwise(ir::op::maximum,
                             {ir::unary(ir::op::log, x), ir::constant_like(x, -100)});
    };
    const ir::value yes = log_of(p.node), no = log_of(1.0 - p.node);
    const ir::value loss = -(t.node * yes + (1.0 - t.node) * no);
    return p.graph().failed() ? p : mean_of_all(loss);
  }
};

// softplus(x) - t x: the same of p = sigmoid(x), where nothing overflows.
struct bce_with_logits_function {
  static constexpr ir::op code = ir::op::softplus;
  constexpr handle operator()(handle x, handle t) const {
    if (!are_floats(x, t, code)) return x;
    const ir::value loss = ir::unary(code, x.node) - t.node * x.node;
    return x.graph().failed() ? x : mean_of_all(loss);
  }
};

struct l1_function {
  static constexpr ir::op code = ir::op::abs;
  constexpr handle operator()(handle x, handle y) const {
    if (!are_floats(x, y, code)) return x;
    const ir::value distance = ir::unary(code, x.node - y.node);
    return x.graph().failed() ? x : mean_of_all(distance);
  }
};

struct huber_function {
  static constexpr ir::op code = ir::op::abs;
  double delta = 1;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(ir::bits_of(delta));
  }
  constexpr handle operator()(handle x, handle y) const {
    if (!are_floats(x, y, code)) return x;
    const ir::value difference = x.node - y.node;
    if (x.graph().failed()) return x;
    const ir::value distance = ir::unary(code, difference),
                    limit = ir::constant_like(x.node, delta);
    const ir::value inside = difference * difference * 0.5,
                    outside = (distance - 0.5 * delta) * delta;
    return mean_of_all(
        ir::where(ir::elementwise(ir::op::less_equal, {distance, limit}), inside, outside));
  }
};

struct nll_function {
  static constexpr ir::op code = ir::op::cross_entropy;
  constexpr handle operator()(handle x, handle labels) const {
    if (!is_floating(x.type()))
      fail(x, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(x.type()));
    if (!is_integral(labels.type()))
      fail(labels, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(labels.type()));
    if (x.rank() == 0 || labels.rank() + 1 != x.rank())
      fail(labels, code, ir::fault_kind::wrong_rank, labels.rank(), x.rank() - 1);
    if (x.graph().failed()) return x;
    // u8 would count the classes modulo 256.
    const ir::value wide =
        labels.type() == dtype::u8 ? ir::cast(labels.node, dtype::i32) : labels.node;
    const int last = x.rank() - 1;
    for (int axis = 0; axis < last; ++axis)
      if (const ir::dim a = x.node.extent(axis), b = wide.extent(axis); !x.graph().agree(a, b))
        x.graph().fail(ir::detail::disagree(x.graph(), code, a, b), span<const int>(&x.node.id, 1));
    if (x.graph().failed()) return x;
    // The rows of x: where extents are not known yet, binding compares the number of elements.
    ir::symbolic_shape column = x.node.shape();
    column.back() = ir::dim(1);
    // Compared with a counter rather than gathered: one pass over the rows, and no scatter in its
    // gradient.
    const ir::value counter = ir::iota(x.graph(), wide.type(), x.node.shape(), last);
    const ir::value chosen = ir::elementwise(ir::op::equal, {counter, ir::reshape(wide, column)});
    const ir::value picked = ir::where(chosen, x.node, ir::constant_like(x.node, 0));
    if (x.graph().failed()) return x;
    return mean_of_all(-ir::sum(picked, std::int64_t{1} << last, false));
  }
};

// t (log t - x), and 0 where t is 0.
struct kl_divergence_function {
  static constexpr ir::op code = ir::op::log;
  constexpr handle operator()(handle x, handle t) const {
    if (!are_floats(x, t, code)) return x;
    const ir::value zero = ir::constant_like(t.node, 0), one = ir::constant_like(t.node, 1);
    const ir::value none = ir::elementwise(ir::op::equal, {t.node, zero});
    // The logarithm of 1 in its place keeps NaN out of the gradient too.
    const ir::value log_t = ir::unary(ir::op::log, ir::where(none, one, t.node));
    const ir::value loss = t.node * (log_t - x.node);
    if (x.graph().failed()) return x;
    return mean_of_all(ir::where(none, ir::constant_like(loss, 0), loss));
  }
};

}  // namespace detail

/// Binary cross-entropy of probabilities p in [0, 1] and targets: the mean of -t log p - (1 - t)
/// log(1 - p). Logarithms below -100 count as -100, where the derivative is 0. bce_with_logits is
/// more accurate.
template <Operand P, Operand Target>
constexpr auto bce(P&& p, Target&& target) {
  return sinter::apply(detail::bce_function{}, std::forward<P>(p), std::forward<Target>(target));
}

/// bce(sigmoid(x), target) without overflow and cancellation: the mean of softplus(x) - t x.
template <Operand X, Operand Target>
constexpr auto bce_with_logits(X&& x, Target&& target) {
  return sinter::apply(detail::bce_with_logits_function{}, std::forward<X>(x),
                       std::forward<Target>(target));
}

/// The mean of |x - y|; its derivative is 0 where they are equal.
template <Operand X, Operand Y>
constexpr auto l1_loss(X&& x, Y&& y) {
  return sinter::apply(detail::l1_function{}, std::forward<X>(x), std::forward<Y>(y));
}

/// The mean of d^2 / 2 up to |d| = delta and delta (|d| - delta / 2) beyond, d = x - y (Huber,
/// 1964).
template <Operand X, Operand Y>
constexpr auto huber_loss(X&& x, Y&& y, double delta = 1) {
  return sinter::apply(detail::huber_function{delta}, std::forward<X>(x), std::forward<Y>(y));
}

/// The mean over all rows of -x[label]: log-probabilities x [..., classes], integer labels [...]
/// of any width (dtype_error). A label that is no class counts with 0. shape_error, in the name of
/// cross_entropy or reshape, unless the labels have the extents of x but the last.
template <Operand X, Operand Labels>
constexpr auto nll_loss(X&& x, Labels&& labels) {
  return sinter::apply(detail::nll_function{}, std::forward<X>(x), std::forward<Labels>(labels));
}

/// The mean over all elements of t (log t - x), x being log-probabilities and t probabilities (0
/// log 0 is 0). The divergence of a batch is this times the number of classes.
template <Operand X, Operand Target>
constexpr auto kl_loss(X&& x, Target&& target) {
  return sinter::apply(detail::kl_divergence_function{}, std::forward<X>(x),
                       std::forward<Target>(target));
}

}  // namespace sinter::inline SINTER_ABI
