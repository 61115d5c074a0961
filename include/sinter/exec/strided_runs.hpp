// SPDX-License-Identifier: MIT
// Walking strided memory in row-major order: the longest pieces that one stride describes.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The offset of element number `position` (in row-major order), in elements.
inline std::int64_t offset_of(const shape_vector& extents, const shape_vector& strides,
                              std::int64_t position) {
  std::int64_t at = 0;
  for (std::size_t axis = extents.size(); axis-- > 0; position /= extents[axis])
    at += position % extents[axis] * strides[axis];
  return at;
}

/// Cuts elements [begin, begin + count) into runs along the last axis: f(offset, stride, length,
/// elements before).
template <class F>
void for_each_run(const shape_vector& extents, const shape_vector& strides, std::int64_t begin,
                  std::int64_t count, F f) {
  if (extents.empty()) {
    if (count > 0) f(std::int64_t{0}, std::int64_t{1}, count, std::int64_t{0});
    return;
  }
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t position = begin + done;
    const std::int64_t length = std::min(extents.back() - position % extents.back(), count - done);
    f(offset_of(extents, strides, position), strides.back(), length, done);
    done += length;
  }
}

/// Merges neighbouring axes that one stride crosses and drops those of extent 1.
inline void merge_axes(shape_vector& extents, shape_vector& strides) {
  std::size_t kept = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    if (kept > 0 && strides[kept - 1] == strides[axis] * extents[axis]) {
      extents[kept - 1] *= extents[axis];
      strides[kept - 1] = strides[axis];
    } else {
      extents[kept] = extents[axis];
      strides[kept++] = strides[axis];
    }
  }
  extents.resize(kept);
  strides.resize(kept);
}

}  // namespace sinter::inline SINTER_ABI::exec
