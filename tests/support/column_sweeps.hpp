// SPDX-License-Identifier: MIT
// Data and options for the tests of what one sweep down columns computes.
#pragma once

#include <cstdint>
#include <random>

#include <sinter/sinter.hpp>

namespace test_support {

/// Uniform in [offset - spread, offset + spread).
template <class T>
sinter::tensor<T, 2> column_noise(std::int64_t rows, std::int64_t columns, double offset = 0,
                                  double spread = 1) {
  sinter::tensor<T, 2> out(rows, columns);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> one(-1, 1);
  for (T& x : out) x = static_cast<T>(offset + spread * one(random));
  return out;
}

/// One sweep however few rows there are.
inline sinter::program_options one_sweep() {
  sinter::program_options out;
  out.machine.row = 0;
  out.machine.launch = 1e6;
  return out;
}
inline sinter::program_options two_sweeps() {
  sinter::program_options out;
  out.nests.moments = false;
  return out;
}

}  // namespace test_support
