// SPDX-License-Identifier: MIT
// expect: the lambda does not take so many arguments; give what a call gets
// lines <= 11
#include <sinter/sinter.hpp>

int main() {
  auto f = sinter::fuse([](auto x, auto w) { return sinter::matmul(x, w); });
  return static_cast<int>(f.explain().size());
}
