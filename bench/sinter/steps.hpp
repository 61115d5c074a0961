// SPDX-License-Identifier: MIT
// The functions that are planned as well as run.
#pragma once

#include <sinter/sinter.hpp>

namespace bench {

struct mlp_forward {
  constexpr auto operator()(auto x, auto w1, auto b1, auto w2, auto b2) const {
    return sinter::matmul(sinter::gelu_tanh(sinter::matmul(x, w1) + b1), w2) + b2;
  }
};

struct mlp_step {
  constexpr auto operator()(auto x, auto label, auto w1, auto b1, auto w2, auto b2,
                            auto rate) const {
    auto hidden = sinter::relu(sinter::matmul(x, w1) + b1);
    auto loss = sinter::cross_entropy(sinter::matmul(hidden, w2) + b2, label);
    auto [dw1, db1, dw2, db2] = sinter::gradients(loss, w1, b1, w2, b2);
    return sinter::outputs(loss, sinter::assign(w1, w1 - rate * dw1),
                           sinter::assign(b1, b1 - rate * db1), sinter::assign(w2, w2 - rate * dw2),
                           sinter::assign(b2, b2 - rate * db2));
  }
};

}  // namespace bench
