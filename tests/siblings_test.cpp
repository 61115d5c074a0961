// SPDX-License-Identifier: MIT
// Results that are a step or two from the same rows come from one nest: the bits of nests of their
// own, but of rows so long that they are computed in parts.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "support/column_sweeps.hpp"
#include "support/occurrences.hpp"
#include <sinter/exec/parallel.hpp>
#include <sinter/sinter.hpp>

namespace siblings_test {

namespace sn = sinter;

namespace {

using test_support::column_noise;
using test_support::occurrences;

template <class A, class B>
bool same_bits(const A& a, const B& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(*a.data())) ==
             0;
}

sn::program_options without_siblings() {
  sn::program_options out;
  out.nests.siblings = false;
  return out;
}

int nests_of(const std::string& explained) { return occurrences(explained, "\n  nest "); }

constexpr auto statistics = [](auto x, auto y) {
  return sn::outputs(sn::sum(x, 1), sn::sum(x * y, 1), sn::max(y, 1), sn::relu(x));
};

constexpr std::int64_t long_row = 16384;

template <class T>
void check(std::int64_t rows, std::int64_t columns, T extra = 0) {
  INFO(rows << " x " << columns);
  sn::tensor<T, 2> x = column_noise<T>(rows, columns), y = column_noise<T>(rows, columns);
  std::reverse(y.begin(), y.end());
  if (x.size() > 0) x.data()[x.size() / 2] = extra;
  auto together = sn::fuse(statistics), apart = sn::fuse(statistics, without_siblings());
  const auto [a, b, c, d] = together(x, y);
  const auto [e, f, g, h] = apart(x, y);
  CHECK(same_bits(c, g));
  CHECK(same_bits(d, h));
  if (columns < long_row) {
    CHECK(same_bits(a, e));
    CHECK(same_bits(b, f));
    return;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    CHECK(a(i) == doctest::Approx(static_cast<double>(e(i))).epsilon(1e-5));
    CHECK(b(i) == doctest::Approx(static_cast<double>(f(i))).epsilon(1e-5));
  }
}

}  // namespace

TEST_CASE("the bits of nests of their own, at any shape") {
  for (const std::int64_t rows : {0, 1, 7, 300})
    for (const std::int64_t columns : {0, 1, 3, 16, 61, 1024, 2050, 70000}) {
      if (rows * columns > 1'000'000) continue;
      check<float>(rows, columns);
      check<double>(rows, columns);
    }
  check<float>(1100, 1024);
  check<double>(33, 40000);
  check<float>(1100, 1024, std::numeric_limits<float>::quiet_NaN());
  check<float>(1100, 1024, -std::numeric_limits<float>::infinity());
  check<float>(1100, 1024, std::numeric_limits<float>::denorm_min());
}

TEST_CASE("what does not fit into L2 is read once, and kinds of nests can be switched off") {
  const auto x = column_noise<float>(1100, 1024), y = column_noise<float>(1100, 1024);
  auto together = sn::fuse(statistics), apart = sn::fuse(statistics, without_siblings());
  CHECK(nests_of(together.explain(x, y)) == 1);
  CHECK(nests_of(apart.explain(x, y)) == 4);
  const auto few = column_noise<float>(11, 1024);
  CHECK(nests_of(together.explain(few, few)) > 1);
}

TEST_CASE("a loss and its gradient are one nest, the gradient one kernel") {
  const auto loss_and_gradient = [](auto x, auto y) {
    const auto loss = sn::mse(x, y);
    return sn::outputs(loss, sn::gradients(loss, x)[0]);
  };
  const auto x = column_noise<float>(1030, 1024), y = column_noise<float>(1024, 1030);
  const sn::view<const float, 2> target(y.data(), {1030, 1024});
  auto together = sn::fuse(loss_and_gradient),
       apart = sn::fuse(loss_and_gradient, without_siblings());
  const auto [a, b] = together(x, target);
  const auto [c, d] = apart(x, target);
  CHECK(a() == doctest::Approx(c()));
  CHECK(same_bits(b, d));
  const std::string explained = together.explain(x, target);
  CHECK(occurrences(explained, "load argument 0") == 1);
  CHECK(occurrences(apart.explain(x, target), "load argument 0") == 2);
  CHECK(occurrences(explained, "fused{sub mul add}") == 1);
}

TEST_CASE("a result that the rows of another one depend on is in a nest before it") {
  const auto f = [](auto x) {
    const auto total = sn::sum(x);
    return sn::outputs(sn::sum(x * total, 1), total, sn::sum(x, 1));
  };
  const auto x = column_noise<float>(1100, 1024);
  auto together = sn::fuse(f), apart = sn::fuse(f, without_siblings());
  const auto [a, b, c] = together(x);
  const auto [d, e, g] = apart(x);
  for (std::int64_t i = 0; i < 1100; ++i) {
    CHECK(a(i) == doctest::Approx(static_cast<double>(d(i))).epsilon(1e-4));
    CHECK(c(i) == doctest::Approx(static_cast<double>(g(i))).epsilon(1e-4));
  }
}

TEST_CASE("one thread or several: the same bits") {
  const auto x = column_noise<float>(1100, 1024), y = column_noise<float>(1100, 1024);
  auto f = sn::fuse(statistics);
  const auto run = [&](int threads) {
    const sn::exec::loop_threads limit(threads);
    return f(x, y);
  };
  const auto [a, b, c, d] = run(1);
  const auto [e, g, h, i] = run(3);
  CHECK(same_bits(a, e));
  CHECK(same_bits(b, g));
  CHECK(same_bits(c, h));
  CHECK(same_bits(d, i));
}

}  // namespace siblings_test
