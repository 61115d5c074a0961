// SPDX-License-Identifier: MIT
// expect: sinter: the operands of an op do not fit together
// mention: axis_out_of_range, sinter::.*ir::op::reduce_sum, 2, 2
// lines <= 8
#include <sinter/sinter.hpp>

int main() {
  auto f = sinter::fuse([](auto x) { return sinter::sum(x, 2); });
  f(sinter::tensor<float, 2>(3, 4));
}
