// SPDX-License-Identifier: MIT
// Comparing floating results: NaN equals NaN, infinities must agree, everything else within a
// tolerance.
#pragma once

#include <cmath>

namespace test_support {

inline bool close(double got, double expected, double relative, double absolute) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= absolute + relative * std::abs(expected);
}

}  // namespace test_support
