// SPDX-License-Identifier: MIT
// expect: sinter: the operands of an op do not fit together
// mention: mixed_dtypes, sinter::.*ir::op::add
// lines <= 8
#include <sinter/sinter.hpp>

int main() {
  auto f = sinter::fuse([](auto x, auto y) { return x + y; });
  f(sinter::tensor<float, 1>(3), sinter::tensor<double, 1>(3));
}
