// SPDX-License-Identifier: MIT
// Element-wise arithmetic on single integers with the semantics of graph/op.hpp: overflow wraps,
// division by zero gives 0, shifts by the width or more shift everything out. Plus NumPy's floor
// division of floats.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

namespace detail {

/// The unsigned integer of 1, 2, 4 or 8 bytes: what kernels that only look at bits work on.
template <std::size_t Size>
using unsigned_word = std::conditional_t<
    Size == 1, std::uint8_t,
    std::conditional_t<Size == 2, std::uint16_t,
                       std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

// Unsigned and at least as wide as int: arithmetic that wraps, without the promotion of u8 to a
// signed type.
template <Integer T>
using wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <Integer T>
constexpr wrapping<T> wrap(T x) {
  return static_cast<wrapping<T>>(x);
}

// True where a / b would overflow: the most negative number by -1.
template <Integer T>
constexpr bool quotient_overflows(T a, T b) {
  if constexpr (std::is_signed_v<T>)
    return b == T(-1) && a == std::numeric_limits<T>::min();
  else
    return false;
}

}  // namespace detail

/// Calls `f(std::type_identity<T>{})` with a type that has the bits of sums, products and counts of
/// `type`: the C++ type of a float, and for bools and integers the unsigned one of their size.
template <class Function>
constexpr decltype(auto) dispatch_words(dtype type, Function&& f) {
  return dispatch(
      is_floating(type) ? type : unsigned_of_size(static_cast<std::int64_t>(size_of(type))),
      [&]<class T>(std::type_identity<T> which) {
        if constexpr (!Integer<T> || std::is_unsigned_v<T>)
          if constexpr (!std::is_same_v<T, bool>) f(which);
      });
}

template <Integer T>
constexpr T add(T a, T b) {
  return static_cast<T>(detail::wrap(a) + detail::wrap(b));
}
/// The sum of any two numbers: `add` of integers, which wraps.
template <class T>
constexpr T sum_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return add(a, b);
}
template <Integer T>
constexpr T subtract(T a, T b) {
  return static_cast<T>(detail::wrap(a) - detail::wrap(b));
}
template <Integer T>
constexpr T multiply(T a, T b) {
  return static_cast<T>(detail::wrap(a) * detail::wrap(b));
}
template <Integer T>
constexpr T negate(T x) {
  return subtract(T(0), x);
}
template <Integer T>
constexpr T absolute(T x) {
  if constexpr (std::is_signed_v<T>)
    return x < 0 ? negate(x) : x;
  else
    return x;
}
template <Integer T>
constexpr T sign(T x) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>((x > 0) - (x < 0));
  else
    return static_cast<T>(x > 0);
}

/// Toward zero.
template <Integer T>
constexpr T divide(T a, T b) {
  if (b == 0) return 0;
  if (detail::quotient_overflows(a, b)) return a;
  return static_cast<T>(a / b);
}
/// NumPy's %: the sign of the divisor.
template <Integer T>
constexpr T modulo(T a, T b) {
  if (b == 0 || detail::quotient_overflows(a, b)) return 0;
  const T rest = static_cast<T>(a % b);
  if constexpr (std::is_unsigned_v<T>)
    return rest;
  else
    return rest != 0 && (rest < 0) != (b < 0) ? add(rest, b) : rest;
}
/// NumPy's //: toward minus infinity.
template <Integer T>
constexpr T floor_divide(T a, T b) {
  const T quotient = divide(a, b);
  if constexpr (std::is_unsigned_v<T>)
    return quotient;
  else
    return b != 0 && (a < 0) != (b < 0) && multiply(quotient, b) != a ? subtract(quotient, T(1))
                                                                      : quotient;
}

template <Integer T>
constexpr T shift_left(T a, T b) {
  constexpr auto width =
      static_cast<std::make_unsigned_t<T>>(std::numeric_limits<std::make_unsigned_t<T>>::digits);
  const auto count = static_cast<std::make_unsigned_t<T>>(b);
  return count < width ? static_cast<T>(detail::wrap(a) << count) : T(0);
}
/// Arithmetic for signed integers.
template <Integer T>
constexpr T shift_right(T a, T b) {
  constexpr auto width =
      static_cast<std::make_unsigned_t<T>>(std::numeric_limits<std::make_unsigned_t<T>>::digits);
  const auto count = static_cast<std::make_unsigned_t<T>>(b);
  if (count < width) return static_cast<T>(a >> count);
  if constexpr (std::is_signed_v<T>)
    return a < 0 ? T(-1) : T(0);
  else
    return 0;
}

/// NumPy's % of floats: fmod with the sign of the divisor.
template <std::floating_point T>
T modulo(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest == T(0)) return std::copysign(T(0), b);
  return (rest < T(0)) != (b < T(0)) ? rest + b : rest;
}
/// NumPy's // of floats: the quotient that belongs to modulo, rounded to a whole number.
template <std::floating_point T>
T floor_divide(T a, T b) {
  if (b == T(0)) return a / b;
  const T rest = std::fmod(a, b);
  T quotient = (a - rest) / b;
  if (rest != T(0) && (rest < T(0)) != (b < T(0))) quotient -= T(1);
  if (quotient == T(0)) return std::copysign(T(0), a / b);
  const T whole = std::floor(quotient);
  return quotient - whole > T(0.5) ? whole + T(1) : whole;
}

}  // namespace sinter::inline SINTER_ABI::exec
