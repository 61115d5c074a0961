// SPDX-License-Identifier: MIT
// The clock that other work on the same cores does not drive on.
#pragma once

#include <ctime>

namespace bench {

/// What this process has spent on processors so far, all of its threads, in nanoseconds.
inline double processor_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace bench
