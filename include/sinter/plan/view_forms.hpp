// SPDX-License-Identifier: MIT
// A filter in front of extraction, for products of windows alone. Nests read a class that is a view
// where the viewed value lies, so extraction never compares the view with a product of the same
// class: that would take two nests for each reader. The gradient of an image is such a class, a cut
// out of a sum over windows and also a convolution. The two are compared here, each by itself, by
// what both forms need in their first forms: an estimate, which knows nothing of fusion.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <sinter/plan/machine.hpp>
#include <sinter/plan/view.hpp>

namespace sinter::planning {

class view_forms {
 public:
  /// Removes views of classes that are also products of windows (`joined_view`), if the product
  /// takes less than four fifths of the time of what is viewed; what both need is not counted. A
  /// graph without windows stays as it is. Linear in the size of the graph for each such class.
  static void drop_costly(value_graph& g) {
    for (int v = 0; v < g.size(); ++v) {
      const value_class& value = g[v];
      const auto view =
          std::ranges::find_if(value.forms, [&](const form& f) { return is_view(g, value, f); });
      const auto product =
          std::ranges::find_if(value.forms, [&](const form& f) { return is_product(g, value, f); });
      if (view == value.forms.end() || product == value.forms.end()) continue;
      const view_forms of(g);
      const std::vector<bool> viewed = of.needed(*view), multiplied = of.needed(*product);
      if (of.without(viewed, multiplied) > 1.25 * of.without(multiplied, viewed))
        g.remove_forms(v, [&](const form& f) { return is_view(g, value, f); });
    }
  }

 private:
  explicit view_forms(const value_graph& g) : g_(g) {}

  // A product that can gather windows, or all of one in another shape.
  static bool is_product(const value_graph& g, const value_class& value, const form& f) {
    if (f.fused >= 0 || is_view(g, value, f)) return false;
    const form* const product = f.code == ir::op::matmul    ? &f
                                : f.code == ir::op::reshape ? g[f.operands[0]].find(ir::op::matmul)
                                                            : nullptr;
    return product != nullptr && std::ranges::any_of(product->operands, [&](int operand) {
             return joined_view(g, operand) != nullptr;
           });
  }

  // What a form needs, by value.
  std::vector<bool> needed(const form& top) const {
    std::vector<bool> out(static_cast<std::size_t>(g_.size()), false);
    std::vector<int> open = top.operands;
    while (!open.empty()) {
      const int v = open.back();
      open.pop_back();
      if (out[static_cast<std::size_t>(v)]) continue;
      out[static_cast<std::size_t>(v)] = true;
      const std::vector<int>& operands = g_[v].forms.front().operands;
      open.insert(open.end(), operands.begin(), operands.end());
    }
    return out;
  }

  // Nanoseconds for those values that the others do not have.
  double without(const std::vector<bool>& values, const std::vector<bool>& others) const {
    double cost = 0;
    for (int v = 0; v < g_.size(); ++v)
      if (values[static_cast<std::size_t>(v)] && !others[static_cast<std::size_t>(v)])
        cost += making(g_[v], g_[v].forms.front());
    return cost;
  }

  // The work, and writing what comes out once and reading it once.
  double making(const value_class& value, const form& f) const {
    if (f.operands.empty() || value.fixed || is_view(g_, value, f)) return 0;
    const value_class& first = g_[f.operands[0]];
    if (f.fused < 0 && f.code == ir::op::reshape) return 0;  // an alias, or gathered
    const double bytes = value.elements * static_cast<double>(size_of(value.type));
    return work_of(value, f, first) + 2 * bytes * byte_cost(bytes, g_.machine());
  }

  double work_of(const value_class& value, const form& f, const value_class& first) const {
    if (f.fused >= 0 || f.code != ir::op::matmul)
      return f.work * (f.fused < 0 && ir::info(f.code).kind == ir::kind::reduction
                           ? first.elements
                           : value.elements);
    const std::size_t rank = first.shape.size();
    const bool transposed = g_.payload(f).attributes[0] != 0;
    return 2 * g_.machine().flop * value.elements * width_factor(value.type) *
           static_cast<double>(g_.extent(first.shape[rank - (transposed ? 2 : 1)]));
  }

  const value_graph& g_;
};

}  // namespace sinter::planning
