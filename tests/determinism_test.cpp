// SPDX-License-Identifier: MIT
// The same bits on one thread and on two, and on every run; and the same plan on every run.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <doctest/doctest.h>
#include <omp.h>

#include <sinter/sinter.hpp>

namespace determinism_test {

namespace sn = sinter;

namespace {

template <class T>
bool same_bits(const T& a, const T& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(*a.data())) ==
             0;
}

sn::tensor<float, 2> filled(std::int64_t rows, std::int64_t columns) {
  sn::tensor<float, 2> out(rows, columns);
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.data()[i] = 0.01f * static_cast<float>((i * 7919) % 1013 - 500);
  return out;
}

// Both outputs of f, on one thread as on several; those of one thread.
template <class F, class... Arguments>
auto check_threads(F& f, const Arguments&... x) {
  omp_set_num_threads(1);
  const auto one = f(x...);
  for (int threads : {2, 3, 4, 5, 8}) {
    omp_set_num_threads(threads);
    const auto several = f(x...);
    CHECK(same_bits(std::get<0>(one), std::get<0>(several)));
    CHECK(same_bits(std::get<1>(one), std::get<1>(several)));
  }
  return one;
}

}  // namespace

TEST_CASE("one thread and two give the same bits") {
  auto f = sn::fuse([](auto x, auto w) {
    auto y = sn::gelu(sn::matmul(x, w));
    return sn::outputs(y, sn::softmax(y), sn::sum(y), sn::sum(y, 0), sn::var(y, 1));
  });
  const auto x = filled(301, 257), w = filled(257, 143);
  omp_set_num_threads(1);
  const auto one = f(x, w);
  for (int run = 0; run < 5; ++run) {
    omp_set_num_threads(run % 2 == 0 ? 2 : 3);
    const auto several = f(x, w);
    CHECK(same_bits(std::get<0>(one), std::get<0>(several)));
    CHECK(same_bits(std::get<1>(one), std::get<1>(several)));
    CHECK(same_bits(std::get<2>(one), std::get<2>(several)));
    CHECK(same_bits(std::get<3>(one), std::get<3>(several)));
    CHECK(same_bits(std::get<4>(one), std::get<4>(several)));
  }
}

// Four blocks of 152 rows: one thread takes two of them at once, four threads one each.
TEST_CASE("how many blocks of rows a thread takes at once is not seen in the bits") {
  auto f = sn::fuse([](auto x, auto w, auto v) {
    return sn::outputs(sn::silu(sn::matmul(x, w)) * sn::matmul(x, v), sn::matmul(x, w));
  });
  const auto x = filled(600, 256), w = filled(256, 241), v = filled(256, 241);
  check_threads(f, x, w, v);
}

// Blocks of 16 to 24 rows, of which one thread takes all: by columns that are read where they are,
// and by some that are packed.
TEST_CASE("how few rows threads share is not seen in the bits") {
  auto f = sn::fuse([](auto x, auto v, auto w) {
    return sn::outputs(sn::relu(sn::matmul(x, v) + 0.5f), sn::gelu(sn::matmul(x, w)));
  });
  for (const std::int64_t rows : {64, 97, 160})
    check_threads(f, filled(rows, 576), filled(576, 49), filled(576, 196));
}

// Seven blocks of 144 columns, the last of them narrower: one thread takes all of a product at
// once, five take one or two.
TEST_CASE("how many blocks of columns of few rows a thread takes at once is not seen in the bits") {
  auto f = sn::fuse([](auto x, auto w, auto v) {
    return sn::outputs(sn::silu(sn::matmul(x, w)) * sn::matmul(x, v), sn::matmul(x, w) + 1.0f);
  });
  const auto x = filled(12, 640), w = filled(640, 1001), v = filled(640, 1001);
  const auto one = check_threads(f, x, w, v);
  for (std::int64_t i = 0; i < 12; i += 11)
    for (std::int64_t j = 0; j < 1001; j += 77) {
      double sum = 1;
      for (std::int64_t p = 0; p < 640; ++p)
        sum += static_cast<double>(x(i, p)) * static_cast<double>(w(p, j));
      CHECK(static_cast<double>(std::get<1>(one)(i, j)) == doctest::Approx(sum).epsilon(1e-3));
    }
}

// 15 blocks of rows each, of which one thread takes several at once; beside sums in doubles.
TEST_CASE("products by vectors have the same bits however many threads share them") {
  auto f = sn::fuse([](auto a, auto x, auto y) {
    return sn::outputs(sn::matmul(a, x) + 1.0f, sn::matmul(sn::transpose(a), y));
  });
  const std::int64_t rows = 951, columns = 1025;
  const auto a = filled(rows, columns), x = filled(columns, 1), y = filled(rows, 1);
  const auto [by_rows, by_columns] = check_threads(f, a, x, y);
  for (std::int64_t i = 0; i < rows; ++i) {
    double sum = 1;
    for (std::int64_t j = 0; j < columns; ++j) sum += double{a(i, j)} * double{x(j, 0)};
    CHECK(by_rows(i, 0) == doctest::Approx(sum).epsilon(1e-4));
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) sum += double{a(i, j)} * double{y(i, 0)};
    CHECK(by_columns(j, 0) == doctest::Approx(sum).epsilon(1e-4));
  }
}

// Three blocks of 144 columns and one of a single column, alone or with others.
TEST_CASE("the last column of few rows is added up like the others") {
  auto f = sn::fuse([](auto x, auto w) { return sn::matmul(x, w); });
  for (std::int64_t rows : {1, 2, 12}) {
    const std::int64_t depth = 12000 / rows;
    const auto x = filled(rows, depth), w = filled(depth, 433);
    omp_set_num_threads(1);
    const auto one = f(x, w);
    for (int threads : {2, 3, 5}) {
      omp_set_num_threads(threads);
      CHECK(same_bits(one, f(x, w)));
    }
  }
}

// Few rows of either side; of the last block of columns one is left, of the last block of rows
// three.
TEST_CASE("dot products have the same bits however many threads share them") {
  auto f = sn::fuse([](auto few, auto many) {
    return sn::outputs(sn::matmul(few, sn::transpose(many)) + 1.0f,
                       sn::matmul(many, sn::transpose(few)));
  });
  const std::int64_t depth = 1200, count = 433;
  for (std::int64_t rows : {1, 2, 5, 12}) {
    const auto few = filled(rows, depth), many = filled(count, depth);
    const auto [beside, below] = check_threads(f, few, many);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < count; j += 48) {
        double sum = 0;
        for (std::int64_t p = 0; p < depth; ++p) sum += double{few(i, p)} * double{many(j, p)};
        CHECK(double{beside(i, j)} == doctest::Approx(sum + 1).epsilon(1e-4));
        CHECK(double{below(j, i)} == doctest::Approx(sum).epsilon(1e-4));
      }
  }
}

// Four groups of rows, with a short last one: one thread combines each as soon as it is summed up.
TEST_CASE("small products of many batches have the same bits however many threads share them") {
  auto f = sn::fuse([](auto a, auto b) { return sn::relu(sn::matmul(a, b) + 0.5f); });
  for (const auto& size : {std::array<std::int64_t, 4>{700, 4, 4, 4},
                           {1000, 1, 16, 30},
                           {300, 3, 1, 64},
                           {90, 20, 33, 17},
                           {5, 64, 64, 64}}) {
    const std::int64_t batch = size[0], m = size[1], n = size[2], k = size[3];
    CAPTURE(batch);
    CAPTURE(m);
    sn::tensor<float, 3> a(batch, m, k), b(batch, k, n);
    for (std::int64_t i = 0; i < a.size(); ++i)
      a.data()[i] = 0.002f * static_cast<float>((i * 7919) % 1013 - 500);
    for (std::int64_t i = 0; i < b.size(); ++i)
      b.data()[i] = 0.002f * static_cast<float>((i * 6007) % 1009 - 500);
    omp_set_num_threads(1);
    const sn::tensor<float, 3> once = f(a, b);
    for (int threads : {2, 3, 5}) {
      omp_set_num_threads(threads);
      CHECK(f(a, b) == once);
    }
    double most = 0;
    for (std::int64_t i = 0; i < batch; ++i)
      for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t c = 0; c < n; ++c) {
          double sum = 0.5;
          for (std::int64_t p = 0; p < k; ++p) sum += double{a(i, r, p)} * double{b(i, p, c)};
          most = std::max(most, std::abs(double{once(i, r, c)} - std::max(0.0, sum)));
        }
    CHECK(most < 1e-5);
  }
}

TEST_CASE("sums of groups of rows have the same bits however many threads have them") {
  auto f = sn::fuse(
      [](auto x, auto y) { return sn::outputs(2.0f * sn::sum(x * y, 0) + 1.0f, sn::max(x, 0)); });
  const auto x = filled(357, 1001), y = filled(357, 1001);
  const auto one = check_threads(f, x, y);
  for (std::int64_t j = 0; j < 1001; j += 91) {
    double sum = 0;
    float largest = x(0, j);
    for (std::int64_t i = 0; i < 357; ++i) {
      sum += static_cast<double>(x(i, j)) * static_cast<double>(y(i, j));
      largest = std::max(largest, x(i, j));
    }
    CHECK(static_cast<double>(std::get<0>(one)(j)) == doctest::Approx(2 * sum + 1).epsilon(1e-5));
    CHECK(std::get<1>(one)(j) == largest);
  }
}

// Parts of 32,768 elements of each of two rows, the last part shorter: one thread sums up all whole
// ones by one call of a kernel, which also writes what it sums up if that is asked for.
TEST_CASE("parts of long rows have the same bits however many threads have them") {
  auto f = sn::fuse([](auto x, auto y) { return sn::outputs(sn::sum(x * y, 1), x * y); });
  auto g = sn::fuse([](auto x, auto y) { return sn::outputs(sn::max(x - y, 1), sn::sum(x, 0)); });
  const auto x = filled(2, 200'003);
  auto y = x;
  std::reverse(y.begin(), y.end());
  const auto one = check_threads(f, x, y);
  const auto differences = check_threads(g, x, y);
  for (std::int64_t i = 0; i < 2; ++i) {
    double sum = 0;
    float largest = x(i, 0) - y(i, 0);
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      const float product = x(i, j) * y(i, j);
      sum += static_cast<double>(product);
      largest = std::max(largest, x(i, j) - y(i, j));
      if (std::get<1>(one)(i, j) != product) ++wrong;
    }
    CHECK(wrong == 0);
    CHECK(static_cast<double>(std::get<0>(one)(i)) == doctest::Approx(sum).epsilon(1e-5));
    CHECK(std::get<0>(differences)(i) == largest);
  }
}

TEST_CASE("random numbers depend on the key alone") {
  auto f = sn::fuse([](auto x, auto key) {
    return sn::outputs(sn::uniform(key, x), sn::dropout(x, key, 0.5f), sn::dropout(x, key, 0.5f));
  });
  const auto x = filled(64, 100);
  const auto [u, d, e] = f(x, 7);
  const auto [u2, d2, e2] = f(x, 7);
  const auto [other, d3, e3] = f(x, 8);
  CHECK(same_bits(u, u2));
  CHECK(same_bits(d, d2));
  CHECK_FALSE(same_bits(u, other));
  CHECK_FALSE(same_bits(d, e));  // two dropouts are two streams
  double mean = 0;
  for (float v : u) mean += static_cast<double>(v) / 6400;
  CHECK(mean == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("a micro-op and a superinstruction give the same bits") {
  const auto x = filled(50, 70), y = filled(50, 70);
  const auto body = [](auto a, auto b) { return sn::silu(2.0f * a + 0.5f) * b - a * b; };
  // Without rules that reassociate: what is cheapest on micro-ops may be another formula.
  sn::program_options exact;
  exact.reassociate = false;
  auto fused = sn::fuse(body, exact);
  exact.superinstructions = false;
  auto plain = sn::fuse(body, exact);
  CHECK(same_bits(fused(x, y), plain(x, y)));
}

}  // namespace determinism_test
