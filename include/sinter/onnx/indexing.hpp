// SPDX-License-Identifier: MIT
// Operators of ONNX that choose elements by number, or write them by number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sinter/onnx/slicing.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail::indexing {

// Indices as the graph has them: those below 0 count from the end in ONNX. Where they are known
// that is done here; others cost a comparison.
inline ir::value counted_from_start(operation& o, int i, ir::dim extent, int rank) {
  if (const known_tensor* k = o.known(i)) {
    bool negative = false, known = true;
    for (const number& x : k->elements) {
      known = known && is_integer(x);
      negative = negative || (is_integer(x) && std::get<std::int64_t>(x) < 0);
    }
    if (known && !negative) return o.operand(i, rank);
    if (known && extent.is_constant()) {
      value v;
      v.name = "indices";
      v.type = k->type;
      v.known = *k;
      for (number& x : v.known->elements)
        if (std::get<std::int64_t>(x) < 0) x = std::get<std::int64_t>(x) + extent.constant();
      return o.to().operand_of(v, rank);
    }
  }
  const ir::value index = o.in(i);
  if (!is_signed_integer(index.type())) return index;
  const ir::value length = ir::extent_scalar(o.graph(), index.type(), extent);
  return ir::where(ir::elementwise(ir::op::less, {index, ir::constant_like(index, 0)}),
                   index + length, index);
}

inline void gather(operation& o) {
  const int rank = o.rank(0), axis = o.axis(o.integer("axis", 0), rank);
  const known_tensor *const x = o.known(0), *const k = o.known(1);
  if (x != nullptr && k != nullptr && rank == 1) {
    known_tensor out{x->type, k->shape, {}};
    const auto length = static_cast<std::int64_t>(x->size());
    for (const number& each : k->elements) {
      if (!is_integer(each)) break;
      std::int64_t at = std::get<std::int64_t>(each);
      if (at < -length || at >= length)
        throw index_error("index " + std::to_string(at) + " of " + std::to_string(length));
      out.elements.push_back(x->elements[static_cast<std::size_t>(at < 0 ? at + length : at)]);
    }
    if (out.size() == k->size()) return o.give(std::move(out));
  }
  movement::require_rank(o, static_cast<std::size_t>(rank + o.rank(1) - 1));
  const ir::value index = o.rank(1) == 0 ? counted_from_start(o, 1, o.extent(0, axis), 0)
                                         : counted_from_start(o, 1, o.extent(0, axis), -1);
  o.give(ir::gather(o.in(0), index, axis));
}

// The place of each element in the flattened tensor, of which `indices` are the coordinate along
// `axis`, and the places of the result all others.
inline ir::value places_along(operation& o, const ir::symbolic_shape& shape, ir::value indices,
                              int axis) {
  const auto scalar = [&](ir::dim d) { return ir::extent_scalar(o.graph(), dtype::i64, d); };
  ir::dim stride(1);
  ir::value total;
  const ir::symbolic_shape all = indices.shape();
  for (int i = static_cast<int>(shape.size()); i-- > 0;) {
    const ir::value along =
        i == axis ? ir::cast(indices, dtype::i64) : ir::iota(o.graph(), dtype::i64, all, i);
    const ir::value part = stride == ir::dim(1) ? along : along * scalar(stride);
    total = total.owner == nullptr ? part : total + part;
    stride = o.dims().mul(stride, shape[i]);
  }
  return total;
}

inline ir::dim product(operation& o, const ir::symbolic_shape& shape) {
  ir::dim total(1);
  for (const ir::dim d : shape) total = o.dims().mul(total, d);
  return total;
}

inline void gather_elements(operation& o) {
  const ir::value x = o.in(0);
  const int axis = o.axis(o.integer("axis", 0), x.rank());
  const ir::value indices = counted_from_start(o, 1, x.extent(axis), -1);
  if (indices.rank() != x.rank()) throw shape_error("indices of another rank than the data");
  const ir::value flat = ir::reshape(x, {product(o, x.shape())});
  o.give(ir::gather(flat, places_along(o, x.shape(), indices, axis), 0));
}

// The places that vectors of `depth` coordinates along the last axis of the indices name, among the
// axes of x from `first` on; the axes before are shared.
inline ir::value places_of_vectors(operation& o, ir::value x, ir::value indices, int first,
                                   int depth) {
  ir::symbolic_shape rest = indices.shape();
  rest.pop_back();
  const auto scalar = [&](ir::dim d) { return ir::extent_scalar(o.graph(), dtype::i64, d); };
  ir::value total;
  const auto add = [&](ir::value part) { total = total.owner == nullptr ? part : total + part; };
  ir::dim stride(1);
  for (int i = first + depth; i-- > 0;) {
    ir::value along;
    if (i < first) {
      along = ir::iota(o.graph(), dtype::i64, rest, i);
    } else {
      const ir::value column = movement::part_of(indices, indices.rank() - 1, ir::dim(i - first),
                                                 ir::dim(i - first + 1));
      const ir::value index = ir::cast(ir::reshape(column, rest), dtype::i64);
      along = ir::where(ir::elementwise(ir::op::less, {index, ir::constant_like(index, 0)}),
                        index + scalar(x.extent(i)), index);
    }
    add(stride == ir::dim(1) ? along : along * scalar(stride));
    stride = o.dims().mul(stride, x.extent(i));
  }
  return total;
}

inline int depth_of(operation& o, ir::value x, ir::value indices, int shared) {
  const ir::dim last = indices.rank() > 0 ? indices.extent(indices.rank() - 1) : ir::dim(0);
  if (!last.is_constant() || last.constant() < 1 || last.constant() > x.rank() - shared)
    o.fail("indices of shape " + o.dims().to_string(indices.shape()) + " for rank " +
           std::to_string(x.rank()));
  return static_cast<int>(last.constant());
}

inline void gather_nd(operation& o) {
  const ir::value x = o.in(0), indices = o.in(1);
  const std::int64_t given = o.integer("batch_dims", 0);
  if (given < 0 || given >= std::min(x.rank(), indices.rank()))
    o.fail("batch_dims " + std::to_string(given));
  const int shared = static_cast<int>(given), depth = depth_of(o, x, indices, shared);
  // The axes that are indexed become one, in front of those that are kept.
  ir::symbolic_shape flat{ir::dim(1)};
  for (int i = 0; i < x.rank(); ++i) {
    if (i < shared + depth)
      flat[0] = o.dims().mul(flat[0], x.extent(i));
    else
      flat.push_back(x.extent(i));
  }
  const ir::value places = places_of_vectors(o, x, indices, shared, depth);
  movement::require_rank(o, static_cast<std::size_t>(places.rank()) + flat.size() - 1);
  o.give(ir::gather(ir::reshape(x, flat), places, 0));
}

// x, flattened to rows, with updates added or written at the places. One that is written twice has
// no defined value in ONNX; here it is the sum.
inline ir::value scattered(operation& o, ir::value x, ir::value updates, ir::value places) {
  const std::string how = o.text("reduction", "none");
  const ir::symbolic_shape rows = x.shape();
  if (how == "add") return x + ir::scatter_add(updates, places, 0, rows);
  if (how != "none") o.fail("reduction " + in_quotes(how) + " is not supported");
  const bool numeric = updates.type() != dtype::boolean;
  const ir::value written =
      ir::scatter_add(numeric ? updates : ir::cast(updates, dtype::i32), places, 0, rows);
  const ir::value ones = ir::broadcast_to(ir::constant(o.graph(), dtype::i32, 1), places.shape());
  const ir::value count = ir::scatter_add(ones, places, 0, {rows[0]});
  ir::symbolic_shape column = ir::symbolic_shape::filled(rows.size(), ir::dim(1));
  column[0] = rows[0];
  const ir::value hit =
      ir::reshape(ir::elementwise(ir::op::less, {ir::constant_like(count, 0), count}), column);
  return ir::where(hit, numeric ? written : ir::cast(written, dtype::boolean), x);
}

inline void scatter_elements(operation& o) {
  const ir::value x = o.in(0), updates = o.in(2);
  const int axis = o.axis(o.integer("axis", 0), x.rank());
  const ir::value indices = counted_from_start(o, 1, x.extent(axis), -1);
  if (indices.rank() != x.rank() || updates.rank() != x.rank())
    throw shape_error("indices or updates of another rank than the data");
  const ir::value places = places_along(o, x.shape(), indices, axis);
  const ir::dim total = product(o, places.shape());
  const ir::value flat = ir::reshape(x, {product(o, x.shape())});
  o.give(ir::reshape(
      scattered(o, flat, ir::reshape(updates, {total}), ir::reshape(places, {total})), x.shape()));
}

inline void scatter_nd(operation& o) {
  const ir::value x = o.in(0), indices = o.in(1), updates = o.in(2);
  const int depth = depth_of(o, x, indices, 0);
  const ir::value places = places_of_vectors(o, x, indices, 0, depth);
  const ir::dim total = product(o, places.shape());
  ir::symbolic_shape rows{ir::dim(1)}, parts{total};
  for (int i = 0; i < x.rank(); ++i) {
    if (i < depth) {
      rows[0] = o.dims().mul(rows[0], x.extent(i));
    } else {
      rows.push_back(x.extent(i));
      parts.push_back(x.extent(i));
    }
  }
  o.give(ir::reshape(
      scattered(o, ir::reshape(x, rows), ir::reshape(updates, parts), ir::reshape(places, {total})),
      x.shape()));
}

inline void one_hot(operation& o) {
  const known_tensor& k = o.numbers(1);
  if (k.size() != 1) o.fail("a depth that is not one number");
  const number depth = is_real(k.elements[0])
                           ? number(static_cast<std::int64_t>(std::get<double>(k.elements[0])))
                           : k.elements[0];
  const ir::dim classes = dim_of(o.dims(), depth);
  if (is_integer(depth) && std::get<std::int64_t>(depth) < 0) o.fail("a depth below 0");
  const int rank = o.rank(0) + 1;
  movement::require_rank(o, static_cast<std::size_t>(rank));
  const int axis = o.axis(o.integer("axis", -1), rank);
  ir::value index = o.in(0);
  index = ir::cast(index, dtype::i64);
  index = ir::where(ir::elementwise(ir::op::less, {index, ir::constant_like(index, 0)}),
                    index + ir::extent_scalar(o.graph(), dtype::i64, classes), index);
  ir::symbolic_shape column = index.shape(), counter = ir::symbolic_shape::filled(
                                                 static_cast<std::size_t>(rank), ir::dim(1));
  column.insert(column.begin() + axis, ir::dim(1));
  counter[axis] = classes;
  const ir::value hit = ir::elementwise(
      ir::op::equal, {ir::reshape(index, column), ir::iota(o.graph(), dtype::i64, counter, axis)});
  const ir::value values = o.in(2);
  const auto value_at = [&](std::int64_t i) {
    return ir::reshape(movement::part_of(values, 0, ir::dim(i), ir::dim(i + 1)), {});
  };
  o.give(ir::where(hit, value_at(1), value_at(0)));
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail::indexing
