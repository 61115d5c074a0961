// SPDX-License-Identifier: MIT
// Matrix products with what surrounds them.
#include "side.hpp"
#include "steps.hpp"

namespace bench {

namespace {

using matrix = sn::tensor<float, 2>;

side linear_gelu(const problem& p) {
  return sinter_side([](auto x, auto w, auto b) { return sn::gelu_tanh(sn::matmul(x, w) + b); },
                     matrix(p[0].extent(0), p[1].extent(1)), tensor_of<2>(p[0]), tensor_of<2>(p[1]),
                     tensor_of<1>(p[2]));
}

side mlp(const problem& p) {
  return sinter_side(mlp_forward{}, matrix(p[0].extent(0), p[3].extent(1)), tensor_of<2>(p[0]),
                     tensor_of<2>(p[1]), tensor_of<1>(p[2]), tensor_of<2>(p[3]),
                     tensor_of<1>(p[4]));
}

side projections(const problem& p) {
  const auto out = tensor_like<2>(p[0]);
  return sinter_side(
      [](auto x, auto wq, auto wk, auto wv) {
        return sn::outputs(sn::matmul(x, wq), sn::matmul(x, wk), sn::matmul(x, wv));
      },
      std::tuple(out, out, out), tensor_of<2>(p[0]), tensor_of<2>(p[1]), tensor_of<2>(p[2]),
      tensor_of<2>(p[3]));
}

side swiglu(const problem& p) {
  return sinter_side(
      [](auto x, auto w, auto v) { return sn::silu(sn::matmul(x, w)) * sn::matmul(x, v); },
      matrix(p[0].extent(0), p[1].extent(1)), tensor_of<2>(p[0]), tensor_of<2>(p[1]),
      tensor_of<2>(p[2]));
}

side chain(const problem& p) {
  return sinter_side([](auto a, auto b, auto v) { return sn::matmul(sn::matmul(a, b), v); },
                     tensor_like<2>(p[2]), tensor_of<2>(p[0]), tensor_of<2>(p[1]),
                     tensor_of<2>(p[2]));
}

side small_mlp(const problem& p) {
  return sinter_side(
      [](auto x, auto w1, auto w2, auto w3) {
        return sn::matmul(sn::relu(sn::matmul(sn::relu(sn::matmul(x, w1)), w2)), w3);
      },
      matrix(p[0].extent(0), p[3].extent(1)), tensor_of<2>(p[0]), tensor_of<2>(p[1]),
      tensor_of<2>(p[2]), tensor_of<2>(p[3]));
}

}  // namespace

sides sinter_products() {
  return {{"linear_gelu", linear_gelu},
          {"mlp", mlp},
          {"projections_16", projections},
          {"projections_512", projections},
          {"swiglu_16", swiglu},
          {"swiglu_512", swiglu},
          {"chain", chain},
          {"small_mlp", small_mlp}};
}

}  // namespace bench
