// SPDX-License-Identifier: MIT
// How a nest reads a value that is a rearrangement of another: permutes, broadcasts, slices, flips,
// windows and reshapes that only add or drop axes of extent 1 become index maps on the load, down
// to a value that is stored. So does `recompute`, which moves nothing.
#pragma once

#include <vector>

#include <sinter/graph/unit_axes.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/values.hpp>

namespace sinter::planning {

struct resolved_view {
  int base = -1;  // the value that is stored
  std::vector<view_step> steps;
};

inline bool is_view(const value_graph& g, const value_class& v, const form& f) {
  switch (f.code) {
    case ir::op::permute:
    case ir::op::broadcast_to:
    case ir::op::slice:
    case ir::op::flip:
    case ir::op::windows:
    case ir::op::recompute: return f.fused < 0;
    case ir::op::reshape: return f.fused < 0 && ir::same_but_ones(v.shape, g[f.operands[0]].shape);
    default: return false;
  }
}

// The movement that makes the value, if it is read through one: arguments and constants are not.
inline const form* view_of(const value_graph& g, int value) {
  const value_class& v = g[value];
  if (v.find(ir::op::argument) != nullptr || v.is_constant) return nullptr;
  for (const form& f : v.forms)
    if (is_view(g, v, f)) return &f;
  return nullptr;
}

inline view_step view_step_of(const value_graph& g, const value_class& v, const form& f) {
  view_step s;
  s.code = f.code;
  for (std::int64_t a : g.payload(f).attributes) s.attributes.push_back(a);
  for (ir::dim d : g.payload(f).dims) s.dims.push_back(d);
  s.result = v.shape;
  s.operand = g[f.operands[0]].shape;
  return s;
}

// Do neighbours along the last axis of the result lie apart, or in the other direction?
inline bool scatters_last_axis(const view_step& s) {
  const std::size_t last = s.result.size() - 1;
  const bool moves_last =
      s.code == ir::op::permute && s.attributes[last] != static_cast<std::int64_t>(last);
  return moves_last || s.code == ir::op::flip;
}

// Follows the movements below a value down to what is stored: an argument, a constant, or a value
// that no movement makes.
inline resolved_view resolve(const value_graph& g, int value) {
  resolved_view out{value, {}};
  while (const form* step = view_of(g, out.base)) {
    out.steps.push_back(view_step_of(g, g[out.base], *step));
    out.base = step->operands[0];
  }
  return out;
}

}  // namespace sinter::planning
