// SPDX-License-Identifier: MIT
// Equal parts of a tensor along an axis, and the gated unit that multiplies two of them.
#pragma once

#include <array>
#include <utility>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// Part `number` of `count` equal ones along an axis that is counted from 0.
constexpr ir::value equal_part(handle x, int axis, std::int64_t count, std::int64_t number) {
  ir::dim_table& dims = x.graph().dims;
  const ir::dim extent = x.node.extent(axis);
  if (extent.is_constant() && extent.constant() % count != 0)
    fail(x, ir::op::slice, ir::fault_kind::not_divisible, extent.constant(), count);
  if (x.graph().failed()) return x.node;
  const ir::dim length = dims.floor_div(extent, ir::dim(count));
  // Where the extent is not known yet, this is what binding checks.
  ir::symbolic_shape whole = x.node.shape();
  whole[axis] = dims.mul(length, ir::dim(count));
  const ir::value divided = ir::reshape(x.node, whole);
  ir::symbolic_shape start = ir::symbolic_shape::filled(whole.size(), ir::dim(0)), stop = whole;
  start[axis] = dims.mul(length, ir::dim(number));
  stop[axis] = dims.mul(length, ir::dim(number + 1));
  return ir::slice(divided, start, stop,
                   inline_vector<std::int64_t, max_rank>::filled(whole.size(), 1));
}

struct part_function {
  static constexpr ir::op code = ir::op::slice;
  int axis = 0;
  std::int64_t count = 1, number = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
    sink(count);
    sink(number);
  }
  constexpr handle operator()(handle x) const {
    const int from_start = axis_of(x, code, axis);
    return from_start < 0 ? x : handle(equal_part(x, from_start, count, number));
  }
};

struct swiglu_function {
  static constexpr ir::op code = ir::op::silu;
  constexpr handle operator()(handle gate, handle up) const {
    return handle(ir::unary(code, gate.node) * up.node);
  }
};

struct swiglu_halves_function {
  static constexpr ir::op code = ir::op::silu;
  constexpr handle operator()(handle x) const {
    const int last = axis_of(x, code, -1);
    if (last < 0) return x;
    const ir::value gate = equal_part(x, last, 2, 0), up = equal_part(x, last, 2, 1);
    return x.graph().failed() ? x : handle(ir::unary(code, gate) * up);
  }
};

}  // namespace detail

/// x in `N` equal parts along `axis`, as an array of what slice returns: `auto [q, k, v] =
/// split<3>(x, -1)`. Any dtype. axis_error for an axis outside of the rank; shape_error if N does
/// not divide its extent. concat puts parts together.
template <std::size_t N, Operand X>
  requires(N > 0)
constexpr auto split(const X& x, int axis = 0) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{sinter::apply(
        detail::part_function{axis, static_cast<std::int64_t>(N), static_cast<std::int64_t>(I)},
        x)...};
  }(std::make_index_sequence<N>{});
}

/// silu(gate) * up (Shazeer, "GLU variants improve transformer", 2020), without the matrices. The
/// operands broadcast (shape_error). Floats of one dtype (dtype_error).
template <Operand Gate, Operand Up>
constexpr auto swiglu(Gate&& gate, Up&& up) {
  return sinter::apply(detail::swiglu_function{}, std::forward<Gate>(gate), std::forward<Up>(up));
}

/// The same where both stand side by side along the last axis, the gate first: half as long.
/// shape_error if that axis is odd, axis_error for a scalar.
template <Operand X>
constexpr auto swiglu(X&& x) {
  return sinter::apply(detail::swiglu_halves_function{}, std::forward<X>(x));
}

}  // namespace sinter::inline SINTER_ABI
