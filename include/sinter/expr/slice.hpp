// SPDX-License-Identifier: MIT
// Parts of a tensor, and the opposite: padding.
#pragma once

#include <utility>

#include <sinter/expr/axes.hpp>

namespace sinter::inline SINTER_ABI {

/// Elements to add in front of and behind an axis.
struct padding {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

/// The half-open range of positions that a slice keeps of an axis.
struct range {
  std::int64_t start = 0;
  std::int64_t stop = until_end;
};

namespace detail {

// A bound as Python has it: below 0 it counts from the end.
constexpr ir::dim bound_of(handle x, ir::op code, ir::dim extent, std::int64_t bound) {
  if (bound == until_end) return extent;
  if (bound >= 0) return ir::dim(bound);
  if (!extent.is_constant()) return x.graph().dims.sub(extent, ir::dim(-bound));
  if (extent.constant() + bound < 0)
    fail(x, code, ir::fault_kind::bad_slice, extent.constant(), bound);
  return ir::dim(extent.constant() + bound < 0 ? 0 : extent.constant() + bound);
}

// All of every axis, for a slice to narrow.
struct slice_bounds {
  ir::symbolic_shape start, stop;
  inline_vector<std::int64_t, max_rank> step;

  constexpr explicit slice_bounds(handle x) : stop(x.node.shape()) {
    start.resize(stop.size());
    step.resize(stop.size(), 1);
  }
};

struct slice_function {
  static constexpr ir::op code = ir::op::slice;
  int axis = 0;
  std::int64_t step = 1;
  shape_numbers<2> bounds;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(axis);
    sink(step);
    bounds.attributes(sink);
  }
  constexpr handle operator()(handle x, std::same_as<handle> auto... operands) const {
    const int at = axis_of(x, code, axis);
    if (at < 0) return x;
    if (step < 1) fail(x, code, ir::fault_kind::bad_slice, number_of_extent(x, at), step);
    slice_bounds all(x);
    const std::array<handle, sizeof...(operands)> gaps{operands...};
    number_reader reader(code, bounds.values, gaps);
    all.start[at] =
        reader.is_gap() ? reader.from_gap() : bound_of(x, code, x.node.extent(at), reader.number());
    all.stop[at] =
        reader.is_gap() ? reader.from_gap() : bound_of(x, code, x.node.extent(at), reader.number());
    all.step[at] = step;
    return x.graph().failed() ? x : handle(ir::slice(x.node, all.start, all.stop, all.step));
  }

 private:
  static constexpr std::int64_t number_of_extent(handle x, int axis) {
    const ir::dim d = x.node.extent(axis);
    return d.is_constant() ? d.constant() : -1;
  }
};

struct shrink_function {
  static constexpr ir::op code = ir::op::slice;
  inline_vector<range, max_rank> ranges;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(static_cast<std::int64_t>(ranges.size()));
    for (const range& r : ranges) {
      sink(r.start);
      sink(r.stop);
    }
  }
  constexpr handle operator()(handle x) const {
    if (static_cast<int>(ranges.size()) != x.rank()) {
      fail(x, code, ir::fault_kind::wrong_rank, static_cast<std::int64_t>(ranges.size()), x.rank());
      return x;
    }
    slice_bounds all(x);
    for (int axis = 0; axis < x.rank(); ++axis) {
      all.start[axis] = bound_of(x, code, x.node.extent(axis), ranges[axis].start);
      all.stop[axis] = bound_of(x, code, x.node.extent(axis), ranges[axis].stop);
    }
    return x.graph().failed() ? x : handle(ir::slice(x.node, all.start, all.stop, all.step));
  }
};

struct pad_function {
  static constexpr ir::op code = ir::op::pad;
  inline_vector<padding, max_rank> amounts;
  double value = 0;

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(static_cast<std::int64_t>(amounts.size()));
    for (const padding& p : amounts) {
      sink(p.before);
      sink(p.after);
    }
    sink(ir::bits_of(value));
  }
  constexpr handle operator()(handle x) const {
    if (static_cast<int>(amounts.size()) != x.rank())
      fail(x, code, ir::fault_kind::wrong_rank, static_cast<std::int64_t>(amounts.size()),
           x.rank());
    if (!is_floating(x.type()) && !holds(x.type(), value))
      fail(x, code, ir::fault_kind::wrong_dtype, static_cast<std::int64_t>(x.type()));
    ir::symbolic_shape before, after;
    for (const padding& p : amounts) {
      if (p.before < 0 || p.after < 0)
        fail(x, code, ir::fault_kind::bad_slice, 0, p.before < 0 ? p.before : p.after);
      before.push_back(ir::dim(p.before < 0 ? 0 : p.before));
      after.push_back(ir::dim(p.after < 0 ? 0 : p.after));
    }
    return x.graph().failed() ? x : handle(ir::pad(x.node, before, after, value));
  }

 private:
  // Is the number an element of an integer or bool tensor?
  static constexpr bool holds(dtype type, double number) {
    if (type == dtype::boolean) return number == 0 || number == 1;
    return number > -9.2e18 && number < 9.2e18 &&
           static_cast<double>(static_cast<std::int64_t>(number)) == number && fits(type, number);
  }
};

}  // namespace detail

/// Every step-th element of [start, stop) along one axis: integers, or extents. Negative bounds
/// count from the end as in Python; `until_end` is the end. axis_error for an axis outside of the
/// rank; shape_error for bounds outside of the axis (they are not clipped) or in the wrong order,
/// and for a step below 1 (flip reverses).
template <Operand X, detail::ExtentLike Start, detail::ExtentLike Stop>
constexpr auto slice(X&& x, int axis, Start&& start, Stop&& stop, std::int64_t step = 1) {
  return detail::apply_with_numbers(
      detail::slice_function{
          axis, step, {{detail::number_or_gap(start), detail::number_or_gap(stop)}}},
      std::forward_as_tuple(std::forward<X>(x)), std::forward<Start>(start),
      std::forward<Stop>(stop));
}

/// A range of every axis: `shrink(x, {{0, 2}, {1, -1}})`. Bounds as in slice; shape_error unless
/// there is one range per axis.
template <Operand X>
constexpr auto shrink(X&& x, std::initializer_list<range> ranges) {
  return sinter::apply(detail::shrink_function{ranges}, std::forward<X>(x));
}

/// x with `value` around it: `pad(x, {{1, 1}, {0, 2}})` adds a row above and below, and two columns
/// behind. shape_error unless there is one entry per axis and none is negative; dtype_error if the
/// dtype cannot hold the value.
template <Operand X>
constexpr auto pad(X&& x, std::initializer_list<padding> amounts, double value = 0) {
  return sinter::apply(detail::pad_function{amounts, value}, std::forward<X>(x));
}

}  // namespace sinter::inline SINTER_ABI
