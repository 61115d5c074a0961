// SPDX-License-Identifier: MIT
// Units of two sources: values and exceptions of std:: cross their border, and what is inline in
// both sources is one thing within a unit and another one outside.
#include <cstdio>

#include "functions.hpp"

int main() {
  calls() = 100;
  const bool right = doubled({1, 2, 3}) == std::vector<double>{2, 4, 6};
  fail_unless_positive(1);
  std::string told;
  try {
    fail_unless_positive(0);
  } catch (const std::out_of_range& fault) {
    told = fault.what();
  }
  if (right && told == "calls: 3" && calls() == 100) return 0;
  std::printf("doubled: %d, \"%s\", %d\n", right, told.c_str(), calls());
  return 1;
}
