// SPDX-License-Identifier: MIT
// What every element-wise op computes, one visible place per op: `apply<op>(operands...)`. Operands
// are registers of floats, their masks (bool values inside of a region), single integers or bools,
// or single floats, which go through a register so that a scalar and an element of a vector get the
// same bits. `cast` is convert<To>(x).
#pragma once

#include <limits>
#include <type_traits>

#include <sinter/exec/floor_division.hpp>
#include <sinter/exec/math.hpp>
#include <sinter/exec/scalar.hpp>
#include <sinter/graph/op.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

template <class V>
inline constexpr bool is_register = false;
template <Floating T>
inline constexpr bool is_register<simd<T>> = true;

template <class V>
inline constexpr bool is_mask = false;
template <Floating T>
inline constexpr bool is_mask<simd_mask<T>> = true;

template <ir::op Op>
inline constexpr bool unsupported = false;

// Ops that are a quotient, with all of their work in its denominator: a kernel may divide later
// than it computes that (late_division.hpp).
constexpr bool is_quotient(ir::op code) {
  return code == ir::op::sigmoid || code == ir::op::silu || code == ir::op::gelu_tanh;
}
template <ir::op Op, Floating T>
[[gnu::always_inline]] inline simd<T> denominator(simd<T> x) {
  using ir::op;
  static_assert(is_quotient(Op));
  if constexpr (Op == op::sigmoid)
    return sigmoid_denominator<T>(x);
  else if constexpr (Op == op::silu)
    return silu_denominator<T>(x);
  else
    return gelu_tanh_denominator<T>(x);
}
template <ir::op Op, Floating T>
[[gnu::always_inline]] inline simd<T> quotient(simd<T> x, simd<T> denominator) {
  return (Op == ir::op::sigmoid ? simd<T>(T(1)) : x) / denominator;
}

// One operand, floats.
template <ir::op Op, Floating T>
[[gnu::always_inline]] inline simd<T> apply_register(simd<T> x) {
  using ir::op;
  if constexpr (is_quotient(Op))
    return quotient<Op, T>(x, denominator<Op, T>(x));
  else if constexpr (Op == op::neg)
    return negate<T>(x);
  else if constexpr (Op == op::abs)
    return xsimd::abs(x);
  else if constexpr (Op == op::sign) {
    const simd<T> zero(T(0));
    return select<T>(x > zero, simd<T>(T(1)), select<T>(x < zero, simd<T>(T(-1)), x));
  } else if constexpr (Op == op::floor)
    return xsimd::floor(x);
  else if constexpr (Op == op::ceil)
    return xsimd::ceil(x);
  else if constexpr (Op == op::round)
    return xsimd::nearbyint(x);
  else if constexpr (Op == op::sqrt)
    return xsimd::sqrt(x);
  else if constexpr (Op == op::rsqrt)
    // Within 1.5 ULP for all x. An estimate with a step of Newton's takes half of the time, but its
    // bits are another's on every processor.
    return simd<T>(T(1)) / xsimd::sqrt(x);
  else if constexpr (Op == op::recip)
    return simd<T>(T(1)) / x;
  else if constexpr (Op == op::exp)
    return exec::exp<T>(x);
  else if constexpr (Op == op::exp2)
    return exec::exp2<T>(x);
  else if constexpr (Op == op::log)
    return exec::log<T>(x);
  else if constexpr (Op == op::log2)
    return exec::log2<T>(x);
  else if constexpr (Op == op::sin)
    return exec::sin<T>(x);
  else if constexpr (Op == op::cos)
    return exec::cos<T>(x);
  else if constexpr (Op == op::tanh)
    return exec::tanh<T>(x);
  else if constexpr (Op == op::erf)
    return exec::erf<T>(x);
  else if constexpr (Op == op::relu)
    return max_or_second<T>(simd<T>(T(0)), x);
  else if constexpr (Op == op::gelu)
    return exec::gelu<T>(x);
  else if constexpr (Op == op::softplus)
    return exec::softplus<T>(x);
  else if constexpr (Op == op::stop_gradient)
    return x;
  else
    static_assert(unsupported<Op>, "no such op of one float");
}

// Two operands, floats; comparisons give masks.
template <ir::op Op, Floating T>
[[gnu::always_inline]] inline auto apply_register(simd<T> a, simd<T> b) {
  using ir::op;
  if constexpr (Op == op::add)
    return a + b;
  else if constexpr (Op == op::sub)
    return a - b;
  else if constexpr (Op == op::mul)
    return mul<T>(a, b);
  else if constexpr (Op == op::div)
    return a / b;
  else if constexpr (Op == op::floor_divide)
    return exec::floor_divide<T>(a, b);
  else if constexpr (Op == op::mod)
    return exec::modulo<T>(a, b);
  else if constexpr (Op == op::pow)
    return exec::pow<T>(a, b);
  // Whether a bound, which stands second, is a number is asked once: x between two bounds takes
  // four instructions instead of six.
  else if constexpr (Op == op::maximum)
    return select<T>(b == b, max_or_second<T>(b, a), b);
  else if constexpr (Op == op::minimum)
    return select<T>(b == b, min_or_second<T>(b, a), b);
  else if constexpr (Op == op::less)
    return a < b;
  else if constexpr (Op == op::less_equal)
    return a <= b;
  else if constexpr (Op == op::equal)
    return a == b;
  else if constexpr (Op == op::not_equal)
    return !(a == b);
  else
    static_assert(unsupported<Op>, "no such op of two floats");
}

// Three operands, floats.
template <ir::op Op, Floating T>
[[gnu::always_inline]] inline simd<T> apply_register(simd<T> a, simd<T> b, simd<T> c) {
  static_assert(Op == ir::op::multiply_add, "no such op of three floats");
  if constexpr (has_fused_multiply_add)
    return exec::fma<T>(a, b, c);
  else
    return for_each_lane<T>([](T x, T y, T z) { return std::fma(x, y, z); }, a, b, c);
}

// Truth values in a register. false < true, as NumPy orders them.
template <ir::op Op, Floating T>
[[gnu::always_inline]] inline simd_mask<T> apply_mask(simd_mask<T> a, simd_mask<T> b) {
  using ir::op;
  if constexpr (Op == op::bit_and)
    return a & b;
  else if constexpr (Op == op::bit_or)
    return a | b;
  else if constexpr (Op == op::bit_xor || Op == op::not_equal)
    return a ^ b;
  else if constexpr (Op == op::equal)
    return !(a ^ b);
  else if constexpr (Op == op::less)
    return !a & b;
  else if constexpr (Op == op::less_equal)
    return !a | b;
  else
    static_assert(unsupported<Op>, "no such op of two bools");
}

// One operand, an integer or a bool.
template <ir::op Op, class T>
constexpr T apply_integer(T x) {
  using ir::op;
  if constexpr (Op == op::stop_gradient)
    return x;
  else if constexpr (Op == op::logical_not)
    return !x;
  else if constexpr (Op == op::neg)
    return negate(x);
  else if constexpr (Op == op::abs)
    return absolute(x);
  else if constexpr (Op == op::sign)
    return sign(x);
  else if constexpr (Op == op::relu)
    return x > T(0) ? x : T(0);
  else if constexpr (Op == op::floor || Op == op::ceil || Op == op::round)
    return x;
  else
    static_assert(unsupported<Op>, "no such op of one integer");
}

// Two operands, integers or bools.
template <ir::op Op, class T>
constexpr auto apply_integer(T a, T b) {
  using ir::op;
  if constexpr (Op == op::add)
    return add(a, b);
  else if constexpr (Op == op::sub)
    return subtract(a, b);
  else if constexpr (Op == op::mul)
    return multiply(a, b);
  else if constexpr (Op == op::div)
    return divide(a, b);
  else if constexpr (Op == op::floor_divide)
    return floor_divide(a, b);
  else if constexpr (Op == op::mod)
    return modulo(a, b);
  else if constexpr (Op == op::maximum)
    return a > b ? a : b;
  else if constexpr (Op == op::minimum)
    return a < b ? a : b;
  else if constexpr (Op == op::less)
    return a < b;
  else if constexpr (Op == op::less_equal)
    return a <= b;
  else if constexpr (Op == op::equal)
    return a == b;
  else if constexpr (Op == op::not_equal)
    return a != b;
  else if constexpr (Op == op::bit_and)
    return static_cast<T>(a & b);
  else if constexpr (Op == op::bit_or)
    return static_cast<T>(a | b);
  else if constexpr (Op == op::bit_xor)
    return static_cast<T>(a ^ b);
  else if constexpr (Op == op::shift_left)
    return shift_left(a, b);
  else if constexpr (Op == op::shift_right)
    return shift_right(a, b);
  else
    static_assert(unsupported<Op>, "no such op of two integers");
}

// Three operands, integers.
template <ir::op Op, class T>
constexpr T apply_integer(T a, T b, T c) {
  static_assert(Op == ir::op::multiply_add, "no such op of three integers");
  return add(multiply(a, b), c);
}

}  // namespace detail

/// The result of one op for operands of the same kind. Only ops whose row in the op table accepts
/// the dtype compile.
template <ir::op Op, class V, class... Rest>
[[gnu::always_inline]] inline auto apply(V first, Rest... rest) {
  if constexpr (detail::is_register<V>) {
    return detail::apply_register<Op, typename V::value_type>(first, rest...);
  } else if constexpr (detail::is_mask<V>) {
    if constexpr (Op == ir::op::logical_not)
      return !first;
    else if constexpr (Op == ir::op::stop_gradient)
      return first;
    else
      return detail::apply_mask<Op, typename V::batch_type::value_type>(first, rest...);
  } else if constexpr (Floating<V>) {
    const auto result = detail::apply_register<Op, V>(simd<V>(first), simd<V>(rest)...);
    if constexpr (detail::is_mask<std::remove_cv_t<decltype(result)>>)
      return xsimd::any(result);
    else
      return result.get(0);
  } else {
    return detail::apply_integer<Op, V>(first, rest...);
  }
}

/// where: yes or no by the condition, which is a mask, or a bool for single values.
template <class Condition, class V>
[[gnu::always_inline]] inline V apply_where(Condition condition, V yes, V no) {
  if constexpr (detail::is_register<V>)
    return xsimd::select(condition, yes, no);
  else if constexpr (detail::is_mask<V>)
    return (condition & yes) | (!condition & no);
  else
    return condition ? yes : no;
}

/// The value as another dtype. Floats become integers by truncation, limited to the range of the
/// integer, NaN gives 0; integers wrap; everything but zero is true.
template <class To, class From>
constexpr To convert(From x) {
  if constexpr (std::same_as<To, bool>) {
    return x != From(0);
  } else if constexpr (Floating<From> && Integer<To>) {
    // 2^31, 2^63 and 256 are floats; the largest i64 is not.
    constexpr From limit = From(std::numeric_limits<To>::max() / 2 + 1) * From(2);
    if (!(x > From(std::numeric_limits<To>::min())))
      return x == x ? std::numeric_limits<To>::min() : To(0);
    return x < limit ? static_cast<To>(x) : std::numeric_limits<To>::max();
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
