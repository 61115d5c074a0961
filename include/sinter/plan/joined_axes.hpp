// SPDX-License-Identifier: MIT
// Operands of products whose axes are several axes of a view each: the windows of an image as a
// matrix. Which axis of the view belongs to which of the operand, at given extents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/graph/dim.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::planning {

/// For each axis of `shape` the axes of `view` that it joins, without those of extent 1, and none
/// at all where there are no elements. Empty if some axis is not of whole neighbouring axes, or if
/// one of the first `batch_axes` is of several.
inline std::vector<std::vector<std::size_t>> joined_axes(const shape_vector& shape,
                                                         const shape_vector& view,
                                                         std::size_t batch_axes) {
  std::vector<std::vector<std::size_t>> out(shape.size());
  if (element_count(shape) == 0 && element_count(view) == 0) return out;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    std::int64_t extent = 1;
    while (next < view.size() && (extent != shape[axis] || view[next] == 1)) {
      if (view[next] != 1) out[axis].push_back(next);
      extent = ir::detail::saturating_mul(extent, view[next++]);  // extents may come from text
    }
    if (extent != shape[axis] || (axis < batch_axes && out[axis].size() > 1)) return {};
  }
  if (next != view.size()) return {};
  return out;
}

}  // namespace sinter::inline SINTER_ABI::planning
