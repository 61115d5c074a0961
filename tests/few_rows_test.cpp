// SPDX-License-Identifier: MIT
// Reductions down few rows, which registers do, and down more, which accumulators do: the same bits
// wherever rows lie and whatever follows, also of signed zeros and NaN.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace few_rows_test {

namespace sn = sinter;

namespace {

// Numbers of both signs and sizes, and few zeros of both signs, infinities and NaN.
template <class T>
std::vector<T> numbers(std::size_t count, bool special) {
  std::mt19937 generator(static_cast<unsigned>(count));
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> any(0, 39);
  std::vector<T> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int kind = special ? any(generator) : 99;
    out[i] = kind < 20    ? T(kind % 2 == 0 ? -0.0 : 0.0)
             : kind == 20 ? std::numeric_limits<T>::infinity()
             : kind == 21 ? std::numeric_limits<T>::quiet_NaN()
                          : static_cast<T>(normal(generator));
  }
  return out;
}

template <class T>
bool same_bits(const sn::tensor<T, 2>& a, const sn::tensor<T, 2>& b) {
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(a.size()); ++i) {
    const T x = a.data()[i], y = b.data()[i];
    if (std::isnan(x) ? !std::isnan(y) : std::memcmp(&x, &y, sizeof x) != 0) return false;
  }
  return true;
}

struct shape {
  std::int64_t batch, rows, columns;
};

// f of [batch,rows,columns] by itself and of parts of longer rows, 4 KiB apart, against single(x0,
// x1...) of a column's elements.
template <class T, class F, class Single>
void check(const F& f, Single single) {
  for (const bool special : {false, true})
    for (const shape s : {shape{1, 1, 5},
                          {1, 2, 1},
                          {1, 3, 1000},
                          {2, 5, 8},
                          {3, 8, 33},
                          {1, 12, 1024},
                          {1, 13, 1024},
                          {2, 16, 1000},
                          {1, 24, 700},
                          {1, 25, 700},
                          {40, 10, 10},
                          {3, 32, 7},
                          {2, 33, 7},
                          {1, 7, 5000},
                          {2, 3, 0}}) {
      CAPTURE(s.batch);
      CAPTURE(s.rows);
      CAPTURE(s.columns);
      const std::int64_t step = (s.columns + 1024) / 1024 * 1024;
      const std::vector<T> from =
          numbers<T>(static_cast<std::size_t>(s.batch * s.rows * s.columns), special);
      std::vector<T> apart(static_cast<std::size_t>(s.batch * s.rows * step + 1));
      for (std::int64_t row = 0; row < s.batch * s.rows; ++row)
        std::copy_n(from.begin() + row * s.columns, s.columns, apart.begin() + row * step);
      const sn::view<const T, 3> dense(from.data(), {s.batch, s.rows, s.columns}),
          strided(apart.data(), {s.batch, s.rows, s.columns}, {s.rows * step, step, 1});
      const sn::tensor<T, 2> result = f(dense);
      REQUIRE(result.shape()[0] == s.batch);
      REQUIRE(result.shape()[1] == s.columns);
      CHECK(same_bits<T>(result, f(strided)));
      for (std::int64_t b = 0; b < s.batch; ++b)
        for (std::int64_t j = 0; j < s.columns; ++j) {
          std::vector<double> column;
          for (std::int64_t i = 0; i < s.rows; ++i)
            column.push_back(from[static_cast<std::size_t>((b * s.rows + i) * s.columns + j)]);
          const double want = single(column), got = result(b, j);
          if (std::isfinite(want))
            CHECK(std::abs(got - want) <=
                  1e-5 * (1 + std::abs(want)) * static_cast<double>(s.rows));
          else
            CHECK((std::isnan(want) ? std::isnan(got) : got == want));
        }
    }
}

double sum_of(const std::vector<double>& x) {
  double out = 0;
  for (double e : x) out += e;
  return out;
}
double largest_of(const std::vector<double>& x) {
  double out = -std::numeric_limits<double>::infinity();
  for (double e : x) out = std::isnan(e) || std::isnan(out) ? std::nan("") : std::max(out, e);
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("sums and means down few rows", T, float, double) {
  check<T>(sn::fuse([](auto x) { return sn::sum(x, 1); }), sum_of);
  check<T>(sn::fuse([](auto x) { return sn::mean(x, 1); }),
           [](const std::vector<double>& x) { return sum_of(x) / static_cast<double>(x.size()); });
}

TEST_CASE_TEMPLATE("maxima and products down few rows", T, float, double) {
  check<T>(sn::fuse([](auto x) { return sn::max(x, 1); }), largest_of);
  check<T>(sn::fuse([](auto x) { return sn::exp(sn::min(x, 1)) + T(1); }),
           [](const std::vector<double>& x) {
             std::vector<double> negative;
             for (double e : x) negative.push_back(-e);
             return std::exp(-largest_of(negative)) + 1;
           });
}

TEST_CASE("sums of negative zeros down few rows are 0, as those down many") {
  for (const std::int64_t rows : {2, 3, 12, 40}) {
    sn::tensor<float, 2> x({rows, std::int64_t{20}});
    std::fill_n(x.data(), x.size(), -0.0f);
    const sn::tensor<float, 1> sums = sn::fuse([](auto y) { return sn::sum(y, 0); })(x);
    for (std::int64_t j = 0; j < 20; ++j) CHECK(!std::signbit(sums(j)));
  }
}

}  // namespace few_rows_test
