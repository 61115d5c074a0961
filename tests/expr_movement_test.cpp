// SPDX-License-Identifier: MIT
// The front end on handles: shapes, slices, padding, joining, and tensors made from nothing.
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

#include "support/trace_lambda.hpp"
#include <sinter/graph/bind.hpp>

namespace expr_movement_test {

namespace sn = sinter;
using namespace test_support;

constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

TEST_CASE("reshape infers an extent and takes extents of others") {
  const auto x = counted(dtype::f32, {2, 6});
  CHECK(result([](auto a) { return sn::reshape(a, 3, 4); }, x).shape == sn::shape_vector{3, 4});
  CHECK(result([](auto a) { return sn::reshape(a, 3, -1, 2); }, x).shape ==
        sn::shape_vector{3, 2, 2});
  CHECK(result([](auto a) { return sn::reshape(a, -1, sn::extent(a, 0)); }, x).shape ==
        sn::shape_vector{6, 2});
  CHECK(result([](auto a) { return sn::reshape(a, sn::extent(a, 0) * sn::extent(a, 1) / 3, 3); }, x)
            .shape == sn::shape_vector{4, 3});
  CHECK(result([](auto a) { return sn::reshape(a); }, floats({1, 1}, {5})) == floats({}, {5}));
  CHECK(result([](auto a) { return sn::flatten(a); }, x).shape == sn::shape_vector{12});
  CHECK(result([](auto a) { return sn::flatten(a, 1); }, counted(dtype::f32, {2, 3, 2})).shape ==
        sn::shape_vector{2, 6});
  CHECK(result([](auto a) { return sn::flatten(a); }, floats({}, {5})) == floats({1}, {5}));
  CHECK(result(
            [](auto a) {
              return sn::squeeze(a, {0, -1});
            },
            floats({1, 2, 1}, {1, 2})) == floats({2}, {1, 2}));
  CHECK(result([](auto a) { return sn::unsqueeze(sn::unsqueeze(a, -1), 0); },
               floats({2}, {1, 2})) == floats({1, 2, 1}, {1, 2}));
  CHECK_THROWS_AS(result([](auto a) { return sn::reshape(a, 5, -1); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::reshape(a, -1, -1); }, x), sn::shape_error);
  // The smallest number is what says that an operand gives the extent.
  CHECK_THROWS_AS(result([](auto a) { return sn::reshape(a, smallest, 3); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::broadcast_to(a, smallest, 3); }, x),
                  sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::reshape(a, sn::sum(a), 3); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::squeeze(a, 0); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::unsqueeze(a, 3); }, x), sn::axis_error);
  CHECK_THROWS_WITH(result([](auto a) { return sn::reshape(a, 3, 5); }, x),
                    "reshape(f32[2, 6]): 12 elements cannot become 15");
}

TEST_CASE("extents are numbers") {
  const auto x = counted(dtype::f32, {2, 6});
  CHECK(result([](auto a) { return sn::extent(a, -1); }, x) ==
        reference_tensor{dtype::i64, {}, {6}});
  CHECK_THROWS_AS(result([](auto a) { return sn::extent(a, 2); }, x), sn::axis_error);
}

TEST_CASE("permutations and flips") {
  const auto x = counted(dtype::f32, {2, 3});
  CHECK(result([](auto a) { return sn::transpose(a); }, x) == floats({3, 2}, {0, 3, 1, 4, 2, 5}));
  CHECK(result(
            [](auto a) {
              return sn::permute(a, {-1, 0});
            },
            x) == floats({3, 2}, {0, 3, 1, 4, 2, 5}));
  CHECK(result([](auto a) { return sn::permute(a); }, counted(dtype::f32, {2, 1, 3})).shape ==
        sn::shape_vector{3, 1, 2});
  CHECK(result([](auto a) { return sn::flip(a, 1); }, x) == floats({2, 3}, {2, 1, 0, 5, 4, 3}));
  CHECK(result([](auto a) { return sn::flip(a); }, x) == floats({2, 3}, {5, 4, 3, 2, 1, 0}));
  CHECK_THROWS_AS(result([](auto a) { return sn::permute(a, {0, 0}); }, x), sn::axis_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::permute(a, {0}); }, x), sn::axis_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::transpose(a); }, floats({1}, {1})),
                  sn::shape_error);
}

TEST_CASE("repetition") {
  const auto x = floats({2, 1}, {1, 2});
  CHECK(result([](auto a) { return sn::broadcast_to(a, 2, 3); }, x) ==
        floats({2, 3}, {1, 1, 1, 2, 2, 2}));
  CHECK(result([](auto a) { return sn::expand(a, 2, -1, 2); }, x) ==
        floats({2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2}));
  CHECK(result([](auto a) { return sn::expand(a, -1, sn::extent(a, 0)); }, x) ==
        floats({2, 2}, {1, 1, 2, 2}));
  CHECK_THROWS_AS(result([](auto a) { return sn::broadcast_to(a, 3, 3); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::broadcast_to(a, 2); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::broadcast_to(a, -1, 2, 1); }, x), sn::shape_error);
}

TEST_CASE("slices count from either end") {
  const auto x = counted(dtype::f32, {2, 5});
  CHECK(result([](auto a) { return sn::slice(a, 1, 1, 3); }, x) == floats({2, 2}, {1, 2, 6, 7}));
  CHECK(result([](auto a) { return sn::slice(a, -1, -2, sn::until_end); }, x) ==
        floats({2, 2}, {3, 4, 8, 9}));
  CHECK(result([](auto a) { return sn::slice(a, 1, 0, -1, 2); }, x) ==
        floats({2, 2}, {0, 2, 5, 7}));
  CHECK(result([](auto a) { return sn::slice(a, 1, 0, sn::extent(a, 1) - 3); }, x) ==
        floats({2, 2}, {0, 1, 5, 6}));
  CHECK(result([](auto a) { return sn::slice(a, 0, 1, 1); }, x).shape == sn::shape_vector{0, 5});
  CHECK(result(
            [](auto a) {
              return sn::shrink(a, {{1, 2}, {0, -3}});
            },
            x) == floats({1, 2}, {5, 6}));
  CHECK_THROWS_AS(result([](auto a) { return sn::slice(a, 1, 0, 6); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::slice(a, 1, -6, 2); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::slice(a, 1, 3, 2); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::slice(a, 1, 0, 2, 0); }, x), sn::shape_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::slice(a, 2, 0, 2); }, x), sn::axis_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::shrink(a, {{0, 1}}); }, x), sn::shape_error);
}

TEST_CASE("padding") {
  CHECK(result(
            [](auto a) {
              return sn::pad(a, {{1, 0}, {0, 2}});
            },
            floats({1, 2}, {1, 2})) == floats({2, 4}, {0, 0, 0, 0, 1, 2, 0, 0}));
  CHECK(result(
            [](auto a) {
              return sn::pad(a, {{0, 1}}, -1);
            },
            ints({1}, {5})) == ints({2}, {5, -1}));
  CHECK_THROWS_AS(result(
                      [](auto a) {
                        return sn::pad(a, {{0, 1}});
                      },
                      floats({1, 2}, {1, 2})),
                  sn::shape_error);
  CHECK_THROWS_AS(result(
                      [](auto a) {
                        return sn::pad(a, {{-1, 0}});
                      },
                      floats({2}, {1, 2})),
                  sn::shape_error);
  CHECK_THROWS_AS(result(
                      [](auto a) {
                        return sn::pad(a, {{0, 1}}, 0.5);
                      },
                      ints({1}, {5})),
                  sn::dtype_error);
}

TEST_CASE("joining") {
  const auto x = floats({1, 2}, {1, 2}), y = floats({1, 2}, {3, 4});
  CHECK(result([](auto a, auto b) { return sn::concat(0, a, b); }, x, y) ==
        floats({2, 2}, {1, 2, 3, 4}));
  CHECK(result(
            [](auto a, auto b) {
              return sn::concat({a, b, a}, -1);
            },
            x, y) == floats({1, 6}, {1, 2, 3, 4, 1, 2}));
  CHECK(result(
            [](auto a, auto b) {
              return sn::concat(std::array{b, a}, 1);
            },
            x, y) == floats({1, 4}, {3, 4, 1, 2}));
  CHECK(result([](auto a, auto b) { return sn::stack(-1, a, b); }, x, y) ==
        floats({1, 2, 2}, {1, 3, 2, 4}));
  CHECK(result(
            [](auto a, auto b) {
              return sn::stack({a, b}, 1);
            },
            x, y) == floats({1, 2, 2}, {1, 2, 3, 4}));
  CHECK_THROWS_AS(
      result([](auto a, auto b) { return sn::concat(0, a, b); }, x, floats({1, 1}, {1})),
      sn::shape_error);
  CHECK_THROWS_AS(
      result([](auto a, auto b) { return sn::concat(1, a, b); }, x, floats({2}, {1, 2})),
      sn::shape_error);
  CHECK_THROWS_AS(
      result([](auto a, auto b) { return sn::stack(0, a, b); }, x, ints({1, 2}, {1, 2})),
      sn::dtype_error);
  CHECK_THROWS_AS(result([](auto a) { return sn::concat(2, a, a); }, x), sn::axis_error);
}

TEST_CASE("tensors made from numbers join the graph they meet") {
  const auto x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(result([](auto a) { return a + sn::iota<float>(3); }, x) ==
        floats({2, 3}, {1, 3, 5, 4, 6, 8}));
  CHECK(result([](auto a) { return sn::iota<float>(2, 3) * a; }, x) ==
        floats({2, 3}, {0, 2, 6, 0, 5, 12}));
  CHECK(result([](auto a) { return a * sn::full<float>(2, 1, 3); }, x) ==
        floats({2, 3}, {2, 4, 6, 8, 10, 12}));
  CHECK(result([](auto a) { return sn::full<std::int32_t>(7, sn::extent(a, 0)); }, x) ==
        ints({2}, {7, 7}));
  CHECK(result([](auto a) { return sn::full<float>(sn::sum(a), 2); }, x) == floats({2}, {21, 21}));
  CHECK(result([](auto a) { return sn::full<std::int32_t>(1e20, sn::extent(a, 0)); }, x).data[0] ==
        2147483647);
  CHECK(result([](auto a) { return sn::full_like(a, 0.5); }, floats({2}, {1, 2})) ==
        floats({2}, {0.5, 0.5}));
  CHECK(result([](auto a, auto s) { return sn::full_like(a, s); }, floats({2}, {1, 2}), 3) ==
        floats({2}, {3, 3}));
  CHECK(result([](auto a) { return sn::ones_like(a) - sn::zeros_like(a); }, ints({2}, {1, 2})) ==
        ints({2}, {1, 1}));
  CHECK(result([](auto a) { return sn::iota_like(a, 0); }, x) ==
        floats({2, 3}, {0, 0, 0, 1, 1, 1}));
  CHECK(result([](auto) { return sn::arange<float>(1.0, 2.0, 0.25); }, x) ==
        floats({4}, {1, 1.25, 1.5, 1.75}));
  CHECK(result([](auto) { return sn::arange<std::int64_t>(3); }, x) ==
        reference_tensor{dtype::i64, {3}, {0, 1, 2}});
  CHECK(result([](auto) { return sn::arange<std::int32_t>(3, 0, -2); }, x) == ints({2}, {3, 1}));
  CHECK(result([](auto) { return sn::arange<float>(5, 0); }, x).data.empty());
  CHECK_THROWS_AS(sn::arange<float>(0, 1, 0), sn::shape_error);
}

TEST_CASE("what only binding can see is reported then") {
  const auto bind = [](auto f, const auto&... x) {
    const std::array shapes{x.shape...};
    return sn::ir::bind(traced(f, true, given(x)...), shapes);
  };
  const auto x = floats({2}, {1, 2}), y = floats({3}, {1, 2, 3}), one = floats({1}, {1});
  const auto copy = [](auto a, auto b) { return sn::assign(a, b); };
  CHECK_THROWS_AS(bind(copy, x, y), sn::shape_error);
  CHECK(bind(copy, x, one).outputs[0].assigned_argument == 0);
  CHECK_THROWS_AS(bind([](auto a) { return sn::broadcast_to(a, 3); }, x), sn::shape_error);
  CHECK_THROWS_AS(bind([](auto a) { return sn::flip(sn::broadcast_to(a, 3)); }, x),
                  sn::shape_error);
  const auto shortened = [](auto a) { return sn::slice(a, 0, -3, -1); };
  CHECK_THROWS_AS(bind(shortened, x), sn::shape_error);
  CHECK(bind(shortened, y).size() == 2);
  CHECK_THROWS_AS(bind([](auto a) { return sn::slice(a, 0, 0, 3); }, x), sn::shape_error);
  CHECK_THROWS_AS(bind([](auto a) { return sn::reshape(a, 3, -1); }, x), sn::shape_error);
}

}  // namespace expr_movement_test
