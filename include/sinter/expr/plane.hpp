// SPDX-License-Identifier: MIT
// What the functions of images share: numbers per direction, and sliding windows over the last two
// axes. All are written in primitives; `windows` is the only one that they have to themselves.
#pragma once

#include <cstdint>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI {

/// One number for both directions of an image, or {vertical, horizontal}.
struct plane {
  std::int64_t vertical = 0;
  std::int64_t horizontal = 0;

  constexpr plane() = default;
  constexpr plane(std::int64_t both) : vertical(both), horizontal(both) {}
  constexpr plane(std::int64_t rows, std::int64_t columns) : vertical(rows), horizontal(columns) {}

  constexpr std::int64_t operator[](int direction) const {
    return direction == 0 ? vertical : horizontal;
  }
};

namespace detail {

template <class Sink>
constexpr void sink_plane(Sink&& sink, const plane& p) {
  sink(p.vertical);
  sink(p.horizontal);
}

// Faults unless both numbers are at least `least`.
constexpr bool require_at_least(handle x, ir::op code, const plane& p, std::int64_t least) {
  for (int direction : {0, 1})
    if (p[direction] < least) fail(x, code, ir::fault_kind::bad_option, p[direction], least);
  return !x.graph().failed();
}

// x with `amount` elements of value `fill` on each side of its last two axes.
constexpr ir::value pad_plane(ir::value x, const plane& amount, double fill) {
  ir::symbolic_shape around = ir::symbolic_shape::filled(x.shape().size(), ir::dim(0));
  for (int direction : {0, 1}) around[x.rank() - 2 + direction] = ir::dim(amount[direction]);
  return ir::pad(x, around, around, fill);
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
