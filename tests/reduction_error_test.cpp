// SPDX-License-Identifier: MIT
// run: serial
// Errors of sums, alone and in fused nests, beside those of pairwise summation as NumPy has it, and
// the same bits for every number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <omp.h>

#include <sinter/sinter.hpp>

namespace reduction_error_test {

namespace sn = sinter;

namespace {

// NumPy's np.add.reduce: eight accumulators over up to 128 elements, halves of halves above.
float pairwise(const float* x, std::int64_t n, std::int64_t stride) {
  float sum = 0;
  if (n < 8) {
    for (std::int64_t i = 0; i < n; ++i) sum += x[i * stride];
    return sum;
  }
  if (n <= 128) {
    float part[8];
    for (std::int64_t k = 0; k < 8; ++k) part[k] = x[k * stride];
    std::int64_t i = 8;
    for (; i + 8 <= n; i += 8)
      for (std::int64_t k = 0; k < 8; ++k) part[k] += x[(i + k) * stride];
    sum = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
    for (; i < n; ++i) sum += x[i * stride];
    return sum;
  }
  const std::int64_t half = n / 2 / 8 * 8;
  return pairwise(x, half, stride) + pairwise(x + half * stride, n - half, stride);
}

// The largest error that pairwise summation of n elements can have, in units of 2^-24 of the sum of
// their sizes.
double pairwise_bound(std::int64_t n) {
  return n <= 128 ? static_cast<double>(n) / 8 + 3 : 19 + std::log2(static_cast<double>(n) / 128);
}

struct sums {
  long double exact = 0, sizes = 0;
};
sums exact_sum(const float* x, std::int64_t n, std::int64_t stride) {
  sums out;
  for (std::int64_t i = 0; i < n; ++i) {
    out.exact += x[i * stride];
    out.sizes += std::abs(x[i * stride]);
  }
  return out;
}

enum class kind { constant, uniform, wide, cancelling };

sn::tensor<float, 2> filled(kind k, std::int64_t rows, std::int64_t columns) {
  std::mt19937 generator(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  sn::tensor<float, 2> out(rows, columns);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const double u = uniform(generator);
    // Rounding errors of equal elements have one sign; large ones of both signs leave their
    // differences.
    const double x = k == kind::constant  ? 0.1
                     : k == kind::uniform ? u
                     : k == kind::wide    ? std::exp(20 * u - 10)
                                          : (i % 2 == 0 ? 1 : -1) * (1000 + u);
    out.data()[i] = static_cast<float>(x);
  }
  return out;
}

constexpr kind kinds[] = {kind::constant, kind::uniform, kind::wide, kind::cancelling};
struct extents {
  std::int64_t rows, columns;
};
constexpr extents shapes[] = {{1, 1000}, {1000, 1}, {3, 333'333}, {100'003, 9}, {1000, 1000}};

// Within what pairwise summation may be off, and where its error happens to be large, within that.
void check(float got, const float* x, std::int64_t n, std::int64_t stride) {
  const sums want = exact_sum(x, n, stride);
  const auto unit = static_cast<double>(want.sizes) * 0x1p-24;
  const double error = static_cast<double>(std::abs(static_cast<long double>(got) - want.exact));
  const double other =
      static_cast<double>(std::abs(static_cast<long double>(pairwise(x, n, stride)) - want.exact));
  // Blocks of 32 rows and 64 registers are summed one after the other: half a unit per addition.
  CHECK(error <= std::max(other, std::min(8.0, pairwise_bound(n)) * unit));
}

template <class T>
bool same_bits(const T& a, const T& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(*a.data())) ==
             0;
}

}  // namespace

TEST_CASE("sums are as exact as pairwise ones") {
  auto f = sn::fuse([](auto x, auto one) {
    // The second is a region that is summed where it is computed.
    return sn::outputs(sn::sum(x), sn::sum(x * one), sn::sum(x, 0), sn::sum(x * one, 0),
                       sn::sum(x, 1), sn::mean(x));
  });
  for (const kind k : kinds)
    for (const extents& shape : shapes) {
      const std::int64_t rows = shape.rows, columns = shape.columns;
      CAPTURE(static_cast<int>(k));
      CAPTURE(rows);
      const auto x = filled(k, rows, columns);
      const auto [all, fused, down, fused_down, across, mean] = f(x, 1.0f);
      check(all.item(), x.data(), x.size(), 1);
      check(fused.item(), x.data(), x.size(), 1);
      check(mean.item() * static_cast<float>(x.size()), x.data(), x.size(), 1);
      for (std::int64_t j = 0; j < columns; j += 1 + columns / 10) {
        check(down(j), x.data() + j, rows, columns);
        check(fused_down(j), x.data() + j, rows, columns);
      }
      for (std::int64_t i = 0; i < rows; i += 1 + rows / 10)
        check(across(i), x.data() + i * columns, columns, 1);
    }
}

TEST_CASE("what is made of sums: variance, mean squared error, logsumexp") {
  auto f = sn::fuse(
      [](auto x, auto y) { return sn::outputs(sn::var(x), sn::mse(x, y), sn::logsumexp(x)); });
  for (const kind k : {kind::constant, kind::uniform})
    for (const extents& shape : shapes) {
      const std::int64_t rows = shape.rows, columns = shape.columns;
      CAPTURE(static_cast<int>(k));
      CAPTURE(rows);
      const auto x = filled(k, rows, columns), y = filled(kind::uniform, columns, rows);
      sn::tensor<float, 2> other(rows, columns);
      std::copy_n(y.data(), y.size(), other.data());
      const auto [variance, mse, lse] = f(x, other);
      const auto n = static_cast<long double>(x.size());
      const long double mean = exact_sum(x.data(), x.size(), 1).exact / n;
      long double squares = 0, differences = 0, exponentials = 0;
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const auto a = static_cast<long double>(x.data()[i]),
                   b = static_cast<long double>(other.data()[i]);
        squares += (a - mean) * (a - mean);
        differences += (a - b) * (a - b);
        exponentials += std::exp(a);
      }
      const auto off = [](float got, long double want) {
        return static_cast<double>(std::abs(static_cast<long double>(got) - want));
      };
      // A mean that is off by a few units shifts the deviations of equal elements from 0.
      CHECK(off(variance.item(), squares / n) <=
            8 * 0x1p-24 * static_cast<double>(squares / n) + 1e-14);
      CHECK(off(mse.item(), differences / n) <= 8 * 0x1p-24 * static_cast<double>(differences / n));
      const long double log = std::log(exponentials);
      CHECK(off(lse.item(), log) <= 8 * 0x1p-24 * static_cast<double>(std::max(1.0L, log)));
    }
}

TEST_CASE("sums have the same bits for every number of threads") {
  auto f = sn::fuse([](auto x, auto y) {
    return sn::outputs(sn::sum(x), sn::sum(x, 0), sn::sum(x, 1), sn::mean(x, 0), sn::var(x, 0),
                       sn::var(x), sn::mse(x, y), sn::logsumexp(x), sn::logsumexp(x, 0),
                       sn::logsumexp(x, 1), sn::sum(sn::silu(x) * y, 0));
  });
  const int threads = omp_get_max_threads();
  for (const auto [rows, columns] : shapes) {
    const auto x = filled(kind::uniform, rows, columns), y = filled(kind::constant, rows, columns);
    omp_set_num_threads(1);
    const auto one = f(x, y);
    for (const int count : {2, 3, 5}) {
      omp_set_num_threads(count);
      const auto several = f(x, y);
      CHECK([&]<std::size_t... I>(std::index_sequence<I...>) {
        return (same_bits(std::get<I>(one), std::get<I>(several)) && ...);
      }(std::make_index_sequence<11>{}));
    }
  }
  omp_set_num_threads(threads);
}

}  // namespace reduction_error_test
