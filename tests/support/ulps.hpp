// SPDX-License-Identifier: MIT
// Errors in units of the last place.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace test_support {

/// Distance in units of the last place of T around `want`, which is more exact than T. NaN and
/// infinities are right or endlessly wrong.
template <class T, class Wide>
double ulps(T got, Wide want) {
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : wrong;
  if (std::isinf(got) || std::isinf(static_cast<T>(want)))
    return got == static_cast<T>(want) ? 0 : wrong;
  using limits = std::numeric_limits<T>;
  const int exponent = want == 0 ? limits::min_exponent : std::ilogb(want) + 1;
  const Wide unit = std::ldexp(Wide(1), std::max(exponent, limits::min_exponent) - limits::digits);
  return static_cast<double>(std::abs(static_cast<Wide>(got) - want) / unit);
}

}  // namespace test_support
