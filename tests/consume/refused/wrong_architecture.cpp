// SPDX-License-Identifier: MIT
// Compiled for more than the unit is for.
#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {
int lanes() { return 16; }
}  // namespace sinter::inline SINTER_ABI

int lanes() { return sinter::lanes(); }
