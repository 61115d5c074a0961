// SPDX-License-Identifier: MIT
// A parameter whose type is another one for every instruction set.
#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {
struct result {};
}  // namespace sinter::inline SINTER_ABI

void fill(sinter::result&) {}
