// SPDX-License-Identifier: MIT
// Reductions of short windows, and sums of what they share: as many slices as a window has
// elements, combined element by element. Such an expression joins the nests in front of it and
// behind it, and its loops run over whole images, where a reduction over the middle axis ends after
// every short row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include <sinter/rules/reduction_order.hpp>
#include <sinter/rules/rule.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace reduction {

// Windows of 3x3 have 9 loads; a nest has room for 16.
inline constexpr std::int64_t few_elements = 4;

// (reduce[?p] (windows[?q] ?x)) over the elements of each window, few of them.
template <op Code>
std::optional<class_id> reduce_windows(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], root = side.root();
  const auto numbers = side.attributes("?q");
  const int axis = static_cast<int>(numbers[0]);
  const dim size = side.payload_dims("?q")[0], count = root.extent(axis + 1);
  if (side.attribute("?p") != axis_bit(axis) || !size.is_constant() || size.constant() < 1 ||
      size.constant() > few_elements)
    return std::nullopt;
  // Of the last window that element is the last, too.
  const dim behind = side.dims().mul(side.dims().sub(count, dim(1)), dim(numbers[1]));
  ir::value whole;
  for (std::int64_t j = 0; j < size.constant(); ++j) {
    symbolic_shape start = symbolic_shape::filled(x.shape().size(), dim(0)), stop = x.shape();
    auto step = axis_list::filled(x.shape().size(), 1);
    start[axis] = dim(j * numbers[2]);
    stop[axis] = side.dims().add(behind, dim(j * numbers[2] + 1));
    step[axis] = numbers[1];
    // Each part with the axis of extent 1, so that the class itself has an element-wise form:
    // behind a reshape of the whole, planning might meet the class first and see only the
    // reduction.
    const ir::value part = ir::reshape(ir::slice(x, start, stop, step), root.shape());
    whole = j == 0 ? part : ir::elementwise(combining_op(Code), {whole, part});
  }
  return side.finish(whole);
}

// Of fewer elements at hand a reduction takes no time, and where every axis is as short, as in a
// small model, slices of slices would not end.
inline constexpr double worth_slicing = 4096;

// (reduce[?p] ?x) over one axis with few elements. Rows of two or three are shorter than a
// register, and columns of them end after every line. Sums of narrow floats are rounded once.
template <op Code>
std::optional<class_id> reduce_few(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  const auto mask = static_cast<std::uint64_t>(side.attribute("?p"));
  if (!std::has_single_bit(mask) || is_narrow_float(x.type()) ||
      elements_at_hand(side.terms(), x.shape()) < worth_slicing ||
      holds(graph, m.root(), combining_op(Code)))
    return std::nullopt;
  const int axis = std::countr_zero(mask);
  const dim size = x.extent(axis);
  if (!size.is_constant() || size.constant() < 2 || size.constant() > few_elements)
    return std::nullopt;
  ir::value whole;
  for (std::int64_t j = 0; j < size.constant(); ++j) {
    const ir::value part = ir::element_along(x, axis, j);
    whole = j == 0 ? part : ir::elementwise(combining_op(Code), {whole, part});
  }
  return side.finish(whole);
}

template <op Code>
void append_window_rules_of(rule_table& out) {
  const rounding order =
      Code == op::reduce_max || Code == op::reduce_min ? rounding::exact : rounding::reassociates;
  out.push_back({"reduce-windows", phase::improve, order,
                 "(" + std::string(ir::name(Code)) + "[?p] (windows[?q] ?x))",
                 reduce_windows<Code>});
  out.push_back({"reduce-few", phase::improve, order,
                 "(" + std::string(ir::name(Code)) + "[?p] ?x)", reduce_few<Code>});
}

// (sum_windows[?a] ?x) of windows with few elements: for each of them a row, read among zeros where
// it belongs, and their sum element by element.
inline std::optional<class_id> sum_few_windows(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  ir::dim_table& dims = side.dims();
  const ir::value x = side["?x"], root = side.root();
  const auto numbers = side.attributes("?a");
  const int axis = static_cast<int>(numbers[0]);
  const dim size = x.extent(axis), extent = root.extent(axis);
  if (!size.is_constant() || size.constant() < 1 || size.constant() > few_elements)
    return std::nullopt;
  const ir::value rows = numbers[1] == 1 ? x : ir::spread(x, axis + 1, numbers[1]);
  const dim behind = dims.sub(extent, rows.extent(axis + 1));
  if (!behind.is_constant()) return std::nullopt;
  const std::int64_t reach = (size.constant() - 1) * numbers[2];
  symbolic_shape before = symbolic_shape::filled(x.shape().size(), dim(0)), after = before;
  before[axis + 1] = dim(reach);
  after[axis + 1] = dim(std::max<std::int64_t>(0, behind.constant()));
  const ir::value padded = ir::pad(rows, before, after);
  ir::value whole;
  for (std::int64_t j = 0; j < size.constant(); ++j) {
    symbolic_shape start = symbolic_shape::filled(x.shape().size(), dim(0)), stop = padded.shape();
    start[axis] = dim(j);
    stop[axis] = dim(j + 1);
    start[axis + 1] = dim(reach - j * numbers[2]);
    stop[axis + 1] = dims.add(extent, start[axis + 1]);
    const ir::value row = ir::reshape(
        ir::slice(padded, start, stop, axis_list::filled(x.shape().size(), 1)), root.shape());
    whole = j == 0 ? row : ir::elementwise(op::add, {whole, row});
  }
  return side.finish(whole);
}

}  // namespace reduction

inline rule_table window_rules() {
  rule_table out;
  reduction::append_window_rules_of<op::reduce_sum>(out);
  reduction::append_window_rules_of<op::reduce_max>(out);
  reduction::append_window_rules_of<op::reduce_min>(out);
  reduction::append_window_rules_of<op::reduce_prod>(out);
  out.push_back({"sum-few-windows", phase::improve, rounding::reassociates, "(sum_windows[?a] ?x)",
                 reduction::sum_few_windows});
  return out;
}

}  // namespace sinter::inline SINTER_ABI::rules
