// SPDX-License-Identifier: MIT
// expect: sinter: the operands of an op do not fit together
// mention: not_a_permutation, sinter::.*ir::op::permute, 3
// lines <= 8
#include <sinter/sinter.hpp>

int main() {
  auto f = sinter::fuse([](auto x) { return sinter::permute(x, {0, 2, 2}); });
  f(sinter::tensor<float, 3>(2, 3, 4));
}
