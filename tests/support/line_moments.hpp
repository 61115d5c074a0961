// SPDX-License-Identifier: MIT
// What holds for mean and variance from one sweep along either axis of a matrix. A line is a column
// along axis 0, a row along axis 1.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "column_sweeps.hpp"
#include "occurrences.hpp"
#include <sinter/exec/parallel.hpp>
#include <sinter/sinter.hpp>

namespace test_support {

template <int Axis>
inline constexpr auto moments_along =
    [](auto x) { return sinter::outputs(sinter::mean(x, Axis), sinter::var(x, Axis)); };

template <int Axis, class X>
auto& element_of_line(X& x, std::int64_t line, std::int64_t place) {
  return Axis == 0 ? x(place, line) : x(line, place);
}

struct expected_moments {
  double mean = 0, variance = 0;
};
/// Of one line, in two sweeps of long double.
template <int Axis, class T>
expected_moments moments_of_line(const sinter::tensor<T, 2>& x, std::int64_t line) {
  const auto count = static_cast<long double>(x.extent(Axis));
  long double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < x.extent(Axis); ++i) sum += element_of_line<Axis>(x, line, i);
  const long double mean = sum / count;
  for (std::int64_t i = 0; i < x.extent(Axis); ++i) {
    const long double distance = element_of_line<Axis>(x, line, i) - mean;
    squares += distance * distance;
  }
  return {static_cast<double>(mean), static_cast<double>(squares / count)};
}

/// Within `tolerance` of a variance, and means of as much of their own; how many sweeps for
/// moments there are.
template <int Axis, class T>
int check_moments(const sinter::tensor<T, 2>& x, double tolerance,
                  const sinter::program_options& options = {}) {
  CAPTURE(x.extent(0));
  CAPTURE(x.extent(1));
  auto f = sinter::fuse(moments_along<Axis>, options);
  const auto [mean, variance] = f(x);
  for (std::int64_t i = 0; i < x.extent(1 - Axis); ++i) {
    const expected_moments e = moments_of_line<Axis>(x, i);
    CHECK(std::abs(static_cast<double>(mean(i)) - e.mean) <=
          tolerance * (std::abs(e.mean) + std::sqrt(e.variance)));
    CHECK(std::abs(static_cast<double>(variance(i)) - e.variance) <= tolerance * e.variance);
  }
  return occurrences(f.explain(x), "squared deviations");
}

/// What is not finite, at some place of a line of 1000, stays so.
template <int Axis>
void check_not_finite(std::int64_t at) {
  constexpr float infinity = std::numeric_limits<float>::infinity(),
                  nan = std::numeric_limits<float>::quiet_NaN();
  auto x = Axis == 0 ? column_noise<float>(1000, 20) : column_noise<float>(20, 1000);
  const auto of_line = [&](std::int64_t line, std::int64_t place) -> float& {
    return element_of_line<Axis>(x, line, place);
  };
  of_line(0, at) = infinity;
  of_line(1, at) = -infinity;
  of_line(2, at) = nan;
  of_line(3, at) = infinity;
  of_line(3, at + 1) = -infinity;
  of_line(4, at) = 3e38f;
  auto f = sinter::fuse(moments_along<Axis>);
  const auto [mean, variance] = f(x);
  REQUIRE(occurrences(f.explain(x), "squared deviations") == 1);
  CHECK(mean(0) == infinity);
  CHECK(mean(1) == -infinity);
  CHECK(std::isnan(mean(2)));
  CHECK(std::isnan(mean(3)));
  for (std::int64_t i = 0; i < 4; ++i) CHECK(std::isnan(variance(i)));
  CHECK(mean(4) == doctest::Approx(3e35f));
  CHECK(variance(4) == infinity);
  for (std::int64_t i = 5; i < 20; ++i)
    CHECK(variance(i) == doctest::Approx(moments_of_line<Axis>(x, i).variance));
}

/// Every number of threads gives the same bits.
template <int Axis>
void check_threads(const sinter::tensor<float, 2>& x) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    const sinter::exec::loop_threads limited(threads);
    auto f = sinter::fuse(moments_along<Axis>);
    const auto [mean, variance] = f(x);
    results.emplace_back(mean.begin(), mean.end());
    results.back().insert(results.back().end(), variance.begin(), variance.end());
  }
  CHECK(results[0] == results[1]);
  CHECK(results[0] == results[2]);
}

/// A variance whose mean is that of something else is not taken for one.
template <int Axis>
void check_other_means(const sinter::tensor<float, 2>& x, const sinter::tensor<float, 2>& y) {
  auto other = sinter::fuse([](auto a, auto b) {
    const auto d = a - sinter::mean(b, Axis, true);
    return sinter::mean(d * d, Axis);
  });
  auto scaled = sinter::fuse([](auto a) {
    const auto d = a - sinter::sum(a, Axis, true) * 0.5f;
    return sinter::mean(d * d, Axis);
  });
  (void)other(x, y);
  (void)scaled(x);
  CHECK(occurrences(other.explain(x, y), "squared deviations") == 0);
  CHECK(occurrences(scaled.explain(x), "squared deviations") == 0);
}

}  // namespace test_support
