// SPDX-License-Identifier: MIT
// Functions that move elements and compute nothing. Any dtype; the result has the operand's. Most
// become index maps of the code that reads the result and copy nothing. Extents may be integers, or
// extent(x, axis) and arithmetic on such.
#pragma once

#include <utility>

#include <sinter/expr/axes.hpp>
#include <sinter/expr/reshape.hpp>
#include <sinter/expr/slice.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

struct permute_function {
  static constexpr ir::op code = ir::op::permute;
  axis_list axes;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    axes.attributes(sink);
  }
  constexpr handle operator()(handle x) const {
    inline_vector<std::int64_t, max_rank> order;
    for (int each : axes.axes) {
      const int axis = axis_of(x, code, each);
      if (axis < 0) return x;
      order.push_back(axis);
    }
    if (axes.all)
      for (int axis = x.rank(); axis-- > 0;) order.push_back(axis);
    return handle(ir::permute(x.node, order));
  }
};

struct transpose_function {
  static constexpr ir::op code = ir::op::permute;
  constexpr handle operator()(handle x) const { return handle(ir::transpose(x.node)); }
};

struct flip_function {
  static constexpr ir::op code = ir::op::flip;
  axis_list axes;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    axes.attributes(sink);
  }
  constexpr handle operator()(handle x) const {
    return handle(ir::flip(x.node, mask_of(x, code, axes)));
  }
};

// Joins along an axis that exists (concat) or that is new (stack).
template <bool NewAxis>
struct concat_function {
  static constexpr ir::op code = ir::op::concat;
  int axis = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
  }
  constexpr handle operator()(handle first, std::same_as<handle> auto... others) const {
    const std::array<handle, 1 + sizeof...(others)> parts{first, others...};
    return join(parts);
  }
  constexpr handle join(span<const handle> parts) const {
    if (parts.empty()) raise(shape_error("concat: no tensors; expected at least one"));
    const handle first = parts[0];
    const int from_start = axis_of(first, code, axis, first.rank() + (NewAxis ? 1 : 0));
    if (from_start < 0) return first;
    std::vector<ir::value> values;
    for (handle part : parts) {
      require_graph(first.graph(), part);
      // One rank for all, or from_start may lie outside of a part.
      if (part.rank() != first.rank())
        fail(part, code, ir::fault_kind::wrong_rank, part.rank(), first.rank());
      if (first.graph().failed()) return first;
      values.push_back(NewAxis ? with_new_axis(part, code, from_start) : part.node);
    }
    return handle(ir::concat(values, from_start));
  }
};

}  // namespace detail

/// The axes in another order: axis i of the result is axis `axes[i]` of x; without axes, in
/// reverse. axis_error unless they are a permutation. `permute(x, {0, 2, 1})`.
template <Operand X>
constexpr auto permute(X&& x, const axis_list& axes = {}) {
  return sinter::apply(detail::permute_function{axes}, std::forward<X>(x));
}

/// The last two axes exchanged. shape_error below rank 2.
template <Operand X>
constexpr auto transpose(X&& x) {
  return sinter::apply(detail::transpose_function{}, std::forward<X>(x));
}

/// The elements in reverse order along the axes (all by default). axis_error for an axis outside of
/// the rank, or named twice.
template <Operand X>
constexpr auto flip(X&& x, const axis_list& axes = {}) {
  return sinter::apply(detail::flip_function{axes}, std::forward<X>(x));
}

/// The operands one after another along `axis`: `concat(0, x, y)`. axis_error if the axis is
/// outside of their rank, dtype_error unless they have one dtype, shape_error unless they have one
/// rank and all other extents agree.
template <Operand... X>
  requires(sizeof...(X) > 0)
constexpr auto concat(int axis, X&&... x) {
  return sinter::apply(detail::concat_function<false>{axis}, std::forward<X>(x)...);
}

/// The same for a list of handles, one or more: `concat({x, y}, 0)`.
constexpr handle concat(std::initializer_list<handle> parts, int axis) {
  return detail::concat_function<false>{axis}.join({parts.begin(), parts.size()});
}

/// The same for handles collected in a loop (`std::array`, `std::vector`), one or more.
constexpr handle concat(span<const handle> parts, int axis) {
  return detail::concat_function<false>{axis}.join(parts);
}

/// The operands along a new axis, which is `axis` of the result, from -(rank + 1) to rank
/// (axis_error): `stack(0, x, y)`. dtype_error or shape_error, in the name of concat, unless they
/// have one dtype and one shape.
template <Operand... X>
  requires(sizeof...(X) > 0)
constexpr auto stack(int axis, X&&... x) {
  return sinter::apply(detail::concat_function<true>{axis}, std::forward<X>(x)...);
}

/// The same for a list of handles, one or more: `stack({x, y}, 0)`.
constexpr handle stack(std::initializer_list<handle> parts, int axis) {
  return detail::concat_function<true>{axis}.join({parts.begin(), parts.size()});
}

/// The same for handles collected in a loop, one or more.
constexpr handle stack(span<const handle> parts, int axis) {
  return detail::concat_function<true>{axis}.join(parts);
}

}  // namespace sinter::inline SINTER_ABI
