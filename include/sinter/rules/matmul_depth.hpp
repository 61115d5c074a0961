// SPDX-License-Identifier: MIT
// The order of a contracted axis does not matter. Operands whose last axes are interleaved from the
// same number of parts (rotary embeddings that turn neighbours) need not be: their product is that
// of the parts side by side.
#pragma once

#include <optional>
#include <vector>

#include <sinter/rules/matmul_sides.hpp>

namespace sinter::inline SINTER_ABI::rules::matmul {

class interleaved_operand {
 public:
  interleaved_operand(tensor_egraph& graph, right_side& side) : graph_(graph), side_(side) {}

  struct found {
    ir::value side_by_side;
    std::size_t parts;
  };

  /// The operand with its parts side by side along the last axis, if some form of it interleaves
  /// them, below movements that leave the last axis alone.
  std::optional<found> of(class_id id, int depth = 4) {
    if (depth == 0) return std::nullopt;
    std::vector<eqsat::enode_view> nodes;
    for (const eqsat::enode_view& n : graph_.nodes(id)) nodes.push_back(n);
    for (const eqsat::enode_view& n : nodes) {
      if (is(n, op::reshape))
        if (auto parts = put_together(id, n.children[0])) return parts;
      if (!keeps_last_axis(id, n)) continue;
      auto inner = of(n.children[0], depth - 1);
      if (!inner) continue;
      const auto& payload = graph_.language().payload(n.payload);
      const std::vector<std::int64_t> attributes = payload.attributes;
      const ir::value x = inner->side_by_side;
      inner->side_by_side = is(n, op::permute)        ? ir::permute(x, attributes)
                            : is(n, op::broadcast_to) ? ir::broadcast_to(x, shape(id))
                                                      : ir::reshape(x, shape(id));
      return inner;
    }
    return std::nullopt;
  }

 private:
  static bool is(const eqsat::enode_view& n, op code) {
    return n.op == static_cast<std::uint16_t>(code);
  }
  symbolic_shape shape(class_id id) { return side_.term(id).shape(); }

  bool keeps_last_axis(class_id id, const eqsat::enode_view& n) {
    const bool permutes = is(n, op::permute);
    if (!permutes && !is(n, op::broadcast_to) && !is(n, op::reshape)) return false;
    const symbolic_shape outer = shape(id), inner = shape(n.children[0]);
    if (outer.empty() || inner.empty() || !(outer.back() == inner.back())) return false;
    const int last = static_cast<int>(inner.size()) - 1;
    if (permutes) return graph_.language().payload(n.payload).attributes.back() == last;
    return is(n, op::broadcast_to) ||
           ir::axis_after_reshape(inner, outer, last) == static_cast<int>(outer.size()) - 1;
  }

  // (reshape (concat[last] parts...)) of [..., h, parts] to [..., h * parts], every part [..., h,
  // 1].
  std::optional<found> put_together(class_id id, class_id pairs) {
    const symbolic_shape outer = shape(id), inner = shape(pairs);
    if (inner.size() != outer.size() + 1 || outer.empty()) return std::nullopt;
    for (std::size_t axis = 0; axis + 1 < outer.size(); ++axis)
      if (!(inner[axis] == outer[axis])) return std::nullopt;
    std::vector<class_id> children;
    for (const eqsat::enode_view& n : graph_.nodes(pairs))
      if (children.empty() && is(n, op::concat) &&
          graph_.language().payload(n.payload).attributes[0] ==
              static_cast<std::int64_t>(inner.size()) - 1)
        children.assign(n.children.begin(), n.children.end());
    symbolic_shape own = inner;
    own.pop_back();
    std::vector<ir::value> parts;
    for (class_id child : children) {
      if (!is_one(shape(child).back())) return std::nullopt;
      parts.push_back(ir::reshape(side_.term(child), own));
    }
    if (parts.size() < 2) return std::nullopt;
    return found{ir::concat(parts, static_cast<int>(own.size()) - 1), parts.size()};
  }

  tensor_egraph& graph_;
  right_side& side_;
};

// (matmul[?f] ?a ?b) over the last axes of both.
inline std::optional<class_id> depth_order(tensor_egraph& graph, const tensor_match& m) {
  right_side side(graph, m);
  const flags f = flags_of(side);
  if (f.a || !f.b) return std::nullopt;
  interleaved_operand operands(graph, side);
  const auto a = operands.of(side.class_of("?a"));
  if (!a) return std::nullopt;
  const auto b = operands.of(side.class_of("?b"));
  if (!b || a->parts != b->parts) return std::nullopt;
  return side.finish(product(a->side_by_side, b->side_by_side, f));
}

}  // namespace sinter::inline SINTER_ABI::rules::matmul
