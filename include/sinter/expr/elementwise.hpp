// SPDX-License-Identifier: MIT
// All element-wise functions; here those of three operands. They broadcast, and scalars take
// dtypes, as in binary.hpp.
#pragma once

#include <utility>

#include <sinter/expr/binary.hpp>
#include <sinter/expr/unary.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

template <ir::op Op, unsigned OwnDtype = 0>
struct ternary_function {
  static constexpr ir::op code = Op;
  static constexpr unsigned own_dtype = OwnDtype;
  constexpr handle operator()(handle a, handle b, handle c) const {
    return handle(ir::elementwise(Op, {a.node, b.node, c.node}));
  }
};

using where_function = ternary_function<ir::op::where, 0b001>;
using multiply_add_function = ternary_function<ir::op::multiply_add>;

struct clamp_function {
  static constexpr ir::op code = ir::op::maximum;
  constexpr handle operator()(handle x, handle low, handle high) const {
    return handle(ir::elementwise(
        ir::op::minimum, {ir::elementwise(ir::op::maximum, {x.node, low.node}), high.node}));
  }
};

struct leaky_relu_function {
  static constexpr ir::op code = ir::op::mul;
  constexpr handle operator()(handle x, handle slope) const {
    const ir::value positive =
        ir::elementwise(ir::op::less, {ir::constant_like(x.node, 0), x.node});
    return handle(ir::where(positive, x.node, slope.node * x.node));
  }
};

template <class Function, class A, class B, class C>
constexpr auto ternary(A&& a, B&& b, C&& c) {
  return sinter::apply(Function{}, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c));
}

template <class A, class B>
constexpr auto leaky_relu(A&& a, B&& b) {
  return sinter::apply(leaky_relu_function{}, std::forward<A>(a), std::forward<B>(b));
}

}  // namespace detail

/// a where the condition is true, b elsewhere. The condition must be bool, a and b of one dtype,
/// whichever (dtype_error); both may be C++ scalars.
template <Operand A, Operand B, Operand C>
constexpr auto where(A&& condition, B&& a, C&& b) {
  return detail::ternary<detail::where_function>(std::forward<A>(condition), std::forward<B>(a),
                                                 std::forward<C>(b));
}
template <Operand A, Operand B, Scalar C>
constexpr auto where(A&& condition, B&& a, C b) {
  return detail::ternary<detail::where_function>(std::forward<A>(condition), std::forward<B>(a), b);
}
template <Operand A, Scalar B, Operand C>
constexpr auto where(A&& condition, B a, C&& b) {
  return detail::ternary<detail::where_function>(std::forward<A>(condition), a, std::forward<C>(b));
}
template <Operand A, Scalar B, Scalar C>
constexpr auto where(A&& condition, B a, C b) {
  return detail::ternary<detail::where_function>(std::forward<A>(condition), a, b);
}

/// a*b + c, rounded once for floats. Numbers.
template <Operand A, Operand B, Operand C>
constexpr auto multiply_add(A&& a, B&& b, C&& c) {
  return detail::ternary<detail::multiply_add_function>(std::forward<A>(a), std::forward<B>(b),
                                                        std::forward<C>(c));
}
template <Operand A, Operand B, Scalar C>
constexpr auto multiply_add(A&& a, B&& b, C c) {
  return detail::ternary<detail::multiply_add_function>(std::forward<A>(a), std::forward<B>(b), c);
}
template <Operand A, Scalar B, Operand C>
constexpr auto multiply_add(A&& a, B b, C&& c) {
  return detail::ternary<detail::multiply_add_function>(std::forward<A>(a), b, std::forward<C>(c));
}
template <Operand A, Scalar B, Scalar C>
constexpr auto multiply_add(A&& a, B b, C c) {
  return detail::ternary<detail::multiply_add_function>(std::forward<A>(a), b, c);
}

/// x limited to [low, high], that is min(max(x, low), high); NaN stays NaN. Numbers.
template <Operand A, Operand B, Operand C>
constexpr auto clamp(A&& x, B&& low, C&& high) {
  return detail::ternary<detail::clamp_function>(std::forward<A>(x), std::forward<B>(low),
                                                 std::forward<C>(high));
}
template <Operand A, Operand B, Scalar C>
constexpr auto clamp(A&& x, B&& low, C high) {
  return detail::ternary<detail::clamp_function>(std::forward<A>(x), std::forward<B>(low), high);
}
template <Operand A, Scalar B, Operand C>
constexpr auto clamp(A&& x, B low, C&& high) {
  return detail::ternary<detail::clamp_function>(std::forward<A>(x), low, std::forward<C>(high));
}
template <Operand A, Scalar B, Scalar C>
constexpr auto clamp(A&& x, B low, C high) {
  return detail::ternary<detail::clamp_function>(std::forward<A>(x), low, high);
}

/// x where positive, slope * x elsewhere. Floats; the slope is an operand, commonly a C++ scalar
/// such as 0.01f.
template <Operand X, Operand Slope>
constexpr auto leaky_relu(X&& x, Slope&& slope) {
  return detail::leaky_relu(std::forward<X>(x), std::forward<Slope>(slope));
}
template <Operand X, Scalar Slope>
constexpr auto leaky_relu(X&& x, Slope slope) {
  return detail::leaky_relu(std::forward<X>(x), slope);
}

}  // namespace sinter::inline SINTER_ABI
