// SPDX-License-Identifier: MIT
#include <array>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/tensor/view.hpp>

namespace view_test {

namespace sn = sinter;

namespace {

// The members of std::mdspan with layout_left that a view looks for.
template <class T>
struct column_major_span {
  T* elements;
  std::array<std::size_t, 2> extents;

  static constexpr std::size_t rank() { return 2; }
  std::size_t extent(std::size_t axis) const { return extents[axis]; }
  std::size_t stride(std::size_t axis) const { return axis == 0 ? 1 : extents[0]; }
  T* data_handle() const { return elements; }
};

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

}  // namespace

// A view neither borrows from a temporary nor forgets const.
static_assert(!std::is_constructible_v<sn::view<const float, 1>, sn::tensor<float, 1>&&>);
static_assert(!std::is_constructible_v<sn::view<float, 1>, const sn::tensor<float, 1>&>);
static_assert(!std::is_constructible_v<sn::view<float, 1>, sn::view<const float, 1>>);
static_assert(
    !std::is_constructible_v<sn::view<float, sn::extents<3>>, sn::view<float, sn::extents<4>>>);

TEST_CASE("a view of row-major memory") {
  auto memory = counted(12);
  const auto x = sn::make_view(memory.data(), 3, 4);
  static_assert(x.rank() == 2);
  CHECK(x.shape() == sn::shape_vector{3, 4});
  CHECK(x.strides() == sn::shape_vector{4, 1});
  CHECK(x.is_contiguous());
  CHECK(x(2, 1) == 9);
  x(2, 1) = -1;
  CHECK(memory[9] == -1);
  CHECK(x.extent(0) == 3);
  CHECK_THROWS_AS(x.extent(2), sn::axis_error);
  CHECK_THROWS_AS(x.stride(-1), sn::axis_error);
}

TEST_CASE("strides may be any number, zero and negative ones included") {
  auto memory = counted(6);
  const auto transposed = sn::make_view(memory.data(), std::array{3, 2}, std::array{1, 3});
  CHECK(sn::tensor<float, 2>(transposed) == sn::tensor<float, 2>{{0, 3}, {1, 4}, {2, 5}});
  CHECK_FALSE(transposed.is_contiguous());
  const auto repeated = sn::make_view(memory.data(), std::array{2, 3}, std::array{0, 1});
  CHECK(sn::tensor<float, 2>(repeated) == sn::tensor<float, 2>{{0, 1, 2}, {0, 1, 2}});
  const auto flipped = sn::make_view(memory.data() + 5, std::array{6}, std::array{-1});
  CHECK(sn::tensor<float, 1>(flipped) == sn::tensor<float, 1>{5, 4, 3, 2, 1, 0});
}

TEST_CASE("the stride of an axis with one element does not matter to contiguity") {
  auto memory = counted(4);
  CHECK(sn::make_view(memory.data(), std::array{1, 4}, std::array{99, 1}).is_contiguous());
  CHECK_FALSE(sn::make_view(memory.data(), std::array{2, 2}, std::array{1, 1}).is_contiguous());
  CHECK(sn::make_view(memory.data(), std::array{0, 4}, std::array{7, 3}).is_contiguous());
}

TEST_CASE("a view of a tensor") {
  sn::tensor<float, 2> x{{1, 2}, {3, 4}};
  sn::view mutable_view(x);
  static_assert(std::is_same_v<decltype(mutable_view), sn::view<float, 2>>);
  mutable_view(0, 1) = 7;
  CHECK(x(0, 1) == 7);
  const sn::view<const float, 2> read_only = x;
  CHECK(read_only.data() == x.data());
  const auto& constant = x;
  static_assert(std::is_same_v<decltype(sn::make_view(constant)), sn::view<const float, 2>>);

  const sn::view<float, sn::extents<2, sn::dyn>> narrower = mutable_view;
  CHECK(narrower(1, 1) == 4);
  using wrong = sn::view<float, sn::extents<3, 2>>;
  CHECK_THROWS_AS(wrong{x}, sn::shape_error);
  using negative = sn::view<float, 1>;
  CHECK_THROWS_AS((negative{x.data(), {-1}}), sn::shape_error);
  CHECK_THROWS_AS((negative{x.data(), {2}, {1, 1}}), sn::shape_error);
}

TEST_CASE("a view of a span") {
  auto memory = counted(5);
  const sn::view x{std::span<float>(memory)};
  CHECK(x.rank() == 1);
  CHECK(x.size() == 5);
  CHECK(x.data() == memory.data());
  const sn::view<const float, 1> y = std::span<const float>(memory);
  CHECK(y(4) == 4);
  CHECK(sn::make_view(std::span<float, 2>(memory.data(), 2)).size() == 2);
}

TEST_CASE("a view of whatever has the members of mdspan") {
  auto memory = counted(6);
  const column_major_span<float> span{memory.data(), {2, 3}};
  const sn::view x(span);
  static_assert(std::is_same_v<decltype(x), const sn::view<float, 2>>);
  CHECK(x.data() == memory.data());
  CHECK(sn::tensor<float, 2>(x) == sn::tensor<float, 2>{{0, 2, 4}, {1, 3, 5}});
  CHECK(sn::make_view(span).stride(1) == 2);
  const sn::view<const float, sn::extents<2, 3>> y = span;
  CHECK(y(1, 2) == 5);
}

TEST_CASE("a tensor may take the elements of a view of itself") {
  sn::tensor<float, 2> x{{1, 2, 3}, {4, 5, 6}};
  x = sn::make_view(x.data(), std::array{3, 2}, std::array{1, 3});
  CHECK(x == sn::tensor<float, 2>{{1, 4}, {2, 5}, {3, 6}});
}

TEST_CASE("views of nothing and of one element") {
  const sn::view<float, 2> empty(nullptr, {0, 3});
  CHECK(empty.empty());
  CHECK(sn::tensor<float, 2>(empty).shape() == sn::shape_vector{0, 3});
  float value = 2;
  const auto scalar = sn::make_view(&value);
  static_assert(scalar.rank() == 0);
  CHECK(scalar() == 2);
  CHECK(sn::tensor<float, 0>(scalar).item() == 2);
}

}  // namespace view_test
