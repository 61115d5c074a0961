// SPDX-License-Identifier: MIT
// What a nest along one axis sees of its operand.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/bound_access.hpp>
#include <sinter/exec/strided_runs.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::exec {

// The axes of a strided operand before, at and behind the one that is indexed, or summed along.
struct indexed_view {
  strided_view view;
  shape_vector before, before_strides, behind, behind_strides;
  std::int64_t before_count = 1, behind_count = 1;

  /// `width` axes from `axis` on are indexed.
  void bind(const strided_view& from, std::size_t axis, std::size_t width) {
    view = from;
    before = shape_vector(from.shape.begin(), from.shape.begin() + axis);
    before_strides = shape_vector(from.strides.begin(), from.strides.begin() + axis);
    behind = shape_vector(from.shape.begin() + axis + width, from.shape.end());
    behind_strides = shape_vector(from.strides.begin() + axis + width, from.strides.end());
    before_count = element_count(before);
    behind_count = element_count(behind);
    merge_axes(before, before_strides);
    merge_axes(behind, behind_strides);
  }
};

}  // namespace sinter::inline SINTER_ABI::exec
