// SPDX-License-Identifier: MIT
// What a lowered convolution by tiles takes for granted beyond what every product does: filters
// that are the same for all images, windows of 3x3 at every place, and blocks of whole tiles.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <sinter/exec/lowered.hpp>
#include <sinter/plan/winograd.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

/// The reason why a product is none that can be computed by tiles although it says so; empty if
/// there is none.
inline std::string winograd_fault(const lowered_products& n) {
  if (!n.winograd) return "";
  if (n.images < 1 || n.images > planning::most_winograd_images || n.filters < 1 || n.depth < 1)
    return "blocks without images, or too many of them";
  if (n.parts.size() != 1 || n.parts[0].right.size() != 1 || n.packs_left || n.rows < n.m)
    return "not all rows of one product";
  if (n.left.gathered) return "filters that are no matrix";
  for (std::size_t axis = 0; axis < n.batch.size() && axis < n.left.batch_strides.size(); ++axis)
    if (n.batch[axis] != 1 && n.left.batch_strides[axis] != 0)
      return "filters differ from image to image";
  const lowered_matrix& windows = n.parts[0].right[0];
  const lowered_axes &rows = windows.rows, &columns = windows.columns;
  if (!windows.gathered || rows.extents.size() != 3 || rows.strides.size() != 3 ||
      columns.extents.size() != 2 || columns.strides.size() != 2)
    return "the right side has other axes";
  for (std::size_t i = 0; i < 2; ++i)
    if (rows.extents[i + 1] != 3 || rows.strides[i + 1] != columns.strides[i])
      return "no windows of 3x3 at every place";
  const std::int64_t tiles =
      std::max<std::int64_t>(1, ir::detail::saturating_mul(2, columns.extents[1]));
  if (n.parts[0].columns % tiles != 0 && n.parts[0].columns < n.parts[0].n)
    return "blocks cut tiles";
  return "";
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
