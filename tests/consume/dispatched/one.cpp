// SPDX-License-Identifier: MIT
#include "functions.hpp"

std::vector<double> doubled(const std::vector<double>& x) {
  ++calls();
  std::vector<double> out;
  for (double each : x) out.push_back(2 * each);
  return out;
}

void fail_unless_positive(int x) {
  try {
    require_positive(x);
  } catch (const internal_fault& fault) {
    throw std::out_of_range(fault.what() + std::to_string(calls()));
  }
}
