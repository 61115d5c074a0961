// SPDX-License-Identifier: MIT
// expect: into names results; f.into\(y\)\(x\) computes them
// lines <= 12
#include <sinter/sinter.hpp>

#pragma GCC diagnostic error "-Wunused-result"

int main() {
  const auto f = sinter::fuse([](auto x) { return sinter::exp(x); });
  sinter::tensor<float, 1> y(3), x(3);
  f.into(y, x);
}
