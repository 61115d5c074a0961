// SPDX-License-Identifier: MIT
// The operators, each an element-wise function of elementwise.hpp or a plain op: they broadcast and
// take C++ scalars on either side. `==` and `!=` are element-wise only if a handle or an expression
// takes part: two tensors are compared as a whole (tensor.hpp), and equal(x, y) says the
// element-wise comparison for all.
#pragma once

#include <utility>

#include <sinter/expr/elementwise.hpp>

namespace sinter::inline SINTER_ABI {

/// -x. Numbers.
template <Operand X>
constexpr auto operator-(X&& x) {
  return negative(std::forward<X>(x));
}

/// logical_not(x).
template <Operand X>
constexpr auto operator!(X&& x) {
  return logical_not(std::forward<X>(x));
}

/// a + b. Numbers, as - * / %.
template <Operand A, Operand B>
constexpr auto operator+(A&& a, B&& b) {
  return detail::binary<ir::op::add>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator+(A&& a, B b) {
  return detail::binary<ir::op::add>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator+(A a, B&& b) {
  return detail::binary<ir::op::add>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
constexpr auto operator-(A&& a, B&& b) {
  return detail::binary<ir::op::sub>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator-(A&& a, B b) {
  return detail::binary<ir::op::sub>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator-(A a, B&& b) {
  return detail::binary<ir::op::sub>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
constexpr auto operator*(A&& a, B&& b) {
  return detail::binary<ir::op::mul>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator*(A&& a, B b) {
  return detail::binary<ir::op::mul>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator*(A a, B&& b) {
  return detail::binary<ir::op::mul>(a, std::forward<B>(b));
}

/// a / b. Integers truncate toward zero and give 0 for a divisor of 0; true_divide converts to
/// floats.
template <Operand A, Operand B>
constexpr auto operator/(A&& a, B&& b) {
  return detail::binary<ir::op::div>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator/(A&& a, B b) {
  return detail::binary<ir::op::div>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator/(A a, B&& b) {
  return detail::binary<ir::op::div>(a, std::forward<B>(b));
}

/// The remainder with the sign of b, as NumPy has it.
template <Operand A, Operand B>
constexpr auto operator%(A&& a, B&& b) {
  return detail::binary<ir::op::mod>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator%(A&& a, B b) {
  return detail::binary<ir::op::mod>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator%(A a, B&& b) {
  return detail::binary<ir::op::mod>(a, std::forward<B>(b));
}

/// Integers or bools, as | and ^.
template <Operand A, Operand B>
constexpr auto operator&(A&& a, B&& b) {
  return detail::binary<ir::op::bit_and>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator&(A&& a, B b) {
  return detail::binary<ir::op::bit_and>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator&(A a, B&& b) {
  return detail::binary<ir::op::bit_and>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
constexpr auto operator|(A&& a, B&& b) {
  return detail::binary<ir::op::bit_or>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator|(A&& a, B b) {
  return detail::binary<ir::op::bit_or>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator|(A a, B&& b) {
  return detail::binary<ir::op::bit_or>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
constexpr auto operator^(A&& a, B&& b) {
  return detail::binary<ir::op::bit_xor>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator^(A&& a, B b) {
  return detail::binary<ir::op::bit_xor>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator^(A a, B&& b) {
  return detail::binary<ir::op::bit_xor>(a, std::forward<B>(b));
}

/// Integers, as >>, which keeps the sign.
template <Operand A, Operand B>
constexpr auto operator<<(A&& a, B&& b) {
  return detail::binary<ir::op::shift_left>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator<<(A&& a, B b) {
  return detail::binary<ir::op::shift_left>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator<<(A a, B&& b) {
  return detail::binary<ir::op::shift_left>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
constexpr auto operator>>(A&& a, B&& b) {
  return detail::binary<ir::op::shift_right>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator>>(A&& a, B b) {
  return detail::binary<ir::op::shift_right>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator>>(A a, B&& b) {
  return detail::binary<ir::op::shift_right>(a, std::forward<B>(b));
}

/// logical_and and logical_or: both sides are computed.
template <Operand A, Operand B>
constexpr auto operator&&(A&& a, B&& b) {
  return detail::logical<ir::op::bit_and>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator&&(A&& a, B b) {
  return detail::logical<ir::op::bit_and>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator&&(A a, B&& b) {
  return detail::logical<ir::op::bit_and>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
constexpr auto operator||(A&& a, B&& b) {
  return detail::logical<ir::op::bit_or>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator||(A&& a, B b) {
  return detail::logical<ir::op::bit_or>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator||(A a, B&& b) {
  return detail::logical<ir::op::bit_or>(a, std::forward<B>(b));
}

/// Comparisons give bools.
template <Operand A, Operand B>
constexpr auto operator<(A&& a, B&& b) {
  return detail::binary<ir::op::less>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator<(A&& a, B b) {
  return detail::binary<ir::op::less>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator<(A a, B&& b) {
  return detail::binary<ir::op::less>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
constexpr auto operator<=(A&& a, B&& b) {
  return detail::binary<ir::op::less_equal>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator<=(A&& a, B b) {
  return detail::binary<ir::op::less_equal>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator<=(A a, B&& b) {
  return detail::binary<ir::op::less_equal>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
constexpr auto operator>(A&& a, B&& b) {
  return detail::swapped<ir::op::less>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator>(A&& a, B b) {
  return detail::swapped<ir::op::less>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator>(A a, B&& b) {
  return detail::swapped<ir::op::less>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
constexpr auto operator>=(A&& a, B&& b) {
  return detail::swapped<ir::op::less_equal>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto operator>=(A&& a, B b) {
  return detail::swapped<ir::op::less_equal>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto operator>=(A a, B&& b) {
  return detail::swapped<ir::op::less_equal>(a, std::forward<B>(b));
}

/// Element-wise where a handle or an expression takes part.
template <Operand A, Operand B>
  requires(Unevaluated<A> || Unevaluated<B>)
constexpr auto operator==(A&& a, B&& b) {
  return detail::binary<ir::op::equal>(std::forward<A>(a), std::forward<B>(b));
}
template <Unevaluated A, Scalar B>
constexpr auto operator==(A&& a, B b) {
  return detail::binary<ir::op::equal>(std::forward<A>(a), b);
}
template <Scalar A, Unevaluated B>
constexpr auto operator==(A a, B&& b) {
  return detail::binary<ir::op::equal>(a, std::forward<B>(b));
}

template <Operand A, Operand B>
  requires(Unevaluated<A> || Unevaluated<B>)
constexpr auto operator!=(A&& a, B&& b) {
  return detail::binary<ir::op::not_equal>(std::forward<A>(a), std::forward<B>(b));
}
template <Unevaluated A, Scalar B>
constexpr auto operator!=(A&& a, B b) {
  return detail::binary<ir::op::not_equal>(std::forward<A>(a), b);
}
template <Scalar A, Unevaluated B>
constexpr auto operator!=(A a, B&& b) {
  return detail::binary<ir::op::not_equal>(a, std::forward<B>(b));
}

}  // namespace sinter::inline SINTER_ABI
