// SPDX-License-Identifier: MIT
// All of sinter in headers, in two translation units of one program: nothing is defined twice, and
// both ways to write an expression run. The other tests compile the middle once.
#include <cstdio>

#include <sinter/sinter.hpp>

namespace sn = sinter;

#ifdef SINTER_SEPARATE
#error "this test is about programs without SINTER_SEPARATE"
#endif

float twice_plus_one(const sn::tensor<float, 1>& x);

int main() {
  const sn::tensor<float, 1> x{1, -2, 3};
  auto positive = sn::fuse([](auto v) { return sn::sum(sn::relu(v)); });
  const float sum = positive(x).item(), other = twice_plus_one(x);
  if (sum == 4 && other == 7) return 0;
  std::printf("relu: %g, expected 4; evaluated: %g, expected 7\n", static_cast<double>(sum),
              static_cast<double>(other));
  return 1;
}
