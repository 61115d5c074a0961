// SPDX-License-Identifier: MIT
// Reshapes that only add or drop axes of extent 1: they move no element.
#pragma once

#include <cstddef>

#include <sinter/graph/dim.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// Do the shapes differ in axes of extent 1 alone?
constexpr bool same_but_ones(const symbolic_shape& a, const symbolic_shape& b) {
  std::size_t i = 0, j = 0;
  for (;;) {
    while (i < a.size() && a[i] == dim(1)) ++i;
    while (j < b.size() && b[j] == dim(1)) ++j;
    if (i == a.size() || j == b.size()) return i == a.size() && j == b.size();
    if (!(a[i++] == b[j++])) return false;
  }
}

/// Where such a reshape puts an axis of `from`; -1 if it is no such reshape or the axis has extent
/// 1.
constexpr int axis_after_reshape(const symbolic_shape& from, const symbolic_shape& to, int axis) {
  if (!same_but_ones(from, to) || from[static_cast<std::size_t>(axis)] == dim(1)) return -1;
  int before = 0;  // axes in front that are not 1
  for (int i = 0; i < axis; ++i) before += from[static_cast<std::size_t>(i)] == dim(1) ? 0 : 1;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (!(to[i] == dim(1)) && before-- == 0) return static_cast<int>(i);
  return -1;
}

}  // namespace sinter::inline SINTER_ABI::ir
