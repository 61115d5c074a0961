// SPDX-License-Identifier: MIT
// Values that are kept of frozen arguments: computed again when these change, a set for each of
// several layers, shared by threads, alive as long as a call uses them.
#include <cmath>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/frozen_products.hpp"
#include <sinter/sinter.hpp>

namespace frozen_values_test {

namespace sn = sinter;
using frozen_support::distance, frozen_support::matrix, frozen_support::matrix_of,
    frozen_support::report, frozen_support::scaled_product, frozen_support::vector,
    frozen_support::vector_of;

TEST_CASE("every way to change a tensor makes its values anew") {
  auto f = scaled_product();
  auto train = sn::fuse([](auto w, auto rate) { return sn::assign(w, w * rate); });
  auto next = sn::fuse([](auto w) { return w + 0.5f; });
  const matrix x = matrix_of(3, 8, 1);
  vector s = vector_of(8, 2);
  matrix w = matrix_of(8, 4, 3);
  std::size_t preparations = 0;
  const auto changed = [&](const char* how) {
    CAPTURE(how);
    const matrix y = f(x, sn::frozen(s), sn::frozen(w));
    CHECK(distance(y, f(x, s, w)) < 1e-5f);
    CHECK(f.statistics().preparations == ++preparations);
    const matrix again = f(x, sn::frozen(s), sn::frozen(w));
    CHECK(again == y);
    CHECK(f.statistics().preparations == preparations);
  };
  changed("new");
  w(2, 1) = 3;
  w.touch();
  changed("an element, and touch");
  w.fill(0.25f);
  changed("fill");
  const matrix other = matrix_of(8, 4, 9);
  w = other;
  changed("assignment, which keeps the storage");
  w = matrix_of(8, 4, 11);
  changed("another storage");
  w = w * 2.0f;
  changed("an expression");
  train(w, 0.5f);
  changed("assign in a fused function");
  next.into(w)(other);
  changed("into");
  s.fill(-1);
  changed("the other argument");
  float* const kept = w.data();
  changed("a pointer is taken");
  kept[3] = 7;
  w.touch();
  changed("a write through a pointer taken before, and touch");
  sn::view<float, 2> v(w);
  v(0, 0) = 11;
  changed("a view");
  // Reading a const tensor, and calls that only read it, are no change.
  CHECK(std::as_const(w)(0, 0) == 11);
  f(x, s, w);
  next(w);
  const matrix moved = std::move(w);
  const matrix y = f(x, sn::frozen(s), sn::frozen(moved));
  CHECK(f.statistics().preparations == preparations);
  CHECK(distance(y, f(x, s, moved)) < 1e-5f);
}

TEST_CASE("a frozen argument that nothing is prepared from may change for free") {
  auto f = sn::fuse([](auto x, auto s, auto w, auto b) { return sn::matmul(x * s, w) + b; });
  const matrix x = matrix_of(3, 8, 1), w = matrix_of(8, 4, 2);
  const vector s = vector_of(8, 3);
  vector b = vector_of(4, 4);
  for (int i = 0; i < 5; ++i) {
    b(1) += 1;  // of no account, and without touch
    CHECK(distance(f(x, sn::frozen(s), sn::frozen(w), sn::frozen(b)), f(x, s, w, b)) < 1e-5f);
  }
  CHECK(f.statistics().preparations == 1);
}

TEST_CASE("new memory at an old address is not mistaken for the old") {
  auto f = scaled_product();
  const matrix x = matrix_of(3, 8, 1);
  const vector s = vector_of(8, 2);
  for (int i = 0; i < 20; ++i) {
    // The allocator hands the same block out again.
    const matrix w = matrix_of(8, 4, i);
    const matrix y = f(x, sn::frozen(s), sn::frozen(w));
    REQUIRE(distance(y, f(x, s, w)) < 1e-5f);
  }
  CHECK(f.statistics().preparations == 20);
  const matrix w = matrix_of(8, 4, 0);
  // Sets whose weights are gone were dropped.
  CHECK(report::has(f.explain(x, sn::frozen(s), sn::frozen(w)), "computed 21 times, 1 set kept"));
}

TEST_CASE("one function, several layers: a set of values for each") {
  auto f = scaled_product();
  const matrix x = matrix_of(3, 8, 1);
  std::vector<matrix> w;
  std::vector<vector> s;
  for (int i = 0; i < 12; ++i) {
    w.push_back(matrix_of(8, 4, i));
    s.push_back(vector_of(8, i + 1));
  }
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < w.size(); ++i)
      REQUIRE(distance(f(x, sn::frozen(s[i]), sn::frozen(w[i])), f(x, s[i], w[i])) < 1e-5f);
  CHECK(f.statistics().preparations == 12);
  w.resize(6);
  w[0].touch();
  f(x, sn::frozen(s[0]), sn::frozen(w[0]));
  CHECK(report::has(f.explain(x, sn::frozen(s[1]), sn::frozen(w[1])), "6 sets kept"));
}

TEST_CASE("views name their version") {
  auto f = scaled_product();
  const matrix x = matrix_of(3, 8, 1);
  std::vector<float> memory(32);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i % 5) - 2;
  const sn::view<const float, 2> w(memory.data(), {8, 4});
  const sn::view<const float, 2> turned(memory.data(), {8, 4}, {1, 8});
  const vector s = vector_of(8, 2);
  const matrix before = f(x, sn::frozen(s), sn::frozen(w, 1));
  CHECK(distance(before, f(x, s, w)) < 1e-5f);
  CHECK(distance(f(x, sn::frozen(s), sn::frozen(turned, 1)), f(x, s, turned)) < 1e-5f);
  CHECK(f.statistics().preparations == 2);
  memory[5] = 10;
#ifdef NDEBUG
  // The promise that nothing changed is taken at its word.
  CHECK(f(x, sn::frozen(s), sn::frozen(w, 1)) == before);
#else
  CHECK_THROWS_WITH_AS(f(x, sn::frozen(s), sn::frozen(w, 1)),
                       "frozen: argument 2 was written; expected touch() behind that, or another "
                       "version",
                       sn::graph_error);
#endif
  CHECK(f.statistics().preparations == 2);
  CHECK(distance(f(x, sn::frozen(s), sn::frozen(w, 2)), f(x, s, w)) < 1e-5f);
  CHECK(f.statistics().preparations == 3);
}

TEST_CASE("two threads with weights of their own and shared ones") {
  auto f = scaled_product();
  const matrix x = matrix_of(5, 16, 1), shared = matrix_of(16, 8, 2);
  const vector s = vector_of(16, 3);
  const matrix expected = f(x, s, shared);
  std::vector<int> wrong(4, 0);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        matrix own = matrix_of(16, 8, 10 + t);
        for (int i = 0; i < 50; ++i) {
          const matrix y = f(x, sn::frozen(s), sn::frozen(shared));
          if (i % 10 == 0) own.fill(static_cast<float>(i));
          const matrix z = f(x, sn::frozen(s), sn::frozen(own)), plain = f(x, s, own);
          for (std::int64_t k = 0; k < y.size(); ++k) {
            if (std::abs(y.data()[k] - expected.data()[k]) > 1e-5f)
              ++wrong[static_cast<std::size_t>(t)];
            if (std::abs(z.data()[k] - plain.data()[k]) > 1e-4f)
              ++wrong[static_cast<std::size_t>(t)];
          }
        }
      });
  }
  CHECK(wrong == std::vector<int>(4, 0));
  CHECK(f.statistics().preparations == 1 + 4 * 5);
}

TEST_CASE("values in use outlive the set they belong to") {
  auto f = scaled_product();
  const matrix x = matrix_of(3, 8, 1);
  const vector s = vector_of(8, 2);
  std::optional<matrix> w(matrix_of(8, 4, 3));
  f(x, sn::frozen(s), sn::frozen(*w));
  w.reset();
  const matrix later = matrix_of(8, 4, 4);
  CHECK(distance(f(x, sn::frozen(s), sn::frozen(later)), f(x, s, later)) < 1e-5f);
}

}  // namespace frozen_values_test
