// SPDX-License-Identifier: MIT
// What a computed right-hand side works with: the matched classes as terms of the language's graph,
// their payloads, and what may be taken for proved about extents. A rule must hold for every shape
// of the class that the graph is bound to, so a right-hand side that could only be written by
// looking at the extents at hand is dropped.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph/rule.hpp>
#include <sinter/graph/unit_axes.hpp>
#include <sinter/rules/language.hpp>

namespace sinter::inline SINTER_ABI::rules {

using eqsat::class_id;
using tensor_match = eqsat::match;
using ir::dim;
using ir::op;
using ir::symbolic_shape;

using axis_list = inline_vector<std::int64_t, max_rank>;

// ---- what is proved about extents

/// Is the extent 1 in every shape of the class? A symbol that is was replaced by the constant when
/// the graph was bound. One that is not may still be 1 (dim_table::is_open).
inline bool is_one(dim d) { return d == dim(1); }

inline bool all_ones(const symbolic_shape& shape) {
  for (dim d : shape)
    if (!is_one(d)) return false;
  return true;
}

inline dim product_of(ir::graph& g, std::span<const dim> extents) {
  dim total(1);
  for (dim d : extents) total = g.dims.mul(total, d);
  return total;
}

/// The number of elements for the extents at hand. It may choose what to write, never what is
/// equal.
inline double elements_at_hand(const ir::graph& g, const symbolic_shape& shape) {
  double total = 1;
  for (dim d : shape) {
    if (d.is_constant())
      total *= static_cast<double>(d.constant());
    else if (!g.symbol_values.empty())
      total *= static_cast<double>(g.dims.evaluate(d, g.symbol_values));
  }
  return total;
}

// ---- a right-hand side in the making

class right_side {
 public:
  right_side(tensor_egraph& graph, const tensor_match& m)
      : graph_(graph), match_(m), guards_before_(terms().guards.size()) {}
  right_side(const right_side&) = delete;
  right_side& operator=(const right_side&) = delete;
  // Questions that a builder function asked in vain leave nothing behind.
  ~right_side() {
    terms().guards.resize(guards_before_);
    for (const ir::guard& g : assumed_) terms().assume(g.holds, g.a, g.b);
  }

  ir::graph& terms() { return graph_.language().terms(); }
  ir::dim_table& dims() { return terms().dims; }
  tensor_egraph& graph() { return graph_; }

  ir::value root() { return term(match_.root()); }
  ir::value operator[](std::string_view variable) { return term(match_[variable]); }
  class_id class_of(std::string_view variable) const { return graph_.find(match_[variable]); }
  ir::value term(class_id id) { return graph_.language().term(graph_, id); }
  const facts& data(std::string_view variable) const { return graph_.data(match_[variable]); }

  /// Copies: interning a payload moves the others.
  std::vector<std::int64_t> attributes(std::string_view payload) const {
    return record(payload).attributes;
  }
  std::int64_t attribute(std::string_view payload, std::size_t which = 0) const {
    return record(payload).attributes[which];
  }
  std::vector<dim> payload_dims(std::string_view payload) const { return record(payload).dims; }

  /// Is the extent proved never to be 0 in the class? A symbol may be.
  bool is_never_zero(dim d) {
    return dims().range(d).low > 0 || graph_.language().fixed().is_never_zero(d);
  }

  /// The same, but what is not proved the extents at hand answer, and the class of shapes is
  /// restricted to those with the same answer: a batch without elements has plans of its own. Other
  /// questions should come first.
  bool assume_never_zero(dim d) {
    if (is_never_zero(d) || terms().is_assumed(ir::guard::fact::differ, d, 0)) return true;
    const std::vector<std::int64_t>& values = terms().symbol_values;
    if (values.empty()) return false;
    const bool has_elements = dims().evaluate(d, values) != 0;
    assumed_.push_back({has_elements ? ir::guard::fact::differ : ir::guard::fact::at_most, d, 0});
    return has_elements;
  }

  /// The class of `v`, or nothing if `v` is no value of the root's shape and dtype, or is one only
  /// for some extents. A root that is a constant needs no other forms.
  std::optional<class_id> finish(ir::value v) {
    const ir::value target = root();
    const ir::node& wanted = target.get();
    if (!is_usable(v) || !(v.get().shape == wanted.shape)) return std::nullopt;
    return graph_.language().add(graph_, v);
  }

  /// The same for `v` reshaped to the root's shape. A reshape loses nothing: if the root is the
  /// reshape of another value of v's shape already, then that value is `v`, and they are united
  /// instead. (Otherwise a class that repeats along a cycle of rewrites would collect reshapes of
  /// more and more values that are one.)
  std::optional<class_id> finish_reshaped(ir::value v) {
    if (v.id < 0 || v.shape() == root().shape()) return finish(v);
    const class_id known = moved_by(op::reshape, v.shape());
    if (known == eqsat::no_id) return finish(ir::reshape(v, root().shape()));
    unite(known, v);
    return std::nullopt;
  }

  /// The same for `v` broadcast to the root's shape; what is repeated zero times, though, need not
  /// be `v`. Then one source of that shape is enough.
  std::optional<class_id> finish_broadcast(ir::value v) {
    const symbolic_shape wanted = root().shape();
    if (v.id < 0 || v.shape() == wanted) return finish(v);
    const class_id known = moved_by(op::broadcast_to, v.shape());
    if (known == eqsat::no_id) return finish(ir::broadcast_to(v, wanted));
    for (int i = 0; i < v.rank(); ++i)
      if (!(v.extent(i) == wanted[i]) && !is_never_zero(wanted[i])) return std::nullopt;
    unite(known, v);
    return std::nullopt;
  }

 private:
  // The class of this shape that the root is a reshape or broadcast of, if there is one.
  class_id moved_by(op movement, const symbolic_shape& shape) {
    for (const eqsat::enode_view& node : graph_.nodes(match_.root()))
      if (node.op == static_cast<std::uint16_t>(movement) &&
          term(node.children[0]).shape() == shape)
        return node.children[0];
    return eqsat::no_id;
  }
  void unite(class_id known, ir::value v) {
    if (is_usable(v)) graph_.unite(known, graph_.language().add(graph_, v));
  }

  bool is_usable(ir::value v) {
    if (v.id < 0 || v.type() != root().type() || graph_.data(match_.root()).is_constant)
      return false;
    const auto& guards = terms().guards;
    for (std::size_t i = guards_before_; i < guards.size(); ++i)
      if (guards[i].holds == ir::guard::fact::equal) return false;
    return true;
  }

  const tensor_language::payload_record& record(std::string_view payload) const {
    return graph_.language().payload(match_.payload(payload));
  }

  tensor_egraph& graph_;
  const tensor_match& match_;
  std::size_t guards_before_;
  std::vector<ir::guard> assumed_;
};

using computed = std::optional<class_id> (*)(tensor_egraph&, const tensor_match&);
using condition = bool (*)(const tensor_egraph&, const tensor_match&);

// ---- conditions that several themes use

inline const symbolic_shape& shape_of(const tensor_egraph& graph, class_id id) {
  return node_of(graph, id).shape;
}
inline bool is_scalar(const tensor_egraph& graph, class_id id) {
  return shape_of(graph, id).empty();
}
inline bool is_constant(const tensor_egraph& graph, class_id id) {
  return graph.data(id).is_constant;
}
/// Computed once and kept: of any size, it costs nothing in a call.
inline bool is_fixed(const tensor_egraph& graph, class_id id) { return graph.data(id).fixed; }
inline bool is_float(const tensor_egraph& graph, class_id id) {
  return is_floating(node_of(graph, id).type);
}

/// How many nodes of an op the class has. Rules that gather factors, terms or exponents in one
/// place ask whether that was done already: a class that contains itself (x is x times what is 1,
/// which the analysis does not know) would find a longer product in every round, and n terms have
/// many orders.
inline std::size_t count(const tensor_egraph& graph, class_id id, op code) {
  std::size_t found = 0;
  for (const eqsat::enode_view& node : graph.nodes(id))
    found += node.op == static_cast<std::uint16_t>(code) ? 1 : 0;
  return found;
}
inline bool holds(const tensor_egraph& graph, class_id id, op code) {
  return count(graph, id, code) != 0;
}

/// What is known to be a constant needs no other forms; two ways to compute it may even differ in
/// its last bit.
inline bool root_varies(const tensor_egraph& graph, const tensor_match& m) {
  return !is_constant(graph, m.root());
}

/// ?x has the shape of the root: an operand may be a scalar that stands for the root's shape.
inline bool x_fills_root(const tensor_egraph& graph, const tensor_match& m) {
  return root_varies(graph, m) && shape_of(graph, m["?x"]) == shape_of(graph, m.root());
}

}  // namespace sinter::inline SINTER_ABI::rules
