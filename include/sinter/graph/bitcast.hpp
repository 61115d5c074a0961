// SPDX-License-Identifier: MIT
// Elements read as another dtype: the bitcast node where sizes agree, shifts of unsigned integers
// around it where they do not.
#pragma once

#include <sinter/graph/build.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// The bits of x as another dtype, as NumPy's view: elements of the same size keep their places;
/// where sizes differ, the last axis, in memory order of a little-endian machine, is cut or joined:
/// [2, 3] of f32 is [2, 12] of u8. Bools are read as u8, and nothing is written as bool
/// (dtype_error). Throws shape_error for a scalar whose size would change, a last extent that is no
/// multiple of the ratio, and rank max_rank where the size changes. Differing sizes are computed
/// with shifts of integers: no memory is shared.
constexpr value bitcast(value x, dtype type) {
  graph& g = *x.owner;
  if (x.type() == dtype::boolean) x = cast(x, dtype::u8);
  if (x.type() == type || g.failed()) return x;
  const auto as = [&](value from, dtype to) {
    return from.type() == to
               ? from
               : value{&g, append(g, op::bitcast, {from.id}, {static_cast<std::int64_t>(to)})};
  };
  const auto from_size = static_cast<std::int64_t>(size_of(x.type())),
             to_size = static_cast<std::int64_t>(size_of(type));
  if (from_size == to_size || type == dtype::boolean) return as(x, type);
  const auto fail = [&](fault_kind kind, std::int64_t lhs, std::int64_t rhs) {
    g.fail({kind, op::bitcast, lhs, rhs}, span<const int>(&x.id, 1));
    return x;
  };
  if (x.rank() == 0) return fail(fault_kind::wrong_rank, 0, 1);
  if (x.rank() == max_rank) return fail(fault_kind::rank_too_high, max_rank, max_rank - 1);

  const bool narrows = from_size > to_size;
  const std::int64_t ratio = narrows ? from_size / to_size : to_size / from_size;
  const dtype wide = unsigned_of_size(narrows ? from_size : to_size),
              narrow = unsigned_of_size(narrows ? to_size : from_size);
  const value places =
      iota(g, wide, {dim(ratio)}, 0) * static_cast<double>(8 * (narrows ? to_size : from_size));
  symbolic_shape whole = x.shape(), parts = x.shape();
  const dim last = x.extent(x.rank() - 1);
  if (narrows) {
    whole.back() = g.dims.mul(last, dim(ratio));
    parts.push_back(dim(1));
    const value bits = reshape(as(x, wide), parts);
    return as(reshape(cast(elementwise(op::shift_right, {bits, places}), narrow), whole), type);
  }
  if (last.is_constant() && last.constant() % ratio != 0)
    return fail(fault_kind::not_whole, last.constant(), ratio);
  whole.back() = g.dims.floor_div(last, dim(ratio));
  parts.back() = whole.back();
  parts.push_back(dim(ratio));
  const value bits = reshape(cast(as(x, narrow), wide), parts);
  const value joined = reduce(op::reduce_sum, elementwise(op::shift_left, {bits, places}),
                              std::int64_t{1} << x.rank(), false);
  return as(joined, type);
}

}  // namespace sinter::inline SINTER_ABI::ir
