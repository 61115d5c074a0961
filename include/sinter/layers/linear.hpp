// SPDX-License-Identifier: MIT
// linear: a matrix product and a bias.
#pragma once

#include <cstdint>

#include <sinter/expr/expr.hpp>
#include <sinter/layers/initialiser.hpp>

namespace sinter::inline SINTER_ABI::layers {

/// x [..., inputs] to [..., outputs]: matmul(x, weight) + bias. Applies to handles, and outside of
/// fused functions to tensors. Throws as matmul.
template <class Kind, bool Bias = true>
struct linear {
  template <class Other>
  using of_kind = linear<Other, Bias>;

  parameter<Kind, 2> weight;                                             // [inputs, outputs]
  [[no_unique_address]] optional_member<Bias, parameter<Kind, 1>> bias;  // [outputs]

  /// Weights by `xavier_uniform`, biases 0.
  static linear make(std::int64_t inputs, std::int64_t outputs, initialiser& init) {
    linear out{};
    out.weight = parameter<Kind, 2>(inputs, outputs);
    if constexpr (Bias) out.bias = parameter<Kind, 1>(outputs);
    init.xavier_uniform(out.weight);
    return out;
  }

  constexpr auto operator()(const auto& x) const {
    if constexpr (Bias)
      return matmul(x, weight) + bias;
    else
      return matmul(x, weight);
  }
};

}  // namespace sinter::inline SINTER_ABI::layers
