// SPDX-License-Identifier: MIT
// What optimizers have in common: state in the shape of a model, and a walk over parameters,
// gradients and state at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/expr/expr.hpp>

namespace sinter::inline SINTER_ABI {

/// Zeros in the shapes of a struct of tensors.
template <class S>
S zeros_in_shape_of(const S& like) {
  S out = like;
  for_each_parameter(out, [](auto& x) { x.fill({}); });
  return out;
}

/// How many steps were made, beside a struct: an i64 scalar, or inside a fused function a handle.
template <class S>
using step_counter = std::conditional_t<HandleStructure<S>, handle, tensor<std::int64_t, 0>>;

namespace detail {

// A scalar in the dtype of x.
constexpr handle scalar_like(handle x, handle scalar) {
  return handle(in_dtype(scalar.node, x.type()));
}
template <Scalar S>
constexpr S scalar_like(handle, S scalar) {
  return scalar;
}

// Calls f(number, parameter, gradient) for each parameter that is trained; `number` is its place
// among all of them.
template <HandleStructure Model, class F>
constexpr void for_each_trained(const Model& model, const Model& gradients, F f) {
  const auto weights = parameters_of(model), slopes = parameters_of(gradients);
  const auto trained = trained_parameters<Model>();
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (trained[i]) f(i, weights[i], slopes[i]);
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
