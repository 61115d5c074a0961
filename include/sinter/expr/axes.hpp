// SPDX-License-Identifier: MIT
// How a user names axes and extents: axis_list is one axis, several, or all of them; shape_numbers
// are the integers of a shape, with gaps that operands fill (extent(x, 0) of another tensor).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <tuple>
#include <utility>

#include <sinter/expr/expression.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

/// Axes of an operand: an int, a list `{0, -1}`, or by default all. Negative ones count from the
/// last axis.
struct axis_list {
  inline_vector<int, max_rank> axes;
  bool all = true;

  constexpr axis_list() = default;
  constexpr axis_list(int axis) : axes{axis}, all(false) {}
  constexpr axis_list(std::initializer_list<int> list) : axes(list), all(false) {}

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    sink(all ? -1 : static_cast<std::int64_t>(axes.size()));
    for (int axis : axes) sink(axis);
  }
};

/// For reductions: the reduced axes stay, with extent 1. `sum(x, 1, keep_dims)`.
inline constexpr bool keep_dims = true;

/// For slices: up to the end of the axis.
inline constexpr std::int64_t until_end = std::numeric_limits<std::int64_t>::max();

namespace detail {

constexpr void fail(handle x, ir::op code, ir::fault_kind kind, std::int64_t lhs = 0,
                    std::int64_t rhs = 0) {
  x.graph().fail({kind, code, lhs, rhs}, span<const int>(&x.node.id, 1));
}

// The axis counted from 0, or -1 after a fault. `rank` is given where it is not x's (unsqueeze).
constexpr int axis_of(handle x, ir::op code, std::int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return static_cast<int>(axis < 0 ? axis + rank : axis);
  fail(x, code, ir::fault_kind::axis_out_of_range, axis, rank);
  return -1;
}
constexpr int axis_of(handle x, ir::op code, std::int64_t axis) {
  return axis_of(x, code, axis, x.rank());
}

// The axes as a bit mask; those named wrongly are left out after the fault.
constexpr std::int64_t mask_of(handle x, ir::op code, const axis_list& list) {
  if (list.all) return ir::all_axes(x.node);
  std::int64_t mask = 0;
  for (int each : list.axes) {
    const int axis = axis_of(x, code, each);
    if (axis < 0) return mask;
    if (ir::has_axis(mask, axis)) fail(x, code, ir::fault_kind::repeated_axis, axis, x.rank());
    mask |= std::int64_t{1} << axis;
  }
  return mask;
}

// ---- extents

// A gap, filled by the next operand. No extent or bound is this small.
inline constexpr std::int64_t from_operand = std::numeric_limits<std::int64_t>::min();

template <class X>
concept ExtentLike = std::integral<std::remove_cvref_t<X>> || Operand<X>;

template <class X>
constexpr std::int64_t number_or_gap(const X& x) {
  if constexpr (std::integral<X>) {
    // The number that says gap is refused like any other this small.
    const auto number = static_cast<std::int64_t>(x);
    return number == from_operand ? number + 1 : number;
  } else {
    return from_operand;
  }
}

template <class X>
constexpr auto operands_only(X&& x) {
  if constexpr (std::integral<std::remove_cvref_t<X>>)
    return std::tuple<>{};
  else
    return std::forward_as_tuple(std::forward<X>(x));
}

// apply(function, first..., and those of `numbers` that are operands); function.numbers holds the
// others.
template <class Function, class... Number, class... First>
constexpr auto apply_with_numbers(const Function& function, std::tuple<First...> first,
                                  Number&&... numbers) {
  return std::apply(
      [&](auto&&... x) { return sinter::apply(function, std::forward<decltype(x)>(x)...); },
      std::tuple_cat(std::move(first), operands_only(std::forward<Number>(numbers))...));
}

// The integers of a shape in the order they were written, and how operands complete them.
template <std::size_t N>
struct shape_numbers {
  std::array<std::int64_t, N> values{};

  template <class Sink>
  constexpr void attributes(Sink&& sink) const {
    for (std::int64_t value : values) sink(value);
  }
};

// An extent as the graph knows it: a number, extent(x, axis), or sums, differences, products and
// quotients of such. False for anything else.
constexpr bool find_dim(ir::graph& g, int id, ir::dim& out) {
  if (id < 0) return false;
  const ir::op code = g[id].code;
  switch (code) {
    case ir::op::constant: {
      const double value = ir::constant_value(g, id);
      if (!is_integral(g[id].type) || value < 0) return false;
      out = ir::dim(static_cast<std::int64_t>(value));
      return true;
    }
    case ir::op::extent: out = g.node_dims(id)[0]; return true;
    case ir::op::cast: return find_dim(g, g.input(id, 0), out);
    case ir::op::add:
    case ir::op::sub:
    case ir::op::mul:
    case ir::op::div:
    case ir::op::floor_divide:
    case ir::op::mod: break;
    default: return false;
  }
  ir::dim a, b;
  if (!find_dim(g, g.input(id, 0), a) || !find_dim(g, g.input(id, 1), b)) return false;
  out = code == ir::op::add   ? g.dims.add(a, b)
        : code == ir::op::sub ? g.dims.sub(a, b)
        : code == ir::op::mul ? g.dims.mul(a, b)
        : code == ir::op::mod ? g.dims.mod(a, b)
                              : g.dims.floor_div(a, b);
  return true;
}

constexpr ir::dim dim_of(handle x, ir::op code) {
  ir::dim out(1);
  if (!find_dim(x.graph(), x.node.id, out)) fail(x, code, ir::fault_kind::not_an_extent);
  return out;
}

// Reads numbers left to right, taking the next operand at each gap.
class number_reader {
 public:
  constexpr number_reader(ir::op code, span<const std::int64_t> values, span<const handle> operands)
      : code_(code), values_(values), operands_(operands) {}

  constexpr bool is_gap() const { return values_[at_] == from_operand; }
  constexpr std::int64_t number() { return values_[at_++]; }
  constexpr ir::dim from_gap() {
    ++at_;
    return dim_of(operands_[next_operand_++], code_);
  }

 private:
  ir::op code_;
  span<const std::int64_t> values_;
  span<const handle> operands_;
  std::size_t at_ = 0;
  std::size_t next_operand_ = 0;
};

// A shape without -1: creation functions and random numbers.
template <std::size_t N>
constexpr ir::symbolic_shape shape_of(handle x, ir::op code, const shape_numbers<N>& numbers,
                                      span<const handle> operands) {
  ir::symbolic_shape shape;
  number_reader reader(code, numbers.values, operands);
  for (std::size_t i = 0; i < N; ++i) {
    if (reader.is_gap()) {
      shape.push_back(reader.from_gap());
      continue;
    }
    const std::int64_t extent = reader.number();
    if (extent < 0) fail(x, code, ir::fault_kind::not_an_extent);
    shape.push_back(ir::dim(extent < 0 ? 1 : extent));
  }
  return shape;
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
