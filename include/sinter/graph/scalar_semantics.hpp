// SPDX-License-Identifier: MIT
// What every element-wise op does to one element: the meaning behind the names, in double for
// floats and in wrapping two's complement for integers. The reference interpreter is a loop around
// `evaluate_scalar`; constant folding of the rules is a call of it. Not constexpr: <cmath> is not.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include <sinter/graph/op.hpp>
#include <sinter/graph/wrap.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// x without its fraction, saturated to the range of i64; NaN gives 0.
inline std::int64_t truncate_to_i64(double x) {
  if (x != x) return 0;
  // 2^63 is a double, the largest i64 is not: compare with the power of two.
  if (x >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (x < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(x);
}

/// The same in two's complement for values from 2^63 to 2^64 too, which are a u64's.
inline std::int64_t integer_bits(double x) {
  return x >= 0x1p63 && x < 0x1p64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(x))
                                   : truncate_to_i64(x);
}

/// The value that an integer dtype keeps of an integer that is held in a double, such as a sum of
/// integers.
inline double wrap(dtype type, double x) {
  return is_floating(type) ? x : wrap(type, static_cast<std::uint64_t>(integer_bits(x)));
}

inline double lowest_of(dtype type) {
  return dispatch(type, []<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<double>(std::numeric_limits<T>::min());
    else
      return -std::numeric_limits<double>::infinity();
  });
}

inline double highest_of(dtype type) {
  return dispatch(type, []<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<double>(std::numeric_limits<T>::max());
    else
      return std::numeric_limits<double>::infinity();
  });
}

/// A NaN operand gives NaN, as NumPy's maximum does and fmax does not.
inline double maximum(double a, double b) { return a != a || b != b ? a + b : (a < b ? b : a); }
inline double minimum(double a, double b) { return a != a || b != b ? a + b : (b < a ? b : a); }

/// Float to integer truncates toward zero and saturates, NaN gives 0; integer to integer keeps the
/// low bits; to bool is x != 0 (so NaN is true). To f32 does not round: the interpreter's f32 is
/// exact but for its constants. To f16 and bf16 does: what they hold is in tests.
inline double cast_scalar(dtype from, dtype to, double x) {
  if (to == dtype::boolean) return x != 0 ? 1.0 : 0.0;
  if (to == dtype::f16) return static_cast<double>(float16(x));
  if (to == dtype::bf16) return static_cast<double>(bfloat16(x));
  if (is_floating(to)) return x;
  if (!is_floating(from)) return wrap(to, x);
  const double low = lowest_of(to), high = highest_of(to);
  if (x != x) return 0;
  return x <= low ? low : x >= high ? high : std::trunc(x);
}

/// The bits of x, stored as `from`, read as `to` of the same size. A 64-bit integer beyond 2^53 in
/// magnitude loses its low bits on the way, as everywhere in the interpreter.
inline double bitcast_scalar(dtype from, dtype to, double x) {
  std::uint64_t bits = 0;
  dispatch(from, [&]<class From>(std::type_identity<From>) {
    From stored{};
    if constexpr (std::is_integral_v<From>)
      stored = static_cast<From>(integer_bits(x));
    else
      stored = static_cast<From>(x);
    std::memcpy(&bits, &stored, sizeof stored);
  });
  return dispatch(to, [&]<class To>(std::type_identity<To>) {
    To stored{};
    std::memcpy(&stored, &bits, sizeof stored);
    return static_cast<double>(stored);
  });
}

namespace detail {

// NumPy's remainder: it has the sign of the divisor, also where the remainder is zero.
inline double float_mod(double a, double b) {
  const double remainder = std::fmod(a, b);
  if (b == 0 || remainder != remainder) return remainder;
  if (remainder == 0) return std::copysign(0.0, b);
  return (b < 0) != (remainder < 0) ? remainder + b : remainder;
}

// NumPy's //: from the exact remainder, because floor(a / b) is off by one where the quotient
// rounds up to a whole number.
inline double float_floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double remainder = std::fmod(a, b);
  const double truncated = std::nearbyint((a - remainder) / b);
  const double quotient = remainder != 0 && (b < 0) != (remainder < 0) ? truncated - 1 : truncated;
  return quotient == 0 ? std::copysign(0.0, a / b) : quotient;
}

inline double float_scalar(op code, double a, double b, double c) {
  switch (code) {
    case op::neg: return -a;
    case op::abs: return std::fabs(a);
    case op::sign: return a > 0 ? 1.0 : a < 0 ? -1.0 : a;
    case op::floor: return std::floor(a);
    case op::ceil: return std::ceil(a);
    case op::round: return std::nearbyint(a);  // halves to even in the default rounding mode
    case op::sqrt: return std::sqrt(a);
    case op::rsqrt: return 1.0 / std::sqrt(a);
    case op::recip: return 1.0 / a;
    case op::exp: return std::exp(a);
    case op::exp2: return std::exp2(a);
    case op::log: return std::log(a);
    case op::log2: return std::log2(a);
    case op::sin: return std::sin(a);
    case op::cos: return std::cos(a);
    case op::tanh: return std::tanh(a);
    case op::erf: return std::erf(a);
    case op::sigmoid: return 1.0 / (1.0 + std::exp(-a));
    case op::relu: return maximum(a, 0.0);
    case op::gelu: return 0.5 * a * (1.0 + std::erf(a * 0.70710678118654752440));
    case op::gelu_tanh:
      return 0.5 * a * (1.0 + std::tanh(0.79788456080286535588 * (a + 0.044715 * a * a * a)));
    case op::silu: return a / (1.0 + std::exp(-a));
    case op::softplus: return maximum(a, 0.0) + std::log1p(std::exp(-std::fabs(a)));
    case op::add: return a + b;
    case op::sub: return a - b;
    case op::mul: return a * b;
    case op::div: return a / b;
    case op::floor_divide: return float_floor_divide(a, b);
    case op::mod: return float_mod(a, b);
    case op::pow: return std::pow(a, b);
    case op::maximum: return maximum(a, b);
    case op::minimum: return minimum(a, b);
    case op::multiply_add: return std::fma(a, b, c);
    default: return std::numeric_limits<double>::quiet_NaN();  // no float op; inference refuses it
  }
}

// A shift by the width or more moves every bit out, a negative count too (its unsigned value is
// large).
inline std::uint64_t shift(op code, dtype type, std::int64_t a, std::int64_t count) {
  const std::int64_t width = static_cast<std::int64_t>(8 * size_of(type));
  const bool out = count < 0 || count >= width;
  if (code == op::shift_left) return out ? 0 : static_cast<std::uint64_t>(a) << count;
  if (out) return a < 0 ? ~std::uint64_t{0} : 0;
  return static_cast<std::uint64_t>(a >> count);  // arithmetic; a u8 is not negative
}

// Where a u64 differs from an i64 of the same bits: in its order, in quotients and in what comes in
// from the left.
inline std::uint64_t unsigned_scalar(op code, std::uint64_t a, std::uint64_t b) {
  switch (code) {
    case op::abs:
    case op::relu: return a;
    case op::sign: return a != 0 ? 1 : 0;
    case op::div:
    case op::floor_divide: return b == 0 ? 0 : a / b;
    case op::mod: return b == 0 ? 0 : a % b;
    case op::maximum: return a < b ? b : a;
    case op::minimum: return b < a ? b : a;
    default: return b >= 64 ? 0 : a >> b;  // shift_right
  }
}

constexpr bool differs_for_u64(op code) {
  return code == op::abs || code == op::relu || code == op::sign || code == op::div ||
         code == op::floor_divide || code == op::mod || code == op::maximum ||
         code == op::minimum || code == op::shift_right;
}

// Division of integers: zero divisors give 0, and the one overflow (lowest / -1) wraps to itself.
inline std::uint64_t divide(op code, std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return code == op::mod ? 0 : 0 - static_cast<std::uint64_t>(a);
  const std::int64_t quotient = a / b, remainder = a % b;
  const bool signs_differ = remainder != 0 && (remainder < 0) != (b < 0);
  if (code == op::div) return static_cast<std::uint64_t>(quotient);
  if (code == op::floor_divide)
    return static_cast<std::uint64_t>(signs_differ ? quotient - 1 : quotient);
  return static_cast<std::uint64_t>(signs_differ ? remainder + b : remainder);
}

inline std::uint64_t integer_scalar(op code, dtype type, std::int64_t a, std::int64_t b,
                                    std::int64_t c) {
  const auto bits = [](std::int64_t x) { return static_cast<std::uint64_t>(x); };
  switch (code) {
    case op::neg: return 0 - bits(a);
    case op::abs: return a < 0 ? 0 - bits(a) : bits(a);
    case op::sign: return a > 0 ? 1 : a < 0 ? ~std::uint64_t{0} : 0;
    case op::floor:
    case op::ceil:
    case op::round: return bits(a);
    case op::relu: return a > 0 ? bits(a) : 0;
    case op::add: return bits(a) + bits(b);
    case op::sub: return bits(a) - bits(b);
    case op::mul: return bits(a) * bits(b);
    case op::div:
    case op::floor_divide:
    case op::mod: return divide(code, a, b);
    case op::maximum: return bits(a < b ? b : a);
    case op::minimum: return bits(b < a ? b : a);
    case op::bit_and: return bits(a) & bits(b);
    case op::bit_or: return bits(a) | bits(b);
    case op::bit_xor: return bits(a) ^ bits(b);
    case op::shift_left:
    case op::shift_right: return shift(code, type, a, b);
    case op::multiply_add: return bits(a) * bits(b) + bits(c);
    default: return 0;  // no integer op; inference refuses it
  }
}

}  // namespace detail

/// One element of the element-wise op `code` on operands of dtype `type` (of `where`: the dtype of
/// its last two). The operands that the op does not have are ignored. `cast` is cast_scalar and
/// `bitcast` bitcast_scalar: they need the dtype of the result too.
inline double evaluate_scalar(op code, dtype type, double a, double b = 0, double c = 0) {
  switch (code) {
    case op::stop_gradient: return a;
    case op::logical_not: return a == 0 ? 1.0 : 0.0;
    case op::less: return a < b ? 1.0 : 0.0;
    case op::less_equal: return a <= b ? 1.0 : 0.0;
    case op::equal: return a == b ? 1.0 : 0.0;
    case op::not_equal: return a != b ? 1.0 : 0.0;
    case op::where: return a != 0 ? b : c;
    default: break;
  }
  if (is_floating(type)) return detail::float_scalar(code, a, b, c);
  const std::int64_t x = integer_bits(a), y = integer_bits(b), z = integer_bits(c);
  if (type == dtype::u64 && detail::differs_for_u64(code))
    return wrap(type, detail::unsigned_scalar(code, static_cast<std::uint64_t>(x),
                                              static_cast<std::uint64_t>(y)));
  return wrap(type, detail::integer_scalar(code, type, x, y, z));
}

}  // namespace sinter::inline SINTER_ABI::ir
