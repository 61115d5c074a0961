// SPDX-License-Identifier: MIT
// All of sinter in headers, in two translation units of one program: nothing is defined twice, and
// both ways to write an expression run. The other tests compile the middle once.
#include <cstdio>

#include <sinter/sinter.hpp>

namespace sn = sinter;

#ifdef SINTER_SEPARATE
#error "this test is about programs without SINTER_SEPARATE"
#endif

float last_of(const sn::tensor<float, 1>& x);

int main() {
  const sn::tensor<float, 1> x{1, -2, 3};
  auto positive = sn::fuse([](auto v) { return sn::sum(sn::relu(v)); });
  const sn::tensor<float, 0> evaluated = sn::sum(2 * x + 1);
  const float sum = positive(x).item(), other = evaluated.item(), last = last_of(x);
  if (sum == 4 && other == 7 && last == 3) return 0;
  std::printf("relu: %g, expected 4; evaluated: %g, expected 7; last: %g, expected 3\n",
              static_cast<double>(sum), static_cast<double>(other), static_cast<double>(last));
  return 1;
}
