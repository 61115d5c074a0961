// SPDX-License-Identifier: MIT
// Gradient rules of movement ops: each is the transpose of a linear map that copies, repeats or
// drops elements.
#pragma once

#include <sinter/autodiff/adjoint.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir::backward {

constexpr void reshape(const pullback& p) {
  p.add(0, ir::reshape(p.adjoint, p.operand(0).shape()));
}

constexpr void permute(const pullback& p) {
  inline_vector<std::int64_t, max_rank> inverse;
  inverse.resize(p.result.shape().size());
  for (int i = 0; i < p.result.rank(); ++i) inverse[p.attribute(i)] = i;
  p.add(0, ir::permute(p.adjoint, inverse));
}

constexpr void broadcast_to(const pullback& p) {
  p.add(0, p.adjoint);
}  // `add` sums to the operand's shape
constexpr void sum_to(const pullback& p) {
  p.add(0, ir::broadcast_to(p.adjoint, p.operand(0).shape()));
}

constexpr symbolic_shape every_second_dim(span<const dim> pairs, std::size_t first) {
  symbolic_shape out;
  for (std::size_t i = first; i < pairs.size(); i += 2) out.push_back(pairs[i]);
  return out;
}

constexpr void pad(const pullback& p) {
  dim_table& dims = p.owner().dims;
  const symbolic_shape start = every_second_dim(p.owner().node_dims(p.result.id), 0);
  symbolic_shape stop = p.operand(0).shape();
  for (std::size_t i = 0; i < stop.size(); ++i) stop[i] = dims.add(start[i], stop[i]);
  p.add(0, ir::slice(p.adjoint, start, stop,
                     inline_vector<std::int64_t, max_rank>::filled(stop.size(), 1)));
}

// Back into the places that the slice read; zeros elsewhere. A spread axis ends with step - 1
// zeros, of which some may lie behind the operand's end: they are cut off last, when the length can
// no longer be too short.
constexpr void slice(const pullback& p) {
  dim_table& dims = p.owner().dims;
  const symbolic_shape start = every_second_dim(p.owner().node_dims(p.result.id), 0);
  const symbolic_shape stop = every_second_dim(p.owner().node_dims(p.result.id), 1);
  const symbolic_shape extents = p.operand(0).shape();
  value spaced = p.adjoint;
  bool strided = false;
  for (int axis = 0; axis < p.result.rank(); ++axis) {
    const std::int64_t step = p.attribute(axis);
    if (step == 1) continue;
    spaced = spread(spaced, axis, step);
    strided = true;
  }
  symbolic_shape behind;
  for (std::size_t i = 0; i < extents.size(); ++i) behind.push_back(dims.sub(extents[i], stop[i]));
  const value padded = ir::pad(spaced, start, behind);
  if (!strided) return p.add(0, padded);
  const symbolic_shape origin = symbolic_shape::filled(extents.size(), dim(0));
  p.add(0, ir::slice(padded, origin, extents,
                     inline_vector<std::int64_t, max_rank>::filled(extents.size(), 1)));
}

constexpr void flip(const pullback& p) { p.add(0, ir::flip(p.adjoint, p.attribute(0))); }

// Windows that neither overlap nor leave gaps: put one behind the other, with zeros for what was
// left over.
constexpr value side_by_side(const pullback& p, int axis) {
  inline_vector<std::int64_t, max_rank> order;
  for (int i = 0; i < p.result.rank(); ++i) order.push_back(i);
  order[axis] = axis + 1;
  order[axis + 1] = axis;
  symbolic_shape shape = p.operand(0).shape();
  dim_table& dims = p.owner().dims;
  const dim covered = dims.mul(p.result.extent(axis), p.result.extent(axis + 1));
  symbolic_shape none = symbolic_shape::filled(shape.size(), dim(0)), behind = none;
  behind[axis] = dims.sub(shape[axis], covered);
  shape[axis] = covered;
  return ir::pad(ir::reshape(ir::permute(p.adjoint, order), shape), none, behind);
}

// Windows that overlap add up. `sum_windows` says so in one op, since rules may know better what to
// do with what was computed for windows than to compute it for each of them.
constexpr void windows(const pullback& p) {
  const int axis = static_cast<int>(p.attribute(0));
  const std::int64_t stride = p.attribute(1), dilation = p.attribute(2);
  if (p.owner().node_dims(p.result.id)[0] == dim(stride) && dilation == 1)
    return p.add(0, side_by_side(p, axis));
  p.add(0, ir::sum_windows(p.adjoint, axis, p.operand(0).extent(axis), stride, dilation));
}
constexpr void sum_windows(const pullback& p) {
  const int axis = static_cast<int>(p.attribute(0));
  p.add(0, ir::windows(p.adjoint, axis, p.operand(0).extent(axis), p.attribute(1), p.attribute(2)));
}

constexpr void concat(const pullback& p) {
  const std::int64_t axis = p.attribute(0);
  const symbolic_shape whole = p.result.shape();
  const auto steps = inline_vector<std::int64_t, max_rank>::filled(whole.size(), 1);
  symbolic_shape start = symbolic_shape::filled(whole.size(), dim(0)), stop = whole;
  for (int i = 0; i < p.operand_count(); ++i) {
    stop[axis] = p.owner().dims.add(start[axis], p.operand(i).shape()[axis]);
    if (p.wants(i)) p.add(i, ir::slice(p.adjoint, start, stop, steps));
    start[axis] = stop[axis];
  }
}

}  // namespace sinter::inline SINTER_ABI::ir::backward
