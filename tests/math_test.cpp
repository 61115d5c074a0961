// SPDX-License-Identifier: MIT
// The error bounds that the comments of exec/*.hpp state, measured against the next wider type, and
// the values at the edges: infinities, NaN, signed zeros, denormals.
#include <bit>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "support/ulps.hpp"
#include <sinter/exec/elementwise.hpp>

namespace math_test {

namespace exec = sinter::exec;
using sinter::ir::op;
using test_support::ulps;

namespace {

template <class T>
std::vector<T> samples(T low, T high) {
  std::vector<T> x;
  if constexpr (sizeof(T) == 4) {
    // Every 9973rd of all floats.
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 9973)
      if (const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
          value >= low && value <= high)
        x.push_back(value);
  } else {
    std::mt19937_64 generator(7);
    std::uniform_real_distribution<T> uniform(low, high);
    std::uniform_real_distribution<T> exponent(-40, 4);
    for (int i = 0; i < 60'000; ++i) x.push_back(uniform(generator));
    for (int i = 0; i < 60'000; ++i) {
      const T value = std::exp2(exponent(generator)) * (i % 2 == 0 ? 1 : -1);
      if (value >= low && value <= high) x.push_back(value);
    }
  }
  x.resize(x.size() / exec::lanes<T> * exec::lanes<T>);
  return x;
}

template <op Op, class T, class Reference>
double largest_error(const std::vector<T>& x, Reference reference) {
  using wide = std::conditional_t<sizeof(T) == 4, double, long double>;
  std::vector<T> y(x.size());
  for (std::size_t i = 0; i < x.size(); i += exec::lanes<T>)
    exec::store<T>(&y[i], exec::apply<Op>(exec::load<T>(&x[i])));
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, ulps(y[i], reference(static_cast<wide>(x[i]))));
  return largest;
}
template <op Op, class T, class Reference>
double largest_error(T low, T high, Reference reference) {
  return largest_error<Op>(samples<T>(low, high), reference);
}

// The 512 neighbours of each of `centers` and of its negative.
template <class T>
std::vector<T> around(std::initializer_list<double> centers) {
  std::vector<T> x;
  for (const double center : centers)
    for (const T sign : {T(1), T(-1)}) {
      T at = static_cast<T>(center);
      for (int i = 0; i < 256; ++i) at = std::nextafter(at, T(-1e30));
      for (int i = 0; i < 512; ++i, at = std::nextafter(at, T(1e30))) x.push_back(sign * at);
    }
  return x;
}

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

}  // namespace

TEST_CASE_TEMPLATE("functions of one variable keep their error bounds", T, float, double) {
  const bool narrow = sizeof(T) == 4;
  const T all = narrow ? infinity<T> : T(700);
  CHECK(largest_error<op::exp, T>(narrow ? -all : T(-744), narrow ? all : T(709),
                                  [](auto x) { return std::exp(x); }) <= 1.2);
  CHECK(largest_error<op::exp2, T>(narrow ? -all : T(-1074), narrow ? all : T(1023),
                                   [](auto x) { return std::exp2(x); }) <= 1.2);
  CHECK(largest_error<op::log, T>(T(0), all, [](auto x) { return std::log(x); }) <= 1);
  CHECK(largest_error<op::log2, T>(T(0), all, [](auto x) { return std::log2(x); }) <= 1);
  CHECK(largest_error<op::tanh, T>(-all, all, [](auto x) { return std::tanh(x); }) <= 2);
  CHECK(largest_error<op::erf, T>(-all, all, [](auto x) { return std::erf(x); }) <= 2.5);
  CHECK(largest_error<op::sigmoid, T>(narrow ? T(-87) : T(-700), all,
                                      [](auto x) { return 1 / (1 + std::exp(-x)); }) <= 2.6);
  CHECK(largest_error<op::silu, T>(narrow ? T(-87) : T(-700), T(1e30),
                                   [](auto x) { return x / (1 + std::exp(-x)); }) <= 2.6);
  CHECK(largest_error<op::softplus, T>(narrow ? T(-87) : T(-700), all, [](auto x) {
          return std::max(x, decltype(x)(0)) + std::log1p(std::exp(-std::abs(x)));
        }) <= 3);
  const T reducible = narrow ? T(8192) : T(1e6);
  CHECK(largest_error<op::sin, T>(-reducible, reducible, [](auto x) { return std::sin(x); }) <=
        2.6);
  CHECK(largest_error<op::cos, T>(-reducible, reducible, [](auto x) { return std::cos(x); }) <=
        2.6);
  CHECK(largest_error<op::rsqrt, T>(T(1e-30), T(1e30), [](auto x) { return 1 / std::sqrt(x); }) <=
        1.5);
}

TEST_CASE_TEMPLATE("error bounds around the places where formulas change", T, float, double) {
  const bool narrow = sizeof(T) == 4;
  const double log2 = 0.6931471805599453, quarter_turn = 0.7853981633974483;
  const double least_normal = static_cast<double>(std::numeric_limits<T>::min());
  // Overflow, the least normal result, the least result; halves of log 2, where n changes.
  const auto exponents = narrow ? around<T>({88.72284, 87.33655, 103.97208, log2 / 2, 1.5 * log2})
                                : around<T>({709.7827128933840, 708.3964185322641,
                                             745.1332191019412, log2 / 2, 1.5 * log2});
  CHECK(largest_error<op::exp>(exponents, [](auto x) { return std::exp(x); }) <= 1.2);
  CHECK(largest_error<op::exp2>(narrow ? around<T>({128, 126, 149, 150, 0.5, 1.5})
                                       : around<T>({1024, 1022, 1074, 1075, 0.5, 1.5}),
                                [](auto x) { return std::exp2(x); }) <= 1.2);
  const auto logarithms =
      around<T>({1, 0.75, std::sqrt(0.5), std::sqrt(2.0), 1.5, 2, least_normal, 0});
  CHECK(largest_error<op::log>(logarithms, [](auto x) { return std::log(x); }) <= 1);
  CHECK(largest_error<op::log2>(logarithms, [](auto x) { return std::log2(x); }) <= 1);
  CHECK(largest_error<op::rsqrt>(logarithms, [](auto x) { return 1 / std::sqrt(x); }) <= 1.5);
  CHECK(largest_error<op::sqrt>(logarithms, [](auto x) { return std::sqrt(x); }) <= 0.5);
  CHECK(largest_error<op::tanh>(around<T>({0, least_normal, 0.0625, log2 / 4, 0.5, 0.75 * log2,
                                           1.25, 3.5, 8, 9.01, 9.02, 19.06, 19.1}),
                                [](auto x) { return std::tanh(x); }) <= (narrow ? 2 : 2.1));
  CHECK(largest_error<op::erf>(
            around<T>({0, least_normal, 0.0649, 0.9, 0.95, 1, 3.92, 3.95, 4, 5.93, 6}),
            [](auto x) { return std::erf(x); }) <= 2.5);
  const auto middles =
      around<T>({0, least_normal, log2 / 2, narrow ? 17 : 37, narrow ? 87.2 : 700});
  CHECK(largest_error<op::sigmoid>(middles, [](auto x) { return 1 / (1 + std::exp(-x)); }) <= 2.6);
  CHECK(largest_error<op::silu>(middles, [](auto x) { return x / (1 + std::exp(-x)); }) <= 2.6);
  CHECK(largest_error<op::softplus>(middles, [](auto x) {
          return std::max(x, decltype(x)(0)) + std::log1p(std::exp(-std::abs(x)));
        }) <= 3);
  const auto turns = around<T>({0, least_normal, quarter_turn, 2 * quarter_turn, 3 * quarter_turn,
                                4 * quarter_turn, 1000 * quarter_turn, 8192, 1e6});
  CHECK(largest_error<op::sin>(turns, [](auto x) { return std::sin(x); }) <= 2.6);
  CHECK(largest_error<op::cos>(turns, [](auto x) { return std::cos(x); }) <= 2.6);
}

TEST_CASE_TEMPLATE("gelu is exact to a few ULP of x where its sum cancels", T, float, double) {
  using wide = std::conditional_t<sizeof(T) == 4, double, long double>;
  const T epsilon = std::numeric_limits<T>::epsilon();
  for (T x = T(-9); x < T(9); x += T(0.01)) {
    const wide exact =
        static_cast<wide>(x) / 2 * std::erfc(-static_cast<wide>(x) / std::sqrt(wide(2)));
    CHECK(std::abs(exec::apply<op::gelu>(x) - exact) <= 2 * epsilon * std::abs(x));
    const wide u = std::sqrt(wide(2) / wide(3.14159265358979323846264338L)) *
                   (x + wide(0.044715L) * x * x * x);
    const wide exact_tanh = static_cast<wide>(x) / (1 + std::exp(-2 * u));
    CHECK(std::abs(exec::apply<op::gelu_tanh>(x) - exact_tanh) <= 2 * epsilon * std::abs(x));
  }
}

TEST_CASE_TEMPLATE("gelu keeps its bits where its sum does not cancel", T, float, double) {
  const T all = sizeof(T) == 4 ? infinity<T> : T(700);
  CHECK(largest_error<op::gelu, T>(T(-1), all, [](auto x) {
          return x / 2 * std::erfc(-x * std::sqrt(decltype(x)(0.5)));
        }) <= 3);
  CHECK(largest_error<op::gelu_tanh, T>(T(-1), T(1e9), [](auto x) {
          const auto factor = 2 * std::sqrt(2 / decltype(x)(3.14159265358979323846264338L));
          return x / (1 + std::exp(-factor * (x + decltype(x)(0.044715L) * x * x * x)));
        }) <= 3);
}

TEST_CASE_TEMPLATE("values at the edges", T, float, double) {
  const T inf = infinity<T>;
  CHECK(exec::apply<op::exp>(-inf) == 0);
  CHECK(exec::apply<op::exp>(inf) == inf);
  CHECK(exec::apply<op::exp>(T(0)) == 1);
  CHECK(exec::apply<op::exp2>(T(10)) == 1024);
  CHECK(exec::apply<op::exp2>(T(-3)) == T(0.125));
  CHECK(exec::apply<op::log>(T(0)) == -inf);
  CHECK(exec::apply<op::log>(T(1)) == 0);
  CHECK(exec::apply<op::log>(inf) == inf);
  CHECK(std::isnan(exec::apply<op::log>(T(-1))));
  CHECK(exec::apply<op::log2>(T(0.25)) == -2);
  CHECK(exec::apply<op::log2>(std::numeric_limits<T>::denorm_min()) ==
        (sizeof(T) == 4 ? -149 : -1074));
  CHECK(exec::apply<op::tanh>(inf) == 1);
  CHECK(exec::apply<op::tanh>(-inf) == -1);
  CHECK(exec::apply<op::erf>(inf) == 1);
  CHECK(exec::apply<op::erf>(-inf) == -1);
  CHECK(exec::apply<op::sigmoid>(-inf) == 0);
  CHECK(exec::apply<op::sigmoid>(inf) == 1);
  CHECK(exec::apply<op::silu>(inf) == inf);
  CHECK(exec::apply<op::softplus>(inf) == inf);
  CHECK(exec::apply<op::softplus>(-inf) == 0);
  CHECK(exec::apply<op::gelu>(inf) == inf);
  CHECK(std::isnan(exec::apply<op::sin>(inf)));
  CHECK(std::isnan(exec::apply<op::cos>(-inf)));
  CHECK(exec::apply<op::sin>(T(1e7)) == static_cast<T>(std::sin(1e7)));
  CHECK(exec::apply<op::pow>(T(2), T(10)) == 1024);
  CHECK(exec::apply<op::pow>(T(-8), T(3)) == -512);
  CHECK(exec::apply<op::pow>(not_a_number<T>, T(0)) == 1);

  for (const T result : {exec::apply<op::tanh>(T(-0.0)), exec::apply<op::erf>(T(-0.0)),
                         exec::apply<op::sin>(T(-0.0)), exec::apply<op::silu>(T(-0.0)),
                         exec::apply<op::neg>(T(0))}) {
    CHECK(result == 0);
    CHECK(std::signbit(result));
  }
  CHECK_FALSE(std::signbit(exec::apply<op::neg>(T(-0.0))));

  CHECK(std::isnan(exec::apply<op::exp>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::exp2>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::log>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::log2>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::sin>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::tanh>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::erf>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::sigmoid>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::silu>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::gelu>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::gelu_tanh>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::softplus>(not_a_number<T>)));
  CHECK(std::isnan(exec::apply<op::relu>(not_a_number<T>)));
}

TEST_CASE("the error function stays within [-1, 1] and grows") {
  float previous = -1;
  for (float x = -4.5f; x < 4.5f; x += 1e-4f) {
    const float y = exec::apply<op::erf>(x);
    REQUIRE(y >= previous - 1.2e-7f);
    REQUIRE(std::abs(y) <= 1);
    previous = y;
  }
}

}  // namespace math_test
