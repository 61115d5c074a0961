// SPDX-License-Identifier: MIT
// Normalisations that are the same in training and inference: layer, RMS and group norm.
#pragma once

#include <cstdint>

#include <sinter/expr/expr.hpp>
#include <sinter/layers/initialiser.hpp>

namespace sinter::inline SINTER_ABI::layers {

/// Over the last axis, with a weight and a bias for each of its places (sinter::layer_norm).
template <class Kind>
struct layer_norm {
  parameter<Kind, 1> weight, bias;

  /// Weights 1, biases 0.
  static layer_norm make(std::int64_t width) {
    layer_norm out{parameter<Kind, 1>(width), parameter<Kind, 1>(width)};
    out.weight.fill(1);
    return out;
  }

  constexpr auto operator()(const auto& x, double eps = 1e-5) const {
    return sinter::layer_norm(x, weight, bias, eps);
  }
};

/// Over the last axis, with a weight for each of its places (sinter::rms_norm).
template <class Kind>
struct rms_norm {
  parameter<Kind, 1> weight;

  /// Weights 1.
  static rms_norm make(std::int64_t width) {
    rms_norm out{parameter<Kind, 1>(width)};
    out.weight.fill(1);
    return out;
  }

  constexpr auto operator()(const auto& x, double eps = 1e-6) const {
    return sinter::rms_norm(x, weight, eps);
  }
};

/// x [n, channels, ...] in groups of channels, with a weight and a bias per channel
/// (sinter::group_norm).
template <class Kind>
struct group_norm {
  parameter<Kind, 1> weight, bias;

  /// Weights 1, biases 0.
  static group_norm make(std::int64_t channels) {
    group_norm out{parameter<Kind, 1>(channels), parameter<Kind, 1>(channels)};
    out.weight.fill(1);
    return out;
  }

  constexpr auto operator()(const auto& x, std::int64_t groups, double eps = 1e-5) const {
    return sinter::group_norm(x, groups, weight, bias, eps);
  }
};

}  // namespace sinter::inline SINTER_ABI::layers
