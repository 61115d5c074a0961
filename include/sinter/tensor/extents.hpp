// SPDX-License-Identifier: MIT
//
// Shapes. `extents_spec` is what a tensor's type says about its extents (each static or `dyn`), a
// value used as a template argument; `shape_vector` is a shape at run time. The vocabulary is that
// of std::mdspan.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include <sinter/support/error.hpp>
#include <sinter/support/inline_vector.hpp>

namespace sinter::inline SINTER_ABI {

/// An extent that is known at run time only.
inline constexpr std::int64_t dyn = -1;

/// The largest rank of a tensor: fixed, so that shapes never allocate and are template arguments.
inline constexpr int max_rank = 8;

/// Which extents a type fixes. Converts from an `int`, the rank, with all extents dynamic:
/// `tensor<float, 2>` and `tensor<float, extents<dyn, dyn>>` are one type because both arguments
/// are one value.
struct extents_spec {
  int rank = 0;
  // Slots from `rank` on stay 0: they take part in the equality that makes two types the same.
  std::array<std::int64_t, max_rank> extent{};

  constexpr extents_spec(int all_dynamic_rank) : rank(all_dynamic_rank) {
    if (rank < 0 || rank > max_rank)
      raise(std::length_error("extents: the rank must be between 0 and 8"));
    for (int axis = 0; axis < rank; ++axis) extent[static_cast<std::size_t>(axis)] = dyn;
  }

  template <std::size_t Rank>
  constexpr extents_spec(const std::array<std::int64_t, Rank>& values)
      : rank(static_cast<int>(Rank)) {
    if (Rank > max_rank) raise(std::length_error("extents: the rank must be between 0 and 8"));
    for (std::size_t axis = 0; axis < Rank; ++axis) {
      if (values[axis] < dyn) raise(std::length_error("extents: an extent is negative"));
      extent[axis] = values[axis];
    }
  }

  constexpr std::int64_t operator[](int axis) const {
    return extent[static_cast<std::size_t>(axis)];
  }

  constexpr bool is_static(int axis) const { return (*this)[axis] != dyn; }

  constexpr bool all_static() const {
    for (int axis = 0; axis < rank; ++axis) {
      if (!is_static(axis)) return false;
    }
    return true;
  }

  /// True when some shape satisfies both: equal rank and no two different static extents on an
  /// axis.
  constexpr bool compatible_with(const extents_spec& other) const {
    if (rank != other.rank) return false;
    for (int axis = 0; axis < rank; ++axis) {
      if (is_static(axis) && other.is_static(axis) && (*this)[axis] != other[axis]) return false;
    }
    return true;
  }

  friend constexpr bool operator==(const extents_spec&, const extents_spec&) = default;
};

/// `extents<dyn, 784>`: the second template argument of a tensor with mixed extents. `extents<>` is
/// rank 0.
template <std::int64_t... Extent>
inline constexpr extents_spec extents = std::array<std::int64_t, sizeof...(Extent)>{Extent...};

/// A shape at run time.
using shape_vector = inline_vector<std::int64_t, static_cast<std::size_t>(max_rank)>;

/// "[3, 4]"; "[]" for rank 0.
inline std::string to_string(const shape_vector& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

/// "[?, 784]": the extents of a type, "?" where they are dynamic.
inline std::string to_string(const extents_spec& spec) {
  std::string text = "[";
  for (int axis = 0; axis < spec.rank; ++axis) {
    if (axis > 0) text += ", ";
    text += spec.is_static(axis) ? std::to_string(spec[axis]) : std::string("?");
  }
  return text + "]";
}

/// The product of the extents; 1 for rank 0. Throws shape_error when an extent is negative or the
/// product exceeds what a signed 64-bit number holds. Such a shape with an extent of 0 is fine: it
/// has no elements.
constexpr std::int64_t element_count(const shape_vector& shape) {
  bool has_zero = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) raise(shape_error("shape " + to_string(shape) + " has a negative extent"));
    if (extent == 0) has_zero = true;
  }
  if (has_zero) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (count > std::numeric_limits<std::int64_t>::max() / extent) {
      raise(shape_error("shape " + to_string(shape) + " has more elements than can be counted"));
    }
    count *= extent;
  }
  return count;
}

/// Strides, in elements, of a row-major tensor: the last axis is contiguous. The extents must have
/// passed `element_count`; a shape without elements gets the strides of the same shape with its
/// zeros read as ones.
constexpr shape_vector row_major_strides(const shape_vector& shape) {
  shape_vector strides = shape_vector::filled(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    const std::int64_t extent = shape[axis] > 0 ? shape[axis] : 1;
    // Only a shape without elements can overflow here; its strides are never used.
    const bool fits = strides[axis] <= std::numeric_limits<std::int64_t>::max() / extent;
    strides[axis - 1] = fits ? strides[axis] * extent : strides[axis];
  }
  return strides;
}

/// Checks `shape` against what a type fixes. Throws shape_error that begins with `what`.
inline void require_fits(const shape_vector& shape, const extents_spec& spec, const char* what) {
  bool fits = static_cast<int>(shape.size()) == spec.rank;
  for (int axis = 0; fits && axis < spec.rank; ++axis) {
    fits = !spec.is_static(axis) || spec[axis] == shape[axis];
  }
  if (!fits) {
    raise(shape_error(std::string(what) + ": shape " + to_string(shape) +
                      " does not fit the type's extents " + to_string(spec)));
  }
}

}  // namespace sinter::inline SINTER_ABI
