// SPDX-License-Identifier: MIT
// Stochastic gradient descent, with and without momentum.
#pragma once

#include <sinter/training/state.hpp>

namespace sinter::inline SINTER_ABI {

template <class Model>
struct sgd_state {
  Model velocity;

  static sgd_state make(const Model& model) { return {zeros_in_shape_of(model)}; }
};

/// w -= rate g, where g has `weight_decay` w added; with a state v' = momentum v + g and w -= rate
/// v', or rate (g + momentum v') if `nesterov` (Sutskever et al. 2013, in the form without a rate
/// in v). Inside a fused function: `outputs(loss, sgd{.momentum = 0.9}.update(model, gradients,
/// state, rate))`. The rate is a C++ number or a scalar; statistics are left alone.
struct sgd {
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;

  template <HandleStructure Model, class Rate>
  constexpr assignments update(const Model& model, const Model& gradients, Rate rate) const {
    assignments out;
    detail::for_each_trained(model, gradients, [&](std::size_t, handle w, handle g) {
      out.push_back(assign(w, w - detail::scalar_like(w, rate) * decayed(w, g)));
    });
    return out;
  }

  template <HandleStructure Model, class Rate>
  constexpr assignments update(const Model& model, const Model& gradients,
                               const sgd_state<Model>& state, Rate rate) const {
    const auto velocity = parameters_of(state.velocity);
    assignments out;
    detail::for_each_trained(model, gradients, [&](std::size_t i, handle w, handle g) {
      g = decayed(w, g);
      const handle v = momentum * velocity[i] + g;
      const handle step = nesterov ? g + momentum * v : v;
      out.push_back(assign(velocity[i], v));
      out.push_back(assign(w, w - detail::scalar_like(w, rate) * step));
    });
    return out;
  }

 private:
  constexpr handle decayed(handle w, handle g) const {
    return weight_decay == 0 ? g : g + weight_decay * w;
  }
};

}  // namespace sinter::inline SINTER_ABI
