// SPDX-License-Identifier: MIT
// Classes that are a view of another value and a product as well, such as the gradient of an image,
// a cut out of a sum over windows and a convolution itself. Who reads such a class may read the
// view, for which the other value has to be made, or the product's own result. Extraction decides:
// a value is added that stands for "the class, where it can be read", and making that is a nest
// without work for each of the two ways.
#pragma once

#include <algorithm>

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

}  // namespace detail

/// Adds the values of such classes, for products of windows. For all products, the search finds a
/// worse plan of a transformer's training step (775 nodes): 448 us predicted instead of 432, while
/// the lower bound, 430 us, becomes 0.1 % lower. Linear in the number of forms.
inline void add_view_choices(value_graph& g) {
  for (int v = 0, count = g.size(); v < count; ++v) {
    const form* const view = view_of(g, v);
    if (view != nullptr && std::ranges::any_of(g[v].forms, [&](const form& f) {
          return detail::multiplies_windows(g, g[v], f);
        }))
      g.add_choice(v, *view);
  }
}

}  // namespace sinter::inline SINTER_ABI::planning
