// SPDX-License-Identifier: MIT
// expect: sinter: the operands of an op do not fit together
// mention: wrong_dtype, sinter::.*ir::op::gather
// lines <= 8
#include <sinter/sinter.hpp>

int main() {
  auto f = sinter::fuse([](auto x, auto i) { return sinter::gather(x, i); });
  f(sinter::tensor<float, 2>(3, 4), sinter::tensor<float, 1>(2));
}
