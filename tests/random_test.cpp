// SPDX-License-Identifier: MIT
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/exec/random.hpp>
#include <sinter/graph/random.hpp>

namespace random_test {

namespace exec = sinter::exec;
namespace ir = sinter::ir;

// The known answers of Random123 (kat_vectors, threefry2x32 with 20 rounds).
static_assert(ir::threefry({0, 0}, {0, 0}) == ir::threefry_words{0x6b200159, 0x99ba4efe});
static_assert(ir::threefry({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              ir::threefry_words{0x1cb996fc, 0xbb002be7});
static_assert(ir::threefry({0x243f6a88, 0x85a308d3}, {0x13198a2e, 0x03707344}) ==
              ir::threefry_words{0xc4923a9c, 0x483df7a0});

TEST_CASE_TEMPLATE("a fill is the scalar definition at every position", T, float, double) {
  constexpr bool wide = sizeof(T) == 8;
  for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{5}, (std::int64_t{1} << 32) - 3})
    for (const std::int64_t n : {0, 1, 63, 64, 65, 200}) {
      std::vector<T> filled(static_cast<std::size_t>(n) + 1, T(-1));
      exec::fill_uniform(std::int64_t{42}, std::int64_t{3}, begin, n, filled.data());
      for (std::int64_t i = 0; i < n; ++i)
        CHECK(static_cast<double>(filled[static_cast<std::size_t>(i)]) ==
              ir::uniform(42, 3, begin + i, wide));
      CHECK(filled.back() == T(-1));
    }
}

TEST_CASE_TEMPLATE("uniforms lie in [0, 1) and fill it evenly", T, float, double) {
  std::vector<T> x(100'000);
  exec::fill_uniform(std::int64_t{1}, std::int64_t{0}, 0, 100'000, x.data());
  double sum = 0, squares = 0;
  int low = 0;
  for (const T value : x) {
    REQUIRE(value >= T(0));
    REQUIRE(value < T(1));
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
    low += value < T(0.1) ? 1 : 0;
  }
  // Six standard deviations: 0.29/sqrt(n) for the mean, sqrt(0.09/n) for the share below 0.1.
  CHECK(sum / 1e5 == doctest::Approx(0.5).epsilon(0.011));
  CHECK(squares / 1e5 == doctest::Approx(1.0 / 3).epsilon(0.02));
  CHECK(low / 1e5 == doctest::Approx(0.1).epsilon(0.06));
}

TEST_CASE("key and stream both change the numbers") {
  CHECK(ir::uniform(1, 0, 0, true) != ir::uniform(2, 0, 0, true));
  CHECK(ir::uniform(1, 0, 0, true) != ir::uniform(1, 1, 0, true));
  CHECK(ir::uniform(1, 0, 0, true) != ir::uniform(0, 1, 0, true));
  CHECK(ir::uniform(std::int64_t{1} << 32, 0, 0, true) != ir::uniform(1, 0, 0, true));
}

}  // namespace random_test
