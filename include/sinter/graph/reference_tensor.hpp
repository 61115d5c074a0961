// SPDX-License-Identifier: MIT
// The values of the reference interpreter: a shape, a dtype, and every element as a double in
// row-major order. An i64 or u64 is exact up to 2^53 in magnitude; the other dtypes always are.
// Written for reading, not for speed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <sinter/tensor/dtype.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::ir {

struct reference_tensor {
  dtype type = dtype::f32;
  shape_vector shape;
  std::vector<double> data;

  friend bool operator==(const reference_tensor&, const reference_tensor&) = default;
};

/// A tensor whose elements are all `fill`.
inline reference_tensor filled(dtype type, const shape_vector& shape, double fill) {
  return {type, shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), fill)};
}

/// Where the element at `index` is in row-major data. Axes of `index` beyond the strides are
/// ignored.
inline std::size_t offset_of(const shape_vector& index, const shape_vector& strides) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) offset += index[axis] * strides[axis];
  return static_cast<std::size_t>(offset);
}

/// Calls `visit(index)` for every index of `shape` in row-major order: once for rank 0, never for
/// an empty shape.
template <class Visit>
void for_each_index(const shape_vector& shape, Visit&& visit) {
  const std::int64_t count = element_count(shape);
  shape_vector index = shape_vector::filled(shape.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    visit(std::as_const(index));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

}  // namespace sinter::inline SINTER_ABI::ir
