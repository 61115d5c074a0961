// SPDX-License-Identifier: MIT
// The front end on handles: reductions, products, indexing, normalisations, losses, random numbers.
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "support/trace_lambda.hpp"

namespace expr_reduce_test {

namespace sn = sinter;
using namespace test_support;

TEST_CASE("reductions over all axes, one, several, with and without kept extents") {
  const auto x = counted(dtype::f32, {2, 3, 2}, 1);
  CHECK(result([](auto a) { return sn::sum(a); }, x) == floats({}, {78}));
  CHECK(result([](auto a) { return sn::sum(a, 1); }, x) == floats({2, 2}, {9, 12, 27, 30}));
  CHECK(result([](auto a) { return sn::sum(a, {0, -1}); }, x) == floats({3}, {18, 26, 34}));
  CHECK(result(
            [](auto a) {
              return sn::max(a, {0, 2}, sn::keep_dims);
            },
            x) == floats({1, 3, 1}, {8, 10, 12}));
  CHECK(result([](auto a) { return sn::min(a, -2); }, x) == floats({2, 2}, {1, 2, 7, 8}));
  CHECK(result([](auto a) { return sn::prod(a, 2); }, x) ==
        floats({2, 3}, {2, 12, 30, 56, 90, 132}));
  CHECK(result([](auto a) { return sn::mean(a, {1, 2}); }, x) == floats({2}, {3.5, 9.5}));
  CHECK(close(result(
                  [](auto a) {
                    return sn::var(a, {1, 2}, sn::keep_dims);
                  },
                  x),
              floats({2, 1, 1}, {35.0 / 12, 35.0 / 12})));
  CHECK(result([](auto a) { return sn::sum(a, {}); }, floats({}, {3})) == floats({}, {3}));
}

TEST_CASE("argmax and argmin give the first position") {
  const reference_tensor expected{dtype::i64, {2}, {1, 0}};
  CHECK(result([](auto a) { return sn::argmax(a, 1); }, floats({2, 3}, {0, 5, 5, 2, 1, 2})) ==
        expected);
  CHECK(result([](auto a) { return sn::argmin(a, -1); }, floats({2, 3}, {3, 1, 1, -2, -1, -2})) ==
        expected);
  CHECK(
      result([](auto a) { return sn::argmin(a, 0); }, reference_tensor{dtype::u8, {3}, {255, 0, 0}})
          .data[0] == 1);
  CHECK(result([](auto a) { return sn::argmin(a); }, ints({2}, {5, -2147483648.0})).data[0] == 1);
  CHECK(result([](auto a) { return sn::argmax(a, 1, sn::keep_dims); }, floats({1, 2}, {1, 2}))
            .shape == sn::shape_vector{1, 1});
  CHECK(result([](auto a) { return sn::argmax(a); }, floats({2, 2}, {1, 2, 9, 3})).data[0] == 2);
}

TEST_CASE("reductions of integers and bools") {
  CHECK(result([](auto a) { return sn::sum(a > 0); }, floats({3}, {1, -1, 2})) ==
        reference_tensor{dtype::i64, {}, {2}});
  CHECK(result([](auto a) { return sn::sum(a); }, reference_tensor{dtype::u8, {2}, {200, 100}}) ==
        reference_tensor{dtype::i64, {}, {300}});
  CHECK(result([](auto a) { return sn::sum(a); }, ints({2}, {1, 2})) == ints({}, {3}));
  CHECK(result([](auto a) { return sn::mean(a); }, ints({2}, {1, 2})) == floats({}, {1.5}));
  CHECK(result([](auto a) { return sn::mean(a == 1); }, ints({4}, {1, 2, 1, 1})) ==
        floats({}, {0.75}));
}

TEST_CASE("axes are checked") {
  const auto x = floats({2, 1}, {1, 2});
  CHECK_THROWS_AS(result([](auto a) { return sn::sum(a, 2); }, x), sn::axis_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::sum(a, {0, -2}); }, x), sn::axis_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::softmax(a, -3); }, x), sn::axis_error);
  CHECK_THROWS_WITH(result([](auto a) { return sn::max(a, -3); }, x),
                    "reduce_max(f32[2, 1]): axis -3 is out of range for rank 2");
  CHECK_THROWS_WITH(result(
                        [](auto a) {
                          return sn::max(a, {1, -1});
                        },
                        x),
                    "reduce_max(f32[2, 1]): axis 1 of rank 2 is named twice");
}

TEST_CASE("matmul of matrices, vectors and batches") {
  const auto m = counted(dtype::f32, {2, 3}), v = floats({3}, {1, 0, 2}), u = floats({2}, {1, -1});
  const auto product = [](auto a, auto b) { return sn::matmul(a, b); };
  CHECK(result(product, m, counted(dtype::f32, {3, 2})) == floats({2, 2}, {10, 13, 28, 40}));
  CHECK(result(product, m, v) == floats({2}, {4, 13}));
  CHECK(result(product, u, m) == floats({3}, {-3, -3, -3}));
  CHECK(result(product, v, v) == floats({}, {5}));
  CHECK(result(product, counted(dtype::f32, {2, 1, 2}), counted(dtype::f32, {2, 2})) ==
        floats({2, 1, 2}, {2, 3, 6, 11}));
  CHECK(result(product, counted(dtype::f32, {2, 1, 2}), u) == floats({2, 1}, {-1, -1}));
  CHECK(result(product, u, counted(dtype::f32, {2, 2, 1})) == floats({2, 1}, {-1, -1}));
  CHECK(result([](auto a, auto b) { return sn::matmul(sn::transpose(a), b); }, m, u) ==
        floats({3}, {-3, -3, -3}));
  CHECK(result([](auto a, auto b) { return sn::dot(a, b); }, v, v) == floats({}, {5}));
  CHECK(result([](auto a, auto b) { return sn::outer(a, b); }, u, v) ==
        floats({2, 3}, {1, 0, 2, -1, 0, -2}));
  CHECK_THROWS_AS(result(product, m, u), sn::shape_error);
  CHECK_THROWS_AS(result(product, m, floats({}, {1})), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a, auto b) { return sn::dot(a, b); }, m, m), sn::shape_error);
}

TEST_CASE("indexing") {
  const auto table = counted(dtype::f32, {3, 2});
  CHECK(result([](auto x, auto i) { return sn::gather(x, i); }, table, ints({2, 1}, {2, 0})) ==
        floats({2, 1, 2}, {4, 5, 0, 1}));
  CHECK(result([](auto x, auto i) { return sn::take(x, i, -1); }, table, ints({1}, {1})) ==
        floats({3, 1}, {1, 3, 5}));
  CHECK(result([](auto i) { return sn::one_hot(i, 3); }, ints({2}, {2, 7})) ==
        floats({2, 3}, {0, 0, 1, 0, 0, 0}));
  CHECK(result([](auto i, auto x) { return sn::one_hot<bool>(i, sn::extent(x, 0)); },
               reference_tensor{dtype::u8, {1}, {1}}, table) == bools({1, 3}, {0, 1, 0}));
  CHECK_THROWS_AS(result([](auto x) { return sn::gather(x, x); }, table), sn::dtype_error);
  CHECK_THROWS_AS(result([](auto x, auto i) { return sn::gather(x, i, 2); }, table, ints({1}, {1})),
                  sn::axis_error);
}

TEST_CASE("softmax and its relatives") {
  const auto x = doubles({2, 2}, {0, std::log(3.0), 1000, 1000});
  CHECK(close(result([](auto a) { return sn::softmax(a); }, x),
              doubles({2, 2}, {0.25, 0.75, 0.5, 0.5})));
  CHECK(close(result(
                  [](auto a) {
                    return sn::softmax(a, {0, 1});
                  },
                  doubles({1, 2}, {0, std::log(3.0)})),
              doubles({1, 2}, {0.25, 0.75})));
  CHECK(close(result([](auto a) { return sn::log_softmax(a, -1); }, x),
              doubles({2, 2}, {std::log(0.25), std::log(0.75), std::log(0.5), std::log(0.5)})));
  CHECK(close(result([](auto a) { return sn::logsumexp(a, 1); }, x),
              doubles({2}, {std::log(4.0), 1000 + std::log(2.0)})));
  const double inf = std::numeric_limits<double>::infinity();
  const auto extreme = result([](auto a) { return sn::logsumexp(a, 1); },
                              doubles({3, 2}, {-inf, -inf, inf, 0, -inf, 5}));
  CHECK(extreme.data == std::vector<double>{-inf, inf, 5});
  CHECK(
      close(result([](auto a) { return sn::logsumexp(a, 1, sn::keep_dims); }, doubles({1, 1}, {3})),
            doubles({1, 1}, {3})));
}

TEST_CASE("normalisations") {
  const auto x = doubles({1, 2}, {1, 3}), gamma = doubles({2}, {10, 20}),
             beta = doubles({2}, {1, 2});
  CHECK(close(result([](auto a) { return sn::layer_norm(a, 3.0); }, x),
              doubles({1, 2}, {-0.5, 0.5})));
  CHECK(close(
      result([](auto a, auto g, auto b) { return sn::layer_norm(a, g, b, 3.0); }, x, gamma, beta),
      doubles({1, 2}, {-4, 12})));
  CHECK(
      close(result([](auto a) { return sn::rms_norm(a, 4.0); }, x), doubles({1, 2}, {1.0 / 3, 1})));
  CHECK(close(result([](auto a, auto g) { return sn::rms_norm(a, g, 4.0); }, x, gamma),
              doubles({1, 2}, {10.0 / 3, 20})));
  CHECK_THROWS_AS(result([](auto a) { return sn::rms_norm(a, a); }, x), sn::shape_error);
}

TEST_CASE("losses") {
  const auto logits = doubles({2, 2}, {0, std::log(3.0), 0, 0});
  const double expected = -(std::log(0.75) + std::log(0.5)) / 2;
  CHECK(close(
      result([](auto x, auto l) { return sn::cross_entropy(x, l); }, logits, ints({2}, {1, 0})),
      doubles({}, {expected})));
  CHECK(result([](auto x, auto y) { return sn::mse(x, y); }, floats({2, 2}, {1, 2, 3, 4}),
               floats({2}, {1, 4})) == floats({}, {2}));
  CHECK_THROWS_AS(result([](auto x) { return sn::cross_entropy(x, x); }, logits), sn::error);
}

TEST_CASE("random numbers: a stream for every call, the same numbers for the same key") {
  const auto like = sn::ir::filled(dtype::f64, {2000}, 1);
  const auto pair = [](auto x, auto key) {
    return sn::outputs(sn::uniform(key, x), sn::uniform(key, x), sn::normal(key, x));
  };
  const auto values = results(pair, like, 7);
  CHECK(values[0].data != values[1].data);
  CHECK(values[0] == results(pair, like, 7)[0]);
  CHECK(values[0].data != results(pair, like, 8)[0].data);

  double mean = 0, square = 0, low = 1, high = 0;
  for (double u : values[0].data)
    mean += u / 2000, low = std::min(low, u), high = std::max(high, u);
  CHECK(std::abs(mean - 0.5) < 0.03);
  CHECK(low >= 0);
  CHECK(high < 1);
  mean = 0;
  for (double n : values[2].data) mean += n / 2000, square += n * n / 2000;
  CHECK(std::abs(mean) < 0.1);
  CHECK(std::abs(square - 1) < 0.1);

  const auto dropped = result([](auto x) { return sn::dropout(x, 3, 0.25f); }, like);
  double kept = 0;
  for (double e : dropped.data) {
    CHECK((e == 0 || e == 4));
    kept += e / 4;
  }
  CHECK(std::abs(kept / 2000 - 0.25) < 0.05);
  CHECK(result([](auto x) { return sn::dropout_mask(3, 0.25, x); }, like).type == dtype::boolean);
  // A 64-bit key keeps all its bits, and extents may come from another tensor.
  const auto bits = results(
      [](auto x) {
        return sn::outputs(
            sn::uniform<float>((std::int64_t{1} << 60) + sn::extent(x, 0), sn::extent(x, 0), 2),
            sn::normal<double>(sn::extent(x, 0), 3));
      },
      floats({1}, {0}));
  CHECK(bits[0].shape == sn::shape_vector{1, 2});
  CHECK(bits[1].type == dtype::f64);
  CHECK_THROWS_AS(result([](auto x) { return sn::uniform(1, x); }, ints({1}, {1})),
                  sn::dtype_error);
}

}  // namespace expr_reduce_test
