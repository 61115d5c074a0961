// SPDX-License-Identifier: MIT
// float16 (IEEE 754 binary16) and bfloat16 (the upper half of a float): two bytes of storage that
// convert to and from float. They have no arithmetic of their own: a value computes as the float
// that it converts to. Conversions round to nearest, halves to even, keep infinities, denormal
// numbers and the signs of zeros, and make a NaN quiet with the upper bits of its payload, which is
// what the instructions of x86 (F16C, AVX512-BF16 but for denormals) give, bit for bit.
#pragma once

#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

constexpr float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1fu, fraction = half & 0x3ffu;
  if (exponent == 0x1f)  // infinity, or a NaN that becomes quiet
    return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13 |
                                (fraction != 0 ? 0x400000u : 0u));
  if (exponent == 0) {  // zero or denormal: fraction * 2^-24, exact in a float
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

// Bits without the lowest `dropped` ones, rounded to nearest even; a carry moves into the exponent.
constexpr std::uint32_t round_bits(std::uint32_t bits, std::uint32_t dropped) {
  const std::uint32_t below_half = (1u << (dropped - 1)) - 1, lowest = bits >> dropped & 1u;
  return (bits + below_half + lowest) >> dropped;
}

constexpr std::uint16_t half_of_float(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  std::uint32_t out = 0;
  if (magnitude > 0x7f800000u)
    out = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  else if (magnitude >= 0x477ff000u)  // 65520, which rounds to 2^16, and infinity
    out = 0x7c00u;
  else if (magnitude >= 0x38800000u)  // 2^-14: normal in both; the biases differ by 112
    out = round_bits(magnitude - (112u << 23), 13);
  else if (const std::uint32_t exponent = magnitude >> 23; exponent >= 102)  // at least 2^-25
    out = round_bits((magnitude & 0x7fffffu) | 0x800000u, 126 - exponent);
  return static_cast<std::uint16_t>(sign | out);
}

constexpr float float_of_bfloat(std::uint16_t bfloat) {
  const std::uint32_t bits = static_cast<std::uint32_t>(bfloat) << 16;
  return std::bit_cast<float>((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : bits);
}

constexpr std::uint16_t bfloat_of_float(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t quiet = bits >> 16 | 0x40u;
  return static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet
                                                                       : round_bits(bits, 16));
}

// A double as a float that still rounds right to fewer bits: rounded to odd (Boldo and Melquiond,
// "When double rounding is odd", 2005).
constexpr float round_to_odd(double x) {
  constexpr double largest = static_cast<double>(std::numeric_limits<float>::max());
  if (x > largest && x < std::numeric_limits<double>::infinity())
    return std::numeric_limits<float>::max();
  if (x < -largest && x > -std::numeric_limits<double>::infinity())
    return -std::numeric_limits<float>::max();
  const float nearest = static_cast<float>(x);
  const double back = static_cast<double>(nearest);
  if (back == x || x != x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if ((x < 0 ? -back : back) > (x < 0 ? -x : x)) --bits;  // toward zero
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace detail

/// IEEE 754 binary16: 11 significant bits, up to 65504, down to 2^-24. `bits` is what is stored.
struct float16 {
  std::uint16_t bits;

  float16() = default;
  /// The nearest float16. A double is rounded once; an integer through float, which rounds nothing
  /// below 2^24, far beyond the largest float16.
  explicit constexpr float16(float x) : bits(detail::half_of_float(x)) {}
  explicit constexpr float16(double x) : float16(detail::round_to_odd(x)) {}
  explicit constexpr float16(std::integral auto x) : float16(static_cast<float>(x)) {}
  static constexpr float16 from_bits(std::uint16_t stored) {
    float16 out(0.0f);
    out.bits = stored;
    return out;
  }

  /// Exact.
  constexpr operator float() const { return detail::float_of_half(bits); }

  /// As floats: -0 equals 0, a NaN nothing.
  friend constexpr bool operator==(float16 a, float16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  friend constexpr std::partial_ordering operator<=>(float16 a, float16 b) {
    return static_cast<float>(a) <=> static_cast<float>(b);
  }
};

/// The upper half of a float: 8 significant bits and its range. `bits` is what is stored.
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  /// The nearest bfloat16. A double is rounded once; an integer through float, so twice beyond
  /// 2^24.
  explicit constexpr bfloat16(float x) : bits(detail::bfloat_of_float(x)) {}
  explicit constexpr bfloat16(double x) : bfloat16(detail::round_to_odd(x)) {}
  explicit constexpr bfloat16(std::integral auto x) : bfloat16(static_cast<float>(x)) {}
  static constexpr bfloat16 from_bits(std::uint16_t stored) {
    bfloat16 out(0.0f);
    out.bits = stored;
    return out;
  }

  /// Exact.
  constexpr operator float() const { return detail::float_of_bfloat(bits); }

  /// As floats: -0 equals 0, a NaN nothing.
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  friend constexpr std::partial_ordering operator<=>(bfloat16 a, bfloat16 b) {
    return static_cast<float>(a) <=> static_cast<float>(b);
  }
};

/// The two 16-bit floats: stored, converted and moved, but never computed with.
template <class T>
concept NarrowFloat = std::same_as<T, float16> || std::same_as<T, bfloat16>;

static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);

}  // namespace sinter::inline SINTER_ABI
