// SPDX-License-Identifier: MIT
// expect: sinter: the operands of an op do not fit together
// mention: extents_disagree, sinter::.*ir::op::matmul, 784, 785
// lines <= 8
#include <sinter/sinter.hpp>

int main() {
  auto f = sinter::fuse([](auto x, auto w) { return sinter::matmul(x, w); });
  sinter::tensor<float, sinter::extents<sinter::dyn, 784>> x(2, 784);
  sinter::tensor<float, sinter::extents<785, 10>> w;
  f(x, w);
}
