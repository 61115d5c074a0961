// SPDX-License-Identifier: MIT
// Adam and AdamW.
#pragma once

#include <sinter/training/state.hpp>

namespace sinter::inline SINTER_ABI {

template <class Model>
struct adam_state {
  Model first, second;  // running means of the gradients and of their squares
  step_counter<Model> steps;

  static adam_state make(const Model& model) {
    const Model zeros = zeros_in_shape_of(model);
    return {zeros, zeros, tensor<std::int64_t, 0>(0)};
  }
};

/// Adam (Kingma and Ba 2015): m' = beta1 m + (1 - beta1) g, v' = beta2 v + (1 - beta2) g^2 and w -=
/// rate m'/(1 - beta1^t) / (sqrt(v'/(1 - beta2^t)) + eps) in step t. `weight_decay` w is added to
/// g, or, if `decoupled`, rate weight_decay w is taken from w (Loshchilov and Hutter 2019, AdamW).
/// The corrections are computed in f64, where 1 - beta2^t loses no digits that count. Inside a
/// fused function: `outputs(loss, adam{}.update(model, gradients, state, rate))`.
struct adam {
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;

  template <HandleStructure Model, class Rate>
  constexpr assignments update(const Model& model, const Model& gradients,
                               const adam_state<Model>& state, Rate rate) const {
    const auto first = parameters_of(state.first), second = parameters_of(state.second);
    const handle steps = state.steps + 1, t = cast<double>(steps);
    const handle size = rate / (1.0 - pow(beta1, t)), spread = rsqrt(1.0 - pow(beta2, t));
    assignments out{assign(state.steps, steps)};
    detail::for_each_trained(model, gradients, [&](std::size_t i, handle w, handle g) {
      handle from = w;
      if (weight_decay != 0 && decoupled)
        from = w * (1.0 - detail::scalar_like(w, rate) * weight_decay);
      else if (weight_decay != 0)
        g = g + weight_decay * w;
      const handle m = beta1 * first[i] + (1 - beta1) * g;
      const handle v = beta2 * second[i] + (1 - beta2) * (g * g);
      const handle step = m / (sqrt(v) * detail::scalar_like(w, spread) + eps);
      out.push_back(assign(first[i], m));
      out.push_back(assign(second[i], v));
      out.push_back(assign(w, from - detail::scalar_like(w, size) * step));
    });
    return out;
  }
};

/// Adam with decoupled weight decay.
constexpr adam adam_w(double weight_decay = 0.01) {
  return {.weight_decay = weight_decay, .decoupled = true};
}

}  // namespace sinter::inline SINTER_ABI
