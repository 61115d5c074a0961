// SPDX-License-Identifier: MIT
// Reverse mode: one sweep from a value to the variables behind it. What a checkpoint encloses is
// computed again on the way.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/autodiff/rules.hpp>
#include <sinter/support/flat_vector.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace detail {

// The gradient of `x` by something it does not depend on.
constexpr value zeros_like(value x) { return broadcast_to(constant_like(x, 0), x.shape()); }
constexpr value ones_like(value x) { return broadcast_to(constant_like(x, 1), x.shape()); }

// Marks the nodes between a variable and the loss: floats that depend on a variable through
// differentiable ops. Only they get adjoints, so nothing is built that no gradient needs.
constexpr adjoint_table mark_active(graph& g, int loss, span<const int> variables, int first) {
  adjoint_table table(g, loss);
  for (int x : variables) table.activate(x);
  for (int id = first + 1; id <= loss; ++id) {
    const node& n = g[id];
    if (!is_floating(n.type) || !differentiable(n.code)) continue;
    bool depends = table.active(id);
    for (int i = 0; i < n.input_count && !depends; ++i) depends = table.active(g.input(id, i));
    if (depends) table.activate(id);
  }
  return table;
}

constexpr bool contains(span<const int> list, int id) {
  for (int each : list)
    if (each == id) return true;
  return false;
}

constexpr void sweep_down(graph& g, adjoint_table& table, span<const int> variables, int from,
                          int last);

// The sweep through a checkpoint: the nodes between its value and what that is computed from are
// written a second time, over `recompute` nodes with a number of their own, so that nothing unites
// them with the first; the sweep goes through the copies. Nodes that do not depend on the
// checkpoint's operands are not copied, nor are variables, whose adjoints the sweep goes on with:
// both stay in memory.
constexpr void sweep_again(graph& g, adjoint_table& table, span<const int> variables,
                           int checkpoint) {
  const int y = g.input(checkpoint, 0), operands = g[checkpoint].input_count;
  flat_vector<int> copy(static_cast<std::size_t>(y) + 1, -1);  // by node
  const auto copy_of = [&](int id) -> int& { return copy[static_cast<std::size_t>(id)]; };
  const int watermark = g.size();
  int first = y;
  for (int i = 1; i < operands; ++i) {
    const int x = g.input(checkpoint, i);
    // A scalar takes no memory, and an integer one may be a key.
    const bool is_number =
        g[x].code == op::constant || (g[x].shape.empty() && !is_floating(g[x].type));
    if (x > y || is_number || copy_of(x) >= 0) continue;
    const std::int64_t number[] = {watermark};
    copy_of(x) = append(g, op::recompute, span<const int>(&x, 1), number);
    if (x < first) first = x;
  }
  // What y needs, from the top; then the copies of what of it depends on an operand.
  flat_vector<bool> needed(static_cast<std::size_t>(y) + 1, false);
  needed[static_cast<std::size_t>(y)] = true;
  for (int id = y; id > first; --id) {
    if (!needed[static_cast<std::size_t>(id)] || copy_of(id) >= 0) continue;
    for (int i = 0; i < g[id].input_count; ++i)
      needed[static_cast<std::size_t>(g.input(id, i))] = true;
  }
  flat_vector<int> in;
  for (int id = first + 1; id <= y; ++id) {
    if (!needed[static_cast<std::size_t>(id)] || copy_of(id) >= 0 || contains(variables, id))
      continue;
    bool depends = false;
    in.truncate(0);
    for (int i : g.inputs(id)) {
      depends = depends || copy_of(i) >= 0;
      in.push_back(copy_of(i) >= 0 ? copy_of(i) : i);
    }
    if (!depends) continue;
    const node n = g[id];
    const inline_vector<std::int64_t, 2 * max_rank> attributes(g.attributes(id).begin(),
                                                               g.attributes(id).end());
    const inline_vector<dim, 2 * max_rank> dims(g.node_dims(id).begin(), g.node_dims(id).end());
    copy_of(id) = g.intern(n.code, n.type, n.shape, {in.data(), in.size()}, attributes, dims);
  }
  const int top = g.size() - 1, again = copy_of(y) >= 0 ? copy_of(y) : y;
  table.cover(g.size());
  for (int id = first; id <= y; ++id)
    if (copy_of(id) >= 0 && table.active(id)) table.activate(copy_of(id));
  if (!table.active(again)) return;
  table.add(again, {&g, table.adjoint(checkpoint)});
  sweep_down(g, table, variables, top, watermark);
}

// Users of a node stand behind it, so its adjoint is complete when the sweep arrives.
constexpr void sweep_down(graph& g, adjoint_table& table, span<const int> variables, int from,
                          int last) {
  for (int id = from; id >= last; --id) {
    if (table.adjoint(id) < 0) continue;
    bool wanted = false;
    for (int i = 0; i < g[id].input_count && !wanted; ++i) wanted = table.active(g.input(id, i));
    if (!wanted) continue;
    if (g[id].code == op::checkpoint)
      sweep_again(g, table, variables, id);
    else
      apply_gradient_rule({&table, {&g, id}, {&g, table.adjoint(id)}});
  }
}

// The derivatives of node `y`, contracted with `cotangent` (ones if below 0), by `variables` (nodes
// that are not behind it), one sweep for all of them.
constexpr flat_vector<int> sweep(graph& g, int y, int cotangent, span<const int> variables) {
  int first = y;
  for (int x : variables) first = x < first ? x : first;
  adjoint_table table = mark_active(g, y, variables, first);
  if (table.active(y)) table.add(y, cotangent < 0 ? ones_like({&g, y}) : value{&g, cotangent});
  sweep_down(g, table, variables, y, first + 1);

  flat_vector<int> gradients;
  for (int x : variables)
    gradients.push_back(table.adjoint(x) < 0 ? zeros_like({&g, x}).id : table.adjoint(x));
  return gradients;
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI::ir
