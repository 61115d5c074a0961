// SPDX-License-Identifier: MIT
// Expressions evaluated directly into tensors; they own what they are built from.
#include <cmath>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace evaluate_test {

namespace sn = sinter;

namespace {

// log-softmax from locals, returned as auto: what dangles in other expression-template libraries.
auto log_softmax_of_locals() {
  sn::tensor<float, 2> x{{1, 2, 3}, {0, 0, 0}};
  auto shifted = x - sn::max(x, 1, true);
  return shifted - sn::log(sn::sum(sn::exp(shifted), 1, true));
}

}  // namespace

TEST_CASE("an expression built from locals outlives them") {
  const sn::tensor<float, 2> y = log_softmax_of_locals();
  for (std::int64_t r = 0; r < 2; ++r) {
    double total = 0;
    for (std::int64_t c = 0; c < 3; ++c) total += std::exp(static_cast<double>(y(r, c)));
    CHECK(total == doctest::Approx(1.0));
  }
}

TEST_CASE("the design's first line") {
  sn::tensor<float, 2> x{{1, -1}, {2, 3}}, w{{1, 0}, {0, -1}};
  sn::tensor<float, 1> b{0.5f, 0};
  sn::tensor<float, 2> y = sn::relu(sn::matmul(x, w) + b);
  CHECK(y == sn::tensor<float, 2>{{1.5f, 1}, {2.5f, 0}});
  y = y * 2 + y;
  CHECK(y == sn::tensor<float, 2>{{4.5f, 3}, {7.5f, 0}});
}

TEST_CASE("elements are read at evaluation, and another eps is another result") {
  sn::tensor<float, 1> x{1, 2, 3};
  auto doubled = x * 2.0f;
  x(0) = 10;
  const sn::tensor<float, 1> y = doubled;
  CHECK(y(0) == 20);
  sn::tensor<float, 2> z{{1, 2, 3, 4}};
  const sn::tensor<float, 2> a = sn::layer_norm(z, 1e-6), b = sn::layer_norm(z, 10.0);
  CHECK(std::abs(a(0, 0)) > std::abs(b(0, 0)));
}

TEST_CASE("a view borrows, one memory twice is one argument") {
  float memory[] = {1, 2, 3, 4};
  sn::view<float, 1> v(memory, {4});
  const sn::tensor<float, 1> y = v * v + v;
  CHECK(y == sn::tensor<float, 1>{2, 6, 12, 20});
}

}  // namespace evaluate_test
