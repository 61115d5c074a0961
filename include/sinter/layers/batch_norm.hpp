// SPDX-License-Identifier: MIT
// batch_norm: a normalisation over the batch in training, by running statistics in inference.
#pragma once

#include <cstdint>

#include <sinter/expr/expr.hpp>
#include <sinter/layers/forward_pass.hpp>

namespace sinter::inline SINTER_ABI::layers {

struct batch_norm_options {
  double eps = 1e-5;
  double momentum = 0.1;  // the part of the new in running statistics
};

/// x [n, channels, ...] normalised per channel, times weight plus bias (Ioffe and Szegedy 2015). A
/// training pass uses mean and population variance of the batch, and updates the running ones by
/// running += momentum (batch - running), the variance without bias (n - 1; NaN for one element),
/// as frameworks do; an inference pass uses the running ones. Throws as sinter::batch_norm.
template <class Kind>
struct batch_norm {
  parameter<Kind, 1> weight, bias;
  statistic<Kind, 1> mean, variance;

  /// Weights and variances 1, biases and means 0.
  static batch_norm make(std::int64_t channels) {
    const parameter<Kind, 1> zeros(channels);
    batch_norm out{zeros, zeros, {zeros}, {zeros}};
    out.weight.fill(1);
    out.variance.value.fill(1);
    return out;
  }

  constexpr handle operator()(handle x, forward_pass& pass,
                              const batch_norm_options& options = {}) const {
    if (!pass.is_training())
      return sinter::batch_norm(x, mean.value, variance.value, weight, bias, options.eps);
    const handle out = sinter::batch_norm(x, weight, bias, options.eps);
    if (x.graph().failed()) return x;
    axis_list all_but_channels = 0;
    for (int axis = 2; axis < x.rank(); ++axis) all_but_channels.axes.push_back(axis);
    handle count = extent(x, 0);
    for (int axis = 2; axis < x.rank(); ++axis) count = count * extent(x, axis);
    const handle n = count * 1.0;
    const handle unbiased = sinter::var(x, all_but_channels) * (n / (n - 1.0));
    const auto moved = [&](handle running, handle batch) {
      pass.update(running, running + options.momentum * (batch - running));
    };
    moved(mean.value, sinter::mean(x, all_but_channels));
    moved(variance.value, unbiased);
    return out;
  }
};

}  // namespace sinter::inline SINTER_ABI::layers
