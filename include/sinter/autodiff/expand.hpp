// SPDX-License-Identifier: MIT
// Differentiation, graph to graph: every derivative node (gradient, vjp, jvp) becomes ordinary
// nodes. It runs in constant evaluation for traced functions and at run time for graphs that are
// built there.
#pragma once

#include <cstddef>
#include <span>

#include <sinter/autodiff/forward.hpp>
#include <sinter/autodiff/reverse.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace detail {

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

// Writes a graph again, node by node in order. What comes before the first node that is replaced
// stays where it is.
class graph_copy {
 public:
  constexpr graph_copy(const graph& from, int first)
      : from_(&from), out_(from), moved_(static_cast<std::size_t>(from.size()), -1) {
    out_.truncate(first);
    out_.outputs.clear();
    out_.outputs.reserve(from.outputs.size());
    for (int id = 0; id < first; ++id) target(id) = id;
  }

  constexpr graph& out() { return out_; }
  /// Where a node is in the new graph; below 0: not there yet.
  constexpr int& target(int id) { return moved_[static_cast<std::size_t>(id)]; }

  constexpr void copy(int id) {
    in_.truncate(0);
    for (int i = 0; i < (*from_)[id].input_count; ++i) in_.push_back(target(from_->input(id, i)));
    const node& n = (*from_)[id];
    target(id) =
        out_.intern(n.code, n.type, n.shape, in_, from_->attributes(id), from_->node_dims(id));
  }

  constexpr graph take() {
    for (const output& o : from_->outputs)
      out_.outputs.push_back({target(o.node), o.assigned_argument});
    return static_cast<graph&&>(out_);
  }

 private:
  const graph* from_;
  graph out_;
  flat_vector<int> moved_;
  flat_vector<int> in_;
};

// Answers one derivative node; where a sweep gives the derivatives by all variables that have been
// copied by now, all of them.
constexpr void expand_derivative(const graph& traced, graph_copy& copy,
                                 const flat_vector<int>& requests, int request) {
  graph& g = copy.out();
  const op code = traced[request].code;
  if (code == op::jvp) {
    flat_vector<int> pairs;
    for (int i = 1; i < traced[request].input_count; ++i)
      pairs.push_back(copy.target(traced.input(request, i)));
    copy.target(request) = forward::tangent(g, copy.target(traced.input(request, 0)), pairs);
    return;
  }
  const int y = copy.target(traced.input(request, 0)),
            own_variable = copy.target(traced.input(request, 1)),
            cotangent = code == op::vjp ? copy.target(traced.input(request, 2)) : -1;
  if (code == op::gradient) {
    const fault problem = check_gradient(g, y, own_variable);
    if (problem.kind != fault_kind::none) {
      const int operands[] = {y, own_variable};
      g.fail(problem, operands);
      copy.target(request) = own_variable;
      return;
    }
  }
  if (own_variable > y) {  // nothing depends on what comes later
    copy.target(request) = zeros_like({&g, own_variable}).id;
    return;
  }
  flat_vector<int> answered, variables;
  for (int other : requests) {
    if (traced[other].code != code || copy.target(other) >= 0) continue;
    const int x = copy.target(traced.input(other, 1));
    if (copy.target(traced.input(other, 0)) != y || x < 0 || x > y || !is_floating(g[x].type))
      continue;
    if (code == op::vjp && copy.target(traced.input(other, 2)) != cotangent) continue;
    answered.push_back(other);
    variables.push_back(x);
  }
  const flat_vector<int> gradients = sweep(g, y, cotangent, variables);
  for (std::size_t i = 0, n = answered.size(); i < n; ++i) copy.target(answered[i]) = gradients[i];
}

// Checkpoints have done what they are there for once all derivatives are written out.
constexpr graph without_checkpoints(const graph& g) {
  int first = 0;
  while (first < g.size() && g[first].code != op::checkpoint) ++first;
  if (first == g.size()) return g;
  graph_copy copy(g, first);
  for (int id = first; id < g.size(); ++id)
    if (g[id].code == op::checkpoint)
      copy.target(id) = copy.target(g.input(id, 0));
    else
      copy.copy(id);
  return copy.take();
}

}  // namespace detail

/// The same graph with every derivative written out in ordinary nodes: outputs, symbols, guards and
/// random streams stay what they are. gradient(loss, x) and vjp(y, x, cotangent) have the dtype and
/// shape of x, jvp(y, x, tangent...) those of y. Derivatives of one value (and cotangent) share one
/// sweep; derivatives of derivatives need nothing special, because an inner one is ordinary nodes
/// by the time an outer one is met. Where an operation has no derivative the usual subgradient
/// stands: 0 for abs, relu and steps at their corners, equal shares for elements that tie for a
/// maximum or minimum. x that the value does not depend on gets zeros. What lies between a
/// checkpoint and its operands is written a second time for each sweep through it; the checkpoint
/// itself is gone afterwards.
///
/// The loss of a gradient must be a floating scalar, or a tensor all of whose extents are known to
/// be one; x must be floating. Otherwise the fault (wrong_rank or wrong_dtype) is recorded in
/// constant evaluation and thrown as shape_error or dtype_error at run time. A graph that holds a
/// fault already is returned as it is.
constexpr graph expand_gradients(const graph& traced) {
  if (traced.failed()) return traced;
  flat_vector<int> requests;
  bool has_checkpoints = false;
  for (int id = 0; id < traced.size(); ++id) {
    if (is_derivative(traced[id].code)) requests.push_back(id);
    has_checkpoints = has_checkpoints || traced[id].code == op::checkpoint;
  }
  // Statements, not conditional expressions: of those GCC 12 destroys a copy too many in constant
  // evaluation.
  if (requests.empty()) {
    if (has_checkpoints) return detail::without_checkpoints(traced);
    return traced;
  }

  detail::graph_copy copy(traced, requests[0]);
  for (int id = requests[0]; id < traced.size(); ++id) {
    if (!is_derivative(traced[id].code))
      copy.copy(id);
    else if (copy.target(id) < 0)
      detail::expand_derivative(traced, copy, requests, id);
  }
  graph out = copy.take();
  if (has_checkpoints) return detail::without_checkpoints(out);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::ir
