// SPDX-License-Identifier: MIT
// Rotary position embedding: pairs of features turned by angles that grow with their position.
#pragma once

#include <cstdint>
#include <utility>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI {

/// Which features turn together: i of the first half with i of the second (Llama, GPT-NeoX), or
/// neighbours 2 i and 2 i + 1 (the paper, GPT-J).
enum class pairing : std::uint8_t { halves, neighbours };

struct rope_options {
  double theta = 10000;  // above 0; the slowest pair turns by about 1 / theta
  sinter::pairing pairs = pairing::halves;
  int axis = -2;  // along which positions change; not the last one
};

namespace detail {

struct rope_function {
  static constexpr ir::op code = ir::op::rope;
  rope_options options;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(ir::bits_of(options.theta));
    sink(static_cast<std::int64_t>(options.pairs));
    sink(options.axis);
  }
  constexpr handle operator()(handle x) const {
    const int axis = axis_of(x, code, options.axis);
    if (axis < 0) return x;
    return turned(x, ir::iota(x.graph(), dtype::i64, {x.node.extent(axis)}, 0), axis);
  }
  constexpr handle operator()(handle x, handle positions) const {
    const int axis = axis_of(x, code, options.axis);
    return axis < 0 ? x : turned(x, positions.node, axis);
  }

 private:
  constexpr handle turned(handle x, ir::value positions, int axis) const {
    return handle(
        {x.node.owner, ir::append(x.graph(), code, {x.node.id, positions.id},
                                  {ir::bits_of(options.theta),
                                   options.pairs == pairing::neighbours ? 1 : 0, 0, axis})});
  }
};

}  // namespace detail

/// x of shape [..., places, depth] with pair i of its last axis turned by the angle
/// p theta^(-2 i / depth) at place p (Su et al. 2021, "RoFormer: enhanced transformer with rotary
/// position embedding"); floats of any dtype, in the shape of x. The places are those of
/// `options.axis`: 1 for queries of shape [batch, places, heads, depth]. Angles are computed in x's
/// dtype: in f32 they are off by up to 2e-7 p. Inside attention the queries and keys are turned on
/// their way into the product. shape_error for an odd depth or a rank below 2; axis_error for the
/// last axis; dtype_error for integers; graph_error in the first call if theta is not above 0.
template <Operand X>
constexpr auto rope(X&& x, const rope_options& options = {}) {
  return sinter::apply(detail::rope_function{options}, std::forward<X>(x));
}

/// The same for places at the given positions, a vector of integers as long as the axis
/// (shape_error, dtype_error): the next token of a cached sequence stands at its end.
template <Operand X, Operand Positions>
constexpr auto rope(X&& x, Positions&& positions, const rope_options& options = {}) {
  return sinter::apply(detail::rope_function{options}, std::forward<X>(x),
                       std::forward<Positions>(positions));
}

}  // namespace sinter::inline SINTER_ABI
