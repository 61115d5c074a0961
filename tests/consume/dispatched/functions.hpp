// SPDX-License-Identifier: MIT
// What the two sources share, and what they offer.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

/// Thrown and caught inside of a unit.
struct internal_fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How often a unit was called: one counter for both sources of a unit.
inline int& calls() {
  static int count = 0;
  return count;
}

// In one.cpp.
std::vector<double> doubled(const std::vector<double>& x);
void fail_unless_positive(int x);  // std::out_of_range, with the number of calls

// In two.cpp.
void require_positive(int x);
