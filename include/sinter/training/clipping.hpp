// SPDX-License-Identifier: MIT
// Gradients kept within bounds.
#pragma once

#include <sinter/training/state.hpp>

namespace sinter::inline SINTER_ABI {

/// Each derivative between -limit and limit. A struct of handles of the same shapes.
template <HandleStructure S>
constexpr S clip_by_value(const S& gradients, double limit) {
  S out = gradients;
  for_each_parameter(out, [&](handle& g) { g = clamp(g, -limit, limit); });
  return out;
}

/// The square root of the sum of the squares of all elements, in the dtype of the first of the
/// handles: they must have one (dtype_error).
template <HandleStructure S>
  requires(parameter_count<S> > 0)
constexpr handle global_norm(const S& gradients) {
  const auto all = parameters_of(gradients);
  handle total = sum(square(all[0]));
  for (std::size_t i = 1; i < all.size(); ++i) total = total + sum(square(all[i]));
  return sqrt(total);
}

/// All derivatives times limit / norm where their global norm is above the limit (Pascanu et al.
/// 2013).
template <HandleStructure S>
constexpr S clip_by_global_norm(const S& gradients, double limit) {
  const handle scale = limit / maximum(global_norm(gradients), limit);
  S out = gradients;
  for_each_parameter(out, [&](handle& g) { g = g * scale; });
  return out;
}

}  // namespace sinter::inline SINTER_ABI
