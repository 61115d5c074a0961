// SPDX-License-Identifier: MIT
// What is put side by side is computed where it is put: the same bits as stored and copied, for any
// axis, shape and dtype, in one nest where nobody else wants the pieces.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "support/column_sweeps.hpp"
#include "support/occurrences.hpp"
#include <sinter/exec/parallel.hpp>
#include <sinter/sinter.hpp>

namespace computed_pieces_test {

namespace sn = sinter;

namespace {

using test_support::column_noise;
using test_support::occurrences;

sn::program_options without_pieces() {
  sn::program_options out;
  out.nests.pieces = false;
  return out;
}

int pieces_of(const std::string& explained) { return occurrences(explained, ", computed:"); }

// Nests that do work; `explained` lists each once.
int nests_of(const std::string& explained) { return occurrences(explained, "  nest "); }

template <class Tensor>
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         (a.size() == 0 ||
          std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(*a.data())) ==
              0);
}

// `expected`: pieces that are computed where they are put.
template <class F, class... T>
void check(F f, int expected, const T&... arguments) {
  auto computed = sn::fuse(f);
  auto copied = sn::fuse(f, without_pieces());
  CHECK(same_bits(computed(arguments...), copied(arguments...)));
  CHECK(pieces_of(computed.explain(arguments...)) == expected);
  CHECK(pieces_of(copied.explain(arguments...)) == 0);
}

constexpr auto down = [](auto x, auto y) { return sn::concat(0, sn::relu(x), y - x); };
constexpr auto across = [](auto x, auto y) { return sn::concat(1, sn::sigmoid(x), y * x + y); };
constexpr auto beside_copies = [](auto x, auto y) {
  return sn::concat(1, y, sn::exp(x), x, sn::abs(y));
};

}  // namespace

TEST_CASE_TEMPLATE("pieces of any shape", T, float, double) {
  for (const std::int64_t rows : {0, 1, 3, 40, 200})
    for (const std::int64_t columns : {0, 1, 7, 8, 16, 33, 64, 300}) {
      INFO(rows << " x " << columns);
      const auto x = column_noise<T>(rows, columns), y = column_noise<T>(rows, columns);
      const bool any = rows * columns > 0;
      const bool long_rows = any && columns >= 8;
      auto f = sn::fuse(across);
      auto apart = sn::fuse(across, without_pieces());
      CHECK(same_bits(f(x, y), apart(x, y)));
      if (long_rows) check(across, 2, x, y);
      if (any && rows * columns >= 8) check(down, 2, x, y);
      if (long_rows) check(beside_copies, 2, x, y);
    }
}

TEST_CASE("pieces of other dtypes, along a middle axis, and special values") {
  sn::tensor<std::int32_t, 3> i(5, 4, 9), j(5, 6, 9);
  for (std::int64_t k = 0; k < i.size(); ++k) i.data()[k] = static_cast<std::int32_t>(k - 70);
  for (std::int64_t k = 0; k < j.size(); ++k) j.data()[k] = static_cast<std::int32_t>(3 * k);
  check([](auto a, auto b) { return sn::concat(1, sn::abs(a), b + b); }, 2, i, j);
  check([](auto a, auto b) { return sn::concat(1, a < 3, b == 30); }, 2, i, j);
  sn::tensor<float, 2> x(4, 16);
  using limits = std::numeric_limits<float>;
  const float special[] = {limits::quiet_NaN(),
                           limits::infinity(),
                           -limits::infinity(),
                           -0.0f,
                           limits::denorm_min(),
                           limits::max(),
                           1.0f};
  for (std::int64_t k = 0; k < x.size(); ++k) x.data()[k] = special[k % 7];
  check([](auto a) { return sn::concat(0, sn::relu(a), -a, a * a); }, 3, x);
}

TEST_CASE("one nest for what only the concatenation wants") {
  const auto x = column_noise<float>(300, 200), y = column_noise<float>(300, 200);
  auto f = sn::fuse(down);
  CHECK(nests_of(f.explain(x, y)) == 1);
  // What is an output anyway is copied, or computed once more.
  auto both = sn::fuse([](auto a, auto b) {
    const auto e = sn::sigmoid(a);
    return sn::outputs(e, sn::concat(0, e, b));
  });
  const auto [e, joined] = both(x, y);
  CHECK(std::memcmp(e.data(), joined.data(), static_cast<std::size_t>(e.size()) * sizeof(float)) ==
        0);
  // A product is stored before.
  auto product = sn::fuse(
      [](auto a, auto b) { return sn::concat(1, sn::matmul(a, sn::transpose(b)), sn::relu(a)); });
  CHECK(pieces_of(product.explain(x, y)) == 1);
}

TEST_CASE("a result over its argument, and broadcast operands") {
  // It would be read when it is overwritten.
  auto x = column_noise<float>(64, 80);
  auto turned = sn::fuse([](auto a) {
    return sn::concat(0, -sn::slice(a, 0, 32, 64), sn::slice(a, 0, 0, 32) * 2.0f);
  });
  CHECK_THROWS_WITH(turned.into(x)(x), doctest::Contains("overlaps argument 0"));

  const auto y = column_noise<float>(50, 24);
  sn::tensor<float, 1> row(24);
  for (std::int64_t k = 0; k < 24; ++k) row(k) = static_cast<float>(k);
  check([](auto a, auto r) { return sn::concat(1, a + r, a * r); }, 2, y, row);
  check([](auto a, auto r) { return sn::concat(1, sn::transpose(sn::transpose(a) * 2.0f), a * r); },
        2, y, row);
}

TEST_CASE("the same bits for any number of threads") {
  const auto x = column_noise<float>(2000, 300), y = column_noise<float>(2000, 300);
  auto f = sn::fuse(across);
  const sn::exec::loop_threads one(1);
  const auto alone = f(x, y);
  for (const int threads : {2, 3}) {
    const sn::exec::loop_threads many(threads);
    CHECK(same_bits(f(x, y), alone));
  }
}

}  // namespace computed_pieces_test
