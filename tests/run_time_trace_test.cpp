// SPDX-License-Identifier: MIT
// Functions that the compiler cannot trace are traced by the first call: the same results, as
// tensors whose type is known at run time.
#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace run_time_trace_test {

namespace sn = sinter;

namespace {

// A variable: nothing that reads it is a constant expression.
float factor_outside = 3;

}  // namespace

TEST_CASE("a variable from outside: its value when the function is called first") {
  auto f = sn::fuse([](auto x) { return x * factor_outside; });
  const sn::tensor<float, 1> x{1, 2};
  const sn::any_tensor y = f(x);
  CHECK(y.type() == sn::dtype::f32);
  CHECK(y.shape() == sn::shape_vector{2});
  const sn::tensor<float, 1> typed = f(x);
  CHECK(typed == sn::tensor<float, 1>{3, 6});
  sn::tensor<double, 1> doubles;
  CHECK_THROWS_AS(doubles = f(x), sn::dtype_error);
  sn::tensor<float, 2> matrix;
  CHECK_THROWS_AS(matrix = f(x), sn::shape_error);
  CHECK(f.statistics().saturations == 1);
  CHECK(f.explain(x).find("nest 0") != std::string::npos);
}

TEST_CASE("a square root of a literal") {
  auto f = sn::fuse([](auto q) { return q / std::sqrt(64.f); });
  const sn::tensor<float, 2> y = f(sn::tensor<float, 2>{{8, 16}});
  CHECK(y == sn::tensor<float, 2>{{1, 2}});
}

TEST_CASE("assignments and several results, into tensors and views") {
  auto step = sn::fuse([](auto w, auto rate) {
    auto loss = sn::sum(w * w) * factor_outside;
    auto [dw] = sn::gradients(loss, w);
    return sn::outputs(loss, sn::assign(w, w - rate * dw), dw);
  });
  sn::tensor<float, 1> w{1, 2};
  auto [loss, dw] = step(w, 0.5f);
  CHECK(loss.item<float>() == 15);
  CHECK(sn::tensor<float, 1>(dw) == sn::tensor<float, 1>{6, 12});
  CHECK(w == sn::tensor<float, 1>{-2, -4});

  sn::tensor<float, 0> typed_loss;
  float memory[2] = {};
  sn::view<float, 1> typed_dw(memory, {2});
  step.into(typed_loss, typed_dw)(w, 0.0f);
  CHECK(typed_loss.item() == 60);
  CHECK(memory[1] == -24);
  sn::tensor<double, 0> wrong;
  CHECK_THROWS_AS(step.into(wrong, typed_dw)(w, 0.0f), sn::dtype_error);
}

TEST_CASE("faults are thrown, naming op and shapes") {
  auto f = sn::fuse([](auto x) { return sn::sum(x * factor_outside, 1); });
  CHECK_THROWS_AS(f(sn::tensor<float, 1>{1, 2}), sn::axis_error);
  auto g = sn::fuse([](auto x, auto y) { return x * factor_outside + y; });
  CHECK_THROWS_WITH_AS(g(sn::tensor<float, 1>(2), sn::tensor<float, 1>(3)),
                       doctest::Contains("f32[3]"), sn::shape_error);
}

}  // namespace run_time_trace_test
