// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/exec/moments_kernel.hpp>
#include <sinter/exec/reduce.hpp>
#include <sinter/exec/row_moments.hpp>

namespace reduce_test {

namespace exec = sinter::exec;
using exec::monoid;

namespace {

template <class T>
const exec::reduction_kernels& kernels(monoid m) {
  static constexpr exec::reduction_table table = exec::reductions<T>();
  return table[static_cast<std::size_t>(m)];
}

template <class T>
std::vector<T> some_values(std::int64_t n) {
  std::mt19937 generator(5);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& value : x) {
    if constexpr (exec::Floating<T>)
      value = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(generator));
    else
      value = static_cast<T>(generator());
  }
  return x;
}

template <class T>
T naive(monoid m, T a, T b) {
  if (m == monoid::max) return a > b ? a : b;
  if (m == monoid::min) return a < b ? a : b;
  if constexpr (exec::Floating<T>)
    return m == monoid::sum ? a + b : a * b;
  else
    return m == monoid::sum ? exec::add(a, b) : exec::multiply(a, b);
}

// Floats may differ by the order of additions.
template <class T>
bool close(T got, T want) {
  if constexpr (exec::Floating<T>)
    return std::abs(got - want) <=
           64 * std::numeric_limits<T>::epsilon() * std::max(T(1), std::abs(want));
  else
    return got == want;
}

template <class T>
T finished(monoid m, const void* accumulator) {
  T result;
  kernels<T>(m).finish(1, accumulator, &result);
  return result;
}

// By an accumulator, and as a whole row: the same bits.
template <class T>
T reduce_row(monoid m, std::int64_t n, const T* x) {
  double accumulator;  // or what is not larger
  kernels<T>(m).identity(1, &accumulator);
  kernels<T>(m).row(n, x, &accumulator);
  const T result = finished<T>(m, &accumulator);
  T whole;
  kernels<T>(m).whole_row(n, x, &whole);
  CHECK(std::memcmp(&whole, &result, sizeof(T)) == 0);
  return result;
}

template <class T>
std::int64_t argmax_of(std::int64_t n, const T* x) {
  exec::argmax_state<T> state;
  kernels<T>(monoid::argmax).identity(1, &state);
  kernels<T>(monoid::argmax).row(n, x, &state);
  std::int64_t index = -1, whole = -2;
  kernels<T>(monoid::argmax).finish(1, &state, &index);
  kernels<T>(monoid::argmax).whole_row(n, x, &whole);
  CHECK(whole == index);
  return index;
}

constexpr monoid values_of_elements[] = {monoid::sum, monoid::max, monoid::min, monoid::prod};

// The sign of NaN depends on the order in which a compiler adds two of them.
template <class T>
bool same_bits(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

TEST_CASE_TEMPLATE("rows", T, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t, float, double) {
  for (const std::int64_t n : {1, 3, 7, 16, 33, 64, 100, 1000, 5000}) {
    const std::vector<T> x = some_values<T>(n);
    for (const monoid m : values_of_elements) {
      T want = x[0];
      for (std::int64_t i = 1; i < n; ++i) want = naive(m, want, x[static_cast<std::size_t>(i)]);
      CHECK(close(reduce_row(m, n, x.data()), want));
    }
    std::int64_t first = 0;
    for (std::int64_t i = 1; i < n; ++i)
      if (x[static_cast<std::size_t>(i)] > x[static_cast<std::size_t>(first)]) first = i;
    CHECK(argmax_of(n, x.data()) == first);
  }
}

TEST_CASE_TEMPLATE("deviations of many rows at once: the bits of each by itself", T, float,
                   double) {
  using limits = std::numeric_limits<T>;
  const T special[] = {-T(0),
                       T(1e30),
                       limits::quiet_NaN(),
                       limits::max(),
                       -limits::infinity(),
                       limits::denorm_min()};
  const auto deviations = exec::deviations_of<T>().whole_rows_pair;
  constexpr std::int64_t size = sizeof(T);
  for (const std::int64_t rows : {0, 1, 7, 8, 15, 16, 17, 32, 45})
    for (const std::int64_t n : {0, 1, 2, 3, 7, 8, 9, 16, 24, 31, 32, 40, 64, 65, 100, 131, 1100})
      for (const std::int64_t pitch : {n, n + 3}) {
        CAPTURE(rows);
        CAPTURE(n);
        std::vector<T> x = some_values<T>(rows * pitch + 1);
        for (const int round : {0, 1}) {
          std::vector<T> got(static_cast<std::size_t>(5 * rows + 8), T(77)), want = got;
          deviations(rows, n, x.data(), pitch * size,
                     {got.data(), 2 * size, got.data() + 2 * rows, 3 * size});
          for (std::int64_t row = 0; row < rows; ++row)
            deviations(1, n, x.data() + row * pitch, 0,
                       {want.data() + 2 * row, 0, want.data() + 2 * rows + 3 * row, 0});
          CHECK(std::equal(got.begin(), got.end(), want.begin(), same_bits<T>));
          std::vector<T> alone(static_cast<std::size_t>(rows));
          exec::deviations_of<T>().whole_rows(rows, n, x.data(), pitch * size, alone.data(), size);
          for (std::size_t row = 0; row < alone.size(); ++row)
            CHECK(same_bits(alone[row], want[2 * row]));
          if (round == 0)
            for (std::size_t i = 0; i < x.size(); i += 3) x[i] = special[i / 3 * 5 % 6];
        }
      }
}

TEST_CASE_TEMPLATE("many rows at once: the bits of each by itself", T, std::uint8_t, std::int32_t,
                   std::int64_t, float, double) {
  const auto check = [](monoid m, std::int64_t rows, std::int64_t n, std::int64_t pitch,
                        const std::vector<T>& x, auto result) {
    using out = decltype(result);
    for (const std::int64_t step : {1, 3}) {
      std::vector<out> got(static_cast<std::size_t>(rows * step + 8), out(77)), want = got;
      for (std::int64_t row = 0; row < rows; ++row)
        kernels<T>(m).whole_row(n, x.data() + row * pitch, want.data() + row * step);
      kernels<T>(m).whole_rows(rows, n, x.data(), pitch * std::int64_t{sizeof(T)}, got.data(),
                               step * std::int64_t{sizeof(out)});
      CHECK(std::equal(got.begin(), got.end(), want.begin(), same_bits<out>));
    }
  };
  using limits = std::numeric_limits<T>;
  std::vector<T> special{T(0), T(1)};
  if constexpr (limits::has_infinity)
    special = {-T(0),
               T(0),
               limits::quiet_NaN(),
               -limits::infinity(),
               limits::infinity(),
               limits::denorm_min()};
  for (const std::int64_t rows : {0, 1, 7, 8, 15, 16, 17, 32, 45})
    for (const std::int64_t n : {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 40, 64, 100, 131})
      for (const std::int64_t pitch : {n, n + 3}) {
        CAPTURE(rows);
        CAPTURE(n);
        std::vector<T> x = some_values<T>(rows * pitch + 1);
        for (int round = 0; round < 3; ++round) {
          for (const monoid m : values_of_elements) check(m, rows, n, pitch, x, T());
          check(monoid::argmax, rows, n, pitch, x, std::int64_t());
          // Then every third element, then all of them, are something special.
          for (std::size_t i = 0; i < x.size(); i += round == 0 ? 3 : 1)
            x[i] = special[i / 3 * 7 % special.size()];
        }
      }
}

TEST_CASE_TEMPLATE("an empty row leaves the identity", T, std::int32_t, float) {
  CHECK(reduce_row<T>(monoid::sum, 0, nullptr) == T(0));
  CHECK(reduce_row<T>(monoid::prod, 0, nullptr) == T(1));
  using limits = std::numeric_limits<T>;
  CHECK(reduce_row<T>(monoid::max, 0, nullptr) ==
        (limits::has_infinity ? -limits::infinity() : limits::lowest()));
  CHECK(reduce_row<T>(monoid::min, 0, nullptr) ==
        (limits::has_infinity ? limits::infinity() : limits::max()));
}

TEST_CASE_TEMPLATE("moments of columns have the same bits however rows are walked", T, float,
                   double) {
  constexpr exec::pair_kernels moments = exec::moments_of_dtype<T>();
  for (const std::int64_t rows : {1, 3, 4, 33})
    for (const std::int64_t columns : {1, 20, 200, 1024, 1100}) {
      const std::int64_t stride = columns + 5;
      const std::vector<T> x = some_values<T>(rows * stride),
                           shifts(static_cast<std::size_t>(columns), T(1) / 4);
      const auto found = [&](sinter::ir::column_walk walk) {
        std::vector<double> sums(static_cast<std::size_t>(columns)), squares = sums;
        moments.add(rows, columns, x.data(), stride, walk, shifts.data(), sums.data(),
                    squares.data());
        return std::pair(sums, squares);
      };
      const auto want = found({});
      for (const sinter::ir::column_walk walk :
           {sinter::ir::column_walk{16 << 10}, {0, true}, {4 << 10, true}})
        REQUIRE(found(walk) == want);
    }
}

TEST_CASE_TEMPLATE("columns", T, std::uint8_t, std::int32_t, std::int64_t, float, double) {
  for (const std::int64_t rows : {1, 2, 31, 32, 33, 100})
    for (const std::int64_t columns : {1, 7, 16, 20, 65, 200, 1024, 1100}) {
      const std::int64_t stride = columns + 5;
      const std::vector<T> x = some_values<T>(rows * stride);
      for (const monoid m : values_of_elements) {
        const auto reduced = [&](sinter::ir::column_walk walk) {
          std::vector<double> accumulators(static_cast<std::size_t>(columns));
          std::vector<T> out(static_cast<std::size_t>(columns));
          kernels<T>(m).identity(columns, accumulators.data());
          kernels<T>(m).column(rows, columns, x.data(), stride, walk, accumulators.data());
          kernels<T>(m).finish(columns, accumulators.data(), out.data());
          return out;
        };
        const std::vector<T> result = reduced({});
        // Fetched ahead, by two or four rows, or row by row, they are the same bits.
        for (const std::int64_t ahead : {64, 8 << 10, 64 << 10})
          REQUIRE(reduced({.ahead = ahead}) == result);
        REQUIRE(reduced({.in_turn = true}) == result);
        for (std::int64_t j = 0; j < columns; ++j) {
          T want = x[static_cast<std::size_t>(j)];
          for (std::int64_t i = 1; i < rows; ++i)
            want = naive(m, want, x[static_cast<std::size_t>(i * stride + j)]);
          REQUIRE(close(result[static_cast<std::size_t>(j)], want));
        }
      }
    }
}

TEST_CASE_TEMPLATE("pieces combine to the whole", T, std::int32_t, float) {
  const std::int64_t n = 1000, split = 300;
  const std::vector<T> x = some_values<T>(n);
  for (const monoid m : values_of_elements) {
    double front, back;
    kernels<T>(m).identity(1, &front);
    kernels<T>(m).identity(1, &back);
    kernels<T>(m).row(split, x.data(), &front);
    kernels<T>(m).row(n - split, x.data() + split, &back);
    kernels<T>(m).combine(1, &back, &front);
    CHECK(close(finished<T>(m, &front), reduce_row(m, n, x.data())));
  }
  const exec::reduction_kernels& largest = kernels<T>(monoid::argmax);
  exec::argmax_state<T> front, back, fed;
  for (exec::argmax_state<T>* state : {&front, &back, &fed}) largest.identity(1, state);
  largest.row(split, x.data(), &front);
  largest.row(n - split, x.data() + split, &back);
  largest.combine(1, &back, &front);
  largest.row(split, x.data(), &fed);
  largest.row(n - split, x.data() + split, &fed);
  CHECK(front.index == argmax_of(n, x.data()));
  CHECK(fed.index == front.index);
}

TEST_CASE("argmax over columns, and the first of equals") {
  const float x[] = {1, 5, 2,  //
                     3, 5, 2,  //
                     3, 4, 9};
  exec::argmax_state<float> state[3];
  const exec::reduction_kernels& largest = kernels<float>(monoid::argmax);
  largest.identity(3, state);
  largest.column(2, 3, x, 3, {}, state);
  largest.column(1, 3, x + 6, 3, {}, state);
  std::int64_t index[3];
  largest.finish(3, state, index);
  CHECK(index[0] == 1);
  CHECK(index[1] == 0);
  CHECK(index[2] == 2);
}

TEST_CASE_TEMPLATE("NaN spreads through max and min, and is the argmax", T, float, double) {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const std::int64_t n : {1, 5, 16, 40, 1000})
    for (std::int64_t at = 0; at < n; at += 1 + n / 7) {
      std::vector<T> x = some_values<T>(n);
      x[static_cast<std::size_t>(at)] = nan;
      CHECK(std::isnan(reduce_row(monoid::max, n, x.data())));
      CHECK(std::isnan(reduce_row(monoid::min, n, x.data())));
      CHECK(argmax_of(n, x.data()) == at);
      // As a column, and as a row of columns.
      T result = 0;
      kernels<T>(monoid::max).identity(1, &result);
      kernels<T>(monoid::max).column(n, 1, x.data(), 1, {}, &result);
      CHECK(std::isnan(result));
      std::vector<T> each(static_cast<std::size_t>(n));
      kernels<T>(monoid::min).identity(n, each.data());
      kernels<T>(monoid::min).column(1, n, x.data(), n, {}, each.data());
      for (std::int64_t i = 0; i < n; ++i)
        CHECK(std::isnan(each[static_cast<std::size_t>(i)]) == (i == at));
    }
}

TEST_CASE_TEMPLATE("NaN stays in its column", T, float, double) {
  constexpr std::int64_t rows = 35;                 // two blocks
  for (const std::int64_t columns : {1, 13, 83}) {  // register by register and row by row
    std::vector<T> x = some_values<T>(rows * columns);
    const auto size = static_cast<std::size_t>(columns);
    std::vector<T> clean(size), result(size);
    kernels<T>(monoid::max).identity(columns, clean.data());
    kernels<T>(monoid::max).column(rows, columns, x.data(), columns, {}, clean.data());
    for (std::int64_t at = 0; at < rows * columns; at += 7) {
      const T before =
          std::exchange(x[static_cast<std::size_t>(at)], std::numeric_limits<T>::quiet_NaN());
      kernels<T>(monoid::max).identity(columns, result.data());
      kernels<T>(monoid::max)
          .column(rows, columns, x.data(), columns, {at % 2 * 4096, at % 3 == 0}, result.data());
      x[static_cast<std::size_t>(at)] = before;
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto column = static_cast<std::size_t>(j);
        const bool right =
            j == at % columns ? std::isnan(result[column]) : result[column] == clean[column];
        REQUIRE(right);
      }
    }
  }
}

TEST_CASE_TEMPLATE("argmax of nothing but the least value is its first position", T, std::int32_t,
                   float) {
  const T least = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                       : std::numeric_limits<T>::lowest();
  const std::vector<T> x(50, least);
  CHECK(argmax_of(50, x.data()) == 0);
}

TEST_CASE("the error of a sum grows with the logarithm of its length") {
  // One addition after the other is off by about 1e-2 here.
  const std::int64_t n = 1 << 22;
  const std::vector<float> x(static_cast<std::size_t>(n), 0.1f);
  const double exact = static_cast<double>(0.1f) * static_cast<double>(n);
  CHECK(std::abs(static_cast<double>(reduce_row(monoid::sum, n, x.data())) / exact - 1) < 2e-6);
  double column = 0;
  kernels<float>(monoid::sum).column(1 << 16, 1, x.data(), 1, {}, &column);
  CHECK(std::abs(column / (static_cast<double>(0.1f) * 65536) - 1) < 1e-6);
}

}  // namespace reduce_test
