// SPDX-License-Identifier: MIT
// Ranges of extents and interval arithmetic on them. Ends saturate: what exceeds 64 bits is as good
// as unbounded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// The numbers from low to high, both included. An end of the type's range means "no bound".
struct extent_range {
  static constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t lowest = -highest;

  std::int64_t low = 0;
  std::int64_t high = highest;

  constexpr bool holds(std::int64_t x) const { return low <= x && x <= high; }
  friend constexpr bool operator==(const extent_range&, const extent_range&) = default;
};

/// "1..4096"; "0.." without an upper bound.
inline std::string to_string(const extent_range& r) {
  return std::to_string(r.low) + ".." +
         (r.high == extent_range::highest ? "" : std::to_string(r.high));
}

namespace detail {

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  using r = extent_range;
  // No bound stays none, also where the other end is far below zero.
  if (a == r::highest || b == r::highest) return r::highest;
  if (a == r::lowest || b == r::lowest) return r::lowest;
  if (b > 0 && a > r::highest - b) return r::highest;
  if (b < 0 && a < r::lowest - b) return r::lowest;
  return a + b;
}

constexpr std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  using r = extent_range;
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  // Both ends are representable with either sign.
  const std::int64_t x = a < 0 ? -std::max(a, r::lowest) : a;
  const std::int64_t y = b < 0 ? -std::max(b, r::lowest) : b;
  if (x > r::highest / y) return negative ? r::lowest : r::highest;
  return negative ? -(x * y) : x * y;
}

}  // namespace detail

constexpr extent_range operator+(const extent_range& a, const extent_range& b) {
  // The ends are added apart: a lower end that is unbounded stays so whatever it meets.
  const auto low = a.low == extent_range::lowest || b.low == extent_range::lowest
                       ? extent_range::lowest
                       : detail::saturating_add(a.low, b.low);
  return {low, detail::saturating_add(a.high, b.high)};
}

constexpr extent_range operator*(const extent_range& a, const extent_range& b) {
  const std::int64_t ends[] = {
      detail::saturating_mul(a.low, b.low), detail::saturating_mul(a.low, b.high),
      detail::saturating_mul(a.high, b.low), detail::saturating_mul(a.high, b.high)};
  extent_range out{ends[0], ends[0]};
  for (std::int64_t end : ends) {
    out.low = std::min(out.low, end);
    out.high = std::max(out.high, end);
  }
  return out;
}

/// Of a / b as extents divide: toward zero, and 0 for a divisor of 0.
constexpr extent_range divided(const extent_range& a, const extent_range& b) {
  if (a.low < 0 || b.low < 1) return {extent_range::lowest, extent_range::highest};
  // An unbounded divisor may exceed every dividend.
  const bool unbounded = b.high == extent_range::highest;
  return {unbounded ? 0 : a.low / b.high,
          a.high == extent_range::highest ? a.high : a.high / b.low};
}

/// Of a % b.
constexpr extent_range remainder(const extent_range& a, const extent_range& b) {
  if (a.low < 0 || b.low < 1) return {extent_range::lowest, extent_range::highest};
  return {0, b.high == extent_range::highest ? a.high : std::min(a.high, b.high - 1)};
}

}  // namespace sinter::inline SINTER_ABI::ir
