// SPDX-License-Identifier: MIT
#include <sinter/sinter.hpp>

namespace sn = sinter;

int main() {
  const sn::tensor<float, 2> x{{1, -2}, {-3, 4}};
  const sn::tensor<float, 2> w{{1, 0}, {0, 2}};
  const sn::tensor<float, 1> b{1, 1};
  const sn::tensor<float, 2> y = sn::relu(sn::matmul(x, w) + b);
  const sn::tensor<float, 2> expected{{2, 0}, {0, 9}};
  return y == expected ? 0 : 1;
}
