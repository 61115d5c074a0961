// SPDX-License-Identifier: MIT
// Classes that can be read in several ways. The gradient of an image is a cut out of a sum over
// windows and a convolution itself: who reads it may read the view, for which the other value has
// to be made, or the product's own result. With a stride it is a cut out of interleaved parts, too,
// a view of another value. Extraction decides: a value is added that stands for "the class, where
// it can be read", and making that is a nest without work for each of the ways.
#pragma once

#include <algorithm>
#include <vector>

#include <sinter/plan/view.hpp>

namespace sinter::inline SINTER_ABI::planning {

namespace detail {

// A product that can gather windows, or all of one in another shape.
inline bool multiplies_windows(const value_graph& g, const value_class& value, const form& f) {
  if (f.fused >= 0 || is_view(g, value, f)) return false;
  const form* const product = f.code == ir::op::matmul    ? &f
                              : f.code == ir::op::reshape ? g[f.operands[0]].find(ir::op::matmul)
                                                          : nullptr;
  return product != nullptr && std::ranges::any_of(product->operands, [&](int operand) {
           return joined_view(g, operand) != nullptr;
         });
}

// The movements that make the value, the first of each value that they start from; only the first
// if one of them starts from a number that is nowhere stored.
inline std::vector<form> differing_views(const value_graph& g, int v) {
  std::vector<form> out;
  std::vector<int> bases;
  for (const form& f : g[v].forms) {
    if (!is_view(g, g[v], f)) continue;
    const int base = resolve(g, f.operands[0]).base;
    if (std::ranges::find(bases, base) != bases.end()) continue;
    bases.push_back(base);
    out.push_back(f);
  }
  if (std::ranges::any_of(bases, [&](int base) { return g[base].is_constant || g[base].scalar(); }))
    out.resize(1);
  return out;
}

}  // namespace detail

/// Adds the values of such classes, and of those that are views of several others. Whether to read
/// a product is asked for products of windows alone: for all products, the search finds a worse
/// plan of a transformer's training step (775 nodes): 448 us predicted instead of 432, while the
/// lower bound, 430 us, becomes 0.1 % lower. Linear in the number of forms, and views of views.
inline void add_view_choices(value_graph& g) {
  for (int v = 0, count = g.size(); v < count; ++v) {
    if (view_of(g, v) == nullptr) continue;
    const std::vector<form> views = detail::differing_views(g, v);
    const bool is_product = std::ranges::any_of(
        g[v].forms, [&](const form& f) { return detail::multiplies_windows(g, g[v], f); });
    if (is_product) g.add_reader(v, views);
    if (views.size() > 1) g.add_views(v, views);
  }
}

}  // namespace sinter::inline SINTER_ABI::planning
