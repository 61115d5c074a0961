// SPDX-License-Identifier: MIT
// Mean and variance down columns from one sweep: the numbers of two sweeps but for rounding, at any
// size, offset and number of threads; what is not finite stays so; chosen by cost, and only where
// sums may be reordered.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

#include "support/column_sweeps.hpp"
#include "support/line_moments.hpp"
#include "support/occurrences.hpp"
#include <sinter/sinter.hpp>

namespace moments_test {

namespace sn = sinter;

namespace {

using test_support::check_moments;
using test_support::column_noise;
using test_support::occurrences;
using test_support::one_sweep;
using test_support::two_sweeps;

constexpr auto moments = test_support::moments_along<0>;

template <class T>
void check(const sn::tensor<T, 2>& x, double tolerance) {
  CHECK(check_moments<0>(x, tolerance, one_sweep()) == 1);
}

}  // namespace

TEST_CASE("mean and variance of any number of rows and columns") {
  for (const std::int64_t rows : {2, 3, 7, 8, 9, 31, 33, 100, 511, 520, 2000})
    for (const std::int64_t columns : {2, 15, 16, 17, 100})
      check(column_noise<float>(rows, columns), 2e-6);
  for (const std::int64_t rows : {3, 100, 1031}) check(column_noise<double>(rows, 21), 1e-14);
  check(column_noise<float>(40, 1100),
        2e-6);  // more columns than partial sums are kept for at one time
  check(column_noise<float>(9000, 40), 2e-6);  // groups of rows
}

TEST_CASE("no rows, one row, and rows that are all alike") {
  auto f = sn::fuse(moments, one_sweep());
  const sn::tensor<float, 2> none(0, 5);
  const auto [no_mean, no_variance] = f(none);
  for (std::int64_t j = 0; j < 5; ++j) {
    CHECK(std::isnan(no_mean(j)));
    CHECK(std::isnan(no_variance(j)));
  }
  const auto [nothing, still_nothing] = f(sn::tensor<float, 2>(9, 0));
  CHECK(nothing.size() == 0);
  CHECK(still_nothing.size() == 0);
  const auto one = column_noise<float>(1, 5);
  const auto [mean, variance] = f(one);
  for (std::int64_t j = 0; j < 5; ++j) {
    CHECK(mean(j) == one(0, j));
    CHECK(variance(j) == 0);
  }
  // A mean that is off by one place leaves that squared, not less than nothing.
  sn::tensor<float, 2> alike(3001, 20);
  for (float& x : alike) x = 0.1f;
  const auto [same, spread] = f(alike);
  for (std::int64_t j = 0; j < 20; ++j) {
    CHECK(same(j) == 0.1f);
    CHECK(spread(j) >= 0);
    CHECK(spread(j) < 1e-15f);
  }
}

TEST_CASE(
    "nothing is lost where data are far from 0, and little where the sample is far from all") {
  check(column_noise<float>(4000, 24, 1e4), 3e-6);
  check(column_noise<float>(4000, 24, 1e6), 2e-5);
  check(column_noise<double>(4000, 24, 1e6), 1e-12);
  // The rows that are looked at first are all zeros.
  auto padded = column_noise<float>(4096, 24, 100);
  for (std::int64_t i = 0; i < 4096; ++i)
    for (std::int64_t j = 0; j < 24 && i % 512 < 8; ++j) padded(i, j) = 0;
  check(padded, 1e-5);
  // They are the only ones that are not: 64 times the rounding of the squares is left.
  sn::tensor<float, 2> spikes(4096, 24);
  for (std::int64_t i = 0; i < 4096; ++i)
    for (std::int64_t j = 0; j < 24; ++j)
      spikes(i, j) = i % 512 < 8 ? 1000.0f + static_cast<float>(j) : 0.0f;
  check(spikes, 1e-4);
}

TEST_CASE("what is not finite stays so") {
  // In a row of the sample, and in another one.
  for (const std::int64_t row : {3, 300}) test_support::check_not_finite<0>(row);
}

TEST_CASE("operands are computed on the way, and batches have moments of their own") {
  const auto x = column_noise<float>(600, 70), y = column_noise<float>(600, 70, 3);
  const auto scaled = [](auto a, auto b) {
    const auto z = sn::exp(a) * b;
    return sn::outputs(sn::mean(z, 0), sn::var(z, 0));
  };
  auto one = sn::fuse(scaled), two = sn::fuse(scaled, two_sweeps());
  const auto [mean, variance] = one(x, y);
  const auto [other_mean, other_variance] = two(x, y);
  CHECK(occurrences(one.explain(x, y), "squared deviations") == 1);
  CHECK(occurrences(two.explain(x, y), "squared deviations") == 0);
  for (std::int64_t j = 0; j < 70; ++j) {
    CHECK(mean(j) == doctest::Approx(other_mean(j)).epsilon(1e-6));
    CHECK(variance(j) == doctest::Approx(other_variance(j)).epsilon(1e-5));
  }

  sn::tensor<float, 3> images(6, 90, 33);
  const auto numbers = column_noise<float>(540, 33, 10);
  std::copy(numbers.begin(), numbers.end(), images.begin());
  auto f = sn::fuse([](auto a) { return sn::outputs(sn::mean(a, 1), sn::var(a, 1)); });
  const auto [means, variances] = f(images);
  CHECK(occurrences(f.explain(images), "squared deviations") == 1);
  for (std::int64_t b = 0; b < 6; ++b) {
    sn::tensor<float, 2> image(90, 33);
    std::copy_n(numbers.begin() + b * 90 * 33, 90 * 33, image.begin());
    for (std::int64_t j = 0; j < 33; ++j) {
      const test_support::expected_moments e = test_support::moments_of_line<0>(image, j);
      CHECK(means(b, j) == doctest::Approx(e.mean).epsilon(1e-6));
      CHECK(variances(b, j) == doctest::Approx(e.variance).epsilon(1e-5));
    }
  }
}

TEST_CASE("every number of threads gives the same bits") {
  test_support::check_threads<0>(column_noise<float>(9000, 70, 5));
  test_support::check_threads<0>(column_noise<float>(700, 4000));
}

TEST_CASE("batch norm has one sweep for its statistics, unless sums are to stay as written") {
  const auto x = column_noise<float>(3000, 64, 2);
  const auto f = [](auto a) {
    return (a - sn::mean(a, 0, true)) * sn::rsqrt(sn::var(a, 0, true) + 1e-5f);
  };
  auto one = sn::fuse(f), two = sn::fuse(f, two_sweeps()),
       ordered = sn::fuse(f, {.reassociate = false});
  const sn::tensor<float, 2> a = one(x), b = two(x);
  float most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i)
    most = std::max(most, std::abs(a.data()[i] - b.data()[i]));
  CHECK(most < 2e-5f);
  CHECK(occurrences(one.explain(x), "found by: moments") == 1);
  CHECK(occurrences(two.explain(x), "squared deviations") == 0);
  CHECK(occurrences(ordered.explain(x), "squared deviations") == 0);
  CHECK(occurrences(one.explain(x), "\n  nest ") < occurrences(two.explain(x), "\n  nest "));
}

TEST_CASE("few rows, where columns cost more than a second sweep") {
  auto f = sn::fuse(moments);
  CHECK(occurrences(f.explain(column_noise<float>(16, 1000)), "squared deviations") == 0);
  CHECK(occurrences(f.explain(column_noise<float>(1000, 16)), "squared deviations") == 1);
}

TEST_CASE("a variance whose mean is that of something else is not taken for one") {
  test_support::check_other_means<0>(column_noise<float>(500, 20), column_noise<float>(500, 20, 1));
}

}  // namespace moments_test
