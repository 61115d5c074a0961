// SPDX-License-Identifier: MIT
// Which family of processors the program runs on, where measured figures decide what is done.
#pragma once

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::exec {

enum class processor_family {
  intel,
  amd_19h,  // Zen 3 and 4
  other
};

/// Takes a nanosecond: the compiler's runtime found it out when the program started.
inline processor_family this_family() {
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_is("intel") != 0) return processor_family::intel;
  if (__builtin_cpu_is("amdfam19h") != 0) return processor_family::amd_19h;
#endif
  return processor_family::other;
}

}  // namespace sinter::inline SINTER_ABI::exec
