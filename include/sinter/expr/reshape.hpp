// SPDX-License-Identifier: MIT
// The same elements, in the same row-major order, in another shape; and repetition along axes of
// extent 1.
#pragma once

#include <utility>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

constexpr ir::dim element_total(handle x) {
  return ir::detail::product(x.graph().dims, x.node.shape());
}

constexpr std::int64_t number_of(ir::dim d) { return d.is_constant() ? d.constant() : -1; }

template <std::size_t N>
struct reshape_function : shape_numbers<N> {
  static constexpr ir::op code = ir::op::reshape;

  constexpr handle operator()(handle x, std::same_as<handle> auto... extents) const {
    const std::array<handle, sizeof...(extents)> operands{extents...};
    number_reader reader(code, this->values, operands);
    ir::dim_table& dims = x.graph().dims;
    ir::symbolic_shape shape;
    ir::dim known(1);
    int inferred = -1;
    for (std::size_t i = 0; i < N; ++i) {
      const bool gap = reader.is_gap();
      const std::int64_t number = gap ? 0 : reader.number();
      if (number < -1 || (number == -1 && inferred >= 0))
        fail(x, code, ir::fault_kind::size_changes, number_of(element_total(x)), number);
      if (number < 0) inferred = static_cast<int>(i);
      shape.push_back(gap ? reader.from_gap() : ir::dim(number < 0 ? 1 : number));
      known = dims.mul(known, shape.back());
    }
    if (x.graph().failed()) return x;
    if (inferred >= 0) shape[inferred] = dims.floor_div(element_total(x), known);
    return handle(ir::reshape(x.node, shape));
  }
};

struct flatten_function {
  static constexpr ir::op code = ir::op::reshape;
  int first = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(first);
  }
  constexpr handle operator()(handle x) const {
    if (x.rank() == 0) return handle(ir::reshape(x.node, {ir::dim(1)}));
    const int from = axis_of(x, code, first);
    if (from < 0) return x;
    ir::symbolic_shape shape;
    ir::dim total(1);
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (axis < from)
        shape.push_back(x.node.extent(axis));
      else
        total = x.graph().dims.mul(total, x.node.extent(axis));
    }
    shape.push_back(total);
    return handle(ir::reshape(x.node, shape));
  }
};

struct squeeze_function {
  static constexpr ir::op code = ir::op::reshape;
  axis_list axes;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    axes.attributes(sink);
  }
  constexpr handle operator()(handle x) const {
    const std::int64_t mask = mask_of(x, code, axes);
    ir::symbolic_shape shape;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const ir::dim extent = x.node.extent(axis);
      if (!ir::has_axis(mask, axis))
        shape.push_back(extent);
      else if (extent.is_constant() && extent.constant() != 1)
        fail(x, code, ir::fault_kind::extents_disagree, extent.constant(), 1);
    }
    return handle(ir::reshape(x.node, shape));
  }
};

// x with an axis of extent 1 inserted at `axis` of the result.
constexpr ir::value with_new_axis(handle x, ir::op code, int axis) {
  if (x.rank() == max_rank) fail(x, code, ir::fault_kind::rank_too_high, max_rank + 1, max_rank);
  if (x.graph().failed()) return x.node;
  ir::symbolic_shape shape = x.node.shape();
  shape.insert(shape.begin() + axis, ir::dim(1));
  return ir::reshape(x.node, shape);
}

struct unsqueeze_function {
  static constexpr ir::op code = ir::op::reshape;
  int axis = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
  }
  constexpr handle operator()(handle x) const {
    const int from_start = axis_of(x, code, axis, x.rank() + 1);
    return from_start < 0 ? x : handle(with_new_axis(x, code, from_start));
  }
};

template <std::size_t N>
struct broadcast_function : shape_numbers<N> {
  static constexpr ir::op code = ir::op::broadcast_to;

  constexpr handle operator()(handle x, std::same_as<handle> auto... extents) const {
    const std::array<handle, sizeof...(extents)> operands{extents...};
    number_reader reader(code, this->values, operands);
    const int added = static_cast<int>(N) - x.rank();
    if (added < 0)
      fail(x, code, ir::fault_kind::wrong_rank, x.rank(), static_cast<std::int64_t>(N));
    ir::symbolic_shape shape;
    for (int axis = 0; axis < static_cast<int>(N); ++axis) {
      if (reader.is_gap()) {
        shape.push_back(reader.from_gap());
        continue;
      }
      const std::int64_t number = reader.number();
      const bool kept = number == -1 && axis >= added;
      if (number < 0 && !kept) fail(x, code, ir::fault_kind::not_an_extent);
      if (x.graph().failed()) return x;
      shape.push_back(kept ? x.node.extent(axis - added) : ir::dim(number));
    }
    return x.graph().failed() ? x : handle(ir::broadcast_to(x.node, shape));
  }
};

struct extent_function {
  static constexpr ir::op code = ir::op::extent;
  int axis = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
  }
  constexpr handle operator()(handle x) const {
    const int from_start = axis_of(x, code, axis);
    return from_start < 0
               ? x
               : handle(ir::extent_scalar(x.graph(), dtype::i64, x.node.extent(from_start)));
  }
};

template <template <std::size_t> class Function, class X, class... Extent>
constexpr auto apply_shape(X&& x, Extent&&... extents) {
  return apply_with_numbers(Function<sizeof...(Extent)>{{{number_or_gap(extents)...}}},
                            std::forward_as_tuple(std::forward<X>(x)),
                            std::forward<Extent>(extents)...);
}

}  // namespace detail

/// The extent of an axis as an i64 scalar, to calculate with (it takes the dtype of what it meets)
/// and to use as an extent elsewhere: `reshape(x, extent(y, 0), -1)`. axis_error outside of the
/// rank.
template <Operand X>
constexpr auto extent(X&& x, int axis) {
  return sinter::apply(detail::extent_function{axis}, std::forward<X>(x));
}

/// The elements in another shape; one extent may be -1 and is then inferred. shape_error if their
/// number would change, or if two extents are to be inferred.
template <Operand X, detail::ExtentLike... Extent>
constexpr auto reshape(X&& x, Extent&&... extents) {
  return detail::apply_shape<detail::reshape_function>(std::forward<X>(x),
                                                       std::forward<Extent>(extents)...);
}

/// The axes from `first` on as one. Rank 0 becomes [1]. axis_error if `first` is outside of the
/// rank.
template <Operand X>
constexpr auto flatten(X&& x, int first = 0) {
  return sinter::apply(detail::flatten_function{first}, std::forward<X>(x));
}

/// Without the given axes, whose extents must be 1 (shape_error otherwise); `{}` is all axes.
/// axis_error for an axis outside of the rank, or named twice.
template <Operand X>
constexpr auto squeeze(X&& x, const axis_list& axes) {
  return sinter::apply(detail::squeeze_function{axes}, std::forward<X>(x));
}

/// With a new axis of extent 1, which is `axis` of the result: from -(rank + 1) to rank
/// (axis_error). shape_error if x has 8 axes already.
template <Operand X>
constexpr auto unsqueeze(X&& x, int axis) {
  return sinter::apply(detail::unsqueeze_function{axis}, std::forward<X>(x));
}

/// x repeated to the given extents by the rules of broadcasting: axes may be added in front, and
/// extents of 1 grow; -1 keeps an extent. shape_error if another extent would change, or if there
/// are fewer extents than axes.
template <Operand X, detail::ExtentLike... Extent>
constexpr auto broadcast_to(X&& x, Extent&&... extents) {
  return detail::apply_shape<detail::broadcast_function>(std::forward<X>(x),
                                                         std::forward<Extent>(extents)...);
}

/// broadcast_to under PyTorch's name.
template <Operand X, detail::ExtentLike... Extent>
constexpr auto expand(X&& x, Extent&&... extents) {
  return broadcast_to(std::forward<X>(x), std::forward<Extent>(extents)...);
}

}  // namespace sinter::inline SINTER_ABI
