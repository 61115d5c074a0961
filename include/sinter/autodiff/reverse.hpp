// SPDX-License-Identifier: MIT
// Reverse-mode differentiation, graph to graph: every node gradient(loss, x) becomes ordinary
// nodes. It runs in constant evaluation for traced functions and at run time for graphs that are
// built there.
#pragma once

#include <cstddef>
#include <span>

#include <sinter/autodiff/rules.hpp>
#include <sinter/support/flat_vector.hpp>

namespace sinter::ir {

namespace detail {

// The gradient of `x` by something it does not depend on.
constexpr value zeros_like(value x) { return broadcast_to(constant_like(x, 0), x.shape()); }
constexpr value ones_like(value x) { return broadcast_to(constant_like(x, 1), x.shape()); }

// Marks the nodes between a variable and the loss: floats that depend on a variable through
// differentiable ops. Only they get adjoints, so nothing is built that no gradient needs.
constexpr adjoint_table mark_active(graph& g, int loss, std::span<const int> variables, int first) {
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

// The derivatives of the scalar node `loss` by `variables` (nodes that are not behind it), one
// sweep for all of them.
constexpr flat_vector<int> sweep(graph& g, int loss, std::span<const int> variables) {
  int first = loss;
  for (int x : variables) first = x < first ? x : first;
  adjoint_table table = mark_active(g, loss, variables, first);
  if (table.active(loss)) table.add(loss, ones_like({&g, loss}));

  // Users of a node stand behind it, so its adjoint is complete when the sweep arrives.
  for (int id = loss; id > first; --id) {
    if (table.adjoint(id) < 0) continue;
    bool wanted = false;
    for (int i = 0; i < g[id].input_count && !wanted; ++i) wanted = table.active(g.input(id, i));
    if (wanted) apply_gradient_rule({table, {&g, id}, {&g, table.adjoint(id)}});
  }

  flat_vector<int> gradients;
  for (int x : variables)
    gradients.push_back(table.adjoint(x) < 0 ? zeros_like({&g, x}).id : table.adjoint(x));
  return gradients;
}

// Faults of gradient(loss, x): the loss is a floating scalar (all extents one), x is floating.
constexpr fault check_gradient(graph& g, int loss, int x) {
  for (int id : {loss, x})
    if (!is_floating(g[id].type))
      return {fault_kind::wrong_dtype, op::gradient, static_cast<std::int64_t>(g[id].type), 0};
  const symbolic_shape shape = g[loss].shape;
  for (dim d : shape)
    if (g.is_one(d) != truth::yes)
      return {fault_kind::wrong_rank, op::gradient, static_cast<std::int64_t>(shape.size()), 0};
  return {};
}

}  // namespace detail

/// The same graph with every gradient(loss, x) written out in ordinary nodes: outputs, symbols,
/// guards and random streams stay what they are, and a gradient has the dtype and shape of its x.
/// Gradients of one loss share one sweep; gradients of gradients need nothing special, because an
/// inner one is ordinary nodes by the time an outer one is met. Where an operation has no
/// derivative the usual subgradient stands: 0 for abs, relu and steps at their corners, equal
/// shares for elements that tie for a maximum or minimum. x that the loss does not depend on gets
/// zeros.
///
/// The loss must be a floating scalar, or a tensor all of whose extents are known to be one; x must
/// be floating. Otherwise the fault (wrong_rank or wrong_dtype) is recorded in constant evaluation
/// and thrown as shape_error or dtype_error at run time. A graph that holds a fault already is
/// returned as it is.
constexpr graph expand_gradients(const graph& traced) {
  flat_vector<int> requests;
  for (int id = 0; id < traced.size(); ++id)
    if (traced[id].code == op::gradient) requests.push_back(id);
  if (requests.empty() || traced.failed()) return traced;

  // What comes before the first gradient stays; the rest is added again, with gradients replaced.
  graph g = traced;
  g.truncate(requests[0]);
  g.outputs.clear();
  g.outputs.reserve(traced.outputs.size());
  flat_vector<int> moved(static_cast<std::size_t>(traced.size()),
                         -1);  // where a traced node is in the new graph
  for (int id = 0; id < requests[0]; ++id) moved[static_cast<std::size_t>(id)] = id;
  const auto target = [&](int id) -> int& { return moved[static_cast<std::size_t>(id)]; };

  // Answers a request and all others for the same loss whose variable has been copied by now.
  const auto expand = [&](int request) {
    const int loss = target(traced.input(request, 0)),
              own_variable = target(traced.input(request, 1));
    const fault problem = detail::check_gradient(g, loss, own_variable);
    if (problem.kind != fault_kind::none) {
      const int operands[] = {loss, own_variable};
      g.fail(problem, operands);
      target(request) = own_variable;
      return;
    }
    if (own_variable > loss) {  // nothing depends on what comes later
      target(request) = detail::zeros_like({&g, own_variable}).id;
      return;
    }
    flat_vector<int> answered, variables;
    for (int other : requests) {
      const int x = target(traced.input(other, 1));
      if (target(traced.input(other, 0)) != loss || x < 0 || x > loss || !is_floating(g[x].type))
        continue;
      answered.push_back(other);
      variables.push_back(x);
    }
    const flat_vector<int> gradients = detail::sweep(g, loss, variables);
    for (std::size_t i = 0, n = answered.size(); i < n; ++i) target(answered[i]) = gradients[i];
  };

  flat_vector<int> in;
  for (int id = requests[0]; id < traced.size(); ++id) {
    if (traced[id].code == op::gradient) {
      if (target(id) < 0) expand(id);
      continue;
    }
    in.truncate(0);
    for (int i = 0; i < traced[id].input_count; ++i) in.push_back(target(traced.input(id, i)));
    target(id) = g.intern(traced[id].code, traced[id].type, traced[id].shape, in,
                          traced.attributes(id), traced.node_dims(id));
  }
  for (const output& o : traced.outputs) g.outputs.push_back({target(o.node), o.assigned_argument});
  return g;
}

}  // namespace sinter::ir
