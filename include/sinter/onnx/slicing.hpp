// SPDX-License-Identifier: MIT
// Operators of ONNX that take parts of tensors, and that put elements around them. Bounds may be
// extents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <sinter/onnx/movement.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail::movement {

inline ir::value part_of(ir::value x, int axis, ir::dim start, ir::dim stop) {
  ir::symbolic_shape first = ir::symbolic_shape::filled(x.shape().size(), ir::dim(0)),
                     last = x.shape();
  first[axis] = start;
  last[axis] = stop;
  return ir::slice(x, first, last, inline_vector<std::int64_t, max_rank>::filled(first.size(), 1));
}

inline void split(operation& o) {
  const int rank = o.rank(0), axis = o.axis(o.integer("axis", 0), rank);
  const ir::dim whole = o.extent(0, axis);
  std::vector<ir::dim> lengths;
  const std::int64_t parts = o.integer("num_outputs", o.outputs());
  if (o.has(1) || o.has_attribute("split")) {
    for (const std::int64_t n : o.has(1) ? o.known_integers(1) : o.integers("split")) {
      if (n < 0) throw shape_error("a part of " + std::to_string(n) + " elements");
      lengths.push_back(ir::dim(n));
    }
  } else {
    if (parts < 1) o.fail("a split into " + std::to_string(parts) + " parts");
    // The last part is shorter where they cannot be equal.
    const ir::dim length =
        o.dims().floor_div(o.dims().add(whole, ir::dim(parts - 1)), ir::dim(parts));
    for (std::int64_t i = 0; i < parts; ++i) lengths.push_back(length);
    if (whole.is_constant())
      lengths.back() =
          ir::dim(std::max<std::int64_t>(0, whole.constant() - (parts - 1) * length.constant()));
  }
  if (lengths.size() != static_cast<std::size_t>(o.outputs()))
    o.fail(std::to_string(lengths.size()) + " parts for " + std::to_string(o.outputs()) +
           " outputs");
  const ir::value x = o.in(0);
  ir::dim start(0);
  for (int i = 0; i < o.outputs(); ++i) {
    const ir::dim stop = o.dims().add(start, lengths[static_cast<std::size_t>(i)]);
    if (o.wants(i)) o.give(i, part_of(x, axis, start, stop));
    start = stop;
  }
  if (o.dims().equal(start, whole) == ir::truth::no)
    throw shape_error("parts of " + o.dims().to_string(start) + " elements in all, of " +
                      o.dims().to_string(whole));
}

// A bound of a slice as ONNX has it: from the end if below 0, and inside of the axis. What only a
// call knows to be inside is taken to be: a call where it is not throws shape_error.
inline number bound_in(operation& o, const number& given, ir::dim extent, std::int64_t below,
                       std::int64_t above) {
  using arithmetic::operation;
  ir::dim_table& dims = o.dims();
  const number length = number_of(dims, extent), low = below,
               high = *combine(dims, operation::add, length, number(above));
  // Numbers beyond every extent mean the end.
  constexpr std::int64_t beyond = std::int64_t{1} << 31;
  if (is_integer(given) && std::get<std::int64_t>(given) >= beyond - 1) return high;
  if (is_integer(given) && std::get<std::int64_t>(given) <= -beyond) return low;
  number x = given;
  bool negative = is_integer(x) && std::get<std::int64_t>(x) < 0;
  if (is_extent(x)) negative = dims.range(std::get<ir::dim>(x)).high < 0;
  if (negative) x = *combine(dims, operation::add, x, length);
  if (const auto raised = combine(dims, operation::max, x, low)) x = *raised;
  if (const auto lowered = combine(dims, operation::min, x, high)) x = *lowered;
  return x;
}

inline known_tensor sliced(const known_tensor& x, std::int64_t start, std::int64_t stop,
                           std::int64_t step) {
  known_tensor out{x.type, {0}, {}};
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop; i += step)
    out.elements.push_back(x.elements[static_cast<std::size_t>(i)]);
  out.shape[0] = static_cast<std::int64_t>(out.size());
  return out;
}

inline void slice(operation& o) {
  const int rank = o.rank(0);
  known_tensor starts, stops;
  std::vector<std::int64_t> axes, steps;
  if (o.version() >= 10) {
    starts = o.numbers(1);
    stops = o.numbers(2);
    if (o.has(3)) axes = o.known_integers(3);
    if (o.has(4)) steps = o.known_integers(4);
  } else {
    for (const std::int64_t x : o.integers("starts")) starts.elements.emplace_back(x);
    for (const std::int64_t x : o.integers("ends")) stops.elements.emplace_back(x);
    axes = o.integers("axes");
  }
  const std::size_t count = starts.size();
  if (axes.empty())
    for (std::size_t i = 0; i < count; ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (steps.empty()) steps.assign(count, 1);
  if (stops.size() != count || axes.size() != count || steps.size() != count)
    o.fail("starts, ends, axes and steps are of different lengths");
  o.mask(axes, rank);

  // Backwards is forwards along the flipped axis.
  struct narrowing {
    int axis;
    number start, stop;
    std::int64_t step;
  };
  std::vector<narrowing> all;
  for (std::size_t i = 0; i < count; ++i) {
    const int axis = o.axis(axes[i], rank);
    const std::int64_t step = steps[i];
    if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) o.fail("a step of 0");
    const ir::dim extent = o.extent(0, axis);
    const bool back = step < 0;
    all.push_back({axis, bound_in(o, starts.elements[i], extent, 0, back ? -1 : 0),
                   bound_in(o, stops.elements[i], extent, back ? -1 : 0, back ? -1 : 0), step});
  }
  const known_tensor* const k = o.known(0);
  if (k != nullptr && rank == 1 && all.size() == 1 && is_integer(all[0].start) &&
      is_integer(all[0].stop))
    return o.give(sliced(*k, std::get<std::int64_t>(all[0].start),
                         std::get<std::int64_t>(all[0].stop), all[0].step));
  if (all.empty()) return o.give_input(0);

  ir::value x = o.in(0);
  std::int64_t flipped = 0;
  ir::symbolic_shape first = ir::symbolic_shape::filled(x.shape().size(), ir::dim(0)),
                     last = x.shape();
  auto step = inline_vector<std::int64_t, max_rank>::filled(first.size(), 1);
  for (narrowing& n : all) {
    using arithmetic::operation;
    if (n.step < 0) {
      flipped |= std::int64_t{1} << n.axis;
      const number end = *combine(o.dims(), operation::sub, number_of(o.dims(), x.extent(n.axis)),
                                  number(std::int64_t{1}));
      n.start = *combine(o.dims(), operation::sub, end, n.start);
      n.stop = *combine(o.dims(), operation::sub, end, n.stop);
      n.step = -n.step;
    }
    // Empty where the bounds are in the wrong order.
    if (const auto stop = combine(o.dims(), operation::max, n.stop, n.start)) n.stop = *stop;
    first[n.axis] = dim_of(o.dims(), n.start);
    last[n.axis] = dim_of(o.dims(), n.stop);
    step[n.axis] = n.step;
  }
  o.give(ir::slice(ir::flip(x, flipped), first, last, step));
}

// x with `before` and `after` elements of its own around an axis.
inline ir::value continued(operation& o, ir::value x, int axis, const std::string& mode,
                           std::int64_t before, std::int64_t after) {
  const ir::dim extent = x.extent(axis);
  if (!extent.is_constant()) o.fail("mode " + in_quotes(mode) + " along an axis of unknown extent");
  const std::int64_t length = extent.constant();
  const std::int64_t mask = std::int64_t{1} << axis;
  const std::int64_t most = mode == "edge" ? before + after : mode == "wrap" ? length : length - 1;
  if (length < 1 || before > most || after > most)
    o.fail("mode " + in_quotes(mode) + ": more elements than there are");
  std::vector<ir::value> parts;
  const auto add = [&](std::int64_t start, std::int64_t stop, std::int64_t count) {
    if (count == 0) return;
    ir::value part = part_of(x, axis, ir::dim(start), ir::dim(stop));
    if (mode == "reflect") part = ir::flip(part, mask);
    if (mode == "edge") {
      ir::symbolic_shape repeated = part.shape();
      repeated[axis] = ir::dim(count);
      part = ir::broadcast_to(part, repeated);
    }
    parts.push_back(part);
  };
  if (mode == "reflect")
    add(1, 1 + before, before);
  else if (mode == "edge")
    add(0, 1, before);
  else
    add(length - before, length, before);
  parts.push_back(x);
  if (mode == "reflect")
    add(length - 1 - after, length - 1, after);
  else if (mode == "edge")
    add(length - 1, length, after);
  else
    add(0, after, after);
  return ir::concat(parts, axis);
}

inline void pad(operation& o) {
  const std::string mode = o.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    o.fail("mode " + in_quotes(mode) + " is not supported");
  const int rank = o.rank(0);
  const std::vector<std::int64_t> amounts =
      o.version() >= 11 ? o.known_integers(1)
                        : o.integers(o.has_attribute("paddings") ? "paddings" : "pads");
  std::vector<std::int64_t> axes;
  if (o.has(3))
    axes = o.known_integers(3);
  else
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  o.mask(axes, rank);
  if (amounts.size() != 2 * axes.size()) o.fail("pads are not two for each axis");
  double fill = o.version() < 11 ? o.real("value", 0) : 0;
  if (o.has(2) && mode == "constant") fill = o.known_real(2);

  ir::value x = o.in(0);
  ir::symbolic_shape first = ir::symbolic_shape::filled(x.shape().size(), ir::dim(0));
  ir::symbolic_shape last = x.shape(), before = first, after = first;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = o.axis(axes[i], rank);
    const std::int64_t front = amounts[i], back = amounts[axes.size() + i];
    if (std::min(front, back) < -most_elements || std::max(front, back) > most_elements)
      o.fail("more padding than there can be elements");
    // Below 0: elements that are taken away.
    if (front < 0) first[axis] = ir::dim(-front);
    if (back < 0)
      last[axis] = dim_of(o.dims(), *combine(o.dims(), arithmetic::operation::add,
                                             number_of(o.dims(), last[axis]), number(back)));
    before[axis] = ir::dim(std::max<std::int64_t>(front, 0));
    after[axis] = ir::dim(std::max<std::int64_t>(back, 0));
  }
  x = ir::slice(x, first, last, inline_vector<std::int64_t, max_rank>::filled(first.size(), 1));
  if (mode == "constant") return o.give(ir::pad(x, before, after, fill));
  for (int axis = 0; axis < rank; ++axis)
    if (!(before[axis] == ir::dim(0) && after[axis] == ir::dim(0)))
      x = continued(o, x, axis, mode, before[axis].constant(), after[axis].constant());
  o.give(x);
}

}  // namespace sinter::inline SINTER_ABI::onnx::detail::movement
