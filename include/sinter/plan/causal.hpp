// SPDX-License-Identifier: MIT
// Finds causal masks: scores that hold a constant wherever their column lies behind their row, by
// the indices alone. A streamed nest leaves out blocks that are hidden throughout.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <sinter/graph/unit_axes.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/plan/values.hpp>
#include <sinter/plan/view.hpp>

namespace sinter::inline SINTER_ABI::planning {

class causal_mask_finder {
 public:
  /// Offsets are written into `dims`, which knows the dims of the graph.
  causal_mask_finder(const value_graph& g, ir::dim_table& dims)
      : graph_(g.graph()), terms_(g.terms()), dims_(dims) {}

  hidden_scores of(class_id scores) const {
    for (const eqsat::enode_view& n : graph_.nodes(scores)) {
      if (!is(n, ir::op::where)) continue;
      for (const bool inside : {true, false}) {
        const rules::facts& low = graph_.data(n.children[inside ? 2 : 1]);
        if (!low.is_constant || std::isnan(low.constant)) continue;
        if (const auto offset = visible_to(n.children[0], inside, depth_limit))
          return {true, low.constant, *offset};
      }
    }
    return {};
  }

 private:
  // An index along an axis of the scores, plus an offset.
  struct index {
    int axis;
    ir::dim offset;
  };
  static constexpr int depth_limit = 6;  // of nested ops; masks as written take 2 or 3

  static bool is(const eqsat::enode_view& n, ir::op code) {
    return n.op == static_cast<std::uint16_t>(code);
  }
  const ir::symbolic_shape& shape(class_id id) const { return terms_[graph_.data(id).term].shape; }

  // An offset o so that the condition is false wherever column > row + o; or true there, unless
  // `inside`.
  std::optional<ir::dim> visible_to(class_id condition, bool inside, int depth) const {
    if (depth == 0) return std::nullopt;
    for (const eqsat::enode_view& n : graph_.nodes(condition)) {
      std::optional<ir::dim> found;
      if (is(n, ir::op::less) || is(n, ir::op::less_equal)) {
        found = compared(n, inside);
      } else if (is(n, ir::op::logical_not)) {
        found = visible_to(n.children[0], !inside, depth - 1);
      } else if (is(n, inside ? ir::op::bit_and : ir::op::bit_or)) {
        found = visible_to(n.children[0], inside, depth - 1);
        if (!found) found = visible_to(n.children[1], inside, depth - 1);
      } else if (is(n, ir::op::broadcast_to) || is(n, ir::op::reshape)) {
        if (same_matrix(shape(n.children[0]), shape(condition)))
          found = visible_to(n.children[0], inside, depth - 1);
      }
      if (found) return found;
    }
    return std::nullopt;
  }

  // Do the last two axes stay what they are?
  static bool same_matrix(const ir::symbolic_shape& a, const ir::symbolic_shape& b) {
    return a.size() >= 2 && b.size() >= 2 && a[a.size() - 1] == b[b.size() - 1] &&
           a[a.size() - 2] == b[b.size() - 2];
  }

  // column + a <= row + b, or row + a < column + b; strictly or not.
  std::optional<ir::dim> compared(const eqsat::enode_view& n, bool inside) const {
    const int columns = static_cast<int>(shape(n.children[0]).size()) - 1, rows = columns - 1;
    const bool strict = is(n, ir::op::less);
    const auto a = index_of(n.children[0], depth_limit), b = index_of(n.children[1], depth_limit);
    if (!a || !b || rows < 0) return std::nullopt;
    if (inside && a->axis == columns && b->axis == rows)
      return dims_.sub(dims_.sub(b->offset, a->offset), ir::dim(strict ? 1 : 0));
    if (!inside && a->axis == rows && b->axis == columns)
      return dims_.sub(dims_.sub(a->offset, b->offset), ir::dim(strict ? 0 : 1));
    return std::nullopt;
  }

  std::optional<index> index_of(class_id id, int depth) const {
    // Positions modulo 256 are none.
    if (depth == 0 || is_narrow_integer(terms_[graph_.data(id).term].type)) return std::nullopt;
    for (const eqsat::enode_view& n : graph_.nodes(id)) {
      const auto& payload = graph_.language().payload(n.payload);
      if (is(n, ir::op::iota)) return index{static_cast<int>(payload.attributes[1]), ir::dim(0)};
      if (is(n, ir::op::broadcast_to) || is(n, ir::op::cast)) {
        if (const auto inner = index_of(n.children[0], depth - 1))
          if (shape(n.children[0])[static_cast<std::size_t>(inner->axis)] ==
              shape(id)[static_cast<std::size_t>(inner->axis)])
            return inner;
      } else if (is(n, ir::op::reshape)) {
        if (const auto inner = index_of(n.children[0], depth - 1))
          if (const int axis = ir::axis_after_reshape(shape(n.children[0]), shape(id), inner->axis);
              axis >= 0)
            return index{axis, inner->offset};
      } else if (is(n, ir::op::add) || is(n, ir::op::sub)) {
        const bool adds = is(n, ir::op::add);
        const auto a = index_of(n.children[0], depth - 1);
        if (a)
          if (const auto o = scalar_of(n.children[1], depth - 1))
            return index{a->axis, adds ? dims_.add(a->offset, *o) : dims_.sub(a->offset, *o)};
        if (adds)
          if (const auto b = index_of(n.children[1], depth - 1))
            if (const auto o = scalar_of(n.children[0], depth - 1))
              return index{b->axis, dims_.add(b->offset, *o)};
      }
    }
    return std::nullopt;
  }

  // The same whole number everywhere: a constant, an extent, or sums of them.
  std::optional<ir::dim> scalar_of(class_id id, int depth) const {
    const rules::facts& known = graph_.data(id);
    if (known.is_constant) {
      // Sums with larger ones might be rounded.
      if (std::abs(known.constant) > 1e6 || known.constant != std::floor(known.constant))
        return std::nullopt;
      const ir::dim size(static_cast<std::int64_t>(std::abs(known.constant)));
      return known.constant < 0 ? dims_.sub(ir::dim(0), size) : size;
    }
    if (depth == 0) return std::nullopt;
    for (const eqsat::enode_view& n : graph_.nodes(id)) {
      if (is(n, ir::op::extent)) return graph_.language().payload(n.payload).dims[0];
      if (is(n, ir::op::broadcast_to) || is(n, ir::op::reshape) || is(n, ir::op::cast)) {
        if (const auto inner = scalar_of(n.children[0], depth - 1)) return inner;
      } else if (is(n, ir::op::add) || is(n, ir::op::sub)) {
        const auto a = scalar_of(n.children[0], depth - 1),
                   b = a ? scalar_of(n.children[1], depth - 1) : std::nullopt;
        if (b) return is(n, ir::op::add) ? dims_.add(*a, *b) : dims_.sub(*a, *b);
      }
    }
    return std::nullopt;
  }

  const tensor_egraph& graph_;
  const ir::graph& terms_;
  ir::dim_table& dims_;
};

}  // namespace sinter::inline SINTER_ABI::planning
