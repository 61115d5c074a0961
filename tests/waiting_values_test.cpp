// SPDX-License-Identifier: MIT
// A value that one phase of a row nest computes and the next one needs waits in the memory of the
// result, where that is nobody else's; the numbers are those of a copy of its own.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/occurrences.hpp"
#include <sinter/exec/emit_step.hpp>
#include <sinter/sinter.hpp>

namespace waiting_values_test {

namespace sn = sinter;

namespace {

using test_support::occurrences;

sn::tensor<float, 2> noise(std::int64_t rows, std::int64_t columns) {
  sn::tensor<float, 2> out(rows, columns);
  std::mt19937 random(5);
  std::normal_distribution<float> one;
  for (float& x : out) x = one(random);
  return out;
}

// Softmax of each row, or that times the row.
template <class T>
std::vector<double> expected(const sn::tensor<T, 2>& x, bool times_element = false) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t j = 0; j < x.extent(1); ++j)
      largest = std::max(largest, static_cast<double>(x(i, j)));
    for (std::int64_t j = 0; j < x.extent(1); ++j)
      sum += std::exp(static_cast<double>(x(i, j)) - largest);
    for (std::int64_t j = 0; j < x.extent(1); ++j)
      out.push_back(std::exp(static_cast<double>(x(i, j)) - largest) / sum *
                    (times_element ? static_cast<double>(x(i, j)) : 1));
  }
  return out;
}

template <class T>
int wrong(const sn::tensor<T, 2>& got, const std::vector<double>& want) {
  int out = 0;
  std::size_t i = 0;
  for (const T x : got) {
    const double e = want[i++];
    out += std::abs(static_cast<double>(x) - e) <= 2e-6 * std::abs(e) ? 0 : 1;
  }
  return out;
}

constexpr auto softmax = [](auto x) { return sn::softmax(x, 1); };

}  // namespace

TEST_CASE("exponentials wait where softmax goes") {
  for (const std::int64_t columns : {2, 17, 64, 130, 1500, 5000}) {
    CAPTURE(columns);
    const auto x = noise(37, columns);
    auto f = sn::fuse(softmax);
    const sn::tensor<float, 2> y = f(x);
    CHECK(wrong(y, expected(x)) == 0);
    const std::string text = f.tile_programs(x);
    CAPTURE(text);
    if (columns >= 64) {
      CHECK(occurrences(text, "kept") == 0);
      const bool by_itself = columns < sn::exec::shortest_row_alone;
      CHECK(occurrences(text, by_itself ? "map f32 stream1 = fused" : "map_reduce f32 stream1") ==
            1);
    }
  }
}

TEST_CASE("also where the result is written over the operand") {
  for (const std::int64_t columns : {2, 17, 64, 130, 1500, 5000}) {
    CAPTURE(columns);
    auto x = noise(37, columns);
    const std::vector<double> want = expected(x);
    auto f = sn::fuse(softmax);
    f.into(x)(x);
    CHECK(wrong(x, want) == 0);
  }
}

TEST_CASE("not where the operand is read again behind it") {
  for (const std::int64_t columns : {17, 130, 1500}) {
    CAPTURE(columns);
    auto x = noise(37, columns);
    const std::vector<double> want = expected(x, true);
    auto f = sn::fuse([](auto a) { return sn::softmax(a, 1) * a; });
    const sn::tensor<float, 2> y = f(x);
    CHECK(wrong(y, want) == 0);
    f.into(x)(x);
    CHECK(wrong(x, want) == 0);
  }
}

TEST_CASE("not where elements of the result are of another dtype, or it is a view with gaps") {
  const auto x = noise(37, 130);
  auto wide = sn::fuse([](auto a) { return sn::cast<double>(sn::softmax(a, 1)); });
  const sn::tensor<double, 2> y = wide(x);
  CHECK(wrong(y, expected(x)) == 0);

  sn::tensor<float, 2> all(130, 37);
  auto turned = sn::fuse([](auto a) { return sn::transpose(sn::softmax(a, 1)); });
  turned.into(all)(x);
  sn::tensor<float, 2> back(37, 130);
  for (std::int64_t i = 0; i < 37; ++i)
    for (std::int64_t j = 0; j < 130; ++j) back(i, j) = all(j, i);
  CHECK(wrong(back, expected(x)) == 0);
}

TEST_CASE("what is a result of its own stays what it is") {
  const auto x = noise(37, 130);
  auto f = sn::fuse([](auto a) {
    const auto e = sn::exp(a - sn::max(a, 1, true));
    return sn::outputs(e, e / sn::sum(e, 1, true));
  });
  const auto [e, y] = f(x);
  CHECK(wrong(y, expected(x)) == 0);
  int off = 0;
  for (std::int64_t i = 0; i < 37; ++i) {
    float largest = -std::numeric_limits<float>::infinity();
    for (std::int64_t j = 0; j < 130; ++j) largest = std::max(largest, x(i, j));
    for (std::int64_t j = 0; j < 130; ++j)
      off += std::abs(e(i, j) - std::exp(x(i, j) - largest)) <= 1e-6f * e(i, j) ? 0 : 1;
  }
  CHECK(off == 0);
}

TEST_CASE("two results of one value, and two values of two results") {
  const auto x = noise(37, 130);
  auto f = sn::fuse([](auto a) {
    const auto y = sn::softmax(a, 1);
    return sn::outputs(y, sn::softmax(a * 2.0f, 1), y);
  });
  const auto [first, other, again] = f(x);
  auto twice = x;
  for (float& each : twice) each *= 2;
  CHECK(wrong(first, expected(x)) == 0);
  CHECK(wrong(other, expected(twice)) == 0);
  CHECK(wrong(again, expected(x)) == 0);
}

// 280 KB of a row are more than what is kept elsewhere, and would be computed again.
TEST_CASE("long rows are computed once") {
  const auto x = noise(40, 70'000);
  auto f = sn::fuse(softmax);
  const sn::tensor<float, 2> y = f(x);
  CHECK(wrong(y, expected(x)) == 0);
  CHECK(occurrences(f.tile_programs(x), "exp(") == 1);
}

}  // namespace waiting_values_test
