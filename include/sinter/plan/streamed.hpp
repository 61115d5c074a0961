// SPDX-License-Identifier: MIT
// Finds weighted sums in a saturated e-graph, softmax(scores) values: written with softmax or with
// exponentials, divided before the product or behind it. What rewriting made of the scores (scale,
// mask, bias) does not matter here: it is whatever their class holds.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/plan/cut.hpp>
#include <sinter/plan/values.hpp>
#include <sinter/support/add_once.hpp>

namespace sinter::inline SINTER_ABI::planning {

// softmax(scale * scores) over the last axis, times values.
struct weighted_sum {
  int scores = -1, values = -1;
  bool transpose_values = false;
  double scale = 1;                     // above zero
  std::vector<eqsat::node_id> nodes{};  // the e-nodes that say so, first that of the sum

  // The same sum, whichever e-nodes say so.
  friend bool operator==(const weighted_sum& a, const weighted_sum& b) {
    return a.scores == b.scores && a.values == b.values &&
           a.transpose_values == b.transpose_values && a.scale == b.scale;
  }
};

class weighted_sum_finder {
 public:
  explicit weighted_sum_finder(const value_graph& g) : g_(g), graph_(g.graph()) {}

  /// The weighted sums that compute this value, each once; few, in the order of the class's
  /// e-nodes.
  std::vector<weighted_sum> of(int value) const {
    std::vector<weighted_sum> found;
    const class_id root = g_[value].id;
    if (!is_floating(g_[value].type)) return found;
    for (const eqsat::enode_view& product : nodes(root, ir::op::matmul))
      add(found, softmax_of(product.children[0]), product, {product.id});
    // (E V) / l rather than (E / l) V.
    for_each_division(root, [&](class_id sums, class_id row, const node_list& division) {
      for (const eqsat::enode_view& product : nodes(sums, ir::op::matmul)) {
        const eqsat::node_id sum = row_sum(row, product.children[0]);
        if (sum == eqsat::no_id) continue;
        add(found, logarithm_of(product.children[0]), product, joined(division, {product.id, sum}));
      }
    });
    return found;
  }

 private:
  using node_list = std::vector<eqsat::node_id>;

  // A class that was found, and the e-nodes on the way to it.
  struct found_class {
    class_id id = eqsat::no_id;
    node_list by{};
  };

  static node_list joined(node_list a, const node_list& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  // `by`: the e-nodes down to the product and the scores, first that of the sum.
  void add(std::vector<weighted_sum>& found, const found_class& scores,
           const eqsat::enode_view& product, const node_list& by) const {
    const auto& flags = graph_.language().payload(product.payload).attributes;
    if (scores.id == eqsat::no_id || flags[0] != 0) return;
    weighted_sum s{g_.number(scores.id), g_.number(product.children[1]), flags[1] != 0, 1,
                   joined(by, scores.by)};
    const auto keep = [&] {
      if (s.scores >= 0 && s.values >= 0) add_once(found, s);
    };
    keep();
    // A scale is multiplied into the exponent at no cost.
    for (const eqsat::enode_view& n : nodes(scores.id, ir::op::mul))
      for (std::size_t k = 0; k < 2; ++k) {
        const rules::facts& factor = graph_.data(n.children[k]);
        if (!factor.is_constant || !(factor.constant > 0) || !std::isfinite(factor.constant))
          continue;
        s.scores = g_.number(n.children[1 - k]);
        s.scale = factor.constant;
        s.nodes = joined(joined(by, scores.by), {n.id});
        keep();
      }
  }

  std::vector<eqsat::enode_view> nodes(class_id id, ir::op code) const {
    std::vector<eqsat::enode_view> out;
    for (const eqsat::enode_view& n : graph_.nodes(id))
      if (n.op == static_cast<std::uint16_t>(code)) out.push_back(n);
    return out;
  }

  bool has_last_axis(class_id id, const eqsat::enode_view& over) const {
    const ir::node& n = g_.terms()[graph_.data(id).term];
    return graph_.language().payload(over.payload).attributes[0] == std::int64_t{1}
                                                                        << (n.shape.size() - 1);
  }

  // The class whose softmax this is, if it is one.
  found_class softmax_of(class_id weights) const {
    for (const eqsat::enode_view& n : nodes(weights, ir::op::softmax))
      if (has_last_axis(weights, n)) return {graph_.find(n.children[0]), {n.id}};
    found_class found;
    for_each_division(weights, [&](class_id exponentials, class_id row, const node_list& division) {
      if (found.id != eqsat::no_id) return;
      const eqsat::node_id sum = row_sum(row, exponentials);
      if (sum == eqsat::no_id) return;
      found = logarithm_of(exponentials);
      found.by = joined(joined(division, {sum}), found.by);
    });
    return found;
  }

  // f(x, y, by) for every way to read the class as x / y with y broadcast along the last axis.
  template <class F>
  void for_each_division(class_id id, F f) const {
    const auto broadcast = [&](class_id row, auto use) {
      for (const eqsat::enode_view& b : nodes(row, ir::op::broadcast_to)) use(b.children[0], b.id);
    };
    for (const eqsat::enode_view& n : nodes(id, ir::op::div))
      broadcast(n.children[1], [&](class_id row, eqsat::node_id b) {
        f(n.children[0], row, {n.id, b});
      });
    for (const eqsat::enode_view& n : nodes(id, ir::op::mul))
      for (std::size_t k = 0; k < 2; ++k) {
        broadcast(n.children[k], [&](class_id row, eqsat::node_id b) {
          for (const eqsat::enode_view& r : nodes(row, ir::op::recip))
            f(n.children[1 - k], r.children[0], {n.id, b, r.id});
        });
        for (const eqsat::enode_view& r : nodes(n.children[k], ir::op::recip))
          broadcast(r.children[0], [&](class_id row, eqsat::node_id b) {
            f(n.children[1 - k], row, {n.id, r.id, b});
          });
      }
  }

  // The e-node that makes `row` the sum of x over its last axis, kept as an axis of extent 1; or
  // no_id.
  eqsat::node_id row_sum(class_id row, class_id x) const {
    for (const eqsat::enode_view& n : nodes(row, ir::op::reduce_sum))
      if (graph_.find(n.children[0]) == graph_.find(x) && has_last_axis(x, n)) return n.id;
    return eqsat::no_id;
  }

  // s where x is exp(s - max s), or simply exp(s): either divided by the sum of its row is the
  // softmax of s.
  found_class logarithm_of(class_id x) const {
    found_class plain;
    for (const eqsat::enode_view& e : nodes(x, ir::op::exp)) {
      for (const eqsat::enode_view& d : nodes(e.children[0], ir::op::sub))
        for (const eqsat::enode_view& b : nodes(d.children[1], ir::op::broadcast_to))
          for (const eqsat::enode_view& m : nodes(b.children[0], ir::op::reduce_max))
            if (graph_.find(m.children[0]) == graph_.find(d.children[0]) &&
                has_last_axis(d.children[0], m))
              return {graph_.find(d.children[0]), {e.id, d.id, b.id, m.id}};
      plain = {graph_.find(e.children[0]), {e.id}};
    }
    return plain;
  }

  const value_graph& g_;
  const tensor_egraph& graph_;
};

}  // namespace sinter::inline SINTER_ABI::planning
