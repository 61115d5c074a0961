// SPDX-License-Identifier: MIT
// Mean and variance of rows from one sweep: the numbers of two sweeps but for rounding, at any
// size and offset; what is not finite stays so; the same bits for any number of threads; chosen
// only where sums may be reordered.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

#include "support/column_sweeps.hpp"
#include "support/line_moments.hpp"
#include "support/occurrences.hpp"
#include <sinter/sinter.hpp>

namespace row_moments_test {

namespace sn = sinter;

namespace {

using test_support::check_moments;
using test_support::column_noise;
using test_support::occurrences;
using test_support::two_sweeps;

constexpr auto moments = test_support::moments_along<1>;

template <class T>
void check(const sn::tensor<T, 2>& x, double tolerance) {
  const auto sweeps = check_moments<1>(x, tolerance);
  if (x.extent(1) > 16) CHECK(sweeps == 1);
}

}  // namespace

TEST_CASE("mean and variance of any number of rows and columns") {
  for (const std::int64_t columns :
       {2, 3, 15, 16, 17, 63, 64, 65, 100, 768, 1023, 1024, 1025, 5000})
    for (const std::int64_t rows : {1, 5, 40}) check(column_noise<float>(rows, columns), 2e-6);
  for (const std::int64_t columns : {3, 100, 513, 4099})
    check(column_noise<double>(21, columns), 1e-14);
  check(column_noise<float>(2, 300'001), 2e-6);  // few long ones, which tasks share
}

TEST_CASE("no rows, no columns, one column, and rows that are all alike") {
  auto f = sn::fuse(moments);
  const auto [no_mean, no_variance] = f(sn::tensor<float, 2>(5, 0));
  for (std::int64_t i = 0; i < 5; ++i) {
    CHECK(std::isnan(no_mean(i)));
    CHECK(std::isnan(no_variance(i)));
  }
  const auto [nothing, still_nothing] = f(sn::tensor<float, 2>(0, 9));
  CHECK(nothing.size() == 0);
  CHECK(still_nothing.size() == 0);
  const auto one = column_noise<float>(5, 1);
  const auto [mean, variance] = f(one);
  for (std::int64_t i = 0; i < 5; ++i) {
    CHECK(mean(i) == one(i, 0));
    CHECK(variance(i) == 0);
  }
  for (const std::int64_t columns : {7, 48, 100, 3001}) {
    sn::tensor<float, 2> alike(20, columns);
    for (float& x : alike) x = 0.1f;
    const auto [same, spread] = f(alike);
    for (std::int64_t i = 0; i < 20; ++i) {
      CHECK(same(i) == doctest::Approx(0.1f).epsilon(1e-7));
      CHECK(spread(i) >= 0);
      CHECK(spread(i) < 1e-15f);
    }
  }
}

TEST_CASE(
    "nothing is lost where data are far from 0, and little where the first are far from all") {
  check(column_noise<float>(24, 4000, 1e4), 3e-6);
  check(column_noise<float>(24, 768, 1e4), 3e-6);
  check(column_noise<float>(24, 4000, 1e6), 2e-5);
  check(column_noise<double>(24, 4000, 1e6), 1e-12);
  // The shift is that of the first elements, which are all zeros.
  auto padded = column_noise<float>(24, 4096, 100);
  for (std::int64_t i = 0; i < 24; ++i)
    for (std::int64_t j = 0; j < 4096; ++j)
      if (j % 1024 < 64) padded(i, j) = 0;
  check(padded, 1e-5);
  // They, or one of them, are the only ones that are not.
  for (const std::int64_t count : {1, 64}) {
    sn::tensor<float, 2> spikes(24, 4096);
    for (std::int64_t i = 0; i < 24; ++i)
      for (std::int64_t j = 0; j < 4096; ++j)
        spikes(i, j) = j % 1024 < count ? 1000.0f + static_cast<float>(i) : 0.0f;
    check(spikes, 1e-5);
  }
}

TEST_CASE("what is not finite stays so") {
  // Among the elements that give the shift, and behind them.
  for (const std::int64_t at : {3, 300, 998}) test_support::check_not_finite<1>(at);
}

TEST_CASE("every number of threads gives the same bits") {
  test_support::check_threads<1>(column_noise<float>(700, 768, 5));
  test_support::check_threads<1>(column_noise<float>(2, 300'000));
}

TEST_CASE("layer norm has one sweep for its statistics, unless sums are to stay as written") {
  const auto x = column_noise<float>(300, 768, 2);
  const auto f = [](auto a, auto g, auto b) {
    return (a - sn::mean(a, 1, true)) * sn::rsqrt(sn::var(a, 1, true) + 1e-5f) * g + b;
  };
  sn::tensor<float, 1> g(768), b(768);
  std::fill(g.begin(), g.end(), 1.5f);
  std::fill(b.begin(), b.end(), 0.25f);
  auto composite = sn::fuse([](auto a, auto c, auto d) { return sn::layer_norm(a, c, d); });
  (void)composite(x, g, b);
  CHECK(occurrences(composite.explain(x, g, b), "squared deviations") == 1);
  auto one = sn::fuse(f), two = sn::fuse(f, two_sweeps()),
       ordered = sn::fuse(f, {.reassociate = false});
  const sn::tensor<float, 2> a = one(x, g, b), c = two(x, g, b);
  float most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i)
    most = std::max(most, std::abs(a.data()[i] - c.data()[i]));
  CHECK(most < 2e-5f);
  CHECK(occurrences(one.explain(x, g, b), "squared deviations") == 1);
  CHECK(occurrences(two.explain(x, g, b), "squared deviations") == 0);
  CHECK(occurrences(ordered.explain(x, g, b), "squared deviations") == 0);
}

TEST_CASE("a variance whose mean is that of something else is not taken for one") {
  test_support::check_other_means<1>(column_noise<float>(20, 500), column_noise<float>(20, 500, 1));
}

}  // namespace row_moments_test
