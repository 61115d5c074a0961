// SPDX-License-Identifier: MIT
// Kinds of fusion can be switched off one by one: more nests, the same values.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/occurrences.hpp"
#include <sinter/sinter.hpp>

namespace nest_policy_test {

namespace sn = sinter;

namespace {

using test_support::occurrences;

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

int nests_of(const std::string& explained) { return occurrences(explained, "\n  nest "); }

// What `explain` calls the nests of a plan.
std::vector<int> numbers_of(const std::string& explained) {
  const std::string head = "nests by number (nest_policy::without):";
  const std::size_t at = explained.find(head);
  REQUIRE(at != std::string::npos);
  std::istringstream line(explained.substr(at + head.size(), explained.find('\n', at) - at));
  std::vector<int> out;
  for (int each = 0; line >> each;) out.push_back(each);
  return out;
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

TEST_CASE("without tiles windows are multiplied as they are") {
  const auto f = [](auto x, auto w) {
    const auto images = sn::reshape(x, 2, 16, 24, 24), filters = sn::reshape(w, 24, 16, 3, 3);
    return sn::reshape(sn::conv2d(images, filters), 48, 484);
  };
  const auto x = numbers(32, 576, 11), w = numbers(24, 144, 12);
  auto all = sn::fuse(f);
  auto few = sn::fuse(f, {.nests = {.winograd = false}});
  CHECK(distance(all(x, w), few(x, w)) < 1e-5);
  CHECK(all.explain(x, w).find("Winograd") != std::string::npos);
  CHECK(few.explain(x, w).find("Winograd") == std::string::npos);
}

TEST_CASE("without groups products of one left side are nests of their own") {
  check_more_nests(
      [](auto x, auto a, auto b) { return sn::matmul(x, a) + sn::tanh(sn::matmul(x, b)); },
      {.epilogues = false, .grouped = false}, numbers(16, 64, 8), numbers(64, 48, 9),
      numbers(64, 48, 10));
}

TEST_CASE("without recomputation what several nests need is stored once") {
  // Distances from the mean, for the variance and for the result; inside of superinstructions, too.
  const auto f = [](auto x) { return (x - sn::mean(x, 0, true)) / sn::sqrt(sn::var(x, 0, true)); };
  const auto x = numbers(60, 33, 11);
  for (const bool fused : {true, false}) {
    INFO("superinstructions: " << fused);
    auto all = sn::fuse(f, {.superinstructions = fused, .nests = {.moments = false}});
    auto few =
        sn::fuse(f, {.superinstructions = fused, .nests = {.moments = false, .recompute = false}});
    CHECK(distance(all(x), few(x)) < 1e-5);
    // With micro-ops storing it is cheaper in any case.
    if (fused) CHECK(occurrences(all.explain(x), "sub") == 2);
    CHECK(occurrences(few.explain(x), "sub") == 1);
  }
}

TEST_CASE("one op in front of a sum or a maximum is a superinstruction with it") {
  const auto x = numbers(60, 33, 15), y = numbers(60, 33, 16);
  const auto check = [&](auto f, const std::string& kernel) {
    auto with = sn::fuse(f), without = sn::fuse(f, {.superinstructions = false});
    CHECK(occurrences(with.explain(x, y), "fused{" + kernel + "}") == 1);
    CHECK(occurrences(without.explain(x, y), "fused{") == 0);
    CHECK(distance(with(x, y), without(x, y)) == 0);
  };
  check([](auto a, auto b) { return sn::sum(a * b, 1, true); }, "mul");
  check([](auto a, auto b) { return sn::sum(a * b, 0, true); }, "mul");
  check([](auto a, auto b) { return sn::max(sn::abs(a), 1, true) + sn::sum(b, 1, true); }, "abs");
  // The least is no reduction that kernels have, and what is stored is not reduced.
  auto plain = sn::fuse([](auto a, auto b) { return sn::min(sn::abs(a), 1, true) * b; });
  CHECK(occurrences(plain.explain(x, y), "fused{") == 0);
}

TEST_CASE("a truth value becomes 1 or 0 inside of a superinstruction") {
  auto x = numbers(60, 33, 15), y = numbers(60, 33, 16);
  x(0, 0) = y(1, 1) = std::numeric_limits<float>::quiet_NaN();
  const auto check = [&](auto f, const std::string& kernel) {
    auto with = sn::fuse(f), without = sn::fuse(f, {.superinstructions = false});
    CHECK(occurrences(with.explain(x, y), "fused{" + kernel + "}") == 1);
    CHECK(distance(with(x, y), without(x, y)) == 0);
  };
  check([](auto a, auto b) { return sn::sum(sn::cast<float>(a < b), 1, true); }, "less cast");
  check([](auto a, auto b) { return sn::sum(sn::cast<float>(a < b), 0, true); }, "less cast");
  check([](auto a, auto b) { return sn::abs(a) * sn::cast<float>(b > 0.25f); },
        "abs less cast mul");
}

TEST_CASE("a superinstruction doubles by adding, with rules of the same bits, too") {
  auto x = numbers(60, 33, 15);
  x(0, 0) = std::numeric_limits<float>::quiet_NaN();
  x(0, 1) = std::numeric_limits<float>::max();
  x(0, 2) = -std::numeric_limits<float>::infinity();
  x(0, 3) = -0.0f;
  x(0, 4) = std::numeric_limits<float>::denorm_min();
  const auto f = [](auto a) { return sn::abs(2.0f * a) - a; };
  auto with = sn::fuse(f, {.reassociate = false});
  auto without = sn::fuse(f, {.reassociate = false, .superinstructions = false});
  CHECK(occurrences(with.explain(x), "fused{add abs sub}") == 1);
  const auto fused = with(x), single = without(x);
  CHECK(std::memcmp(fused.data(), single.data(), sizeof(float) * 60 * 33) == 0);
}

TEST_CASE("without recomputation what one nest needs several times stays inside") {
  const auto f = [](auto x) { return sn::softmax(x); };
  const auto x = numbers(60, 33, 12);
  auto all = sn::fuse(f);
  auto few = sn::fuse(f, {.nests = {.recompute = false}});
  CHECK(nests_of(few.explain(x)) == nests_of(all.explain(x)));
}

TEST_CASE("without recomputation a budget of memory is not met by it") {
  const auto f = [](auto x, auto w) {
    auto a = sn::tanh(sn::matmul(x, w)), b = sn::tanh(sn::matmul(a, w)),
         c = sn::tanh(sn::matmul(b, w));
    return sn::gradients(sn::sum(sn::square(c)), w);
  };
  const auto x = numbers(64, 32, 13), w = numbers(32, 32, 14);
  auto few = sn::fuse(f, {.memory_budget = 100, .nests = {.recompute = false}});
  const std::string explained = few.explain(x, w);
  CHECK(explained.find("budget: ") != std::string::npos);
  CHECK(explained.find("not kept: ") != std::string::npos);
  CHECK(explained.find("; 0 times a value is computed again") != std::string::npos);
}

TEST_CASE("a nest can be ruled out by its number, and another does its work") {
  const auto f = [](auto x, auto w) { return sn::softmax(sn::relu(sn::matmul(x, w) + 1.0f)); };
  const auto x = numbers(17, 40, 15), w = numbers(40, 23, 16);
  auto chosen = sn::fuse(f);
  const auto expected = chosen(x, w);
  const std::string explained = chosen.explain(x, w);
  const std::vector<int> numbers = numbers_of(explained);
  CHECK(static_cast<int>(numbers.size()) == nests_of(explained));
  for (const int number : numbers) {
    auto other = sn::fuse(f, {.nests = {.without = {number}}});
    CHECK(distance(expected, other(x, w)) < 1e-5);
    const std::vector<int> instead = numbers_of(other.explain(x, w));
    CHECK(std::ranges::find(instead, number) == instead.end());
  }
  // What there is not rules nothing out.
  CHECK(numbers_of(sn::fuse(f, {.nests = {.without = {-1, 1 << 20}}}).explain(x, w)) == numbers);
}

}  // namespace nest_policy_test
