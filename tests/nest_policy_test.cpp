// SPDX-License-Identifier: MIT
// Kinds of fusion can be switched off one by one: more nests, the same values.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace sn = sinter;

namespace {

sn::tensor<float, 2> numbers(std::int64_t rows, std::int64_t columns, unsigned seed) {
  sn::tensor<float, 2> out(rows, columns);
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> one(-1, 1);
  for (float& x : out) x = one(random);
  return out;
}

double distance(const sn::tensor<float, 2>& a, const sn::tensor<float, 2>& b) {
  REQUIRE(a.shape() == b.shape());
  double most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i)
    most = std::max(most, std::abs(static_cast<double>(a.data()[i]) - b.data()[i]));
  return most;
}

int nests_of(const std::string& explained) {
  int count = 0;
  for (std::size_t at = 0; (at = explained.find("\n  nest ", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

// Nests with all kinds, and without those that `policy` switches off.
template <class F, class... X>
void check_more_nests(F f, const sn::planning::nest_policy& policy, const X&... x) {
  auto all = sn::fuse(f);
  auto few = sn::fuse(f, {.nests = policy});
  CHECK(distance(all(x...), few(x...)) < 1e-5);
  CHECK(nests_of(few.explain(x...)) > nests_of(all.explain(x...)));
}

}  // namespace

TEST_CASE("without rows a reduction ends its nest") {
  check_more_nests([](auto x) { return sn::softmax(x); }, {.rows = false}, numbers(33, 70, 1));
  check_more_nests([](auto x) { return x / (1.0f + sn::logsumexp(x, 1, sn::keep_dims)); },
                   {.rows = false}, numbers(5, 700, 2));
}

TEST_CASE("without epilogues a product is stored as it is") {
  check_more_nests([](auto x, auto w) { return sn::relu(sn::matmul(x, w) + 1.0f); },
                   {.epilogues = false}, numbers(17, 40, 3), numbers(40, 23, 4));
}

TEST_CASE("without streamed nests attention stores its scores") {
  check_more_nests(
      [](auto q, auto k, auto v) {
        return sn::matmul(sn::softmax(sn::matmul(q, sn::transpose(k)) * 0.25f), v);
      },
      {.streamed = false}, numbers(40, 16, 5), numbers(200, 16, 6), numbers(200, 16, 7));
}

TEST_CASE("without groups products of one left side are nests of their own") {
  check_more_nests(
      [](auto x, auto a, auto b) { return sn::matmul(x, a) + sn::tanh(sn::matmul(x, b)); },
      {.epilogues = false, .grouped = false}, numbers(16, 64, 8), numbers(64, 48, 9),
      numbers(64, 48, 10));
}
