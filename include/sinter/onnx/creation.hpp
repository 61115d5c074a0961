// SPDX-License-Identifier: MIT
// Operators of ONNX that make tensors from numbers: constants, counters, triangles.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sinter/onnx/movement.hpp>

namespace sinter::inline SINTER_ABI::onnx::detail::movement {

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
    if (!is_integer(step) || std::get<std::int64_t>(step) == 0 ||
        std::get<std::int64_t>(step) == std::numeric_limits<std::int64_t>::min())
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

}  // namespace sinter::inline SINTER_ABI::onnx::detail::movement
