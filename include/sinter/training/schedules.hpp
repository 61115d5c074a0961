// SPDX-License-Identifier: MIT
// Learning rates as functions of the step number, counted from 0: each returns one, to be called
// before a step whose argument the rate is. A rate is an argument, so a new value plans nothing.
#pragma once

#include <cmath>
#include <cstdint>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::schedules {

/// Always `rate`.
constexpr auto constant(double rate) {
  return [=](std::int64_t) { return rate; };
}

/// `rate`, times `factor` after every `every` steps (at least 1).
constexpr auto step_decay(double rate, std::int64_t every, double factor) {
  return [=](std::int64_t step) {
    const std::int64_t decays = step / every;
    return rate * std::pow(factor, static_cast<double>(decays));
  };
}

/// rate factor^step.
constexpr auto exponential(double rate, double factor) {
  return [=](std::int64_t step) { return rate * std::pow(factor, static_cast<double>(step)); };
}

/// From `from` to `to` along a line in `steps` steps (at least 1), then `to`.
constexpr auto linear(double from, double to, std::int64_t steps) {
  return [=](std::int64_t step) {
    if (step >= steps) return to;
    return from + (to - from) * static_cast<double>(step) / static_cast<double>(steps);
  };
}

/// From `from` to `to` along half a cosine in `steps` steps, then `to` (Loshchilov and Hutter
/// 2017).
constexpr auto cosine(double from, double to, std::int64_t steps) {
  return [=](std::int64_t step) {
    if (step >= steps) return to;
    constexpr double pi = 3.141592653589793;
    const double part = static_cast<double>(step) / static_cast<double>(steps);
    return to + (from - to) * 0.5 * (1 + std::cos(pi * part));
  };
}

/// `first` for `steps` steps, then `second`, which counts from 0.
template <class First, class Second>
constexpr auto then(First first, std::int64_t steps, Second second) {
  return [=](std::int64_t step) { return step < steps ? first(step) : second(step - steps); };
}

/// A line from 0 to the first rate of `schedule` in `steps` steps, then `schedule` from its start:
/// `warm_up(100, cosine(1e-3, 1e-5, 10'000))`.
template <class Schedule>
constexpr auto warm_up(std::int64_t steps, Schedule schedule) {
  return then(
      [=](std::int64_t step) {
        return schedule(0) * static_cast<double>(step) / static_cast<double>(steps);
      },
      steps, schedule);
}

}  // namespace sinter::inline SINTER_ABI::schedules
