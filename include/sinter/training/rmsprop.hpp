// SPDX-License-Identifier: MIT
// RMSprop.
#pragma once

#include <sinter/training/state.hpp>

namespace sinter::inline SINTER_ABI {

template <class Model>
struct rmsprop_state {
  Model square;  // running mean of the squares of the gradients

  static rmsprop_state make(const Model& model) { return {zeros_in_shape_of(model)}; }
};

/// v' = alpha v + (1 - alpha) g^2 and w -= rate g / (sqrt(v') + eps) (Hinton 2012, lecture 6e); g
/// has `weight_decay` w added. To be used like adam.
struct rmsprop {
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;

  template <HandleStructure Model, class Rate>
  constexpr assignments update(const Model& model, const Model& gradients,
                               const rmsprop_state<Model>& state, Rate rate) const {
    const auto square = parameters_of(state.square);
    assignments out;
    detail::for_each_trained(model, gradients, [&](std::size_t i, handle w, handle g) {
      if (weight_decay != 0) g = g + weight_decay * w;
      const handle v = alpha * square[i] + (1 - alpha) * (g * g);
      out.push_back(assign(square[i], v));
      out.push_back(assign(w, w - detail::scalar_like(w, rate) * (g / (sqrt(v) + eps))));
    });
    return out;
  }
};

}  // namespace sinter::inline SINTER_ABI
