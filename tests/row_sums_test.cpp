// SPDX-License-Identifier: MIT
// What a nest over rows computes is summed up down the columns on the way: the sums of nests of
// their own but for rounding, at any shape; the same bits for any number of threads; what is not
// finite stays in its column.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "support/column_sweeps.hpp"
#include "support/occurrences.hpp"
#include <sinter/exec/parallel.hpp>
#include <sinter/sinter.hpp>

namespace row_sums_test {

namespace sn = sinter;

namespace {

using test_support::column_noise;
using test_support::occurrences;

// The gradients of a norm of rows with a scale: of the rows, of the scale and of a shift.
constexpr auto gradients = [](auto x, auto scale, auto dy) {
  const auto y = sn::layer_norm(x, 1);
  const auto dx = sn::vjp(y, dy * scale, x);
  return sn::outputs(dx, sn::sum(dy * y, 0), sn::sum(dy, 0));
};

sn::program_options without_sums() {
  sn::program_options out;
  out.nests.sums = false;
  return out;
}

int sums_of(const std::string& explained) { return occurrences(explained, "summed over rows"); }

template <class T>
struct arguments {
  sn::tensor<T, 2> x, dy;
  sn::tensor<T, 1> scale;

  arguments(std::int64_t rows, std::int64_t columns)
      : x(column_noise<T>(rows, columns)), dy(column_noise<T>(rows, columns)), scale(columns) {
    std::reverse(dy.begin(), dy.end());
    for (std::int64_t j = 0; j < columns; ++j)
      scale(j) = static_cast<T>(0.5 + 0.01 * static_cast<double>(j % 70));
  }
};

// The sums in double, from what the rows are.
template <class T>
void check(std::int64_t rows, std::int64_t columns, double tolerance) {
  INFO(rows << " x " << columns);
  const arguments<T> a(rows, columns);
  auto f = sn::fuse(gradients);
  const auto [dx, of_scale, of_shift] = f(a.x, a.scale, a.dy);
  auto apart = sn::fuse(gradients, without_sums());
  const auto [same_dx, same_scale, same_shift] = apart(a.x, a.scale, a.dy);
  CHECK(sums_of(apart.explain(a.x, a.scale, a.dy)) == 0);
  int wrong = 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    double shift = 0, magnitude = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      shift += static_cast<double>(a.dy(i, j));
      magnitude += std::abs(static_cast<double>(a.dy(i, j)));
    }
    wrong += std::abs(static_cast<double>(of_shift(j)) - shift) <= tolerance * magnitude ? 0 : 1;
    wrong += std::abs(static_cast<double>(of_scale(j) - same_scale(j))) <=
                     4 * tolerance * (magnitude + std::abs(static_cast<double>(same_scale(j))))
                 ? 0
                 : 1;
  }
  for (std::int64_t i = 0; i < dx.size(); ++i)
    wrong += std::abs(static_cast<double>(dx.data()[i] - same_dx.data()[i])) <=
                     tolerance * (1 + std::abs(static_cast<double>(same_dx.data()[i])))
                 ? 0
                 : 1;
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("sums of any number of rows and columns") {
  for (const std::int64_t columns : {2, 3, 15, 16, 17, 64, 100, 513, 768, 1024, 2500})
    for (const std::int64_t rows : {1, 31, 32, 33, 64, 65, 100, 257})
      check<float>(rows, columns, 1e-5);
  check<float>(3000, 48, 1e-5);
  check<float>(40, 40'000, 1e-5);
  check<double>(300, 37, 1e-13);
  check<double>(70, 1100, 1e-13);
}

TEST_CASE("no rows and no columns") {
  auto f = sn::fuse(gradients);
  for (const std::int64_t rows : {0, 40}) {
    const arguments<float> a(rows, 0);
    const auto [dx, of_scale, of_shift] = f(a.x, a.scale, a.dy);
    CHECK(dx.size() + of_scale.size() + of_shift.size() == 0);
  }
  const arguments<float> a(0, 20);
  const auto [dx, of_scale, of_shift] = f(a.x, a.scale, a.dy);
  CHECK(dx.size() == 0);
  for (std::int64_t j = 0; j < 20; ++j) {
    CHECK(of_scale(j) == 0);
    CHECK(of_shift(j) == 0);
  }
}

TEST_CASE("one nest computes rows and what they sum up to") {
  const arguments<float> a(4096, 256);
  auto f = sn::fuse(gradients);
  f(a.x, a.scale, a.dy);
  const std::string explained = f.explain(a.x, a.scale, a.dy);
  CHECK(sums_of(explained) == 2);
  CHECK(occurrences(explained, "columns over") == 0);
}

TEST_CASE("rows that are only summed up are stored nowhere") {
  const auto x = column_noise<float>(700, 300);
  constexpr auto mean_of_rows = [](auto rows) { return sn::mean(sn::softmax(rows, 1), 0); };
  auto f = sn::fuse(mean_of_rows), apart = sn::fuse(mean_of_rows, without_sums());
  const auto got = f(x), want = apart(x);
  CHECK(sums_of(f.explain(x)) == 1);
  CHECK(sums_of(apart.explain(x)) == 0);
  int wrong = 0;
  for (std::int64_t j = 0; j < 300; ++j)
    wrong += std::abs(got(j) - want(j)) <= 1e-6f * std::abs(want(j)) ? 0 : 1;
  CHECK(wrong == 0);
}

TEST_CASE("sums along both axes of one matrix") {
  const auto x = column_noise<float>(1000, 500);
  auto f = sn::fuse([](auto m) { return sn::outputs(sn::sum(m, 0), sn::sum(m, 1)); });
  const auto [down, across] = f(x);
  CHECK(sums_of(f.explain(x)) == 1);
  int wrong = 0;
  for (std::int64_t j = 0; j < 500; ++j) {
    double want = 0;
    for (std::int64_t i = 0; i < 1000; ++i) want += static_cast<double>(x(i, j));
    wrong += std::abs(static_cast<double>(down(j)) - want) <= 1e-4 ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a nest does not sum up what it needs itself") {
  const auto x = column_noise<float>(600, 300, 3);
  auto f = sn::fuse([](auto m) {
    const auto rows = sn::softmax(m - sn::mean(m, 0, sn::keep_dims), 1);
    return sn::outputs(rows, sn::sum(m, 0), sn::sum(rows, 0));
  });
  const auto [rows, sum, of_rows] = f(x);
  for (std::int64_t j = 0; j < 300; j += 7) {
    double want = 0, of = 0;
    for (std::int64_t i = 0; i < 600; ++i) {
      want += static_cast<double>(x(i, j));
      of += static_cast<double>(rows(i, j));
    }
    CHECK(static_cast<double>(sum(j)) == doctest::Approx(want).epsilon(1e-5));
    CHECK(static_cast<double>(of_rows(j)) == doctest::Approx(of).epsilon(1e-5));
  }
}

TEST_CASE("the same bits for any number of threads") {
  for (const std::int64_t columns : {700, 33}) {
    const arguments<float> a(1'000'000 / columns, columns);
    auto f = sn::fuse(gradients);
    const auto run = [&](int threads) {
      const sn::exec::loop_threads limit(threads);
      return f(a.x, a.scale, a.dy);
    };
    const auto [dx, of_scale, of_shift] = run(1);
    for (const int threads : {2, 3, 5}) {
      const auto [other_dx, other_scale, other_shift] = run(threads);
      CHECK(std::equal(dx.begin(), dx.end(), other_dx.begin()));
      CHECK(std::equal(of_scale.begin(), of_scale.end(), other_scale.begin()));
      CHECK(std::equal(of_shift.begin(), of_shift.end(), other_shift.begin()));
    }
  }
}

TEST_CASE("long sums lose no more than blocks of rows do") {
  arguments<float> a(60'000, 24);
  for (float& d : a.dy) d = 0.1f;
  auto f = sn::fuse(gradients);
  const auto [dx, of_scale, of_shift] = f(a.x, a.scale, a.dy);
  CHECK(sums_of(f.explain(a.x, a.scale, a.dy)) == 2);
  for (std::int64_t j = 0; j < 24; ++j)
    CHECK(std::abs(static_cast<double>(of_shift(j)) / (60'000 * static_cast<double>(0.1f)) - 1) <
          2e-6);
}

TEST_CASE("what is not finite stays in its column") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  arguments<float> a(200, 100);
  a.dy(37, 5) = std::numeric_limits<float>::quiet_NaN();
  a.dy(90, 70) = infinity;
  a.dy(150, 71) = -infinity;
  a.dy(10, 72) = std::numeric_limits<float>::denorm_min();
  auto f = sn::fuse(gradients);
  const auto [dx, of_scale, of_shift] = f(a.x, a.scale, a.dy);
  for (std::int64_t j = 0; j < 100; ++j) {
    INFO("column " << j);
    if (j == 5)
      CHECK(std::isnan(of_shift(j)));
    else if (j == 70 || j == 71)
      CHECK(of_shift(j) == (j == 70 ? infinity : -infinity));
    else
      CHECK(std::isfinite(of_shift(j)));
  }
}

}  // namespace row_sums_test
