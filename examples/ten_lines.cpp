// SPDX-License-Identifier: MIT
// A fused kernel in ten lines: swish of a line, written as a formula and computed in one pass over
// memory.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <sinter/sinter.hpp>

namespace sn = sinter;

int main() {
  auto swish = sn::fuse([](auto x, auto slope) {
    auto line = slope * x + 0.5f;
    return line * sn::sigmoid(line);
  });

  sn::tensor<float, 1> x = sn::arange<float>(-4.0f, 4.0f, 0.008f);
  sn::tensor<float, 1> y = swish(x, 2.0f);  // the first call plans, later ones replay

  double worst = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double line = 2.0 * static_cast<double>(x(i)) + 0.5;
    worst = std::max(worst, std::abs(static_cast<double>(y(i)) - line / (1 + std::exp(-line))));
  }
  std::printf("swish(2 x + 1/2) at -4, 0 and 4: %.6f %.6f %.6f\n", static_cast<double>(y(0)),
              static_cast<double>(y(500)), static_cast<double>(y(999)));
  std::printf("largest difference from a plain loop in double: %.1e\n", worst);
  if (worst > 1e-5) {
    std::puts("ten_lines: too large");
    return 1;
  }
}
