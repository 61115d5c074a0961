// SPDX-License-Identifier: MIT
#include "functions.hpp"

void require_positive(int x) {
  ++calls();
  if (x <= 0) throw internal_fault("calls: ");
}
