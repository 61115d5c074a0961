// SPDX-License-Identifier: MIT
// The steady clock as numbers. Every unit that includes sinter reads what includes this, and
// <chrono> brings streams along, a tenth of a second with GCC 12.
#pragma once

#include <concepts>
#include <cstdint>
#include <ctime>

#include <sinter/support/abi.hpp>

#ifndef CLOCK_MONOTONIC
#include <chrono>
#endif

namespace sinter::inline SINTER_ABI {

/// A length of time. Durations of <chrono> that count in whole numbers convert to it; what is
/// finer than a nanosecond is cut off.
struct time_span {
  std::int64_t nanoseconds = 0;

  constexpr time_span() = default;
  constexpr explicit time_span(std::int64_t in_nanoseconds) : nanoseconds(in_nanoseconds) {}
  template <class Duration>
    requires std::integral<typename Duration::rep> &&
             requires(const Duration& d) { d.count() * Duration::period::num; }
  constexpr time_span(const Duration& duration) {
    constexpr std::int64_t second = 1'000'000'000;
    using period = typename Duration::period;
    if constexpr (second % period::den == 0)
      nanoseconds = duration.count() * (second / period::den * period::num);
    else
      nanoseconds = duration.count() / (period::den / second) * period::num;
  }
};

/// Nanoseconds of the steady clock: what std::chrono::steady_clock counts, so that all processes of
/// the machine share them.
inline std::int64_t steady_nanoseconds() {
#ifdef CLOCK_MONOTONIC
  std::timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
#else
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count();
#endif
}

}  // namespace sinter::inline SINTER_ABI
