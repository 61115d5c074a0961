// SPDX-License-Identifier: MIT
// expect: sinter: the operands of an op do not fit together
// mention: wrong_dtype, sinter::.*ir::op::exp
// lines <= 8
#include <sinter/sinter.hpp>

int main() {
  auto f = sinter::fuse([](auto x) { return sinter::exp(x); });
  f(sinter::tensor<std::int32_t, 1>(3));
}
