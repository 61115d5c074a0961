// SPDX-License-Identifier: MIT
// Operators of ONNX that make, reshape and move tensors. Their shapes may be computed by the model:
// what can be known while loading is followed as numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <sinter/onnx/fold.hpp>

namespace sinter::onnx::detail::movement {

// A known vector as a shape. Throws where a number cannot be an extent.
inline ir::symbolic_shape shape_from(operation& o, const known_tensor& k) {
  if (k.size() > static_cast<std::size_t>(max_rank))
    o.fail("a shape of " + std::to_string(k.size()) + " axes; the limit is " +
           std::to_string(max_rank));
  ir::symbolic_shape out;
  for (const number& x : k.elements) {
    if (is_real(x) || (is_integer(x) && std::get<std::int64_t>(x) < 0))
      o.fail("an element of a shape is below 0");
    out.push_back(dim_of(o.dims(), x));
  }
  return out;
}

inline void require_rank(operation& o, std::size_t rank) {
  if (rank > static_cast<std::size_t>(max_rank))
    throw shape_error("rank " + std::to_string(rank) + " exceeds the limit of " +
                      std::to_string(max_rank));
  static_cast<void>(o);
}

inline void shape(operation& o) {
  const ir::symbolic_shape all = o.shape(0);
  const auto rank = static_cast<std::int64_t>(all.size());
  const auto place = [&](std::string_view name, std::int64_t otherwise) {
    const std::int64_t given = o.integer(name, otherwise);
    return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const std::int64_t first = place("start", 0), last = place("end", rank);
  known_tensor out{dtype::i64, {std::max<std::int64_t>(0, last - first)}, {}};
  for (std::int64_t i = first; i < last; ++i) out.elements.push_back(number_of(o.dims(), all[i]));
  o.give(std::move(out));
}

inline void size(operation& o) {
  ir::dim total(1);
  for (const ir::dim d : o.shape(0)) total = o.dims().mul(total, d);
  o.give(known_tensor{dtype::i64, {}, {number_of(o.dims(), total)}});
}

// The same elements in another shape, known ones included.
inline void give_reshaped(operation& o, const ir::symbolic_shape& to) {
  bool constant = true;
  shape_vector extents;
  for (const ir::dim d : to) {
    constant = constant && d.is_constant();
    extents.push_back(d.is_constant() ? d.constant() : 0);
  }
  const known_tensor* const k = o.known(0);
  if (k != nullptr && constant && element_count(extents) == static_cast<std::int64_t>(k->size())) {
    known_tensor out = *k;
    out.shape = extents;
    return o.give(std::move(out));
  }
  o.give(ir::reshape(o.in(0), to));
}

inline void reshape(operation& o) {
  o.ignore("consumed_inputs");
  known_tensor target;
  if (o.version() >= 5) {
    target = o.numbers(1);
  } else {
    for (const std::int64_t x : o.integers("shape")) target.elements.emplace_back(x);
  }
  const bool keeps_zeros = o.integer("allowzero", 0) != 0;
  const ir::symbolic_shape from = o.shape(0);
  require_rank(o, target.size());
  ir::symbolic_shape to;
  ir::dim known(1), rest(1);
  int inferred = -1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const number& x = target.elements[i];
    if (is_integer(x) && std::get<std::int64_t>(x) == -1) {
      if (inferred >= 0) throw shape_error("two extents are to be inferred");
      inferred = static_cast<int>(i);
      to.push_back(ir::dim(1));
      continue;
    }
    const bool copied = is_integer(x) && std::get<std::int64_t>(x) == 0 && !keeps_zeros;
    if (copied && i >= from.size())
      throw shape_error("extent " + std::to_string(i) + " is to be kept, of rank " +
                        std::to_string(from.size()));
    if (is_integer(x) && std::get<std::int64_t>(x) < 0)
      throw shape_error("extent " + std::to_string(std::get<std::int64_t>(x)) + " is below 0");
    to.push_back(copied ? from[i] : dim_of(o.dims(), x));
    known = o.dims().mul(known, to.back());
  }
  if (inferred >= 0) {
    ir::dim total(1);
    // Without the extents that both have: a quotient by 0 is none.
    const bool divides = !(known == ir::dim(0));
    for (const ir::dim d : from) total = o.dims().mul(total, d);
    to[inferred] = divides ? o.dims().floor_div(total, known) : ir::dim(0);
  }
  give_reshaped(o, to);
}

// Axes as an attribute, or as an input in later versions.
inline std::vector<std::int64_t> axes_of(operation& o, int at) {
  return o.has(at) ? o.known_integers(at) : o.integers("axes");
}

inline void squeeze(operation& o) {
  const ir::symbolic_shape from = o.shape(0);
  const int rank = static_cast<int>(from.size());
  const bool given = o.has(1) || o.has_attribute("axes");
  const std::vector<std::int64_t> axes = axes_of(o, 1);
  const std::int64_t mask = given ? o.mask(axes, rank) : 0;
  ir::symbolic_shape to;
  for (int i = 0; i < rank; ++i) {
    const bool one = from[i] == ir::dim(1);
    if (given && ir::has_axis(mask, i) && from[i].is_constant() && !one)
      throw shape_error("axis " + std::to_string(i) + " of " + o.dims().to_string(from) +
                        " is not 1");
    if (given ? !ir::has_axis(mask, i) : !one) to.push_back(from[i]);
  }
  give_reshaped(o, to);
}

inline void unsqueeze(operation& o) {
  const ir::symbolic_shape from = o.shape(0);
  const std::vector<std::int64_t> axes = axes_of(o, 1);
  require_rank(o, from.size() + axes.size());
  const int rank = static_cast<int>(from.size() + axes.size());
  const std::int64_t mask = o.mask(axes, rank);
  ir::symbolic_shape to;
  for (int i = 0, next = 0; i < rank; ++i)
    to.push_back(ir::has_axis(mask, i) ? ir::dim(1) : from[next++]);
  give_reshaped(o, to);
}

inline void flatten(operation& o) {
  const ir::symbolic_shape from = o.shape(0);
  const int rank = static_cast<int>(from.size());
  const std::int64_t given = o.integer("axis", 1);
  const int at = given == rank ? rank : o.axis(given, std::max(rank, 1));
  ir::symbolic_shape to{ir::dim(1), ir::dim(1)};
  for (int i = 0; i < rank; ++i) {
    ir::dim& part = to[i < at ? 0 : 1];
    part = o.dims().mul(part, from[i]);
  }
  give_reshaped(o, to);
}

inline void expand(operation& o) {
  const known_tensor& k = o.numbers(1);
  const ir::symbolic_shape asked = shape_from(o, k), from = o.shape(0);
  const ir::symbolic_shape to = ir::broadcast_shape(o.graph(), from, asked);
  if (const known_tensor* x = o.known(0)) {
    shape_vector extents;
    bool constant = true;
    for (const ir::dim d : to) {
      constant = constant && d.is_constant();
      extents.push_back(d.is_constant() ? d.constant() : 0);
    }
    if (constant && element_count(extents) <= known_limit) {
      known_tensor out{x->type, extents, {}};
      for (std::int64_t i = 0; i < element_count(extents); ++i)
        out.elements.push_back(broadcast_element(*x, extents, i));
      return o.give(std::move(out));
    }
  }
  o.give(ir::broadcast_to(o.operand(0, static_cast<int>(to.size())), to));
}

inline void transpose(operation& o) {
  const int rank = o.rank(0);
  std::vector<std::int64_t> order = o.integers("perm");
  if (!o.has_attribute("perm"))
    for (int i = rank; i-- > 0;) order.push_back(i);
  if (order.size() != static_cast<std::size_t>(rank))
    throw axis_error("perm has " + std::to_string(order.size()) + " axes for rank " +
                     std::to_string(rank));
  for (std::int64_t& each : order) each = o.axis(each, rank);
  if (rank <= 1) return o.give_input(0);
  o.give(ir::permute(o.in(0), order));
}

inline void concat(operation& o) {
  const int rank = o.rank(0);
  const int axis = o.axis(o.integer("axis", 1), rank);
  known_tensor joined{o.type(0), {0}, {}};
  bool known = rank == 1;
  for (int i = 0; known && i < o.count(); ++i) {
    const known_tensor* const part = o.known(i);
    known = part != nullptr && part->shape.size() == 1;
    if (!known) break;
    joined.elements.insert(joined.elements.end(), part->elements.begin(), part->elements.end());
  }
  joined.shape[0] = static_cast<std::int64_t>(joined.size());
  if (known && joined.shape[0] <= known_limit) return o.give(std::move(joined));
  std::vector<ir::value> parts;
  for (int i = 0; i < o.count(); ++i) {
    if (o.rank(i) != rank)
      throw shape_error("parts of rank " + std::to_string(rank) + " and " +
                        std::to_string(o.rank(i)));
    parts.push_back(o.in(i));
  }
  o.give(ir::concat(parts, axis));
}

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
  constexpr std::int64_t far = std::int64_t{1} << 31;
  if (is_integer(given) && std::get<std::int64_t>(given) >= far - 1) return high;
  if (is_integer(given) && std::get<std::int64_t>(given) <= -far) return low;
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

inline void tile(operation& o) {
  const ir::symbolic_shape counts = shape_from(o, o.numbers(1));
  if (static_cast<int>(counts.size()) != o.rank(0))
    throw shape_error(std::to_string(counts.size()) + " repeats for rank " +
                      std::to_string(o.rank(0)));
  o.give(sinter::detail::tile_function::tiled(o.in(0), {counts.begin(), counts.size()}));
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

inline void constant(operation& o) {
  if (std::optional<any_tensor> t = o.tensor("value")) return o.give(*t);
  if (o.has_attribute("value_float"))
    return o.give(known_tensor{dtype::f32, {}, {o.real("value_float", 0)}});
  if (o.has_attribute("value_int"))
    return o.give(known_tensor{dtype::i64, {}, {o.integer("value_int", 0)}});
  const bool floats = o.has_attribute("value_floats");
  if (!floats && !o.has_attribute("value_ints")) o.fail("a constant that is no tensor of numbers");
  const std::vector<double> reals = o.reals("value_floats");
  const std::vector<std::int64_t> integers = o.integers("value_ints");
  any_tensor out(floats ? dtype::f32 : dtype::i64,
                 {static_cast<std::int64_t>(floats ? reals.size() : integers.size())});
  for (std::size_t i = 0; i < reals.size(); ++i)
    static_cast<float*>(out.data())[i] = static_cast<float>(reals[i]);
  std::copy(integers.begin(), integers.end(), static_cast<std::int64_t*>(out.data()));
  o.give(out);
}

inline void constant_of_shape(operation& o) {
  const ir::symbolic_shape shape = shape_from(o, o.numbers(0));
  const std::optional<any_tensor> given = o.tensor("value");
  value element;
  element.type = dtype::f32;
  element.known = known_tensor{dtype::f32, {}, {0.0}};
  if (given) {
    if (given->size() != 1) o.fail("a value of more than one element");
    element.type = given->type();
    element.known.reset();
    element.tensor = *given;
  }
  shape_vector extents;
  bool constant = true;
  for (const ir::dim d : shape) {
    constant = constant && d.is_constant();
    extents.push_back(d.is_constant() ? d.constant() : 0);
  }
  const known_tensor* const k = o.to().known_of(element);
  if (constant && k != nullptr && element_count(extents) <= known_limit)
    return o.give(known_tensor{
        k->type, extents,
        std::vector<number>(static_cast<std::size_t>(element_count(extents)), k->elements[0])});
  const ir::value scalar = o.to().operand_of(element, max_rank);
  o.give(ir::broadcast_to(ir::reshape(scalar, {}), shape));
}

inline void range(operation& o) {
  using arithmetic::operation;
  const known_tensor &first = o.numbers(0), &limit = o.numbers(1), &delta = o.numbers(2);
  const dtype type = o.type(0);
  for (const known_tensor* each : {&first, &limit, &delta})
    if (each->size() != 1) o.fail("a bound of more than one element");
  const number start = first.elements[0], stop = limit.elements[0], step = delta.elements[0];
  ir::dim count(0);
  if (is_real(step)) {
    const double n =
        std::ceil((std::get<double>(stop) - std::get<double>(start)) / std::get<double>(step));
    if (!(n < 0x1p40)) o.fail("more elements than can be counted");
    count = ir::dim(n > 0 ? static_cast<std::int64_t>(n) : 0);
  } else {
    if (!is_integer(step) || std::get<std::int64_t>(step) == 0)
      o.fail("a step that is 0 or unknown");
    const std::int64_t by = std::get<std::int64_t>(step);
    const auto length =
        combine(o.dims(), operation::sub, by > 0 ? stop : start, by > 0 ? start : stop);
    if (!length) o.fail("a length that is not known");
    const std::int64_t size = by > 0 ? by : -by;
    if (is_integer(*length)) {
      const std::int64_t n = std::get<std::int64_t>(*length);
      count = ir::dim(n > 0 ? (n - 1) / size + 1 : 0);
    } else {
      count = o.dims().floor_div(o.dims().add(std::get<ir::dim>(*length), ir::dim(size - 1)),
                                 ir::dim(size));
    }
  }
  const bool plain = is_integer(step) && is_integer(start) && std::get<std::int64_t>(step) == 1 &&
                     std::get<std::int64_t>(start) == 0;
  ir::value out = ir::iota(o.graph(), type, {count}, 0);
  if (!plain) out = out * o.operand(2, 1) + o.operand(0, 1);
  if (!count.is_constant() || count.constant() > known_limit) return o.give(out);
  known_tensor elements{type, {count.constant()}, {}};
  number x = start;
  for (std::int64_t i = 0; i < count.constant(); ++i) {
    const std::optional<number> held = stored_as(type, x);
    if (!held) return o.give(out);
    elements.elements.push_back(*held);
    if (is_real(x))
      x = std::get<double>(start) + static_cast<double>(i + 1) * std::get<double>(step);
    else
      x = *combine(o.dims(), operation::add, x, step);
  }
  o.give(std::move(elements), out);
}

inline void eye_like(operation& o) {
  const dtype type = o.dtype_attribute("dtype", o.type(0));
  const std::int64_t k = o.integer("k", 0);
  const ir::symbolic_shape shape = o.shape(0);
  if (shape.size() != 2)
    throw shape_error("rank " + std::to_string(shape.size()) + " where rank 2 is expected");
  const ir::value row = ir::iota(o.graph(), dtype::i64, shape, 0),
                  column = ir::iota(o.graph(), dtype::i64, shape, 1);
  const ir::value shift = o.to().scalar_of(dtype::i64, k);
  o.give(ir::cast(ir::elementwise(ir::op::equal, {row + shift, column}), type));
}

inline void trilu(operation& o) {
  const bool upper = o.integer("upper", 1) != 0;
  const ir::value x = o.in(0);
  if (x.rank() < 2) throw shape_error("a rank below 2");
  const ir::value k =
      o.has(1) ? ir::reshape(o.operand(1, 1), {}) : ir::constant(o.graph(), dtype::i64, 0);
  const ir::symbolic_shape matrix{x.extent(x.rank() - 2), x.extent(x.rank() - 1)};
  const ir::value diagonal = ir::iota(o.graph(), dtype::i64, matrix, 0) + k;
  const ir::value column = ir::iota(o.graph(), dtype::i64, matrix, 1);
  const ir::value kept = upper ? ir::elementwise(ir::op::less_equal, {diagonal, column})
                               : ir::elementwise(ir::op::less_equal, {column, diagonal});
  o.give(ir::where(kept, x, ir::constant_like(x, 0)));
}

// Space to depth and back: blocks of an image as channels.
inline void depth_to_space(operation& o) {
  const std::string mode = o.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") o.fail("mode " + in_quotes(mode) + " is not supported");
  const ir::value x = o.in(0);
  const ir::dim block(o.integer("blocksize", 0));
  if (x.rank() != 4 || block.constant() < 1) o.fail("needs rank 4 and a block size above 0");
  ir::dim_table& d = o.dims();
  const ir::dim depth = d.floor_div(x.extent(1), d.mul(block, block));
  const bool first = mode == "DCR";
  const ir::symbolic_shape apart =
      first ? ir::symbolic_shape{x.extent(0), block, block, depth, x.extent(2), x.extent(3)}
            : ir::symbolic_shape{x.extent(0), depth, block, block, x.extent(2), x.extent(3)};
  const std::int64_t dcr[] = {0, 3, 4, 1, 5, 2}, crd[] = {0, 1, 4, 2, 5, 3};
  o.give(ir::reshape(ir::permute(ir::reshape(x, apart), first ? dcr : crd),
                     {x.extent(0), depth, d.mul(x.extent(2), block), d.mul(x.extent(3), block)}));
}
inline void space_to_depth(operation& o) {
  const std::string mode = o.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") o.fail("mode " + in_quotes(mode) + " is not supported");
  const ir::value x = o.in(0);
  const ir::dim block(o.integer("blocksize", 0));
  if (x.rank() != 4 || block.constant() < 1) o.fail("needs rank 4 and a block size above 0");
  ir::dim_table& d = o.dims();
  const ir::dim rows = d.floor_div(x.extent(2), block), columns = d.floor_div(x.extent(3), block);
  const std::int64_t dcr[] = {0, 3, 5, 1, 2, 4}, crd[] = {0, 1, 3, 5, 2, 4};
  const ir::value blocks = ir::reshape(x, {x.extent(0), x.extent(1), rows, block, columns, block});
  o.give(ir::reshape(ir::permute(blocks, mode == "DCR" ? dcr : crd),
                     {x.extent(0), d.mul(x.extent(1), d.mul(block, block)), rows, columns}));
}

}  // namespace sinter::onnx::detail::movement
