// SPDX-License-Identifier: MIT
// Right-hand sides of the movement rules, continued: concatenations and padding, and slices and
// permutes that go below other movements, toward what is in memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/rules/movement_sides.hpp>

namespace sinter::inline SINTER_ABI::rules::movement {

inline constexpr std::string_view part_names[] = {"?a", "?b", "?c", "?d"};

// ---- concatenations

// (concat[?p] ... (concat[?p] ...) ...): one concatenation of all parts, four at most.
template <int Parts>
std::optional<class_id> concat_concat(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  std::array<ir::value, std::size_t{Parts}> parts;
  for (std::size_t i = 0; i < Parts; ++i) parts[i] = side[part_names[i]];
  return side.finish(ir::concat(parts, static_cast<int>(side.attribute("?p"))));
}

// (concat[?p] ?x ?c) with a constant ?c: padding with that constant. Behind or before ?x.
template <bool Behind>
std::optional<class_id> concat_constant(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"], c = side["?c"];
  const facts known = side.data("?c");
  if (!known.is_constant || side.data("?x").is_constant || !is_floating(x.type()))
    return std::nullopt;
  const int axis = static_cast<int>(side.attribute("?p"));
  symbolic_shape before = symbolic_shape::filled(static_cast<std::size_t>(x.rank()), dim(0));
  symbolic_shape after = before;
  (Behind ? after : before)[axis] = c.extent(axis);
  return side.finish(ir::pad(x, before, after, known.constant));
}

// (concat[?p] (op ?a) (op ?b)...): the op of the concatenation, in one pass.
template <op Code, int Parts>
std::optional<class_id> concat_of_unary(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  std::array<ir::value, std::size_t{Parts}> parts;
  for (std::size_t i = 0; i < Parts; ++i) parts[i] = side[part_names[i]];
  const ir::value whole = ir::concat(parts, static_cast<int>(side.attribute("?p")));
  return side.finish(ir::unary(Code, whole));
}
// (op (concat[?p] ?a ?b...)): the op of each part, where it is put.
template <op Code, int Parts>
std::optional<class_id> unary_of_concat(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  std::array<ir::value, std::size_t{Parts}> parts;
  for (std::size_t i = 0; i < Parts; ++i) parts[i] = ir::unary(Code, side[part_names[i]]);
  return side.finish(ir::concat(parts, static_cast<int>(side.attribute("?p"))));
}

// (permute[?p] (concat[?q] ?a ?b...)), and flip, which also turns the order of the parts round.
template <int Parts>
std::optional<class_id> permute_concat(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const auto axes = side.attributes("?p");
  std::array<ir::value, std::size_t{Parts}> parts;
  for (std::size_t i = 0; i < Parts; ++i) parts[i] = ir::permute(side[part_names[i]], axes);
  int axis = 0;
  while (axes[static_cast<std::size_t>(axis)] != side.attribute("?q")) ++axis;
  return side.finish(ir::concat(parts, axis));
}
template <int Parts>
std::optional<class_id> flip_concat(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const std::int64_t mask = side.attribute("?p");
  const int axis = static_cast<int>(side.attribute("?q"));
  std::array<ir::value, std::size_t{Parts}> parts;
  for (std::size_t i = 0; i < Parts; ++i) {
    const std::size_t from = ir::has_axis(mask, axis) ? Parts - 1 - i : i;
    parts[i] = ir::flip(side[part_names[from]], mask);
  }
  return side.finish(ir::concat(parts, axis));
}

// ---- padding

inline bool pads_nothing(const tensor_egraph& graph, const tensor_match& m) {
  for (dim d : graph.language().payload(m.payload("?p")).dims)
    if (!(d == dim(0))) return false;
  return root_varies(graph, m);
}

struct padding {
  symbolic_shape before, after;
  double fill = 0;
};
inline padding padding_of(right_side& side, std::string_view payload) {
  padding out;
  const auto dims = side.payload_dims(payload);
  for (std::size_t i = 0; i < dims.size(); i += 2) {
    out.before.push_back(dims[i]);
    out.after.push_back(dims[i + 1]);
  }
  out.fill = ir::double_of(side.attribute(payload));
  return out;
}

// (permute[?p] (pad[?q] ?x))
inline std::optional<class_id> permute_pad(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const auto axes = side.attributes("?p");
  const padding inner = padding_of(side, "?q");
  symbolic_shape before, after;
  for (std::int64_t axis : axes) {
    before.push_back(inner.before[static_cast<std::size_t>(axis)]);
    after.push_back(inner.after[static_cast<std::size_t>(axis)]);
  }
  return side.finish(ir::pad(ir::permute(side["?x"], axes), before, after, inner.fill));
}

// (flip[?p] (pad[?q] ?x))
inline std::optional<class_id> flip_pad(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const std::int64_t mask = side.attribute("?p");
  padding inner = padding_of(side, "?q");
  for (std::size_t i = 0; i < inner.before.size(); ++i)
    if (ir::has_axis(mask, static_cast<int>(i))) std::swap(inner.before[i], inner.after[i]);
  return side.finish(ir::pad(ir::flip(side["?x"], mask), inner.before, inner.after, inner.fill));
}

// (op (pad[?q] ?x)): the op on what is padded, and what it makes of the fill value.
template <op Code>
std::optional<class_id> unary_of_pad(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  const padding inner = padding_of(side, "?q");
  const int filled = ir::unary(Code, ir::constant_like(x, inner.fill)).id;
  double fill = 0;
  const double operand[] = {inner.fill};
  if (!is_floating(x.type()) || !fold(side.terms(), filled, operand, fill)) return std::nullopt;
  return side.finish(ir::pad(ir::unary(Code, x), inner.before, inner.after, fill));
}

// ---- slices below other movements

// (slice[?p] (permute[?q] ?x))
inline std::optional<class_id> slice_permute(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const slice_bounds outer = bounds_of(side, "?p");
  const auto axes = side.attributes("?q");
  slice_bounds inner = outer;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t source = static_cast<std::size_t>(axes[i]);
    inner.start[source] = outer.start[i];
    inner.stop[source] = outer.stop[i];
    inner.step[source] = outer.step[i];
  }
  return side.finish(ir::permute(ir::slice(side["?x"], inner.start, inner.stop, inner.step), axes));
}

// (slice[?p] (flip[?q] ?x)): element i of a flipped axis is element n - 1 - i. Without strides.
inline std::optional<class_id> slice_flip(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  slice_bounds bounds = bounds_of(side, "?p");
  const std::int64_t mask = side.attribute("?q");
  const ir::value x = side["?x"];
  for (int i = 0; i < x.rank(); ++i) {
    if (!ir::has_axis(mask, i)) continue;
    if (bounds.step[i] != 1) return std::nullopt;
    const dim start = bounds.start[i];
    bounds.start[i] = side.dims().sub(x.extent(i), bounds.stop[i]);
    bounds.stop[i] = side.dims().sub(x.extent(i), start);
  }
  return side.finish(ir::flip(ir::slice(x, bounds.start, bounds.stop, bounds.step), mask));
}

// (slice[?p] (reshape[?q] ?x)) where every axis that is cut stands for one axis of ?x.
inline std::optional<class_id> slice_reshape(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const slice_bounds outer = bounds_of(side, "?p");
  const ir::value x = side["?x"];
  symbolic_shape reshaped;
  for (dim d : side.payload_dims("?q")) reshaped.push_back(d);
  const auto groups = groups_of_reshape(side.terms(), x.shape(), reshaped);
  if (!groups) return std::nullopt;
  slice_bounds inner;
  inner.start = symbolic_shape::filled(static_cast<std::size_t>(x.rank()), dim(0));
  inner.stop = x.shape();
  inner.step = axis_list::filled(static_cast<std::size_t>(x.rank()), 1);
  for (const axis_group& group : *groups) {
    for (int axis = group.to_first; axis < group.to_end; ++axis) {
      const bool whole = outer.start[axis] == dim(0) && outer.stop[axis] == reshaped[axis] &&
                         outer.step[axis] == 1;
      if (whole) continue;
      if (group.units || group.from_count() != 1 || group.to_count() != 1) return std::nullopt;
      inner.start[group.from_first] = outer.start[axis];
      inner.stop[group.from_first] = outer.stop[axis];
      inner.step[group.from_first] = outer.step[axis];
    }
  }
  return side.finish_reshaped(ir::slice(x, inner.start, inner.stop, inner.step));
}

// (flip[?p] ?x): axes of extent 1 need no flipping.
inline std::optional<class_id> flip_units(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  std::int64_t mask = side.attribute("?p");
  for (int i = 0; i < x.rank(); ++i)
    if (is_one(x.extent(i))) mask &= ~(std::int64_t{1} << i);
  if (mask == side.attribute("?p")) return std::nullopt;
  return side.finish(ir::flip(x, mask));
}

}  // namespace sinter::inline SINTER_ABI::rules::movement
