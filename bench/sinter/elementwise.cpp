// SPDX-License-Identifier: MIT
// Element-wise cases.
#include "side.hpp"

namespace bench {

namespace {

side silu(const problem& p) {
  return sinter_side([](auto x, auto y) { return sn::silu(2.0f * x + 0.5f) * y; },
                     tensor_like<1>(p[0]), tensor_of<1>(p[0]), tensor_of<1>(p[1]));
}

side bias_relu(const problem& p) {
  return sinter_side([](auto x, auto b) { return sn::relu(x + b); }, tensor_like<2>(p[0]),
                     tensor_of<2>(p[0]), tensor_of<1>(p[1]));
}

// Hull's notation; r = 2 %, volatility 30 %.
side blackscholes(const problem& p) {
  return sinter_side(
      [](auto spot, auto strike, auto time) {
        auto deviation = 0.3f * sn::sqrt(time);
        auto d1 = (sn::log(spot / strike) + 0.065f * time) / deviation;
        auto d2 = d1 - deviation;
        auto normal = [](auto d) { return 0.5f * (1.0f + sn::erf(d * 0.70710678f)); };
        return spot * normal(d1) - strike * sn::exp(-0.02f * time) * normal(d2);
      },
      tensor_like<1>(p[0]), tensor_of<1>(p[0]), tensor_of<1>(p[1]), tensor_of<1>(p[2]));
}

side transpose_add(const problem& p) {
  return sinter_side([](auto x, auto y) { return sn::transpose(x) + y; }, tensor_like<2>(p[0]),
                     tensor_of<2>(p[0]), tensor_of<2>(p[1]));
}

side broadcast(const problem& p) {
  return sinter_side([](auto x, auto row, auto column) { return (x + row) * column; },
                     tensor_like<2>(p[0]), tensor_of<2>(p[0]), tensor_of<1>(p[1]),
                     tensor_of<2>(p[2]));
}

}  // namespace

sides sinter_elementwise() {
  return {{"ew_4k", silu},
          {"ew_128k", silu},
          {"ew_16m", silu},
          {"bias_relu", bias_relu},
          {"blackscholes", blackscholes},
          {"transpose_add", transpose_add},
          {"broadcast", broadcast}};
}

}  // namespace bench
