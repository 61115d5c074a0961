// SPDX-License-Identifier: MIT
// Repetition along axes, and running sums.
#pragma once

#include <initializer_list>
#include <utility>

#include <sinter/expr/axes.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

/// For cumsum.
struct cumsum_options {
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // from the end
};

namespace detail {

struct tile_function {
  static constexpr ir::op code = ir::op::broadcast_to;
  inline_vector<std::int64_t, max_rank> counts;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(static_cast<std::int64_t>(counts.size()));
    for (std::int64_t count : counts) sink(count);
  }
  constexpr handle operator()(handle x) const {
    if (static_cast<int>(counts.size()) != x.rank())
      fail(x, code, ir::fault_kind::wrong_rank, static_cast<std::int64_t>(counts.size()), x.rank());
    for (std::int64_t count : counts)
      if (count < 0) fail(x, code, ir::fault_kind::bad_option, count, 0);
    if (x.graph().failed()) return x;
    inline_vector<ir::dim, max_rank> dims;
    for (std::int64_t count : counts) dims.push_back(ir::dim(count));
    return handle(tiled(x.node, dims));
  }

  // Every axis that is repeated needs one more for a moment: all of them at once, which is one
  // copy, or one after the other where that is too many.
  static constexpr ir::value tiled(ir::value x, span<const ir::dim> counts) {
    int repeated = 0;
    for (const ir::dim count : counts) repeated += count == ir::dim(1) ? 0 : 1;
    if (x.rank() + repeated <= max_rank) return repeat(x, counts);
    for (std::size_t axis = 0; axis < counts.size(); ++axis) {
      if (counts[axis] == ir::dim(1)) continue;
      if (x.rank() == max_rank)
        fail(handle(x), code, ir::fault_kind::rank_too_high, max_rank + 1, max_rank);
      if (x.owner->failed()) return x;
      ir::symbolic_shape alone = ir::symbolic_shape::filled(counts.size(), ir::dim(1));
      alone[axis] = counts[axis];
      x = repeat(x, {alone.begin(), alone.size()});
    }
    return x;
  }

  static constexpr ir::value repeat(ir::value x, span<const ir::dim> counts) {
    ir::symbolic_shape apart, repeated, together;
    for (std::size_t axis = 0; axis < counts.size(); ++axis) {
      const ir::dim extent = x.shape()[axis], count = counts[axis];
      if (count != ir::dim(1)) {
        apart.push_back(ir::dim(1));
        repeated.push_back(count);
      }
      apart.push_back(extent);
      repeated.push_back(extent);
      together.push_back(count == ir::dim(1) ? extent : x.owner->dims.mul(extent, count));
    }
    return ir::reshape(ir::broadcast_to(ir::reshape(x, apart), repeated), together);
  }
};

struct cumsum_function {
  static constexpr ir::op code = ir::op::cumsum;
  int axis = 0;
  cumsum_options options;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
    sink((options.exclusive ? 1 : 0) + (options.reverse ? 2 : 0));
  }
  constexpr handle operator()(handle x) const {
    const int at = axis_of(x, code, axis);
    if (at < 0 || x.graph().failed()) return x;
    return handle(ir::cumsum(x.node, at, options.exclusive, options.reverse));
  }
};

}  // namespace detail

/// x repeated as a whole, `counts[i]` times along axis i: `tile(x, {2, 1})`. Any dtype. shape_error
/// unless there is one number per axis and none is negative, and for rank 8.
template <Operand X>
constexpr auto tile(X&& x, std::initializer_list<std::int64_t> counts) {
  return sinter::apply(detail::tile_function{counts}, std::forward<X>(x));
}

/// The sum of each element and those before it along `axis`. Numbers (dtype_error), in their own
/// dtype; f16 and bf16 are added up in f32. Floats are summed in blocks of 256 along the axis, each
/// sum being that of its block so far, added to that of the blocks before: errors grow as those of
/// n / 256 additions one after the other do, and of 256 more. What is not in a sum, a NaN say, has
/// no part in it. axis_error for an axis outside of the rank.
template <Operand X>
constexpr auto cumsum(X&& x, int axis = 0, const cumsum_options& options = {}) {
  return sinter::apply(detail::cumsum_function{axis, options}, std::forward<X>(x));
}

}  // namespace sinter::inline SINTER_ABI
