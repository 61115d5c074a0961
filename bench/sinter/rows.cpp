// SPDX-License-Identifier: MIT
// Reductions, and what is normalised by them.
#include "side.hpp"

namespace bench {

namespace {

using vector = sn::tensor<float, 1>;

side softmax(const problem& p) {
  return sinter_side([](auto x) { return sn::softmax(x); }, tensor_like<2>(p[0]),
                     tensor_of<2>(p[0]));
}

side layernorm(const problem& p) {
  return sinter_side([](auto x, auto g, auto b) { return sn::layer_norm(x, g, b); },
                     tensor_like<2>(p[0]), tensor_of<2>(p[0]), tensor_of<1>(p[1]),
                     tensor_of<1>(p[2]));
}

side mse(const problem& p) {
  return sinter_side([](auto x, auto y) { return sn::mse(x, y); }, sn::tensor<float, 0>(),
                     tensor_of<1>(p[0]), tensor_of<1>(p[1]));
}

side dot(const problem& p) {
  return sinter_side([](auto x, auto y) { return sn::sum(x * y); }, sn::tensor<float, 0>(),
                     tensor_of<1>(p[0]), tensor_of<1>(p[1]));
}

side batchnorm(const problem& p) {
  return sinter_side(
      [](auto x) { return (x - sn::mean(x, 0, true)) * sn::rsqrt(sn::var(x, 0, true) + 1e-5f); },
      tensor_like<2>(p[0]), tensor_of<2>(p[0]));
}

template <int Axis>
side sum(const problem& p) {
  return sinter_side([](auto x) { return sn::sum(x, Axis); }, vector(p[0].extent(1 - Axis)),
                     tensor_of<2>(p[0]));
}

side max(const problem& p) {
  return sinter_side([](auto x) { return sn::max(x, 1); }, vector(p[0].extent(0)),
                     tensor_of<2>(p[0]));
}

template <int Axis>
side logsumexp(const problem& p) {
  return sinter_side([](auto x) { return sn::logsumexp(x, Axis); }, vector(p[0].extent(1 - Axis)),
                     tensor_of<2>(p[0]));
}

}  // namespace

sides sinter_rows() {
  return {{"softmax", softmax},
          {"layernorm", layernorm},
          {"mse_16m", mse},
          {"dot_1m", dot},
          {"sum_axis0", sum<0>},
          {"sum_axis1", sum<1>},
          {"max_axis1", max},
          {"softmax_16", softmax},
          {"layernorm_1000", layernorm},
          {"batchnorm", batchnorm},
          {"logsumexp_axis0", logsumexp<0>},
          {"logsumexp_axis1", logsumexp<1>}};
}

}  // namespace bench
