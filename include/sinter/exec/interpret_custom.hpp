// SPDX-License-Identifier: MIT
// Custom ops on arrays at the lowest level: what the op says it is, in double, over the rows of one
// task after the other. Elements of other dtypes keep all their bits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <sinter/exec/element.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/graph/custom.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// The offset of element number `position`, in row-major order, of a view.
inline std::int64_t element_offset(const shape_vector& extents, const shape_vector& strides,
                                   std::int64_t position) {
  std::int64_t at = 0;
  for (std::size_t axis = extents.size(); position != 0 && axis-- > 0; position /= extents[axis])
    at += position % extents[axis] * strides[axis];
  return at;
}

// Rows of an array, floats as doubles.
struct interpreted_rows {
  dtype type{};
  shape_vector shape;
  std::vector<std::byte> bytes;

  interpreted_rows(const lowered_array& a, std::int64_t rows)
      : type(is_floating(a.type) ? dtype::f64 : a.type), shape(a.shape) {
    if (rows > 0) shape[0] = rows;
    bytes.resize(static_cast<std::size_t>(element_count(shape)) * size_of(type));
  }
  std::byte* at(std::int64_t i) {
    return bytes.data() + static_cast<std::size_t>(i) * size_of(type);
  }
};

// Element i of the view under an array.
inline std::byte* element_of(const lowered_array& a, std::byte* const* bases, std::int64_t i) {
  const std::int64_t at = a.view.offset + element_offset(a.view.shape, a.view.strides, i);
  return bases[a.view.buffer] + at * static_cast<std::int64_t>(size_of(a.type));
}

// Rows from `first` on; whole arrays if rows is 0.
inline void interpret_part(const lowered_custom& n, std::byte* const* bases, std::int64_t first,
                           std::int64_t rows) {
  const auto start = [&](const interpreted_rows& part) {
    return rows == 0 || first == 0 ? 0 : first * (element_count(part.shape) / rows);
  };
  std::vector<interpreted_rows> parts;
  std::vector<ir::custom_input> in;
  for (const lowered_array& a : n.operands) {
    interpreted_rows& part = parts.emplace_back(a, rows);
    for (std::int64_t i = 0; i < element_count(part.shape); ++i)
      write_element(part.type, read_element(a.type, element_of(a, bases, start(part) + i)),
                    part.at(i));
  }
  for (const interpreted_rows& part : parts)
    in.push_back({part.bytes.data(), part.type, {part.shape.begin(), part.shape.size()}});
  interpreted_rows out(n.result, rows);
  reference_function(*n.op, in.front().type)(
      in, {out.bytes.data(), out.type, {out.shape.begin(), out.shape.size()}}, n.attributes);
  for (std::int64_t i = 0; i < element_count(out.shape); ++i)
    write_element(n.result.type, read_element(out.type, out.at(i)),
                  element_of(n.result, bases, start(out) + i));
}

inline void interpret_custom(const lowered_custom& n, std::byte* const* bases) {
  if (n.rows_per_task == 0) return interpret_part(n, bases, 0, 0);
  const std::int64_t rows = n.result.shape[0];
  for (std::int64_t first = 0; first < rows; first += n.rows_per_task)
    interpret_part(n, bases, first, std::min(n.rows_per_task, rows - first));
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
