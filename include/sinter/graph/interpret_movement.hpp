// SPDX-License-Identifier: MIT
// The reference interpreter's movement ops, matmul, gather and scatter. They check the extents they
// meet: in a graph that was traced with unknown extents, this is where extents that disagree come
// to light.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sinter/graph/infer.hpp>
#include <sinter/graph/reference_tensor.hpp>
#include <sinter/graph/scalar_semantics.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir::detail {

inline void require(bool holds, op code, const shape_vector& operand,
                    const std::string& expectation) {
  if (!holds)
    raise(shape_error(std::string(name(code)) + "(" + to_string(operand) + "): " + expectation));
}

// result[index] = x[source(index)], where `source` writes the operand's index.
template <class Source>
reference_tensor move_elements(const reference_tensor& x, const shape_vector& shape,
                               Source&& source) {
  reference_tensor out{x.type, shape, {}};
  const shape_vector strides = row_major_strides(x.shape);
  shape_vector from = shape_vector::filled(x.shape.size(), 0);
  for_each_index(shape, [&](const shape_vector& index) {
    source(index, from);
    out.data.push_back(x.data[offset_of(from, strides)]);
  });
  return out;
}

inline reference_tensor interpret_reshape(const reference_tensor& x, const shape_vector& shape) {
  require(element_count(x.shape) == element_count(shape), op::reshape, x.shape,
          std::to_string(element_count(x.shape)) + " elements cannot become " + to_string(shape));
  return {x.type, shape, x.data};
}

inline reference_tensor interpret_permute(const reference_tensor& x,
                                          span<const std::int64_t> axes) {
  shape_vector shape = x.shape;
  for (std::size_t i = 0; i < axes.size(); ++i) shape[i] = x.shape[axes[i]];
  return move_elements(x, shape, [&](const shape_vector& index, shape_vector& from) {
    for (std::size_t i = 0; i < axes.size(); ++i) from[axes[i]] = index[i];
  });
}

inline reference_tensor interpret_broadcast_to(const reference_tensor& x,
                                               const shape_vector& shape) {
  require(x.shape.size() == shape.size(), op::broadcast_to, x.shape,
          "cannot be broadcast to " + to_string(shape));
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    require(x.shape[axis] == 1 || x.shape[axis] == shape[axis], op::broadcast_to, x.shape,
            "cannot be broadcast to " + to_string(shape));
  return move_elements(x, shape, [&](const shape_vector& index, shape_vector& from) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      from[axis] = x.shape[axis] == 1 ? 0 : index[axis];
  });
}

// Sums over the leading axes that `shape` lacks and over those where it has extent 1.
inline reference_tensor interpret_sum_to(const reference_tensor& x, const shape_vector& shape) {
  require(shape.size() <= x.shape.size(), op::sum_to, x.shape,
          "cannot be summed to " + to_string(shape));
  const std::size_t extra = x.shape.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    require(shape[axis] == 1 || shape[axis] == x.shape[extra + axis], op::sum_to, x.shape,
            "cannot be summed to " + to_string(shape));
  reference_tensor out = filled(x.type, shape, 0);
  const shape_vector strides = row_major_strides(shape);
  shape_vector to = shape;
  std::size_t position = 0;
  for_each_index(x.shape, [&](const shape_vector& index) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      to[axis] = shape[axis] == 1 ? 0 : index[extra + axis];
    double& sum = out.data[offset_of(to, strides)];
    sum = evaluate_scalar(op::add, x.type, sum, x.data[position++]);
  });
  return out;
}

inline reference_tensor interpret_pad(const reference_tensor& x, const shape_vector& shape,
                                      span<const std::int64_t> before_and_after, double fill) {
  reference_tensor out = filled(x.type, shape, cast_scalar(dtype::f64, x.type, fill));
  const shape_vector strides = row_major_strides(shape);
  shape_vector to = shape;
  std::size_t position = 0;
  for_each_index(x.shape, [&](const shape_vector& index) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      to[axis] = index[axis] + before_and_after[2 * axis];
    out.data[offset_of(to, strides)] = x.data[position++];
  });
  return out;
}

inline reference_tensor interpret_slice(const reference_tensor& x, const shape_vector& shape,
                                        span<const std::int64_t> start_and_stop,
                                        span<const std::int64_t> step) {
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t start = start_and_stop[2 * axis], stop = start_and_stop[2 * axis + 1];
    require(0 <= start && start <= stop && stop <= x.shape[axis], op::slice, x.shape,
            "[" + std::to_string(start) + ", " + std::to_string(stop) + ") is outside of extent " +
                std::to_string(x.shape[axis]));
  }
  return move_elements(x, shape, [&](const shape_vector& index, shape_vector& from) {
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      from[axis] = start_and_stop[2 * axis] + index[axis] * step[axis];
  });
}

inline reference_tensor interpret_flip(const reference_tensor& x, std::int64_t axes) {
  return move_elements(x, x.shape, [&](const shape_vector& index, shape_vector& from) {
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      from[axis] =
          has_axis(axes, static_cast<int>(axis)) ? x.shape[axis] - 1 - index[axis] : index[axis];
  });
}

inline reference_tensor interpret_windows(const reference_tensor& x, const shape_vector& shape,
                                          std::size_t axis, std::int64_t size, std::int64_t stride,
                                          std::int64_t dilation) {
  const std::int64_t reach = (size - 1) * dilation + 1;
  require(size >= 1 && reach <= x.shape[axis], op::windows, x.shape,
          "a window that spans " + std::to_string(reach) + " does not fit into extent " +
              std::to_string(x.shape[axis]));
  return move_elements(x, shape, [&](const shape_vector& index, shape_vector& from) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = index[i < axis ? i : i + 1];
    from[axis] = index[axis + 1] * stride + index[axis] * dilation;
  });
}

inline reference_tensor interpret_sum_windows(const reference_tensor& x, const shape_vector& shape,
                                              std::size_t axis, std::int64_t stride,
                                              std::int64_t dilation) {
  const std::int64_t last = (x.shape[axis + 1] - 1) * stride + (x.shape[axis] - 1) * dilation;
  require(last < shape[axis], op::sum_windows, x.shape,
          "windows up to place " + std::to_string(last) + " do not fit into extent " +
              std::to_string(shape[axis]));
  reference_tensor out = filled(x.type, shape, 0);
  const shape_vector strides = row_major_strides(shape);
  std::size_t next = 0;
  for_each_index(x.shape, [&](const shape_vector& index) {
    shape_vector to = index;
    to[axis] = index[axis + 1] * stride + index[axis] * dilation;
    to.erase(to.begin() + axis + 1);
    double& sum = out.data[offset_of(to, strides)];
    sum = evaluate_scalar(op::add, x.type, sum, x.data[next++], 0.0);
  });
  return out;
}

inline reference_tensor interpret_concat(span<const reference_tensor* const> parts,
                                         std::size_t axis, const shape_vector& shape) {
  reference_tensor out = filled(parts[0]->type, shape, 0);
  const shape_vector strides = row_major_strides(shape);
  std::int64_t start = 0;
  for (const reference_tensor* part : parts) {
    for (std::size_t other = 0; other < shape.size(); ++other)
      require(other == axis || part->shape[other] == shape[other], op::concat, part->shape,
              "does not fit into " + to_string(shape));
    std::size_t position = 0;
    shape_vector to = shape;
    for_each_index(part->shape, [&](const shape_vector& index) {
      to = index;
      to[axis] += start;
      out.data[offset_of(to, strides)] = part->data[position++];
    });
    start += part->shape[axis];
  }
  return out;
}

// ---- contraction and indexing

inline reference_tensor interpret_matmul(const reference_tensor& a, const reference_tensor& b,
                                         const shape_vector& shape, bool transpose_a,
                                         bool transpose_b) {
  const std::size_t row = shape.size() - 2, column = shape.size() - 1;
  const std::int64_t inner = a.shape[transpose_a ? row : column];
  require(b.shape[transpose_b ? column : row] == inner, op::matmul, a.shape,
          "the inner extent disagrees with " + to_string(b.shape));
  for (std::size_t axis = 0; axis < row; ++axis)
    require(a.shape[axis] == b.shape[axis], op::matmul, a.shape,
            "the leading extents disagree with " + to_string(b.shape));
  const shape_vector strides_a = row_major_strides(a.shape), strides_b = row_major_strides(b.shape);
  reference_tensor out{a.type, shape, {}};
  for_each_index(shape, [&](const shape_vector& index) {
    shape_vector at_a = index, at_b = index;
    double total = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      at_a[row] = transpose_a ? k : index[row];
      at_a[column] = transpose_a ? index[row] : k;
      at_b[row] = transpose_b ? index[column] : k;
      at_b[column] = transpose_b ? k : index[column];
      const double term = evaluate_scalar(op::mul, a.type, a.data[offset_of(at_a, strides_a)],
                                          b.data[offset_of(at_b, strides_b)]);
      total = evaluate_scalar(op::add, a.type, total, term);
    }
    out.data.push_back(total);
  });
  return out;
}

inline std::int64_t checked_index(op code, double index, std::int64_t extent) {
  const std::int64_t i = truncate_to_i64(index);
  if (i < 0 || i >= extent)
    raise(index_error(std::string(name(code)) + ": index " + std::to_string(i) +
                      " is outside of extent " + std::to_string(extent)));
  return i;
}

// The shape of what is gathered from, or scattered into, `whole`: the indices' axes stand where
// `axis` was.
inline shape_vector shape_of_pieces(const shape_vector& whole, const shape_vector& indices,
                                    std::size_t axis) {
  shape_vector out(whole.begin(), whole.begin() + axis);
  for (std::int64_t extent : indices) out.push_back(extent);
  for (std::size_t i = axis + 1; i < whole.size(); ++i) out.push_back(whole[i]);
  return out;
}

// Pairs pieces[..., i..., ...] with whole[..., indices[i...], ...]: calls visit(offset in pieces,
// offset in whole).
template <class Visit>
void for_each_indexed(op code, const shape_vector& whole, const reference_tensor& indices,
                      std::size_t axis, Visit&& visit) {
  const std::size_t width = indices.shape.size();
  // Every index is checked, also where the other axes are empty and nothing moves.
  for (double index : indices.data) checked_index(code, index, whole[axis]);
  const shape_vector strides = row_major_strides(whole),
                     index_strides = row_major_strides(indices.shape);
  std::size_t position = 0;
  for_each_index(shape_of_pieces(whole, indices.shape, axis), [&](const shape_vector& at) {
    std::size_t which = 0;
    for (std::size_t i = 0; i < width; ++i)
      which += static_cast<std::size_t>(at[axis + i] * index_strides[i]);
    shape_vector to = whole;
    for (std::size_t i = 0; i < whole.size(); ++i)
      to[i] = i < axis    ? at[i]
              : i == axis ? truncate_to_i64(indices.data[which])
                          : at[i + width - 1];
    visit(position++, offset_of(to, strides));
  });
}

inline reference_tensor interpret_gather(const reference_tensor& x, const reference_tensor& indices,
                                         std::size_t axis, const shape_vector& shape) {
  reference_tensor out{x.type, shape, {}};
  for_each_indexed(op::gather, x.shape, indices, axis,
                   [&](std::size_t, std::size_t from) { out.data.push_back(x.data[from]); });
  return out;
}

// Zeros, and every update added where its index says; updates of one place add up.
inline reference_tensor interpret_scatter_add(const reference_tensor& updates,
                                              const reference_tensor& indices, std::size_t axis,
                                              const shape_vector& shape) {
  reference_tensor out = filled(updates.type, shape, 0);
  const shape_vector pieces = shape_of_pieces(shape, indices.shape, axis);
  require(updates.shape == pieces, op::scatter_add, updates.shape,
          "the updates should have shape " + to_string(pieces));
  for_each_indexed(op::scatter_add, shape, indices, axis, [&](std::size_t from, std::size_t to) {
    out.data[to] = wrap(updates.type, out.data[to] + updates.data[from]);
  });
  return out;
}

}  // namespace sinter::inline SINTER_ABI::ir::detail
