// SPDX-License-Identifier: MIT
// Rows by number: embeddings, their transpose, and caches that grow by a few rows per call. gather
// itself is in contraction.hpp.
#pragma once

#include <utility>

#include <sinter/expr/contraction.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// Faults for bools, which do not add up.
constexpr bool are_numbers(handle updates) {
  if (updates.type() == dtype::boolean)
    fail(updates, ir::op::scatter_add, ir::fault_kind::wrong_dtype,
         static_cast<std::int64_t>(updates.type()));
  return !updates.graph().failed();
}

struct scatter_add_function {
  static constexpr ir::op code = ir::op::scatter_add;
  static constexpr unsigned own_dtype = ~1u;  // the indices and the extent
  int axis = 0;
  shape_numbers<1> numbers;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
    numbers.attributes(sink);
  }
  constexpr handle operator()(handle updates, handle indices,
                              std::same_as<handle> auto... extent) const {
    const int rank = updates.rank() - indices.rank() + 1;
    if (rank < 1) fail(updates, code, ir::fault_kind::wrong_rank, updates.rank(), indices.rank());
    const int at = updates.graph().failed() ? -1 : axis_of(updates, code, axis, rank);
    if (at < 0) return updates;
    const std::array<handle, sizeof...(extent)> operands{extent...};
    const ir::symbolic_shape places = shape_of(updates, code, numbers, operands);
    ir::symbolic_shape whole;
    for (int i = 0; i < rank; ++i)
      whole.push_back(i == at ? places[0]
                              : updates.node.extent(i < at ? i : i + indices.rank() - 1));
    if (!are_numbers(updates)) return updates;
    return handle(ir::scatter_add(updates.node, indices.node, at, whole));
  }
};

struct index_add_function {
  static constexpr ir::op code = ir::op::scatter_add;
  static constexpr unsigned own_dtype = 0b10;  // the indices
  int axis = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
  }
  constexpr handle operator()(handle x, handle indices, handle updates) const {
    const int at = axis_of(x, code, axis);
    if (at < 0 || !are_numbers(updates)) return x;
    const ir::value added = ir::scatter_add(updates.node, indices.node, at, x.node.shape());
    return x.graph().failed() ? x : handle(x.node + added);
  }
};

struct cache_write_function {
  static constexpr ir::op code = ir::op::gather;
  static constexpr unsigned own_dtype = 0b100;  // the position
  int axis = -2;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
  }
  constexpr handle operator()(handle cache, handle rows, handle position) const {
    const int at = axis_of(cache, code, axis);
    if (rows.rank() != cache.rank())
      fail(rows, code, ir::fault_kind::wrong_rank, rows.rank(), cache.rank());
    if (position.rank() != 0) fail(position, code, ir::fault_kind::wrong_rank, position.rank(), 0);
    if (!is_integral(position.type()))
      fail(position, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(position.type()));
    ir::graph& g = cache.graph();
    if (at < 0 || g.failed()) return cache;
    const ir::value place =
        ir::iota(g, dtype::i64, {cache.node.extent(at)}, 0) - ir::cast(position.node, dtype::i64);
    const ir::value zero = ir::constant_like(place, 0);
    ir::value inside, spread;
    if (rows.node.extent(at) == ir::dim(1)) {
      // One row is broadcast: half of the time of gathering it.
      inside = ir::elementwise(ir::op::equal, {place, zero});
      spread = rows.node;
    } else {
      const ir::value count = ir::extent_scalar(g, dtype::i64, rows.node.extent(at));
      inside = ir::elementwise(ir::op::bit_and, {ir::elementwise(ir::op::less_equal, {zero, place}),
                                                 ir::elementwise(ir::op::less, {place, count})});
      const ir::value row = ir::elementwise(
          ir::op::maximum, {ir::elementwise(ir::op::minimum, {place, count - 1.0}), zero});
      spread = ir::gather(rows.node, row, at);
    }
    ir::symbolic_shape column =
        ir::symbolic_shape::filled(static_cast<std::size_t>(cache.rank() - at), ir::dim(1));
    column[0] = cache.node.extent(at);
    if (g.failed()) return cache;
    // To the cache and no further: the rows must not change its shape.
    const ir::value everywhere = ir::broadcast_to(spread, cache.node.shape());
    return handle(ir::where(ir::reshape(inside, column), everywhere, cache.node));
  }
};

}  // namespace detail

/// Rows of a table [rows, ...] by integer ids (dtype_error otherwise) of any shape: ids' shape
/// followed by the table's other extents. Its gradient adds up what belongs to one row. An id
/// outside of the table is an index_error of the call.
template <Operand Table, Operand Ids>
constexpr auto embedding(Table&& table, Ids&& ids) {
  return gather(std::forward<Table>(table), std::forward<Ids>(ids), 0);
}

/// The transpose of gather: zeros with `extent` (an integer or extent(x, axis)) places along
/// `axis`, to which every update is added at its index; updates of one place add up, in their
/// order. The axes of the indices, integers (dtype_error), stand at `axis` of the updates. Numbers
/// (dtype_error). axis_error for an axis outside of the result's rank; shape_error if the extents
/// do not agree. An index outside of [0, extent) is an index_error of the call.
template <Operand Updates, Operand Indices, detail::ExtentLike Extent>
constexpr auto scatter_add(Updates&& updates, Indices&& indices, Extent&& extent, int axis = 0) {
  return detail::apply_with_numbers(
      detail::scatter_add_function{axis, {{detail::number_or_gap(extent)}}},
      std::forward_as_tuple(std::forward<Updates>(updates), std::forward<Indices>(indices)),
      std::forward<Extent>(extent));
}

/// x with updates added at their indices along `axis`. Throws as scatter_add.
template <Operand X, Operand Indices, Operand Updates>
constexpr auto index_add(X&& x, Indices&& indices, Updates&& updates, int axis = 0) {
  return sinter::apply(detail::index_add_function{axis}, std::forward<X>(x),
                       std::forward<Indices>(indices), std::forward<Updates>(updates));
}

/// `cache` with `rows` in the places from `position` on, an integer scalar (dtype_error,
/// shape_error), along `axis`; rows that lie outside of the cache are left out. At least one row;
/// the other extents agree or are 1 (shape_error). Return `assign(cache, cache_write(cache, keys,
/// position))` to keep it. Derivatives go to the rows and to what they do not cover.
template <Operand Cache, Operand Rows, Operand Position>
constexpr auto cache_write(Cache&& cache, Rows&& rows, Position&& position, int axis = -2) {
  return sinter::apply(detail::cache_write_function{axis}, std::forward<Cache>(cache),
                       std::forward<Rows>(rows), std::forward<Position>(position));
}

}  // namespace sinter::inline SINTER_ABI
