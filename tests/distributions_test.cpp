// SPDX-License-Identifier: MIT
// Random numbers as users ask for them: distributions, integers, keys and permutations.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/exec/parallel.hpp>
#include <sinter/sinter.hpp>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace distributions_test {

namespace sn = sinter;

namespace {

constexpr std::int64_t count = 100'000;

struct moments {
  double mean = 0, variance = 0, low = 0, high = 0;
};

template <class T>
moments moments_of(const sn::tensor<T, 1>& x) {
  moments out{0, 0, std::numeric_limits<double>::infinity(),
              -std::numeric_limits<double>::infinity()};
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const double v = static_cast<double>(x(i));
    out.mean += v;
    out.variance += v * v;
    out.low = std::min(out.low, v);
    out.high = std::max(out.high, v);
  }
  out.mean /= static_cast<double>(x.size());
  out.variance = out.variance / static_cast<double>(x.size()) - out.mean * out.mean;
  return out;
}

}  // namespace

// Bounds are some six standard deviations of the estimate.
TEST_CASE_TEMPLATE("distributions have their moments and bounds", T, float, double) {
  const sn::tensor<T, 1> cut = sn::truncated_normal<T>(1, count);
  CHECK(std::abs(moments_of(cut).mean) < 0.017);
  CHECK(std::abs(moments_of(cut).variance - 0.7737) < 0.016);
  CHECK(moments_of(cut).low > -2.00001);
  CHECK(moments_of(cut).low < -1.99);
  CHECK(moments_of(cut).high < 2.00001);
  CHECK(moments_of(cut).high > 1.99);
  const sn::tensor<T, 1> waits = sn::exponential<T>(2, count);
  CHECK(std::abs(moments_of(waits).mean - 1) < 0.019);
  CHECK(std::abs(moments_of(waits).variance - 1) < 0.06);
  CHECK(moments_of(waits).low >= 0);
  CHECK(std::isfinite(moments_of(waits).high));
  const sn::tensor<T, 1> extremes = sn::gumbel<T>(3, count);
  CHECK(std::abs(moments_of(extremes).mean - 0.57722) < 0.025);
  CHECK(std::abs(moments_of(extremes).variance - 1.64493) < 0.09);
  CHECK(std::isfinite(moments_of(extremes).low));
  const sn::tensor<T, 1> normal = sn::normal<T>(4, count);
  CHECK(std::abs(moments_of(normal).mean) < 0.019);
  CHECK(std::abs(moments_of(normal).variance - 1) < 0.027);
}

TEST_CASE("truncated normal numbers are quantiles of the uniforms they are made from") {
  const sn::tensor<double, 1> u = sn::uniform<double>(7, 1000),
                              x = sn::truncated_normal<double>(7, 1000);
  const double below = std::erfc(std::sqrt(2.0)) / 2;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const double probability = std::erfc(-x(i) / std::sqrt(2.0)) / 2;
    CHECK(probability == doctest::Approx(below + u(i) * (1 - 2 * below)).epsilon(1e-6));
  }
}

TEST_CASE("the forms that take the shape of another tensor, and handles, draw the same numbers") {
  const sn::tensor<float, 1> like(50);
  const sn::tensor<float, 1> a = sn::gumbel<float>(5, 50), b = sn::gumbel(5, like);
  CHECK(a == b);
  const sn::tensor<float, 1> c = sn::exponential<float>(5, 50), d = sn::exponential(5, like);
  CHECK(c == d);
  auto f = sn::fuse([](auto key, auto x) {
    return sn::outputs(sn::truncated_normal(key, x), sn::randint(key, 0, 10, sn::extent(x, 0)),
                       sn::randint<std::int32_t>(key, -3, key, 4), sn::bernoulli(key, 0.25, 8));
  });
  const auto [cut, digits, few, coins] = f(std::int64_t{5}, like);
  const sn::tensor<float, 1> alone = sn::truncated_normal(5, like);
  CHECK(cut == alone);
  CHECK(digits.shape() == sn::shape_vector{50});
  CHECK(few.shape() == sn::shape_vector{4});
  for (std::int64_t i = 0; i < 4; ++i) CHECK((few(i) >= -3 && few(i) < 5));
  CHECK(coins.shape() == sn::shape_vector{8});
  // Another key is no new plan.
  f(std::int64_t{6}, like);
  CHECK(f.statistics().extractions == 1);
}

TEST_CASE("randint: every number in [low, high), equally often") {
  const sn::tensor<std::int64_t, 1> dice = sn::randint(11, 1, 7, count);
  std::array<int, 8> seen{};
  for (std::int64_t i = 0; i < count; ++i) {
    REQUIRE((dice(i) >= 1 && dice(i) <= 6));
    ++seen[static_cast<std::size_t>(dice(i))];
  }
  for (std::size_t face = 1; face <= 6; ++face)
    CHECK(std::abs(seen[face] - static_cast<double>(count) / 6) < 710);
  const sn::tensor<std::int64_t, 1> one = sn::randint(1, -5, -4, 9), none = sn::randint(1, 3, 3, 9),
                                    empty = sn::randint(1, 0, 9, 0);
  for (std::int64_t i = 0; i < 9; ++i) {
    CHECK(one(i) == -5);
    CHECK(none(i) == 3);
  }
  CHECK(empty.size() == 0);
  const std::int64_t wide = std::int64_t{1} << 53;
  const sn::tensor<std::int64_t, 1> large = sn::randint(1, -wide / 2, wide / 2, 1000);
  std::set<std::int64_t> different;
  for (std::int64_t i = 0; i < 1000; ++i) {
    CHECK((large(i) >= -wide / 2 && large(i) < wide / 2));
    different.insert(large(i));
  }
  CHECK(different.size() == 1000);
}

TEST_CASE("bernoulli: true with probability p") {
  for (const double p : {0.0, 0.3, 1.0}) {
    const sn::tensor<bool, 1> coins = sn::bernoulli(12, p, count);
    const auto heads = std::count(coins.data(), coins.data() + count, true);
    CHECK(std::abs(static_cast<double>(heads) - p * count) <= 870 * (p == 0.3));
  }
}

TEST_CASE("derived keys: no two alike, and unlike the numbers of the key itself") {
  static_assert(sn::derive_key(1, 2) == sn::derive_key(1, 2));
  std::set<std::int64_t> keys;
  for (std::int64_t key = 0; key < 50; ++key)
    for (std::int64_t n = 0; n < 50; ++n) keys.insert(sn::derive_key(key, n));
  CHECK(keys.size() == 2500);
  CHECK(sn::derive_key(sn::derive_key(1, 2), 3) != sn::derive_key(sn::derive_key(1, 3), 2));
  const sn::tensor<double, 1> a = sn::uniform<double>(1, 1000),
                              b = sn::uniform<double>(sn::derive_key(1, 0), 1000);
  double product = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    CHECK(a(i) != b(i));
    product += (a(i) - 0.5) * (b(i) - 0.5);
  }
  CHECK(std::abs(product / 1000) < 0.016);
}

TEST_CASE("permutation: every number once, every order equally often") {
  for (const std::int64_t n : {0, 1, 2, 1000}) {
    const sn::tensor<std::int64_t, 1> order = sn::permutation(3, n);
    REQUIRE(order.size() == n);
    std::set<std::int64_t> seen(order.data(), order.data() + n);
    CHECK(static_cast<std::int64_t>(seen.size()) == n);
    if (n > 0) CHECK((*seen.begin() == 0 && *seen.rbegin() == n - 1));
  }
  CHECK_THROWS_AS(sn::permutation(3, -1), sn::shape_error);
  CHECK(sn::permutation(3, 100) == sn::permutation(3, 100));
  CHECK_FALSE(sn::permutation(3, 100) == sn::permutation(4, 100));
  std::array<int, 27> orders{};
  for (std::int64_t epoch = 0; epoch < 6000; ++epoch) {
    const auto p = sn::permutation(sn::derive_key(9, epoch), 3);
    ++orders[static_cast<std::size_t>(p(0) * 9 + p(1) * 3 + p(2))];
  }
  for (const int times : orders) CHECK((times == 0 || std::abs(times - 1000) < 175));
  CHECK(std::count(orders.begin(), orders.end(), 0) == 21);
  // A loader: rows of a batch, in another order each epoch.
  const sn::tensor<float, 2> x{{0, 1}, {10, 11}, {20, 21}};
  const auto order = sn::permutation(sn::derive_key(42, 0), 3);
  const sn::tensor<float, 2> batch = sn::gather(x, order, 0);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(batch(i, 1) == static_cast<float>(10 * order(i) + 1));
}

// From a second implementation of the generator, on numbers of arbitrary size.
TEST_CASE("the same numbers on every machine and for every number of threads") {
  CHECK(sn::derive_key(0, 0) == 2734401791888148412);
  CHECK(sn::permutation(1, 8) == sn::tensor<std::int64_t, 1>{5, 3, 1, 4, 0, 6, 7, 2});
  const sn::tensor<std::int64_t, 1> digits = sn::randint(1, 0, 10, 8);
  CHECK(digits == sn::tensor<std::int64_t, 1>{7, 0, 3, 3, 7, 4, 9, 8});
#ifdef _OPENMP
  const int threads = omp_get_max_threads();
  std::vector<sn::tensor<float, 1>> drawn;
  for (const int n : {1, 2, 3}) {
    omp_set_num_threads(n);
    drawn.push_back(sn::gumbel<float>(77, 300'001));
  }
  omp_set_num_threads(threads);
  CHECK(drawn[0] == drawn[1]);
  CHECK(drawn[0] == drawn[2]);
#endif
}

}  // namespace distributions_test
