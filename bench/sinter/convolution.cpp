// SPDX-License-Identifier: MIT
// Convolutions.
#include "side.hpp"

namespace bench {

namespace {

side conv3x3_relu(const problem& p) {
  return sinter_side([](auto x, auto w) { return sn::relu(sn::conv2d(x, w, {.padding = 1})); },
                     tensor_like<4>(p[0]), tensor_of<4>(p[0]), tensor_of<4>(p[1]));
}

}  // namespace

sides sinter_convolution() { return {{"conv3x3_relu", conv3x3_relu}}; }

}  // namespace bench
