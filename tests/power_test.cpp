// SPDX-License-Identifier: MIT
// Powers, and divisions to whole quotients: error bounds, what is exact, and all pairs of special
// values as the C library and exec/scalar.hpp have them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/ulps.hpp"
#include <sinter/exec/elementwise.hpp>

namespace power_test {

namespace exec = sinter::exec;
using sinter::ir::op;
using test_support::ulps;

namespace {

template <class T>
using wide = std::conditional_t<sizeof(T) == 4, double, long double>;

template <class T>
using limits = std::numeric_limits<T>;

template <op Op, class T>
std::vector<T> apply(const std::vector<T>& x, const std::vector<T>& y) {
  std::vector<T> out(x.size());
  for (std::size_t i = 0; i < x.size(); i += exec::lanes<T>)
    exec::store<T>(&out[i], exec::apply<Op>(exec::load<T>(&x[i]), exec::load<T>(&y[i])));
  return out;
}

// Of f(u, v) for 2^17 pairs of numbers that are uniform in [0, 1).
template <class T, class F>
double largest_error(F f) {
  std::mt19937_64 generator(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<T> x(1 << 17), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = uniform(generator);
    std::tie(x[i], y[i]) = f(u, uniform(generator));
  }
  const std::vector<T> powers = apply<op::pow>(x, y);
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, ulps(powers[i], std::pow(wide<T>(x[i]), wide<T>(y[i]))));
  return largest;
}

template <class T>
std::vector<T> special_values() {
  std::vector<T> out;
  for (const T x : {T(0),
                    limits<T>::denorm_min(),
                    limits<T>::min() / 3,
                    limits<T>::min(),
                    T(0.3),
                    T(0.5),
                    T(1) - limits<T>::epsilon() / 2,
                    T(1),
                    T(1) + limits<T>::epsilon(),
                    T(1.5),
                    T(2),
                    T(3),
                    T(7),
                    T(1e7),
                    T(0x1p23) + 1,
                    T(0x1p24),
                    T(0x1p52) + 1,
                    T(0x1p53),
                    T(0x1p62),
                    T(0x1p66),
                    T(1e30),
                    limits<T>::max(),
                    limits<T>::infinity(),
                    limits<T>::quiet_NaN()}) {
    out.push_back(x);
    out.push_back(-x);
  }
  return out;
}

template <class T>
bool are_same(T a, T b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// f(x, y) of all pairs of special values, one by one and with ordinary ones in the same register.
template <op Op, class T, class F>
void check_special_pairs(F check) {
  const std::vector<T> values = special_values<T>();
  std::vector<T> x, y;
  for (const T a : values)
    for (const T b : values) {
      check(a, b, exec::apply<Op>(a, b));
      x.insert(x.end(), {a, T(1.25)});
      y.insert(y.end(), {b, T(2.5)});
    }
  const auto whole = static_cast<std::size_t>(exec::lanes<T>);
  x.resize((x.size() + whole - 1) / whole * whole, T(1));
  y.resize(x.size(), T(1));
  const std::vector<T> results = apply<Op>(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) check(x[i], y[i], results[i]);
}

}  // namespace

TEST_CASE_TEMPLATE("powers keep their error bound", T, float, double) {
  // The C library's own is 1 where f64 has no fused multiply-add.
  const double bound = sizeof(T) == 4 ? 0.6 : exec::has_fused_multiply_add ? 0.8 : 1;
  CHECK(largest_error<T>([](double u, double v) { return std::pair(T(0.1 + u), T(4 * v - 2)); }) <=
        bound);
  CHECK(largest_error<T>([](double u, double v) {
          return std::pair(T(1000 * u + 1e-3), T(20 * v - 10));
        }) <= bound);
  // Near 1, where the logarithm is all that counts.
  CHECK(largest_error<T>([](double u, double v) {
          return std::pair(T(1 + 1e-4 * (u - 0.5)), T(1e6 * (v - 0.5)));
        }) <= bound);
  // Powers of all sizes, denormal ones included, of numbers of all sizes.
  const int exponents = limits<T>::max_exponent;
  CHECK(largest_error<T>([&](double u, double v) {
          const T x = std::ldexp(T(1 + v), static_cast<int>((2 * u - 1) * (exponents + 20)));
          const double logarithm = std::log2(static_cast<double>(x));
          const double size = (v - 0.5) * 2 * (exponents + 25);
          return std::pair(x, T(std::abs(logarithm) < 0.1 ? size : size / logarithm));
        }) <= bound);
}

TEST_CASE_TEMPLATE("powers that are numbers of the type are exact", T, float, double) {
  const T largest = T(2) / limits<T>::epsilon();
  for (int base = -40; base <= 40; ++base) {
    T exact = 1;
    for (int n = 0; std::abs(exact) <= largest && n < 200; ++n, exact *= static_cast<T>(base)) {
      CHECK(exec::apply<op::pow>(static_cast<T>(base), static_cast<T>(n)) == exact);
      if (base > 0 && n > 0 && n < 12) CHECK(exec::apply<op::pow>(exact * exact, T(0.5)) == exact);
      if (std::abs(base) == 2)
        CHECK(exec::apply<op::pow>(static_cast<T>(base), static_cast<T>(-n)) == T(1) / exact);
      if (base == 0 && n == 2) break;
    }
  }
}

TEST_CASE_TEMPLATE("powers of special values are those of IEEE 754", T, float, double) {
  check_special_pairs<op::pow, T>([](T x, T y, T got) {
    const auto want = std::pow(wide<T>(x), wide<T>(y));
    CAPTURE(x);
    CAPTURE(y);
    CHECK(ulps(got, want) <= 1);
    if (!std::isnan(want)) CHECK(std::signbit(got) == std::signbit(want));
  });
}

TEST_CASE_TEMPLATE("divisions to whole quotients have the bits of single ones", T, float, double) {
  const auto check_modulo = [](T x, T y, T got) {
    CAPTURE(x);
    CAPTURE(y);
    CHECK(are_same(got, exec::modulo(x, y)));
  };
  const auto check_quotient = [](T x, T y, T got) {
    CAPTURE(x);
    CAPTURE(y);
    CHECK(are_same(got, exec::floor_divide(x, y)));
  };
  check_special_pairs<op::mod, T>(check_modulo);
  check_special_pairs<op::floor_divide, T>(check_quotient);

  // Tenths, whose quotients round to whole numbers; and neighbours of multiples.
  std::mt19937 generator(9);
  std::uniform_int_distribution<int> number(-2'000'000, 2'000'000), few(-30, 30);
  std::vector<T> x(1 << 15), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = T(few(generator)) / 10;
    x[i] = i % 2 == 0 ? T(number(generator)) / 10 : y[i] * T(number(generator));
    if (i % 4 == 1) x[i] = std::nextafter(x[i], T(few(generator)) * limits<T>::max());
  }
  const std::vector<T> rests = apply<op::mod>(x, y), quotients = apply<op::floor_divide>(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    check_modulo(x[i], y[i], rests[i]);
    check_quotient(x[i], y[i], quotients[i]);
  }
}

}  // namespace power_test
