// SPDX-License-Identifier: MIT
// Element-wise functions of two operands, one of which may be a C++ scalar. They broadcast as in
// NumPy: shapes are aligned at the last axis, and an extent of 1 repeats; other extents that
// disagree are a shape_error. Dtypes must be equal and ones that the function takes (dtype_error),
// but a scalar takes the dtype of what it meets. A floating scalar never becomes an integer, nor a
// number a bool: cast first. NaN, zero divisors and ties: see graph/op.hpp.
#pragma once

#include <utility>

#include <sinter/expr/expression.hpp>

namespace sinter::inline SINTER_ABI {

// Three overloads each: arrays are forwarded, but a scalar must come by value (a captureless lambda
// may then name a constexpr variable from outside, which binding a reference would forbid).

namespace detail {

template <ir::op Op>
struct binary_function {
  static constexpr ir::op code = Op;
  constexpr handle operator()(handle a, handle b) const {
    return handle(ir::elementwise(Op, {a.node, b.node}));
  }
};

// The same with the operands exchanged: greater is less, told from the right.
template <ir::op Op>
struct swapped_function {
  static constexpr ir::op code = Op;
  constexpr handle operator()(handle a, handle b) const {
    return handle(ir::elementwise(Op, {b.node, a.node}));
  }
};

template <ir::op Op, class A, class B>
constexpr auto binary(A&& a, B&& b) {
  return sinter::apply(binary_function<Op>{}, std::forward<A>(a), std::forward<B>(b));
}

template <ir::op Op, class A, class B>
constexpr auto swapped(A&& a, B&& b) {
  return sinter::apply(swapped_function<Op>{}, std::forward<A>(a), std::forward<B>(b));
}

}  // namespace detail

/// The larger of two numbers, NaN if one of them is.
template <Operand A, Operand B>
constexpr auto maximum(A&& a, B&& b) {
  return detail::binary<ir::op::maximum>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto maximum(A&& a, B b) {
  return detail::binary<ir::op::maximum>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto maximum(A a, B&& b) {
  return detail::binary<ir::op::maximum>(a, std::forward<B>(b));
}

/// The smaller of two numbers, NaN if one of them is.
template <Operand A, Operand B>
constexpr auto minimum(A&& a, B&& b) {
  return detail::binary<ir::op::minimum>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto minimum(A&& a, B b) {
  return detail::binary<ir::op::minimum>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto minimum(A a, B&& b) {
  return detail::binary<ir::op::minimum>(a, std::forward<B>(b));
}

/// a to the power b. Floats.
template <Operand A, Operand B>
constexpr auto pow(A&& a, B&& b) {
  return detail::binary<ir::op::pow>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto pow(A&& a, B b) {
  return detail::binary<ir::op::pow>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto pow(A a, B&& b) {
  return detail::binary<ir::op::pow>(a, std::forward<B>(b));
}

/// The remainder of floor_divide, with the sign of b. Numbers; integers by zero give 0.
template <Operand A, Operand B>
constexpr auto mod(A&& a, B&& b) {
  return detail::binary<ir::op::mod>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto mod(A&& a, B b) {
  return detail::binary<ir::op::mod>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto mod(A a, B&& b) {
  return detail::binary<ir::op::mod>(a, std::forward<B>(b));
}

/// The quotient rounded toward minus infinity. Numbers; integers by zero give 0.
template <Operand A, Operand B>
constexpr auto floor_divide(A&& a, B&& b) {
  return detail::binary<ir::op::floor_divide>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto floor_divide(A&& a, B b) {
  return detail::binary<ir::op::floor_divide>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto floor_divide(A a, B&& b) {
  return detail::binary<ir::op::floor_divide>(a, std::forward<B>(b));
}

/// Bits set in both. Integers or bools, as bit_or and bit_xor.
template <Operand A, Operand B>
constexpr auto bit_and(A&& a, B&& b) {
  return detail::binary<ir::op::bit_and>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto bit_and(A&& a, B b) {
  return detail::binary<ir::op::bit_and>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto bit_and(A a, B&& b) {
  return detail::binary<ir::op::bit_and>(a, std::forward<B>(b));
}

/// Bits set in one or both.
template <Operand A, Operand B>
constexpr auto bit_or(A&& a, B&& b) {
  return detail::binary<ir::op::bit_or>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto bit_or(A&& a, B b) {
  return detail::binary<ir::op::bit_or>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto bit_or(A a, B&& b) {
  return detail::binary<ir::op::bit_or>(a, std::forward<B>(b));
}

/// Bits set in exactly one.
template <Operand A, Operand B>
constexpr auto bit_xor(A&& a, B&& b) {
  return detail::binary<ir::op::bit_xor>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto bit_xor(A&& a, B b) {
  return detail::binary<ir::op::bit_xor>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto bit_xor(A a, B&& b) {
  return detail::binary<ir::op::bit_xor>(a, std::forward<B>(b));
}

/// a * 2^b. Integers.
template <Operand A, Operand B>
constexpr auto shift_left(A&& a, B&& b) {
  return detail::binary<ir::op::shift_left>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto shift_left(A&& a, B b) {
  return detail::binary<ir::op::shift_left>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto shift_left(A a, B&& b) {
  return detail::binary<ir::op::shift_left>(a, std::forward<B>(b));
}

/// a / 2^b rounded toward minus infinity. Integers.
template <Operand A, Operand B>
constexpr auto shift_right(A&& a, B&& b) {
  return detail::binary<ir::op::shift_right>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto shift_right(A&& a, B b) {
  return detail::binary<ir::op::shift_right>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto shift_right(A a, B&& b) {
  return detail::binary<ir::op::shift_right>(a, std::forward<B>(b));
}

/// a == b as a tensor of bools, IEEE for floats. Any dtype, as all comparisons. Two tensors need
/// the function: their operator `==` compares them as a whole.
template <Operand A, Operand B>
constexpr auto equal(A&& a, B&& b) {
  return detail::binary<ir::op::equal>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto equal(A&& a, B b) {
  return detail::binary<ir::op::equal>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto equal(A a, B&& b) {
  return detail::binary<ir::op::equal>(a, std::forward<B>(b));
}

/// a != b.
template <Operand A, Operand B>
constexpr auto not_equal(A&& a, B&& b) {
  return detail::binary<ir::op::not_equal>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto not_equal(A&& a, B b) {
  return detail::binary<ir::op::not_equal>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto not_equal(A a, B&& b) {
  return detail::binary<ir::op::not_equal>(a, std::forward<B>(b));
}

/// a < b.
template <Operand A, Operand B>
constexpr auto less(A&& a, B&& b) {
  return detail::binary<ir::op::less>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto less(A&& a, B b) {
  return detail::binary<ir::op::less>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto less(A a, B&& b) {
  return detail::binary<ir::op::less>(a, std::forward<B>(b));
}

/// a <= b.
template <Operand A, Operand B>
constexpr auto less_equal(A&& a, B&& b) {
  return detail::binary<ir::op::less_equal>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto less_equal(A&& a, B b) {
  return detail::binary<ir::op::less_equal>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto less_equal(A a, B&& b) {
  return detail::binary<ir::op::less_equal>(a, std::forward<B>(b));
}

/// a > b.
template <Operand A, Operand B>
constexpr auto greater(A&& a, B&& b) {
  return detail::swapped<ir::op::less>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto greater(A&& a, B b) {
  return detail::swapped<ir::op::less>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto greater(A a, B&& b) {
  return detail::swapped<ir::op::less>(a, std::forward<B>(b));
}

/// a >= b.
template <Operand A, Operand B>
constexpr auto greater_equal(A&& a, B&& b) {
  return detail::swapped<ir::op::less_equal>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto greater_equal(A&& a, B b) {
  return detail::swapped<ir::op::less_equal>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto greater_equal(A a, B&& b) {
  return detail::swapped<ir::op::less_equal>(a, std::forward<B>(b));
}

namespace detail {

// What is true of a number: that it is not 0.
constexpr ir::value truth_of(ir::value x) {
  return x.type() == dtype::boolean
             ? x
             : ir::elementwise(ir::op::not_equal, {x, ir::constant_like(x, 0)});
}

template <ir::op Op>
struct logical_function {
  static constexpr ir::op code = Op;
  constexpr handle operator()(handle a, handle b) const {
    return handle(ir::elementwise(Op, {truth_of(a.node), truth_of(b.node)}));
  }
};

struct logical_not_function {
  static constexpr ir::op code = ir::op::logical_not;
  constexpr handle operator()(handle x) const { return handle(ir::unary(code, truth_of(x.node))); }
};

template <ir::op Op, class A, class B>
constexpr auto logical(A&& a, B&& b) {
  return sinter::apply(logical_function<Op>{}, std::forward<A>(a), std::forward<B>(b));
}

}  // namespace detail

/// True where x is 0 or false. Any dtype.
template <Operand X>
constexpr auto logical_not(X&& x) {
  return sinter::apply(detail::logical_not_function{}, std::forward<X>(x));
}

/// True where both are true; numbers are true unless 0. Any dtypes, as logical_or and logical_xor.
/// Both are computed.
template <Operand A, Operand B>
constexpr auto logical_and(A&& a, B&& b) {
  return detail::logical<ir::op::bit_and>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto logical_and(A&& a, B b) {
  return detail::logical<ir::op::bit_and>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto logical_and(A a, B&& b) {
  return detail::logical<ir::op::bit_and>(a, std::forward<B>(b));
}

/// True where one or both are true.
template <Operand A, Operand B>
constexpr auto logical_or(A&& a, B&& b) {
  return detail::logical<ir::op::bit_or>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto logical_or(A&& a, B b) {
  return detail::logical<ir::op::bit_or>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto logical_or(A a, B&& b) {
  return detail::logical<ir::op::bit_or>(a, std::forward<B>(b));
}

/// True where exactly one is true.
template <Operand A, Operand B>
constexpr auto logical_xor(A&& a, B&& b) {
  return detail::logical<ir::op::bit_xor>(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto logical_xor(A&& a, B b) {
  return detail::logical<ir::op::bit_xor>(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto logical_xor(A a, B&& b) {
  return detail::logical<ir::op::bit_xor>(a, std::forward<B>(b));
}

namespace detail {

struct true_divide_function {
  static constexpr ir::op code = ir::op::div;
  static constexpr unsigned own_dtype = 0b11;  // numbers of any dtype are converted below
  static constexpr unsigned dtypes = dtype_bits(dtype::f32);
  static constexpr ir::value floating(ir::value x) {
    return is_floating(x.type()) || x.get().weak ? x : ir::cast(x, dtype::f32);
  }
  constexpr handle operator()(handle a, handle b) const {
    ir::value x = floating(a.node), y = floating(b.node);
    if (!is_floating(x.type()) && !is_floating(y.type()))
      x = ir::cast(x, dtype::f32), y = ir::cast(y, dtype::f32);
    return handle(ir::elementwise(code, {x, y}));
  }
};

template <class A, class B>
constexpr auto true_divide(A&& a, B&& b) {
  return sinter::apply(true_divide_function{}, std::forward<A>(a), std::forward<B>(b));
}

}  // namespace detail

/// a / b as real numbers: integers and bools are cast to f32 first. (`/` of integers truncates, as
/// in C++.)
template <Operand A, Operand B>
constexpr auto true_divide(A&& a, B&& b) {
  return detail::true_divide(std::forward<A>(a), std::forward<B>(b));
}
template <Operand A, Scalar B>
constexpr auto true_divide(A&& a, B b) {
  return detail::true_divide(std::forward<A>(a), b);
}
template <Scalar A, Operand B>
constexpr auto true_divide(A a, B&& b) {
  return detail::true_divide(a, std::forward<B>(b));
}

}  // namespace sinter::inline SINTER_ABI
