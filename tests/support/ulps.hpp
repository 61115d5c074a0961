// SPDX-License-Identifier: MIT
// Errors in units of the last place.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace test_support {

/// The unit in the last place of T around `exact`.
template <class T, class Wide>
Wide unit_of(Wide exact) {
  using limits = std::numeric_limits<T>;
  if constexpr (sizeof(T) == 4 && sizeof(Wide) == 8) {
    // By its bits: half of the time of a comparison of all floats would be spent below.
    constexpr int bias = 1023, bits = 52;
    const auto exponent =
        static_cast<int>(std::bit_cast<std::uint64_t>(std::abs(exact)) >> bits) - bias + 1;
    const int last = std::max(exponent, limits::min_exponent) - limits::digits;
    return std::bit_cast<Wide>(static_cast<std::uint64_t>(last + bias) << bits);
  } else {
    const int exponent = exact == 0 ? limits::min_exponent : std::ilogb(exact) + 1;
    return std::ldexp(Wide(1), std::max(exponent, limits::min_exponent) - limits::digits);
  }
}

/// Distance in units of the last place of T around `want`, which is more exact than T. NaN and
/// infinities are right or endlessly wrong.
template <class T, class Wide>
double ulps(T got, Wide want) {
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : wrong;
  if (std::isinf(got) || std::isinf(static_cast<T>(want)))
    return got == static_cast<T>(want) ? 0 : wrong;
  return static_cast<double>(std::abs(static_cast<Wide>(got) - want) / unit_of<T>(want));
}

}  // namespace test_support
