// SPDX-License-Identifier: MIT
// Loss, gradients and updates of two layers in one fused function.
#include <cstdint>

#include <sinter/sinter.hpp>

namespace sn = sinter;

float train(sn::tensor<float, 2>& w1, sn::tensor<float, 1>& b1, sn::tensor<float, 2>& w2,
            sn::tensor<float, 1>& b2, const sn::tensor<float, 2>& x,
            const sn::tensor<std::int32_t, 1>& y) {
  static auto step = sn::fuse([](auto in, auto label, auto w_1, auto b_1, auto w_2, auto b_2) {
    auto hidden = sn::relu(sn::matmul(in, w_1) + b_1);
    auto loss = sn::cross_entropy(sn::matmul(hidden, w_2) + b_2, label);
    auto [dw1, db1, dw2, db2] = sn::gradients(loss, w_1, b_1, w_2, b_2);
    return sn::outputs(loss, sn::assign(w_1, w_1 - 0.1f * dw1), sn::assign(b_1, b_1 - 0.1f * db1),
                       sn::assign(w_2, w_2 - 0.1f * dw2), sn::assign(b_2, b_2 - 0.1f * db2));
  });
  sn::tensor<float, 0> loss;
  step.into(loss)(x, y, w1, b1, w2, b2);
  return loss.item();
}
