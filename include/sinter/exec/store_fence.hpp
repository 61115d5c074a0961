// SPDX-License-Identifier: MIT
// The end of stores that went past the caches.
#pragma once

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Stores of this thread that went past the caches come before all of its later ones. Takes some
/// 100 ns, so once per task.
inline void store_fence() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace sinter::inline SINTER_ABI::exec
