// SPDX-License-Identifier: MIT
// How often a text stands in another one, as reports are asked.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace test_support {

inline int occurrences(const std::string& text, std::string_view part) {
  int out = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++out;
  return out;
}

}  // namespace test_support
