// SPDX-License-Identifier: MIT
// One function for every batch size: one saturation per shape class, one extraction per power of
// two, right every time.
#include <cmath>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace dynamic_shapes_test {

namespace sn = sinter;
using sn::dyn;

namespace {

sn::tensor<float, 2> filled(std::int64_t rows, std::int64_t columns, float scale) {
  sn::tensor<float, 2> out(rows, columns);
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.data()[i] = scale * static_cast<float>((i * 37) % 101 - 50);
  return out;
}

// relu(x w + b), then the sum of each column.
void check(auto& f, std::int64_t batch, const sn::tensor<float, 2>& w,
           const sn::tensor<float, 1>& b) {
  const auto x = filled(batch, w.extent(0), 0.01f);
  const auto [y, columns] = f(x, w, b);
  REQUIRE(y.shape() == sn::shape_vector{batch, w.extent(1)});
  for (std::int64_t j = 0; j < w.extent(1); ++j) {
    double total = 0;
    for (std::int64_t i = 0; i < batch; ++i) {
      double sum = b(j);
      for (std::int64_t k = 0; k < w.extent(0); ++k)
        sum += static_cast<double>(x(i, k)) * static_cast<double>(w(k, j));
      sum = std::max(sum, 0.0);
      total += sum;
      REQUIRE(y(i, j) == doctest::Approx(sum).epsilon(1e-4));
    }
    REQUIRE(columns(j) == doctest::Approx(total).epsilon(1e-4));
  }
}

}  // namespace

TEST_CASE("200 batch sizes, one saturation, at most one extraction per power of two") {
  auto f = sn::fuse([](auto x, auto w, auto b) {
    auto y = sn::relu(sn::matmul(x, w) + b);
    return sn::outputs(y, sn::sum(y, 0));
  });
  const auto w = filled(24, 10, 0.02f);
  sn::tensor<float, 1> b(10);
  for (std::int64_t i = 0; i < 10; ++i) b(i) = 0.1f * static_cast<float>(i) - 0.4f;
  for (std::int64_t batch = 2; batch < 202; ++batch) check(f, batch, w, b);
  CHECK(f.statistics().saturations == 1);
  CHECK(f.statistics().extractions <= 8);  // 2, 4, ..., 256

  SUBCASE("a batch of one is a class of its own, because of broadcasting") {
    check(f, 1, w, b);
    CHECK(f.statistics().saturations == 2);
  }
  SUBCASE("an empty batch") {
    check(f, 0, w, b);
    CHECK(f.statistics().saturations == 1);
  }
  SUBCASE("explain counts it") {
    const std::string text = f.explain(filled(5, 24, 1), w, b);
    CHECK(text.find("saturations 1") != std::string::npos);
  }
}

TEST_CASE("extents that may or may not broadcast") {
  auto f = sn::fuse([](auto x, auto y) { return x + y; });
  const auto a = filled(3, 4, 1), row = filled(1, 4, 1), column = filled(3, 1, 1),
             one = filled(1, 1, 1);
  const auto at = [](const sn::tensor<float, 2>& t, std::int64_t i, std::int64_t j) {
    return t(t.extent(0) == 1 ? 0 : i, t.extent(1) == 1 ? 0 : j);
  };
  for (const auto* x : {&a, &row, &column, &one}) {
    for (const auto* y : {&a, &row, &column, &one}) {
      const auto z = f(*x, *y);
      REQUIRE(z.extent(0) == std::max(x->extent(0), y->extent(0)));
      REQUIRE(z.extent(1) == std::max(x->extent(1), y->extent(1)));
      for (std::int64_t i = 0; i < z.extent(0); ++i)
        for (std::int64_t j = 0; j < z.extent(1); ++j)
          CHECK(z(i, j) == at(*x, i, j) + at(*y, i, j));
    }
  }
  CHECK_THROWS_WITH_AS(f(a, filled(2, 4, 1)), doctest::Contains("add(f32[3, 4], f32[2, 4])"),
                       sn::shape_error);
}

TEST_CASE("labels of a loss whose extents are only known to agree with those of what is sliced") {
  auto f = sn::fuse([](auto x, auto labels) {
    return sn::cross_entropy(sn::slice(sn::slice(x, 0, 1, sn::until_end), 1, 0, sn::until_end, 2),
                             labels);
  });
  sn::tensor<float, 3> x(4, 5, 2);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = 0.1f * static_cast<float>(i % 7);
  sn::tensor<std::int64_t, sn::extents<3, 3>> labels;
  for (std::int64_t i = 0; i < 9; ++i) labels.data()[i] = i % 2;
  double total = 0;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      const double a = x(i + 1, 2 * j, 0), b = x(i + 1, 2 * j, 1);
      total += std::log(std::exp(a) + std::exp(b)) - (labels(i, j) == 0 ? a : b);
    }
  CHECK(*f(x, labels).data() == doctest::Approx(total / 9).epsilon(1e-5));
  CHECK_THROWS_AS(f(sn::tensor<float, 3>(4, 4, 2), labels), sn::shape_error);
}

TEST_CASE("plans are bounded: many buckets are forgotten and made again, always right") {
  auto f = sn::fuse([](auto x, auto y) { return sn::outputs(x * 2.0f, y + 1.0f); });
  for (int round = 0; round < 2; ++round) {
    for (int a = 1; a <= 9; ++a) {
      for (int b = 1; b <= 9; ++b) {
        const auto x = filled(std::int64_t{1} << a, 1, 1), y = filled(std::int64_t{1} << b, 1, 1);
        const auto [doubled, next] = f(x, y);
        REQUIRE(doubled(1, 0) == 2 * x(1, 0));
        REQUIRE(next(1, 0) == y(1, 0) + 1);
      }
    }
  }
  CHECK(f.statistics().saturations == 1);
  CHECK(f.statistics().extractions > 81);
}

TEST_CASE("where a factor leaves a sum, no rows are a class of their own") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto rows = filled(3, 5, 0.5f), none = filled(0, 5, 1), more = filled(40, 5, 0.25f);
  sn::tensor<float, 1> factors(5);
  for (std::int64_t j = 0; j < 5; ++j) factors(j) = j == 1 ? infinity : 2 + static_cast<float>(j);
  auto f = sn::fuse([](auto x, auto s) { return sn::sum(x * s, 0); });
  const auto check_rows = [&](const sn::tensor<float, 2>& x) {
    const sn::tensor<float, 1> sums = f(x, factors);
    for (std::int64_t j = 0; j < 5; ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < x.extent(0); ++i)
        sum += static_cast<double>(x(i, j)) * static_cast<double>(factors(j));
      if (std::isfinite(sum)) CHECK(sums(j) == doctest::Approx(sum).epsilon(1e-5));
      CHECK(std::isfinite(sums(j)) == std::isfinite(sum));
    }
  };
  // Infinity times what no rows add up to would be no number.
  const auto check_none = [&] { CHECK(f(none, factors) == sn::tensor<float, 1>{0, 0, 0, 0, 0}); };
  SUBCASE("rows first") {
    check_rows(rows);
    check_none();
  }
  SUBCASE("no rows first") {
    check_none();
    check_rows(rows);
  }
  CHECK(f.statistics().saturations == 2);
  check_rows(more);
  check_none();
  CHECK(f.statistics().saturations == 2);
  CHECK(f.explain(more, factors).find("sum-row-factor") != std::string::npos);
  CHECK(f.explain(none, factors).find("sum-row-factor") == std::string::npos);
}

}  // namespace dynamic_shapes_test
