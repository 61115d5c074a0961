// SPDX-License-Identifier: MIT
// Lion, which steps by the sign of its momentum.
#pragma once

#include <sinter/training/state.hpp>

namespace sinter::inline SINTER_ABI {

template <class Model>
struct lion_state {
  Model momentum;

  static lion_state make(const Model& model) { return {zeros_in_shape_of(model)}; }
};

/// w -= rate (sign(beta1 m + (1 - beta1) g) + weight_decay w), then m' = beta2 m + (1 - beta2) g
/// (Chen et al. 2023). To be used like adam, with a rate some 3 to 10 times smaller.
struct lion {
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;

  template <HandleStructure Model, class Rate>
  constexpr assignments update(const Model& model, const Model& gradients,
                               const lion_state<Model>& state, Rate rate) const {
    const auto momentum = parameters_of(state.momentum);
    assignments out;
    detail::for_each_trained(model, gradients, [&](std::size_t i, handle w, handle g) {
      const handle m = momentum[i];
      handle step = sign(beta1 * m + (1 - beta1) * g);
      if (weight_decay != 0) step = step + weight_decay * w;
      out.push_back(assign(m, beta2 * m + (1 - beta2) * g));
      out.push_back(assign(w, w - detail::scalar_like(w, rate) * step));
    });
    return out;
  }
};

}  // namespace sinter::inline SINTER_ABI
