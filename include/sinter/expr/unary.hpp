// SPDX-License-Identifier: MIT
// Element-wise functions of one operand: the result has its shape, and its dtype unless the
// function says otherwise. A dtype that a function does not take is a dtype_error. NaN, ties and
// the like: see graph/op.hpp.
#pragma once

#include <utility>

#include <sinter/expr/expression.hpp>
#include <sinter/graph/bitcast.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// An extent may be given to a function of floats: rsqrt(extent(q, -1)) is the scale of attention.
constexpr handle floating_if_extent(handle x, ir::op code) {
  const bool converts =
      ir::info(code).accepts == ir::accepts::floating && x.weak() && is_integral(x.type());
  return converts ? handle(ir::cast(x.node, dtype::f64)) : x;
}

template <ir::op Op>
struct unary_function {
  static constexpr ir::op code = Op;
  constexpr handle operator()(handle x) const {
    return handle(ir::unary(Op, floating_if_extent(x, Op).node));
  }
};

template <ir::op Op, class X>
constexpr auto unary(X&& x) {
  return sinter::apply(unary_function<Op>{}, std::forward<X>(x));
}

}  // namespace detail

/// -x. Numbers.
template <Operand X>
constexpr auto negative(X&& x) {
  return detail::unary<ir::op::neg>(std::forward<X>(x));
}

/// |x|. Numbers.
template <Operand X>
constexpr auto abs(X&& x) {
  return detail::unary<ir::op::abs>(std::forward<X>(x));
}

/// -1, 0 or 1; NaN stays NaN. Numbers.
template <Operand X>
constexpr auto sign(X&& x) {
  return detail::unary<ir::op::sign>(std::forward<X>(x));
}

/// The largest integer that is not above x. Numbers.
template <Operand X>
constexpr auto floor(X&& x) {
  return detail::unary<ir::op::floor>(std::forward<X>(x));
}

/// The smallest integer that is not below x. Numbers.
template <Operand X>
constexpr auto ceil(X&& x) {
  return detail::unary<ir::op::ceil>(std::forward<X>(x));
}

/// The nearest integer, halves to even. Numbers.
template <Operand X>
constexpr auto round(X&& x) {
  return detail::unary<ir::op::round>(std::forward<X>(x));
}

/// The square root. Floats, as all functions from here to softplus except relu.
template <Operand X>
constexpr auto sqrt(X&& x) {
  return detail::unary<ir::op::sqrt>(std::forward<X>(x));
}

/// 1 / sqrt(x).
template <Operand X>
constexpr auto rsqrt(X&& x) {
  return detail::unary<ir::op::rsqrt>(std::forward<X>(x));
}

/// 1 / x.
template <Operand X>
constexpr auto recip(X&& x) {
  return detail::unary<ir::op::recip>(std::forward<X>(x));
}

/// e to the x.
template <Operand X>
constexpr auto exp(X&& x) {
  return detail::unary<ir::op::exp>(std::forward<X>(x));
}

/// 2 to the x.
template <Operand X>
constexpr auto exp2(X&& x) {
  return detail::unary<ir::op::exp2>(std::forward<X>(x));
}

/// The natural logarithm.
template <Operand X>
constexpr auto log(X&& x) {
  return detail::unary<ir::op::log>(std::forward<X>(x));
}

/// The logarithm to base 2.
template <Operand X>
constexpr auto log2(X&& x) {
  return detail::unary<ir::op::log2>(std::forward<X>(x));
}

/// The sine of x radians.
template <Operand X>
constexpr auto sin(X&& x) {
  return detail::unary<ir::op::sin>(std::forward<X>(x));
}

/// The cosine of x radians.
template <Operand X>
constexpr auto cos(X&& x) {
  return detail::unary<ir::op::cos>(std::forward<X>(x));
}

/// The hyperbolic tangent.
template <Operand X>
constexpr auto tanh(X&& x) {
  return detail::unary<ir::op::tanh>(std::forward<X>(x));
}

/// The error function 2/sqrt(pi) * integral of exp(-t^2) from 0 to x.
template <Operand X>
constexpr auto erf(X&& x) {
  return detail::unary<ir::op::erf>(std::forward<X>(x));
}

/// 1 / (1 + exp(-x)).
template <Operand X>
constexpr auto sigmoid(X&& x) {
  return detail::unary<ir::op::sigmoid>(std::forward<X>(x));
}

/// max(x, 0), NaN kept. Numbers.
template <Operand X>
constexpr auto relu(X&& x) {
  return detail::unary<ir::op::relu>(std::forward<X>(x));
}

/// x/2 (1 + erf(x / sqrt 2)): the exact form of Hendrycks and Gimpel, "Gaussian error linear units"
/// (2016).
template <Operand X>
constexpr auto gelu(X&& x) {
  return detail::unary<ir::op::gelu>(std::forward<X>(x));
}

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): the approximation of the same paper.
template <Operand X>
constexpr auto gelu_tanh(X&& x) {
  return detail::unary<ir::op::gelu_tanh>(std::forward<X>(x));
}

/// x sigmoid(x), also known as swish.
template <Operand X>
constexpr auto silu(X&& x) {
  return detail::unary<ir::op::silu>(std::forward<X>(x));
}

/// log(1 + e^x), without overflow.
template <Operand X>
constexpr auto softplus(X&& x) {
  return detail::unary<ir::op::softplus>(std::forward<X>(x));
}

/// x itself; a gradient does not pass. Any dtype.
template <Operand X>
constexpr auto stop_gradient(X&& x) {
  return detail::unary<ir::op::stop_gradient>(std::forward<X>(x));
}

namespace detail {

template <Element T>
struct cast_function {
  static constexpr ir::op code = ir::op::cast;
  static constexpr unsigned dtypes = dtype_bits(dtype_of<T>);
  constexpr handle operator()(handle x) const { return handle(ir::cast(x.node, dtype_of<T>)); }
};

template <Element T>
struct bitcast_function {
  static constexpr ir::op code = ir::op::bitcast;
  static constexpr unsigned dtypes =
      dtype_bits(dtype_of<T>, dtype::u8, dtype::u16, dtype::u32, dtype::u64);
  constexpr handle operator()(handle x) const { return handle(ir::bitcast(x.node, dtype_of<T>)); }
};

struct square_function {
  static constexpr ir::op code = ir::op::mul;
  constexpr handle operator()(handle x) const {
    return handle(ir::elementwise(ir::op::mul, {x.node, x.node}));
  }
};

struct isnan_function {
  static constexpr ir::op code = ir::op::not_equal;
  constexpr handle operator()(handle x) const {
    return handle(ir::elementwise(ir::op::not_equal, {x.node, x.node}));
  }
};

}  // namespace detail

/// The elements converted to `T`: `cast<float>(x)`. Any dtype. Floats become integers by truncation
/// toward zero; what is out of range becomes the nearest end of the range, NaN becomes 0 (NumPy
/// leaves both undefined). Integers wrap around, and to bool means: is it not 0 (NaN is true). To a
/// float means to the nearest, halves to even; integers become bfloat16 through float.
template <Element T, Operand X>
constexpr auto cast(X&& x) {
  return sinter::apply(detail::cast_function<T>{}, std::forward<X>(x));
}

/// The bits of the elements read as `T`, as NumPy's view(dtype): `bitcast<std::uint32_t>(x)` of
/// floats. Where sizes differ, the last axis gets longer or shorter: [2, 3] of float is [2, 12] of
/// std::uint8_t, lowest byte first. Any dtype; bools are read as bytes, to bool is a dtype_error.
/// shape_error for a scalar whose size would change and for a last extent that is no multiple of
/// what is joined. No gradient passes.
template <Element T, Operand X>
constexpr auto bitcast(X&& x) {
  return sinter::apply(detail::bitcast_function<T>{}, std::forward<X>(x));
}

/// x * x. Numbers.
template <Operand X>
constexpr auto square(X&& x) {
  return sinter::apply(detail::square_function{}, std::forward<X>(x));
}

/// True where x is not a number. Any dtype; bool result.
template <Operand X>
constexpr auto isnan(X&& x) {
  return sinter::apply(detail::isnan_function{}, std::forward<X>(x));
}

}  // namespace sinter::inline SINTER_ABI
