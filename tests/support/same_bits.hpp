// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <vector>

namespace test_support {

/// Are vectors of numbers the same byte by byte, so that 0 is not -0, and NaN is itself?
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace test_support
