// SPDX-License-Identifier: MIT
// Rows that are added to a table in the order of their indices, whoever adds them: gradients of
// embeddings of any width, on one thread and on several.
#include <cstdint>
#include <cstring>

#include <doctest/doctest.h>

#include "support/column_sweeps.hpp"
#include <sinter/exec/parallel.hpp>
#include <sinter/sinter.hpp>

namespace scatter_test {

namespace sn = sinter;

namespace {

using test_support::column_noise;
using matrix = sn::tensor<float, 2>;

constexpr auto table_gradient = [](auto table, auto ids, auto seed) {
  return sn::vjp(sn::embedding(table, ids), seed, table)[0];
};

sn::tensor<std::int64_t, 1> some_ids(std::int64_t count, std::int64_t rows) {
  sn::tensor<std::int64_t, 1> out(count);
  for (std::int64_t i = 0; i < count; ++i) out(i) = i * i * 7 % rows;
  return out;
}

}  // namespace

TEST_CASE("each row is the sum of what was read of it, in order") {
  auto f = sn::fuse(table_gradient);
  for (std::int64_t rows : {1, 7, 300})
    for (std::int64_t width : {1, 5, 16, 17, 90, 256})
      for (std::int64_t count : {0, 1, 40, 700}) {
        INFO(rows << " x " << width << ", " << count);
        const matrix table = column_noise<float>(rows, width),
                     seed = column_noise<float>(count, width);
        const auto ids = some_ids(count, rows);
        matrix expected(rows, width);
        for (float& x : expected) x = 0;
        for (std::int64_t i = 0; i < count; ++i)
          for (std::int64_t k = 0; k < width; ++k) expected(ids(i), k) += seed(i, k);
        const matrix got = f(table, ids, seed);
        CHECK(std::memcmp(got.data(), expected.data(),
                          static_cast<std::size_t>(rows * width) * sizeof(float)) == 0);
      }
}

TEST_CASE("one thread or several: the same bits") {
  const matrix table = column_noise<float>(3000, 200), seed = column_noise<float>(5000, 200);
  const auto ids = some_ids(5000, 3000);
  auto f = sn::fuse(table_gradient);
  const auto run = [&](int threads) {
    const sn::exec::loop_threads limit(threads);
    return f(table, ids, seed);
  };
  const matrix alone = run(1);
  for (int threads : {2, 3, 16}) {
    const matrix shared = run(threads);
    CHECK(std::memcmp(alone.data(), shared.data(), 600000 * sizeof(float)) == 0);
  }
}

}  // namespace scatter_test
