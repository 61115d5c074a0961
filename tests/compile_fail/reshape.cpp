// SPDX-License-Identifier: MIT
// expect: sinter: the operands of an op do not fit together
// mention: size_changes, sinter::.*ir::op::reshape, 12, 10
// lines <= 8
#include <sinter/sinter.hpp>

int main() {
  auto f = sinter::fuse([](auto x) { return sinter::reshape(x, 2, 5); });
  f(sinter::tensor<float, sinter::extents<3, 4>>());
}
