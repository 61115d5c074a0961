// SPDX-License-Identifier: MIT
// What every consumer here compiles and runs: a fused function, and an expression.
#include <cstdio>

#include <sinter/sinter.hpp>

namespace sn = sinter;

int main() {
  const sn::tensor<float, 2> x{{1, -2}, {-3, 4}};
  const sn::tensor<float, 2> w{{1, 0}, {0, 2}};
  const sn::tensor<float, 1> b{1, 1};
  auto layer = sn::fuse([](auto v, auto m, auto c) { return sn::relu(sn::matmul(v, m) + c); });
  const sn::tensor<float, 2> fused = layer(x, w, b), expected{{2, 0}, {0, 9}};
  const sn::tensor<float, 0> sum = sn::sum(fused);
  if (fused == expected && sum.item() == 11) return 0;
  std::printf("relu(x w + b) sums to %g, expected 11\n", static_cast<double>(sum.item()));
  return 1;
}
