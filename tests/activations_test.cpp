// SPDX-License-Identifier: MIT
// Activations that are expressions of others, repetition and running sums: values, gradients where
// they are smooth, ends of the range, faults.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "support/check_function.hpp"

namespace activations_test {

namespace sn = sinter;
using sn::handle;
using sn::shape_vector;
using sn::ir::reference_tensor;
using test_support::check_gradients;
using test_support::check_values;
using test_support::scattered;

namespace {

using handles = std::vector<handle>;

void check_activation(handle (*write)(handle), double (*expected)(double)) {
  const reference_tensor x = scattered({3, 7});
  reference_tensor y = x;
  for (double& each : y.data) each = expected(each);
  const auto f = [&](const handles& a) { return write(a[0]); };
  check_values(f, {x}, y);
  check_gradients(f, {x});
}

}  // namespace

TEST_CASE("activations") {
  check_activation([](handle x) { return sn::elu(x, 0.7); },
                   [](double x) { return x > 0 ? x : 0.7 * (std::exp(x) - 1); });
  check_activation([](handle x) { return sn::celu(x, 0.7); },
                   [](double x) { return x > 0 ? x : 0.7 * (std::exp(x / 0.7) - 1); });
  check_activation([](handle x) { return sn::selu(x); },
                   [](double x) {
                     return 1.0507009873554805 *
                            (x > 0 ? x : 1.6732632423543772 * (std::exp(x) - 1));
                   });
  check_activation([](handle x) { return sn::hard_sigmoid(x, 0.4, 0.3); },
                   [](double x) { return std::min(1.0, std::max(0.0, 0.4 * x + 0.3)); });
  check_activation([](handle x) { return sn::hard_swish(x); },
                   [](double x) { return x * std::min(1.0, std::max(0.0, x / 6 + 0.5)); });
  check_activation([](handle x) { return sn::softsign(x); },
                   [](double x) { return x / (1 + std::abs(x)); });
  check_activation([](handle x) { return sn::mish(x); },
                   [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
  check_activation([](handle x) { return sn::tan(x * 0.5f); },
                   [](double x) { return std::tan(x * 0.5); });
}

TEST_CASE("elu far from 0 is finite, and so is its derivative") {
  const double infinity = std::numeric_limits<double>::infinity();
  const reference_tensor x{sn::dtype::f64, {4}, {-infinity, -1000, 1000, infinity}};
  check_values([](const handles& a) { return sn::elu(a[0], 2); }, {x},
               {sn::dtype::f64, {4}, {-2, -2, 1000, infinity}});
  sn::tensor<float, 1> step{-1000, 1000};
  auto slope = sn::fuse([](auto y) { return sn::gradients(sn::sum(sn::elu(y)), y)[0]; });
  const sn::tensor<float, 1> found = slope(step);
  CHECK(found == sn::tensor<float, 1>{0, 1});
}

TEST_CASE("tile repeats the whole along each axis") {
  const reference_tensor x{sn::dtype::f64, {2, 3}, {1, 2, 3, 4, 5, 6}};
  const auto twice = [](const handles& a) { return sn::tile(a[0], {2, 2}); };
  check_values(twice, {x}, {sn::dtype::f64, {4, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6,
                                                     1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}});
  check_gradients(twice, {x});
  check_values(
      [](const handles& a) {
        return sn::tile(a[0], {1, 0});
      },
      {x}, {sn::dtype::f64, {2, 0}, {}});
  CHECK_THROWS_AS(test_support::trace([](const handles& a) { return sn::tile(a[0], {2}); }, {x}),
                  sn::shape_error);
  CHECK_THROWS_AS(test_support::trace(
                      [](const handles& a) {
                        return sn::tile(a[0], {2, -1});
                      },
                      {x}),
                  sn::shape_error);
  const sn::tensor<std::int8_t, 1> bytes{1, 2}, repeated = sn::tile(bytes, {3});
  CHECK(repeated == sn::tensor<std::int8_t, 1>{1, 2, 1, 2, 1, 2});
}

TEST_CASE("tile of more axes than there is rank for at once") {
  const reference_tensor x{
      sn::dtype::f64, {1, 2, 1, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
  reference_tensor wanted{sn::dtype::f64, {2, 4, 3, 6, 4}, {}};
  for (std::size_t i = 0; i < 2 * 4 * 3 * 6 * 4; ++i)
    wanted.data.push_back(x.data[i / (4 * 6 * 3) % 2 * 6 + i / 4 % 3 * 2 + i % 2]);
  check_values([](const handles& a) { return sn::tile(a[0], {2, 2, 3, 2, 2}); }, {x}, wanted);
}

TEST_CASE("cumsum from either end, with and without the element itself") {
  const reference_tensor x{sn::dtype::f64, {2, 3}, {1, 2, 3, 4, 5, 6}};
  const auto along = [](int axis, bool exclusive, bool reverse) {
    return [=](const handles& a) { return sn::cumsum(a[0], axis, {exclusive, reverse}); };
  };
  const auto same = [](std::vector<double> data) {
    return reference_tensor{sn::dtype::f64, {2, 3}, std::move(data)};
  };
  check_values(along(0, false, false), {x}, same({1, 2, 3, 5, 7, 9}));
  check_values(along(-1, false, false), {x}, same({1, 3, 6, 4, 9, 15}));
  check_values(along(1, true, false), {x}, same({0, 1, 3, 0, 4, 9}));
  check_values(along(1, false, true), {x}, same({6, 5, 3, 15, 11, 6}));
  check_values(along(1, true, true), {x}, same({5, 3, 0, 11, 6, 0}));
  check_gradients(along(1, false, false), {x});
  check_gradients(along(0, true, true), {x});
  // What is not in a sum does not spoil it.
  const double infinity = std::numeric_limits<double>::infinity();
  check_values([](const handles& a) { return sn::cumsum(a[0]); },
               {{sn::dtype::f64, {3}, {1, 2, infinity}}}, {sn::dtype::f64, {3}, {1, 3, infinity}});
  CHECK_THROWS_AS(test_support::trace([](const handles& a) { return sn::cumsum(a[0], 2); }, {x}),
                  sn::axis_error);
}

}  // namespace activations_test
