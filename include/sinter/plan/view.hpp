// SPDX-License-Identifier: MIT
// How a nest reads a value that is a rearrangement of another: permutes, broadcasts, slices, flips,
// windows and reshapes that only add or drop axes of extent 1 become index maps on the load, down
// to a value that is stored. So does `recompute`, which moves nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <sinter/graph/unit_axes.hpp>
#include <sinter/plan/machine.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/values.hpp>

namespace sinter::inline SINTER_ABI::planning {

struct resolved_view {
  int base = -1;  // the value that is stored
  std::vector<view_step> steps;
  std::vector<eqsat::node_id> nodes;  // by step: the e-node that it was made of
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
  if (v.find(ir::op::argument) != nullptr || v.is_constant || v.is_choice()) return nullptr;
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
inline bool moves_last_axis(const view_step& s) {
  const std::size_t last = s.result.size() - 1;
  return s.code == ir::op::permute && s.attributes[last] != static_cast<std::int64_t>(last);
}
inline bool scatters_last_axis(const view_step& s) {
  return moves_last_axis(s) || s.code == ir::op::flip;
}

// Nanoseconds per element for bringing what is read through a step into the order of the result's
// last axis: in square tiles, or reversed in registers.
inline double ordering_work(const view_step& s, const machine& m) {
  if (moves_last_axis(s)) return m.transposed_element;
  return s.code == ir::op::flip ? m.tile_operand : 0;
}

// Follows the movements below a value down to what is stored: an argument, a constant, a value that
// no movement makes, or one that chooses how another is read. `copies`: the value itself is to be
// stored, from the view that it is.
inline resolved_view resolve(const value_graph& g, int value, bool copies = false) {
  resolved_view out{value, {}, {}};
  for (;;) {
    const value_class& v = g[out.base];
    const bool is_read = v.reader >= 0 && !(copies && out.base == value);
    if (is_read || v.views >= 0) {
      out.base = is_read ? v.reader : v.views;
      return out;
    }
    const form* const step = view_of(g, out.base);
    if (step == nullptr) return out;
    out.steps.push_back(view_step_of(g, v, *step));
    out.nodes.push_back(step->node);
    out.base = step->operands[0];
  }
}

// A way to read what a choice stands for.
inline resolved_view resolve_way(const value_graph& g, const value_class& choice, const form& way) {
  const int operand = way.operands[0];
  if (operand == choice.stands_for) return {operand, {}, {}};
  resolved_view out = resolve(g, operand);
  out.steps.insert(out.steps.begin(), view_step_of(g, choice, way));
  out.nodes.insert(out.nodes.begin(), way.node);
  return out;
}

// Does the form join axes of windows into the rows and columns of a matrix, a batch axis being one
// axis of the windows?
inline bool joins_windows(const value_graph& g, const value_class& v, const form& f) {
  if (f.fused >= 0 || f.code != ir::op::reshape) return false;
  const ir::symbolic_shape& from = g[f.operands[0]].shape;
  const auto is_windows = [](const view_step& s) { return s.code == ir::op::windows; };
  if (ir::same_but_ones(v.shape, from) ||
      std::ranges::none_of(resolve(g, f.operands[0]).steps, is_windows))
    return false;
  // Extents of the view that are left once those of the result have taken theirs.
  ir::dim_table dims = g.terms().dims;
  std::size_t next = 0;
  for (std::size_t axis = 0; axis < v.shape.size(); ++axis) {
    ir::dim joined(1);
    int count = 0;
    while (next < from.size() && (!(joined == v.shape[axis]) || from[next] == ir::dim(1))) {
      joined = dims.mul(joined, from[next]);
      count += from[next++] == ir::dim(1) ? 0 : 1;
    }
    if (!(joined == v.shape[axis]) || (axis + 2 < v.shape.size() && count > 1)) return false;
  }
  return next == from.size();
}

// The form of a product's operand that joins axes of a view into its rows and columns: what the
// product can gather as it packs it. Of windows alone, which are many times their image; a copy of
// other views is no larger than they are. nullptr where there is none.
inline const form* joined_view(const value_graph& g, int value) {
  const value_class& v = g[value];
  if (v.is_constant || v.find(ir::op::argument) != nullptr) return nullptr;
  for (const form& f : v.forms)
    if (joins_windows(g, v, f)) return &f;
  return nullptr;
}

}  // namespace sinter::inline SINTER_ABI::planning
