// SPDX-License-Identifier: MIT
// Right-hand sides of the movement rules: two movements become one, broadcasts go outward (what is
// moved is then smaller), and what moves nothing disappears.
#pragma once

#include <optional>
#include <vector>

#include <sinter/rules/axis_groups.hpp>

namespace sinter::inline SINTER_ABI::rules::movement {

// ---- one movement after another: (outer[?p] (inner[?q] ?x))

inline std::optional<class_id> permute_permute(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const auto outer = side.attributes("?p"), inner = side.attributes("?q");
  axis_list axes;
  for (std::int64_t axis : outer) axes.push_back(inner[static_cast<std::size_t>(axis)]);
  return side.finish(ir::permute(side["?x"], axes));
}

inline std::optional<class_id> reshape_reshape(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  return side.finish_reshaped(side["?x"]);
}

inline std::optional<class_id> broadcast_broadcast(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  return side.finish_broadcast(side["?x"]);
}

inline std::optional<class_id> flip_flip(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  return side.finish(ir::flip(side["?x"], side.attribute("?p") ^ side.attribute("?q")));
}

// (flip[?p] (permute[?q] ?x)): flips go inside, so that a sequence of both is one of each.
inline std::optional<class_id> flip_permute(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const auto axes = side.attributes("?q");
  std::int64_t mask = 0;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (ir::has_axis(side.attribute("?p"), static_cast<int>(i))) mask |= std::int64_t{1} << axes[i];
  return side.finish(ir::permute(ir::flip(side["?x"], mask), axes));
}

struct slice_bounds {
  symbolic_shape start, stop;
  axis_list step;
};

inline slice_bounds bounds_of(right_side& side, std::string_view payload) {
  slice_bounds out;
  const auto dims = side.payload_dims(payload);
  for (std::size_t i = 0; i < dims.size(); i += 2) {
    out.start.push_back(dims[i]);
    out.stop.push_back(dims[i + 1]);
  }
  for (std::int64_t step : side.attributes(payload)) out.step.push_back(step);
  return out;
}

// A strided inner slice must be known in numbers: its stop is then the element behind the last one
// that is kept.
inline std::optional<class_id> slice_slice(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const slice_bounds outer = bounds_of(side, "?p"), inner = bounds_of(side, "?q");
  slice_bounds both = inner;
  ir::dim_table& dims = side.dims();
  for (std::size_t i = 0; i < outer.start.size(); ++i) {
    const dim step = dim(inner.step[i]);
    both.step[i] = inner.step[i] * outer.step[i];
    both.start[i] = dims.add(inner.start[i], dims.mul(outer.start[i], step));
    if (inner.step[i] == 1) {
      both.stop[i] = dims.add(inner.start[i], outer.stop[i]);
      continue;
    }
    if (!outer.start[i].is_constant() || !outer.stop[i].is_constant() ||
        outer.start[i].constant() >= outer.stop[i].constant())
      return std::nullopt;
    const dim last = dims.mul(dim(outer.stop[i].constant() - 1), step);
    both.stop[i] = dims.add(dims.add(inner.start[i], last), dim(1));
  }
  // One element has no distance to the next; without this, a class that is a slice of itself would
  // find ever larger steps.
  const symbolic_shape result = side.root().shape();
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!is_one(result[i])) continue;
    both.stop[i] = dims.add(both.start[i], dim(1));
    both.step[i] = 1;
  }
  return side.finish(ir::slice(side["?x"], both.start, both.stop, both.step));
}

inline std::optional<class_id> pad_pad(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  if (side.attribute("?p") != side.attribute("?q")) return std::nullopt;  // another fill value
  const auto outer = side.payload_dims("?p"), inner = side.payload_dims("?q");
  symbolic_shape before, after;
  for (std::size_t i = 0; i < outer.size(); i += 2) {
    before.push_back(side.dims().add(outer[i], inner[i]));
    after.push_back(side.dims().add(outer[i + 1], inner[i + 1]));
  }
  return side.finish(ir::pad(side["?x"], before, after, ir::double_of(side.attribute("?p"))));
}

// A slice that takes nothing of the padding: a slice of what was padded.
inline std::optional<class_id> slice_pad(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  slice_bounds bounds = bounds_of(side, "?p");
  const auto padding = side.payload_dims("?q");
  const ir::value x = side["?x"];
  ir::dim_table& dims = side.dims();
  for (std::size_t i = 0; i < bounds.start.size(); ++i) {
    const dim before = padding[2 * i], end = dims.add(before, x.extent(static_cast<int>(i)));
    const auto at_most = [](dim a, dim b) {
      return a == b || (a.is_constant() && b.is_constant() && a.constant() <= b.constant());
    };
    if (!at_most(before, bounds.start[i]) || !at_most(bounds.stop[i], end)) return std::nullopt;
    bounds.start[i] = dims.sub(bounds.start[i], before);
    bounds.stop[i] = dims.sub(bounds.stop[i], before);
  }
  return side.finish(ir::slice(x, bounds.start, bounds.stop, bounds.step));
}

// ---- what moves nothing

// Builder functions never write these; a graph that is loaded, or a rule that copies a payload,
// may.
inline bool keeps_shape(const tensor_egraph& graph, const tensor_match& m) {
  return x_fills_root(graph, m);
}

inline bool is_identity_permute(const tensor_egraph& graph, const tensor_match& m) {
  const auto& axes = graph.language().payload(m.payload("?p")).attributes;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

// The axes that are not 1 keep their order, so the elements do.
inline std::optional<class_id> permute_of_units(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  std::int64_t last = -1;
  for (std::int64_t axis : side.attributes("?p")) {
    if (is_one(x.extent(static_cast<int>(axis)))) continue;
    if (axis < last) return std::nullopt;
    last = axis;
  }
  return side.finish(ir::reshape(x, side.root().shape()));
}

// ---- broadcasts go outward

inline std::optional<class_id> permute_broadcast(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  return side.finish_broadcast(ir::permute(side["?x"], side.attributes("?p")));
}

// Along axes that are repeated every element is the same, whichever are cut out.
inline std::optional<class_id> slice_broadcast(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  slice_bounds bounds = bounds_of(side, "?p");
  const ir::value x = side["?x"];
  for (int i = 0; i < x.rank(); ++i) {
    if (!is_one(x.extent(i))) continue;
    bounds.start[i] = dim(0);
    bounds.stop[i] = dim(1);
    bounds.step[i] = 1;
  }
  return side.finish_broadcast(ir::slice(x, bounds.start, bounds.stop, bounds.step));
}

inline std::optional<class_id> flip_broadcast(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  std::int64_t axes = side.attribute("?p");
  for (int i = 0; i < x.rank(); ++i)
    if (is_one(x.extent(i))) axes &= ~(std::int64_t{1} << i);
  return side.finish_broadcast(ir::flip(x, axes));
}

// (reshape (broadcast_to ?x)) where every group of axes is repeated as a whole or not at all.
inline std::optional<class_id> reshape_broadcast(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  symbolic_shape repeated;
  for (dim d : side.payload_dims("?q")) repeated.push_back(d);
  const symbolic_shape target = side.root().shape();
  const auto groups = groups_of_reshape(side.terms(), repeated, target);
  if (!groups || x.rank() != static_cast<int>(repeated.size())) return std::nullopt;
  symbolic_shape repeated_once = symbolic_shape::filled(target.size(), dim(1));
  for (const axis_group& group : *groups) {
    int from_x = 0;
    for (int axis = group.from_first; axis < group.from_end; ++axis)
      from_x += x.extent(axis) == repeated[axis] || !is_one(x.extent(axis)) ? 1 : 0;
    if (group.units || from_x == 0) continue;
    if (from_x != group.from_count()) return std::nullopt;
    for (int axis = group.to_first; axis < group.to_end; ++axis) repeated_once[axis] = target[axis];
  }
  if (repeated_once == target) return std::nullopt;
  return side.finish_broadcast(ir::reshape(x, repeated_once));
}

// (broadcast_to (reshape ?x)): the repeated axes have a counterpart of extent 1 in ?x, where they
// are repeated instead.
inline std::optional<class_id> broadcast_reshape(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const ir::value x = side["?x"];
  const symbolic_shape target = side.root().shape(), from = x.shape();
  symbolic_shape reshaped;
  for (dim d : side.payload_dims("?q")) reshaped.push_back(d);
  if (same_but_ones(from, reshaped))
    return std::nullopt;  // adds axes to repeat along: as it should be
  const auto groups = groups_of_reshape(side.terms(), from, reshaped);
  if (!groups) return std::nullopt;
  symbolic_shape repeated = from;
  for (const axis_group& group : *groups) {
    if (!group.units) {  // may hold an axis of extent 1 in its midst
      for (int axis = group.to_first; axis < group.to_end; ++axis)
        if (!(target[axis] == reshaped[axis])) return std::nullopt;
      continue;
    }
    if (group.to_count() == 0) continue;
    const dim extent = target[group.to_first];
    if (is_one(extent)) continue;
    if (group.from_count() == 0) return std::nullopt;
    repeated[group.from_first] = extent;
  }
  return side.finish_reshaped(ir::broadcast_to(x, repeated));
}

// ---- pieces: (concat[?p] ...) of two to four parts

// The part of a concatenation that a slice reads, if it reads one part only.
template <int Parts>
std::optional<class_id> slice_concat(tensor_egraph& graph, const tensor_match& m) {
  constexpr std::string_view names[] = {"?a", "?b", "?c", "?d"};
  right_side side(graph, m);
  slice_bounds bounds = bounds_of(side, "?p");
  const int axis = static_cast<int>(side.attribute("?q"));
  ir::dim_table& dims = side.dims();
  dim first(0);
  for (int part = 0; part < Parts; ++part) {
    const ir::value x = side[names[part]];
    const dim end = dims.add(first, x.extent(axis));
    const auto at_most = [](dim a, dim b) {
      return a == b || (a.is_constant() && b.is_constant() && a.constant() <= b.constant());
    };
    if (at_most(first, bounds.start[axis]) && at_most(bounds.stop[axis], end)) {
      bounds.start[axis] = dims.sub(bounds.start[axis], first);
      bounds.stop[axis] = dims.sub(bounds.stop[axis], first);
      return side.finish(ir::slice(x, bounds.start, bounds.stop, bounds.step));
    }
    first = end;
  }
  return std::nullopt;
}

// Neighbouring slices of one tensor, put side by side again.
template <int Parts>
std::optional<class_id> concat_slices(tensor_egraph& graph, const tensor_match& m) {
  constexpr std::string_view names[] = {"?a", "?b", "?c", "?d"};
  right_side side(graph, m);
  const int axis = static_cast<int>(side.attribute("?p"));
  slice_bounds whole = bounds_of(side, names[0]);
  for (int part = 0; part < Parts; ++part) {
    const slice_bounds next = bounds_of(side, names[part]);
    for (std::size_t i = 0; i < whole.start.size(); ++i) {
      if (next.step[i] != 1) return std::nullopt;
      if (static_cast<int>(i) != axis &&
          !(next.start[i] == whole.start[i] && next.stop[i] == whole.stop[i]))
        return std::nullopt;
    }
    if (part > 0 && !(next.start[axis] == whole.stop[axis])) return std::nullopt;
    whole.stop[axis] = next.stop[axis];
  }
  return side.finish(ir::slice(side["?x"], whole.start, whole.stop, whole.step));
}

}  // namespace sinter::inline SINTER_ABI::rules::movement
