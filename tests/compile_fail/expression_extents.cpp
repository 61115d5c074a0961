// SPDX-License-Identifier: MIT
// expect: sinter: the operands of an op do not fit together
// mention: extents_disagree, sinter::.*ir::op::add, 3, 4
// lines <= 8
#include <sinter/sinter.hpp>

int main() {
  sinter::tensor<float, sinter::extents<3>> a;
  sinter::tensor<float, sinter::extents<4>> b;
  sinter::tensor<float, 1> c = a + b;
}
