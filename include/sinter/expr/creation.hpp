// SPDX-License-Identifier: MIT
// Tensors from nothing: constants and counters. Outside of a fused function these are expressions.
// Inside, one that is made from numbers alone joins the graph of the first handle that it meets:
// `x + iota<float>(10)`.
#pragma once

#include <limits>
#include <type_traits>
#include <utility>

#include <sinter/expr/axes.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// As cast does: floats beyond the range of an integer give its ends, NaN gives 0.
template <Element T, Scalar From>
constexpr T converted(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<T> &&
                !std::is_same_v<T, bool>) {
    if (x != x) return 0;
    using limits = std::numeric_limits<T>;
    if (x <= static_cast<From>(limits::min())) return limits::min();
    if (x >= static_cast<From>(limits::max())) return limits::max();
  }
  return static_cast<T>(x);
}

template <Element T, std::size_t N>
struct full_function : shape_numbers<N> {
  static constexpr ir::op code = ir::op::broadcast_to;
  static constexpr unsigned dtypes = dtype_bits(dtype_of<T>);
  static constexpr unsigned own_dtype = ~0u;  // extents are no values

  constexpr handle operator()(handle value, std::same_as<handle> auto... extents) const {
    const std::array<handle, sizeof...(extents)> operands{extents...};
    const ir::symbolic_shape shape = shape_of(value, code, *this, operands);
    if (value.rank() != 0) fail(value, code, ir::fault_kind::wrong_rank, value.rank(), 0);
    return value.graph().failed()
               ? value
               : handle(ir::broadcast_to(in_dtype(value.node, dtype_of<T>), shape));
  }
};

struct full_like_function {
  static constexpr ir::op code = ir::op::broadcast_to;

  constexpr handle operator()(handle like, handle value) const {
    if (value.rank() != 0) fail(value, code, ir::fault_kind::wrong_rank, value.rank(), 0);
    if (like.graph().failed()) return like;
    return handle(ir::broadcast_to(in_dtype(value.node, like.type()), like.node.shape()));
  }
};

template <int Number>
struct number_like_function {
  static constexpr ir::op code = ir::op::broadcast_to;
  constexpr handle operator()(handle like) const {
    const ir::value number = ir::constant(like.graph(), like.type(), Number);
    return like.graph().failed() ? like : handle(ir::broadcast_to(number, like.node.shape()));
  }
};

// start + step * i along the last of the extents.
template <Element T, std::size_t N>
struct iota_function : shape_numbers<N> {
  static constexpr ir::op code = ir::op::iota;
  static constexpr unsigned dtypes = dtype_bits(dtype_of<T>);
  static constexpr unsigned own_dtype = ~0u;

  constexpr handle operator()(handle anchor, std::same_as<handle> auto... extents) const {
    const std::array<handle, sizeof...(extents)> operands{extents...};
    const ir::symbolic_shape shape = shape_of(anchor, code, *this, operands);
    if (anchor.graph().failed()) return anchor;
    return handle(ir::iota(anchor.graph(), dtype_of<T>, shape, static_cast<int>(N) - 1));
  }
};

struct iota_like_function {
  static constexpr ir::op code = ir::op::iota;
  int axis = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
  }
  constexpr handle operator()(handle like) const {
    const int from_start = axis_of(like, code, axis);
    if (from_start < 0) return like;
    if (like.type() == dtype::boolean)
      fail(like, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(like.type()));
    return handle(ir::iota(like.graph(), like.type(), like.node.shape(), from_start));
  }
};

template <Element T>
struct arange_function {
  static constexpr ir::op code = ir::op::iota;
  static constexpr unsigned dtypes = dtype_bits(dtype_of<T>);
  std::int64_t count = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(count);
  }
  constexpr handle operator()(handle start, handle step) const {
    if (start.graph().failed()) return start;
    const ir::value counter = ir::iota(start.graph(), dtype_of<T>, {ir::dim(count)}, 0);
    return handle(counter * in_dtype(step.node, dtype_of<T>) + in_dtype(start.node, dtype_of<T>));
  }
};

}  // namespace detail

/// A tensor of type `T` whose elements are all `value`: `full<float>(2, 3, 4)` is [3, 4]. Without
/// extents: a scalar. The value is converted to `T` as C++ does. shape_error for an extent that is
/// below 0 or not computed from extents.
template <Element T, Scalar Value, detail::ExtentLike... Extent>
constexpr auto full(Value value, Extent&&... extents) {
  return detail::apply_with_numbers(
      detail::full_function<T, sizeof...(Extent)>{{{detail::number_or_gap(extents)...}}},
      std::tuple<T>(detail::converted<T>(value)), std::forward<Extent>(extents)...);
}
/// The same from a scalar that is computed; shape_error unless it has rank 0. It is converted to
/// `T` as by cast.
template <Element T, Operand Value, detail::ExtentLike... Extent>
constexpr auto full(Value&& value, Extent&&... extents) {
  return detail::apply_with_numbers(
      detail::full_function<T, sizeof...(Extent)>{{{detail::number_or_gap(extents)...}}},
      std::forward_as_tuple(std::forward<Value>(value)), std::forward<Extent>(extents)...);
}

/// A tensor of x's dtype and shape whose elements are all `value`: `full_like(x, 0.5f)`. The value
/// is converted to x's dtype; a floating number for integers is a dtype_error inside a fused
/// function.
template <Operand X, Scalar Value>
constexpr auto full_like(X&& x, Value value) {
  return sinter::apply(detail::full_like_function{}, std::forward<X>(x), value);
}

/// The same from a scalar that is computed; shape_error unless it has rank 0.
template <Operand X, Operand Value>
constexpr auto full_like(X&& x, Value&& value) {
  return sinter::apply(detail::full_like_function{}, std::forward<X>(x),
                       std::forward<Value>(value));
}

/// Zeros of x's dtype and shape.
template <Operand X>
constexpr auto zeros_like(X&& x) {
  return sinter::apply(detail::number_like_function<0>{}, std::forward<X>(x));
}

/// Ones of x's dtype and shape.
template <Operand X>
constexpr auto ones_like(X&& x) {
  return sinter::apply(detail::number_like_function<1>{}, std::forward<X>(x));
}

/// 0, 1, 2... along the last of the extents, the same along the others: `iota<float>(3, 4)` has
/// rows 0 1 2 3. `T` is no bool. shape_error for an extent that is below 0 or not computed from
/// extents.
template <Element T, detail::ExtentLike... Extent>
  requires(sizeof...(Extent) > 0 && !std::same_as<T, bool>)
constexpr auto iota(Extent&&... extents) {
  // The 0 is there for the graph that its node is in.
  return detail::apply_with_numbers(
      detail::iota_function<T, sizeof...(Extent)>{{{detail::number_or_gap(extents)...}}},
      std::tuple<std::int32_t>(0), std::forward<Extent>(extents)...);
}

/// Positions along `axis`, in x's dtype and shape. Numbers (dtype_error for bools); axis_error if
/// the axis is outside of the rank.
template <Operand X>
constexpr auto iota_like(X&& x, int axis = -1) {
  return sinter::apply(detail::iota_like_function{axis}, std::forward<X>(x));
}

/// start, start + step... before stop, as NumPy's arange: ceil((stop - start) / step) elements of
/// type `T` along one axis, none if that is below 0. `T` is no bool. shape_error if the step is 0.
template <Element T, Scalar Number>
  requires(!std::same_as<T, bool>)
constexpr auto arange(Number start, Number stop, Number step = Number{1}) {
  if (step == 0) raise(shape_error("arange: the step is 0"));
  const double exact =
      (static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step);
  std::int64_t count = exact > 0 ? static_cast<std::int64_t>(exact) : 0;
  if (static_cast<double>(count) < exact) ++count;
  return sinter::apply(detail::arange_function<T>{count}, static_cast<T>(start),
                       static_cast<T>(step));
}
template <Element T, Scalar Number>
  requires(!std::same_as<T, bool>)
constexpr auto arange(Number stop) {
  return arange<T>(Number{0}, stop);
}

}  // namespace sinter::inline SINTER_ABI
