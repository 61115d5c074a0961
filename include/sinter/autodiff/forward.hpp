// SPDX-License-Identifier: MIT
// Forward mode: tangents of the nodes between variables and a value, in one pass upwards. Every op
// has a rule of its own. (The transpose of the transpose, which needs reverse rules alone, would
// write 22 nodes for the tangent of a strided `windows` instead of one, and rules do not find
// back.)
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/autodiff/rules.hpp>
#include <sinter/support/flat_vector.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace forward {

/// One node during the pass: `tangents` has a node per operand, or -1 where it has none.
struct pushforward {
  value result;
  span<const int> tangents;

  constexpr graph& owner() const { return *result.owner; }
  constexpr value operand(int i) const { return {result.owner, result.owner->input(result.id, i)}; }
  constexpr bool has(int i) const { return tangents[static_cast<std::size_t>(i)] >= 0; }
  constexpr value tangent(int i) const {
    return {result.owner, tangents[static_cast<std::size_t>(i)]};
  }
  constexpr std::int64_t attribute(int i) const {
    return owner().attributes(result.id)[static_cast<std::size_t>(i)];
  }
  // For functions that reverse mode has, too: they read operands and result.
  constexpr pullback reversed() const { return {nullptr, result, result}; }
};

// The reverse rule of each operand with its tangent, which is the right thing where the matrix of
// derivatives is symmetric: element-wise ops, whose matrix is diagonal, softmax and the norms.
constexpr value symmetric(const pushforward& p) {
  value sum;
  for (int i = 0; i < p.result.get().input_count; ++i) {
    if (!p.has(i)) continue;
    value part;
    apply_gradient_rule({nullptr, p.result, p.tangent(i), i, &part});
    if (part.owner == nullptr) continue;
    sum = sum.owner == nullptr ? part : sum + part;
  }
  return sum;
}

// The op itself, applied to `in`: for what is linear in them.
constexpr value same_op(const pushforward& p, span<const int> in) {
  graph& g = p.owner();
  const auto own = g.attributes(p.result.id);
  const auto own_dims = g.node_dims(p.result.id);
  const inline_vector<std::int64_t, 2 * max_rank> attributes(own.begin(), own.end());
  const inline_vector<dim, 2 * max_rank> dims(own_dims.begin(), own_dims.end());
  return {&g, append(g, p.result.get().code, in, attributes, dims)};
}
constexpr value same_op_of_first(const pushforward& p) {
  const int others = p.result.get().input_count;
  const int in[] = {p.tangents[0], others > 1 ? p.operand(1).id : 0};
  return same_op(p, {in, static_cast<std::size_t>(others)});
}

constexpr value pad(const pushforward& p) {
  const auto dims = p.owner().node_dims(p.result.id);
  return ir::pad(p.tangent(0), backward::every_second_dim(dims, 0),
                 backward::every_second_dim(dims, 1));
}

constexpr value concat(const pushforward& p) {
  flat_vector<int> parts;
  for (int i = 0; i < p.result.get().input_count; ++i)
    parts.push_back(p.has(i)
                        ? p.tangent(i).id
                        : broadcast_to(constant_like(p.operand(i), 0), p.operand(i).shape()).id);
  return same_op(p, {parts.data(), parts.size()});
}

constexpr value matmul(const pushforward& p) {
  const auto product = [&](value a, value b) {
    const int in[] = {a.id, b.id};
    return same_op(p, in);
  };
  if (!p.has(1)) return product(p.tangent(0), p.operand(1));
  const value by_right = product(p.operand(0), p.tangent(1));
  return p.has(0) ? product(p.tangent(0), p.operand(1)) + by_right : by_right;
}

// Elements that tie share equally.
constexpr value reduce_extremum(const pushforward& p) {
  const value x = p.operand(0);
  const value chosen = elementwise(op::equal, {x, p.result});
  const value total = sum(ir::where(chosen, p.tangent(0), constant_like(x, 0)), p.attribute(0));
  return total / sum(ir::cast(chosen, x.type()), p.attribute(0));
}

constexpr value reduce_prod(const pushforward& p) {
  const backward::product_slope s = backward::slope_of_product(p.reversed());
  return sum((p.tangent(0) * (s.product / s.filled)) * s.from_zeros, p.attribute(0));
}

constexpr value first_max(const pushforward& p) {
  if (const int axis = backward::axis_of_few(p.reversed()); axis >= 0) {
    const std::int64_t last = p.operand(0).extent(axis).constant() - 1;
    value out = ir::element_along(p.tangent(0), axis, last);
    for (std::int64_t j = last; j-- > 0;) {
      const value chosen =
          backward::is_largest(p.reversed(), ir::element_along(p.operand(0), axis, j));
      out = ir::where(chosen, ir::element_along(p.tangent(0), axis, j), out);
    }
    return out;
  }
  const value chosen = backward::first_of_largest(p.reversed());
  return sum(ir::where(chosen, p.tangent(0), constant_like(p.result, 0)), p.attribute(0));
}

// t - sum(softmax(x) t)
constexpr value log_softmax(const pushforward& p) {
  const value t = p.tangent(0);
  return t - sum(unary(op::exp, p.result) * t, p.attribute(0));
}

constexpr value cross_entropy(const pushforward& p) {
  const int last = p.operand(0).rank() - 1;
  return sum(backward::cross_entropy_slope(p.reversed()) * p.tangent(0), std::int64_t{1} << last,
             false);
}

// An element-wise custom op has a gradient, which will do; an opaque one needs a rule of its own.
constexpr value custom(const pushforward& p) {
  graph& g = p.owner();
  const custom_op& own = g.custom(g.attributes(p.result.id));
  if (!own.has_tangent) {
    if (own.elementwise) return symmetric(p);
    fail_custom(g, p.result.id, fault_kind::no_tangent);
    return {};
  }
  return {&g, own.tangent(g, p.result.id, p.tangents)};
}

// The tangent of one node; at least one operand has one. The node has a gradient rule.
constexpr value tangent_of(const pushforward& p) {
  const op code = p.result.get().code;
  switch (code) {
    case op::cast: return ir::cast(p.tangent(0), p.result.type());
    case op::reshape:
    case op::permute:
    case op::broadcast_to:
    case op::slice:
    case op::flip:
    case op::windows:
    case op::sum_windows:
    case op::reduce_sum:
    case op::gather:
    case op::scatter_add:
    case op::cumsum:
    case op::rope: return same_op_of_first(p);
    case op::sum_to: return ir::sum_to(p.tangent(0), p.result.shape());
    case op::pad: return pad(p);
    case op::concat: return concat(p);
    case op::recompute:
    case op::checkpoint: return p.has(0) ? p.tangent(0) : value{};
    case op::matmul: return matmul(p);
    case op::reduce_max:
    case op::reduce_min: return reduce_extremum(p);
    case op::reduce_prod: return reduce_prod(p);
    case op::first_max: return first_max(p);
    case op::log_softmax: return log_softmax(p);
    case op::cross_entropy: return cross_entropy(p);
    case op::custom_map:
    case op::custom: return custom(p);
    default: return symmetric(p);
  }
}

/// The tangent of node `y` for tangents of other nodes: pairs of a node and its tangent, as the
/// inputs of jvp have them. A node that has one and depends on others that do gets the sum.
constexpr int tangent(graph& g, int y, span<const int> pairs) {
  flat_vector<int> of(static_cast<std::size_t>(y) + 1, -1);
  int first = y + 1;
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const int x = pairs[i];
    if (x > y) continue;  // y does not depend on what comes later
    int& own = of[static_cast<std::size_t>(x)];
    own = own < 0 ? pairs[i + 1] : append(g, op::add, {own, pairs[i + 1]});
    first = x < first ? x : first;
  }
  flat_vector<bool> needed(static_cast<std::size_t>(y) + 1, false);
  needed[static_cast<std::size_t>(y)] = true;
  for (int id = y; id > first; --id) {
    if (!needed[static_cast<std::size_t>(id)]) continue;
    for (int i = 0; i < g[id].input_count; ++i)
      needed[static_cast<std::size_t>(g.input(id, i))] = true;
  }
  flat_vector<int> in;
  for (int id = first; id <= y; ++id) {
    if (!needed[static_cast<std::size_t>(id)] || !is_floating(g[id].type) ||
        !differentiable(g[id].code))
      continue;
    in.truncate(0);
    bool depends = false;
    for (int i = 0; i < g[id].input_count; ++i) {
      in.push_back(of[static_cast<std::size_t>(g.input(id, i))]);
      depends = depends || in[static_cast<std::size_t>(i)] >= 0;
    }
    if (!depends) continue;
    const value t = tangent_of({{&g, id}, {in.data(), in.size()}});
    if (t.owner == nullptr) continue;
    // The tangent of a scalar operand alone is a scalar.
    const int whole = broadcast_to(t, symbolic_shape(g[id].shape)).id;
    int& own = of[static_cast<std::size_t>(id)];
    own = own < 0 ? whole : append(g, op::add, {own, whole});
  }
  const int found = of[static_cast<std::size_t>(y)];
  return found >= 0 ? found
                    : broadcast_to(constant_like({&g, y}, 0), symbolic_shape(g[y].shape)).id;
}

}  // namespace forward

}  // namespace sinter::inline SINTER_ABI::ir
