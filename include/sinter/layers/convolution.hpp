// SPDX-License-Identifier: MIT
// conv2d: a convolution of images as a layer.
#pragma once

#include <cstdint>

#include <sinter/expr/expr.hpp>
#include <sinter/layers/initialiser.hpp>

namespace sinter::inline SINTER_ABI::layers {

/// Images [n, channels, height, width] to [n, outputs, height', width']: sinter::conv2d with these
/// filters and options (stride, padding, dilation, groups), and a bias. Throws as sinter::conv2d.
template <class Kind, bool Bias = true>
struct conv2d {
  template <class Other>
  using of_kind = conv2d<Other, Bias>;

  parameter<Kind, 4> weight;  // [outputs, channels / groups, rows, columns]
  [[no_unique_address]] optional_member<Bias, parameter<Kind, 1>> bias;  // [outputs]

  /// Weights by `he_uniform`, biases 0. `window`: rows and columns.
  static conv2d make(std::int64_t channels, std::int64_t outputs, plane window, initialiser& init,
                     std::int64_t groups = 1) {
    conv2d out{};
    out.weight = parameter<Kind, 4>(outputs, channels / groups, window.vertical, window.horizontal);
    if constexpr (Bias) out.bias = parameter<Kind, 1>(outputs);
    init.he_uniform(out.weight);
    return out;
  }

  constexpr auto operator()(const auto& x, const convolution_options& options = {}) const {
    if constexpr (Bias)
      return sinter::conv2d(x, weight, bias, options);
    else
      return sinter::conv2d(x, weight, options);
  }
};

}  // namespace sinter::inline SINTER_ABI::layers
