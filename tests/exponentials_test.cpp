// SPDX-License-Identifier: MIT
// The largest element and the sum of exponentials down columns from one sweep: the numbers of two
// sweeps but for rounding, at any size and number of threads; what is not finite stays as logsumexp
// and softmax have it; chosen by cost, and only where sums may be reordered.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "support/column_sweeps.hpp"
#include "support/occurrences.hpp"
#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/interpret_tile.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/sinter.hpp>

namespace exponentials_test {

namespace sn = sinter;

namespace {

using test_support::occurrences;
using test_support::one_sweep;
using test_support::two_sweeps;

constexpr auto log_of_sum = [](auto x) { return sn::logsumexp(x, 0); };
constexpr auto softmax = [](auto x) {
  const auto e = sn::exp(x - sn::max(x, 0, true));
  return e / sn::sum(e, 0, true);
};

template <class T>
sn::tensor<T, 2> noise(std::int64_t rows, std::int64_t columns, double spread = 8) {
  return test_support::column_noise<T>(rows, columns, 0, spread);
}

template <class T>
double expected(const sn::tensor<T, 2>& x, std::int64_t column) {
  long double largest = -std::numeric_limits<long double>::infinity(), sum = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i)
    largest = std::max<long double>(largest, x(i, column));
  for (std::int64_t i = 0; i < x.extent(0); ++i) sum += std::exp(x(i, column) - largest);
  return static_cast<double>(std::log(sum) + largest);
}

template <class T>
void check_columns(const sn::tensor<T, 2>& x) {
  CAPTURE(x.extent(0));
  CAPTURE(x.extent(1));
  auto f = sn::fuse(log_of_sum, one_sweep());
  const sn::tensor<T, 1> y = f(x);
  // Of one row there is nothing to sum up, and one column is a row.
  CHECK(occurrences(f.explain(x), "exponentials from a finite largest") ==
        (x.extent(0) == 1 || x.extent(1) == 1 ? 0 : 1));
  int wrong = 0;
  for (std::int64_t j = 0; j < x.extent(1); ++j) {
    const double e = expected(x, j);
    const double bound = 8 * static_cast<double>(std::numeric_limits<T>::epsilon());
    wrong += std::abs(static_cast<double>(y(j)) - e) > bound * std::max(1.0, std::abs(e)) ? 1 : 0;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("columns of every size", T, float, double) {
  for (const std::int64_t rows : {1, 2, 5, 31, 32, 33, 100, 700})
    for (const std::int64_t columns : {1, 3, 16, 17, 130}) check_columns(noise<T>(rows, columns));
  check_columns(noise<T>(40, 2100));  // more than one piece of columns
  check_columns(noise<T>(5000, 70));  // groups of rows
  check_columns(noise<T>(300, 1500));
}

TEST_CASE("a largest element that grows all the way loses nothing") {
  sn::tensor<float, 2> x(20'000, 20);
  for (std::int64_t i = 0; i < x.extent(0); ++i)
    for (std::int64_t j = 0; j < x.extent(1); ++j)
      x(i, j) = static_cast<float>(i) * 1e-4f * static_cast<float>(j + 1);
  check_columns(x);
}

TEST_CASE("what is not finite stays so, wherever it stands") {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t row : {0, 1, 40, 99}) {
    CAPTURE(row);
    auto x = noise<float>(100, 40);
    x(row, 3) = nan;
    x(row, 5) = infinity;
    x(row, 7) = -infinity;
    x(row, 39) = nan;
    x(row, 20) = infinity;
    x((row + 50) % 100, 20) = nan;
    for (std::int64_t i = 0; i < 100; ++i) x(i, 11) = -infinity;
    auto one = sn::fuse(log_of_sum, one_sweep()), two = sn::fuse(log_of_sum, two_sweeps());
    const sn::tensor<float, 1> a = one(x), b = two(x);
    CHECK(occurrences(one.explain(x), "exponentials from a finite largest") == 1);
    CHECK(std::isnan(a(3)));
    CHECK(a(5) == infinity);
    CHECK(a(11) == -infinity);
    CHECK(std::isnan(a(20)));
    CHECK(std::isnan(a(39)));
    for (std::int64_t j = 0; j < 40; ++j) {
      CAPTURE(j);
      if (std::isnan(b(j)))
        CHECK(std::isnan(a(j)));
      else if (std::isinf(b(j)))
        CHECK(a(j) == b(j));
      else
        CHECK(a(j) == doctest::Approx(b(j)).epsilon(1e-6));
    }
    auto weights = sn::fuse(softmax, one_sweep()), plain = sn::fuse(softmax, two_sweeps());
    const sn::tensor<float, 2> p = weights(x), q = plain(x);
    CHECK(occurrences(weights.explain(x), "= exponentials %") == 1);
    int wrong = 0;
    for (std::int64_t i = 0; i < 100; ++i)
      for (std::int64_t j = 0; j < 40; ++j)
        wrong += std::isnan(p(i, j)) != std::isnan(q(i, j)) ||
                         std::abs(p(i, j) - q(i, j)) > 1e-6f * q(i, j)
                     ? 1
                     : 0;
    CHECK(wrong == 0);
  }
}

TEST_CASE("operands are computed on the way, and batches have columns of their own") {
  const auto x = noise<float>(200, 30), y = noise<float>(200, 30, 1);
  auto f = sn::fuse([](auto a, auto b) { return sn::logsumexp(a * b + 1.0f, 0); }, one_sweep());
  const sn::tensor<float, 1> z = f(x, y);
  CHECK(occurrences(f.explain(x, y), "exponentials from a finite largest") == 1);
  sn::tensor<float, 2> sum(200, 30);
  for (std::int64_t i = 0; i < 200; ++i)
    for (std::int64_t j = 0; j < 30; ++j) sum(i, j) = x(i, j) * y(i, j) + 1;
  for (std::int64_t j = 0; j < 30; ++j)
    CHECK(z(j) == doctest::Approx(expected(sum, j)).epsilon(1e-6));

  sn::tensor<float, 3> images(4, 90, 24);
  std::copy(x.begin(), x.begin() + 6000, images.begin());
  std::copy(y.begin(), y.begin() + 2640, images.begin() + 6000);
  auto g = sn::fuse([](auto a) { return sn::logsumexp(a, 1); }, one_sweep());
  const sn::tensor<float, 2> w = g(images);
  CHECK(occurrences(g.explain(images), "exponentials from a finite largest") == 1);
  for (std::int64_t b = 0; b < 4; ++b) {
    sn::tensor<float, 2> image(90, 24);
    for (std::int64_t i = 0; i < 90; ++i)
      for (std::int64_t j = 0; j < 24; ++j) image(i, j) = images(b, i, j);
    for (std::int64_t j = 0; j < 24; ++j)
      CHECK(w(b, j) == doctest::Approx(expected(image, j)).epsilon(1e-6));
  }
}

TEST_CASE("every number of threads gives the same bits") {
  for (const auto& x : {noise<float>(9000, 70), noise<float>(700, 4000)}) {
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      const sn::exec::loop_threads limited(threads);
      auto f = sn::fuse(log_of_sum);
      const sn::tensor<float, 1> y = f(x);
      CHECK(occurrences(f.explain(x), "exponentials from a finite largest") == 1);
      results.emplace_back(y.begin(), y.end());
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
}

TEST_CASE("one sweep, unless sums are to stay as written or the policy says two") {
  const auto x = noise<float>(1024, 1024);
  auto one = sn::fuse(log_of_sum), two = sn::fuse(log_of_sum, two_sweeps()),
       ordered = sn::fuse(log_of_sum, {.reassociate = false});
  const sn::tensor<float, 1> a = one(x), b = two(x);
  float most = 0;
  for (std::int64_t j = 0; j < 1024; ++j) most = std::max(most, std::abs(a(j) - b(j)));
  CHECK(most < 2e-6f);
  CHECK(occurrences(one.explain(x), "exponentials from a finite largest") == 1);
  CHECK(occurrences(two.explain(x), "exponentials from") == 0);
  CHECK(occurrences(ordered.explain(x), "exponentials from") == 0);
}

TEST_CASE("exponentials from the largest of something else are not taken for them") {
  const auto x = noise<float>(500, 20), y = noise<float>(500, 20);
  auto other = sn::fuse([](auto a, auto b) { return sn::sum(sn::exp(a - sn::max(b, 0, true)), 0); },
                        one_sweep());
  auto least =
      sn::fuse([](auto a) { return sn::sum(sn::exp(a - sn::min(a, 0, true)), 0); }, one_sweep());
  (void)other(x, y);
  (void)least(x);
  CHECK(occurrences(other.explain(x, y), "= exponentials") == 0);
  CHECK(occurrences(least.explain(x), "= exponentials") == 0);
}

TEST_CASE("sums are taken from another largest element") {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto rescaling = [](double before, double after) {
    return sn::exec::tile_interpreter::rescaling(sn::dtype::f64, before, after);
  };
  CHECK(rescaling(1, 3) == doctest::Approx(std::exp(-2)));
  CHECK(rescaling(-infinity, 3) == 1);                            // nothing was summed
  CHECK(rescaling(2, infinity) == doctest::Approx(std::exp(2)));  // from 0 then
  CHECK(rescaling(infinity, infinity) == 1);
  CHECK(std::isnan(sn::exec::exponentials_result(1, false, infinity, 1)));
  CHECK(sn::exec::exponentials_result(1, true, infinity, infinity) == infinity);
  CHECK(sn::exec::exponentials_result(0, false, -infinity, 0) == 0);
}

}  // namespace exponentials_test
