// SPDX-License-Identifier: MIT
// Reductions over all axes, one axis or several. The reduced axes disappear, or stay with extent 1
// if `keep_dims` is given. An axis outside of the rank, or named twice, is an axis_error; a dtype
// that the function does not take, a dtype_error. A scalar is reduced over no axes: its only
// element.
#pragma once

#include <limits>
#include <utility>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

enum class reduction : std::uint8_t { sum, max, min, prod, mean, var, argmax, argmin, logsumexp };

constexpr ir::op op_of(reduction r) {
  switch (r) {
    case reduction::sum:
    case reduction::mean:
    case reduction::var:
    case reduction::logsumexp: return ir::op::reduce_sum;
    case reduction::max: return ir::op::reduce_max;
    case reduction::min: return ir::op::reduce_min;
    case reduction::prod: return ir::op::reduce_prod;
    case reduction::argmax:
    case reduction::argmin: return ir::op::argmax;
  }
  return ir::op::reduce_sum;
}

// log sum exp(x) = m + log sum exp(x - m), with m the largest element so that exp cannot overflow,
// or 0 where that is infinite (inf - inf is NaN). No gradient passes through m: the whole does not
// depend on it.
constexpr ir::value log_sum_exp(ir::value x, std::int64_t axes, bool keep) {
  if (is_narrow_float(x.type()))
    return ir::cast(log_sum_exp(ir::cast(x, dtype::f32), axes, keep), x.type());
  const ir::value maximum =
      ir::unary(ir::op::stop_gradient, ir::reduce(ir::op::reduce_max, x, axes));
  const double infinity = std::numeric_limits<double>::infinity();
  const ir::value infinite = ir::elementwise(
      ir::op::equal, {ir::unary(ir::op::abs, maximum), ir::constant_like(maximum, infinity)});
  const ir::value largest =
      ir::elementwise(ir::op::where, {infinite, ir::constant_like(maximum, 0), maximum});
  const ir::value total =
      ir::unary(ir::op::log, ir::sum(ir::unary(ir::op::exp, x - largest), axes)) + largest;
  if (keep) return total;
  ir::symbolic_shape shape;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (!ir::has_axis(axes, axis)) shape.push_back(x.extent(axis));
  return ir::reshape(total, shape);
}

// The order of integers reversed without overflow: -1 - x has no exception as -x has. An unsigned
// -x wraps.
constexpr ir::value reversed(ir::value x) {
  if (is_floating(x.type())) return -x;
  return is_unsigned_integer(x.type()) ? -x - 1.0 : -1.0 - x;
}

template <reduction Kind>
struct reduce_function {
  static constexpr ir::op code = op_of(Kind);
  // The mean of integers.
  static constexpr unsigned dtypes =
      Kind == reduction::mean || Kind == reduction::var ? dtype_bits(dtype::f32) : 0u;
  axis_list axes;
  bool keep = false;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    axes.attributes(sink);
    sink(keep ? 1 : 0);
  }

  constexpr handle operator()(handle x) const {
    const std::int64_t mask = mask_of(x, code, axes);
    return x.graph().failed() ? x : handle(write(x.node, mask));
  }

 private:
  constexpr ir::value write(ir::value x, std::int64_t mask) const {
    const bool averages = Kind == reduction::mean || Kind == reduction::var;
    if (averages && !is_floating(x.type())) x = ir::cast(x, dtype::f32);
    // A count of trues, or a sum of short integers, does not fit the type of what it counts.
    const bool accumulates = Kind == reduction::sum || Kind == reduction::prod;
    if (accumulates && (x.type() == dtype::boolean || is_narrow_integer(x.type())))
      x = ir::cast(x, dtype::i64);
    switch (Kind) {
      case reduction::mean: return ir::mean(x, mask, keep);
      case reduction::var: return ir::variance(x, mask, keep);
      case reduction::logsumexp: return log_sum_exp(x, mask, keep);
      case reduction::argmin: return ir::reduce(code, reversed(x), mask, keep);
      default: return ir::reduce(code, x, mask, keep);
    }
  }
};

// Without attributes, so that the compiler can trace an expression that has it.
template <reduction Kind>
struct reduce_all_function {
  static constexpr ir::op code = op_of(Kind);
  static constexpr unsigned dtypes = reduce_function<Kind>::dtypes;
  constexpr handle operator()(handle x) const { return reduce_function<Kind>{}(x); }
};

template <reduction Kind, class X>
constexpr auto reduce(X&& x) {
  return sinter::apply(reduce_all_function<Kind>{}, std::forward<X>(x));
}
template <reduction Kind, class X>
constexpr auto reduce(X&& x, const axis_list& axes, bool keep) {
  return sinter::apply(reduce_function<Kind>{axes, keep}, std::forward<X>(x));
}

}  // namespace detail

/// The sum. Numbers and bools; bools and integers of 8 and 16 bits are summed in i64. Without
/// elements: 0.
template <Operand X>
constexpr auto sum(X&& x) {
  return detail::reduce<detail::reduction::sum>(std::forward<X>(x));
}
template <Operand X>
constexpr auto sum(X&& x, const axis_list& axes, bool keep = false) {
  return detail::reduce<detail::reduction::sum>(std::forward<X>(x), axes, keep);
}

/// The product. Numbers and bools; bools and integers of 8 and 16 bits are multiplied in i64.
/// Without elements: 1.
template <Operand X>
constexpr auto prod(X&& x) {
  return detail::reduce<detail::reduction::prod>(std::forward<X>(x));
}
template <Operand X>
constexpr auto prod(X&& x, const axis_list& axes, bool keep = false) {
  return detail::reduce<detail::reduction::prod>(std::forward<X>(x), axes, keep);
}

/// The largest element, NaN if there is one. Numbers. Without elements: -infinity, or the smallest
/// number of an integer dtype.
template <Operand X>
constexpr auto max(X&& x) {
  return detail::reduce<detail::reduction::max>(std::forward<X>(x));
}
template <Operand X>
constexpr auto max(X&& x, const axis_list& axes, bool keep = false) {
  return detail::reduce<detail::reduction::max>(std::forward<X>(x), axes, keep);
}

/// The smallest element, NaN if there is one. Numbers. Without elements: infinity, or the largest
/// number of an integer dtype.
template <Operand X>
constexpr auto min(X&& x) {
  return detail::reduce<detail::reduction::min>(std::forward<X>(x));
}
template <Operand X>
constexpr auto min(X&& x, const axis_list& axes, bool keep = false) {
  return detail::reduce<detail::reduction::min>(std::forward<X>(x), axes, keep);
}

/// The arithmetic mean; integers and bools are cast to f32. Without elements: NaN.
template <Operand X>
constexpr auto mean(X&& x) {
  return detail::reduce<detail::reduction::mean>(std::forward<X>(x));
}
template <Operand X>
constexpr auto mean(X&& x, const axis_list& axes, bool keep = false) {
  return detail::reduce<detail::reduction::mean>(std::forward<X>(x), axes, keep);
}

/// The population variance, mean((x - mean(x))^2), in two passes; integers and bools are cast to
/// f32. Without elements: NaN.
template <Operand X>
constexpr auto var(X&& x) {
  return detail::reduce<detail::reduction::var>(std::forward<X>(x));
}
template <Operand X>
constexpr auto var(X&& x, const axis_list& axes, bool keep = false) {
  return detail::reduce<detail::reduction::var>(std::forward<X>(x), axes, keep);
}

/// The i64 position of the largest element along the axes (in row-major order if they are several);
/// the first of equals, and a NaN counts as largest. Numbers. Without elements: 0, which is then no
/// position.
template <Operand X>
constexpr auto argmax(X&& x) {
  return detail::reduce<detail::reduction::argmax>(std::forward<X>(x));
}
template <Operand X>
constexpr auto argmax(X&& x, const axis_list& axes, bool keep = false) {
  return detail::reduce<detail::reduction::argmax>(std::forward<X>(x), axes, keep);
}

/// The i64 position of the smallest element along the axes; the first of equals, and a NaN counts
/// as smallest. Numbers. Without elements: 0.
template <Operand X>
constexpr auto argmin(X&& x) {
  return detail::reduce<detail::reduction::argmin>(std::forward<X>(x));
}
template <Operand X>
constexpr auto argmin(X&& x, const axis_list& axes, bool keep = false) {
  return detail::reduce<detail::reduction::argmin>(std::forward<X>(x), axes, keep);
}

/// log(sum(exp(x))) without overflow. Floats. -infinity over no elements and where all are.
template <Operand X>
constexpr auto logsumexp(X&& x) {
  return detail::reduce<detail::reduction::logsumexp>(std::forward<X>(x));
}
template <Operand X>
constexpr auto logsumexp(X&& x, const axis_list& axes, bool keep = false) {
  return detail::reduce<detail::reduction::logsumexp>(std::forward<X>(x), axes, keep);
}

}  // namespace sinter::inline SINTER_ABI
