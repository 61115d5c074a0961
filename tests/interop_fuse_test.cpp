// SPDX-License-Identifier: MIT
// fuse at the edges of what a user may pass: memory of Eigen and of mdspan-like objects, more
// arguments than anybody needs, and tensors that turn out to be empty.
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>
#include <sinter/tensor/eigen.hpp>

namespace interop_fuse_test {

namespace sn = sinter;

namespace {

// The members of std::mdspan that a view looks for, at any strides.
template <class T>
struct strided_span {
  T* elements;
  std::array<std::size_t, 2> extents, strides;

  static constexpr std::size_t rank() { return 2; }
  std::size_t extent(std::size_t axis) const { return extents[axis]; }
  std::size_t stride(std::size_t axis) const { return strides[axis]; }
  T* data_handle() const { return elements; }
};

}  // namespace

TEST_CASE("Eigen's memory is read in place, in either storage order") {
  auto layer = sn::fuse([](auto x, auto w, auto b) { return sn::matmul(x, w) + b; });
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  // [1 3 5; 2 4 6] in columns, [1 2 3; 4 5 6] in rows.
  Eigen::Map<Eigen::MatrixXf> columns(memory.data(), 2, 3);
  using row_major = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<const row_major> rows(memory.data(), 3, 2);
  const Eigen::VectorXf b = Eigen::VectorXf::LinSpaced(2, 10, 20);
  const sn::tensor<float, 2> y =
      layer(sn::make_view(columns), sn::make_view(rows), sn::make_view(b));
  const Eigen::MatrixXf expected = (columns * rows).rowwise() + b.transpose();
  CHECK(sn::as_eigen(y) == expected);

  memory[0] = -1;  // no copy was kept
  CHECK(layer(sn::make_view(columns), sn::make_view(rows), sn::make_view(b))(0, 0) ==
        doctest::Approx(1 + 9 + 25 + 10));

  SUBCASE("blocks, and every second element") {
    Eigen::MatrixXf whole = Eigen::MatrixXf::Random(5, 7);
    Eigen::Map<Eigen::VectorXf, 0, Eigen::InnerStride<3>> third(memory.data(), 2);
    auto f = sn::fuse([](auto x, auto v) { return x * v; });
    const sn::tensor<float, 2> z = f(sn::make_view(whole.block(1, 2, 3, 2)), sn::make_view(third));
    for (std::int64_t i = 0; i < 3; ++i) {
      CHECK(z(i, 0) == whole(1 + i, 2) * memory[0]);
      CHECK(z(i, 1) == whole(1 + i, 3) * memory[3]);
    }
  }
}

TEST_CASE("into and assign write Eigen's memory where it is row-major, and refuse it elsewhere") {
  auto twice = sn::fuse([](auto x) { return x * 2.0f; });
  const sn::tensor<float, 2> x{{1, 2, 3}, {4, 5, 6}};
  std::vector<float> memory(6, -1);
  Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> rows(
      memory.data(), 2, 3);
  auto target = sn::make_view(rows);
  twice.into(target)(x);
  CHECK(memory == std::vector<float>{2, 4, 6, 8, 10, 12});

  auto add_to = sn::fuse([](auto y, auto z) { return sn::outputs(sn::assign(y, y + z)); });
  add_to(target, x);
  CHECK(memory == std::vector<float>{3, 6, 9, 12, 15, 18});

  Eigen::Map<Eigen::MatrixXf> columns(memory.data(), 2, 3);
  auto strided = sn::make_view(columns);
  CHECK_THROWS_AS(twice.into(strided)(x), sn::shape_error);
  CHECK_THROWS_AS(add_to(strided, x), sn::shape_error);
  Eigen::Map<Eigen::VectorXf> six(memory.data(), 6);
  auto flat = sn::make_view(six);
  auto ravel = sn::fuse([](auto y) { return sn::flatten(y); });
  ravel.into(flat)(x);
  CHECK(memory == std::vector<float>{1, 2, 3, 4, 5, 6});
  Eigen::Map<Eigen::VectorXf> five(memory.data(), 5);
  auto short_one = sn::make_view(five);
  CHECK_THROWS_AS(ravel.into(short_one)(x), sn::shape_error);
  CHECK(memory == std::vector<float>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("what has the members of mdspan is read and written through a view") {
  auto f = sn::fuse([](auto x) { return sn::exp(x) - 1.0f; });
  std::vector<float> memory(12), result(6, -1);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = 0.1f * static_cast<float>(i);
  const strided_span<const float> every_second{memory.data(), {2, 3}, {1, 4}};
  const strided_span<float> rows{result.data(), {2, 3}, {3, 1}};
  auto target = sn::make_view(rows);
  f.into(target)(sn::make_view(every_second));
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      CHECK(result[i * 3 + j] == doctest::Approx(std::expm1(memory[i + 4 * j])));

  const auto kept = result;
  const strided_span<float> columns{result.data(), {2, 3}, {1, 2}};
  auto wrong = sn::make_view(columns);
  CHECK_THROWS_AS(f.into(wrong)(sn::make_view(every_second)), sn::shape_error);
  CHECK(result == kept);
}

TEST_CASE("a function of 34 arguments") {
  auto total = sn::fuse([](auto first, auto... others) {
    auto sum = first;
    ((sum = sum * 0.5f + others), ...);
    return sn::outputs(sum, sn::assign(first, first + 1.0f));
  });
  constexpr std::size_t count = 34;
  std::array<sn::tensor<float, 1>, count> x;
  std::array<double, 3> expected{};
  for (std::size_t k = 0; k < count; ++k) {
    x[k] = sn::tensor<float, 1>(3);
    for (std::int64_t i = 0; i < 3; ++i) x[k](i) = static_cast<float>(k) - static_cast<float>(i);
    for (std::size_t i = 0; i < 3; ++i)
      expected[i] =
          expected[i] * (k == 0 ? 0 : 0.5) + static_cast<double>(k) - static_cast<double>(i);
  }
  const sn::tensor<float, 1> got = std::apply([&](auto&... each) { return total(each...); }, x);
  for (std::int64_t i = 0; i < 3; ++i)
    CHECK(got(i) == doctest::Approx(expected[static_cast<std::size_t>(i)]));
  CHECK(x[0] == sn::tensor<float, 1>{1, 0, -1});
}

// ---- extents of 0 that only the call brings

TEST_CASE("reductions over no elements") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  auto f = sn::fuse([](auto x) {
    return sn::outputs(sn::sum(x, 1), sn::prod(x, 1), sn::max(x, 1), sn::min(x, 1), sn::mean(x, 1),
                       sn::var(x, 1), sn::logsumexp(x, 1), sn::argmax(x, 1), sn::argmin(x, 1));
  });
  const auto [sum, product, largest, smallest, mean, variance, log_sum, at_largest, at_smallest] =
      f(sn::tensor<float, 2>(2, 0));
  CHECK(sum == sn::tensor<float, 1>{0, 0});
  CHECK(product == sn::tensor<float, 1>{1, 1});
  CHECK(largest == sn::tensor<float, 1>{-infinity, -infinity});
  CHECK(smallest == sn::tensor<float, 1>{infinity, infinity});
  for (std::int64_t i = 0; i < 2; ++i) {
    CHECK(std::isnan(mean(i)));
    CHECK(std::isnan(variance(i)));
  }
  CHECK(log_sum == sn::tensor<float, 1>{-infinity, -infinity});
  CHECK(at_largest == sn::tensor<std::int64_t, 1>{0, 0});
  CHECK(at_smallest == sn::tensor<std::int64_t, 1>{0, 0});

  // Integers have no infinities: the ends of their range are neutral.
  auto ends = sn::fuse([](auto x) { return sn::outputs(sn::max(x, 0), sn::min(x, 0)); });
  const auto [low, high] = ends(sn::tensor<std::int32_t, 2>(0, 3));
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(low(i) == std::numeric_limits<std::int32_t>::min());
    CHECK(high(i) == std::numeric_limits<std::int32_t>::max());
  }
}

TEST_CASE("normalisations and losses of empty batches and of empty rows") {
  auto f = sn::fuse([](auto x, auto gamma, auto beta) {
    return sn::outputs(sn::softmax(x), sn::log_softmax(x), sn::layer_norm(x, gamma, beta),
                       sn::rms_norm(x), sn::var(x, 0), sn::softmax(x, 0));
  });
  {
    const auto [s, l, n, r, v, first] =
        f(sn::tensor<float, 2>(0, 3), sn::tensor<float, 1>(3), sn::tensor<float, 1>(3));
    for (const auto& each : {s, l, n, r, first}) CHECK(each.shape() == sn::shape_vector{0, 3});
    REQUIRE(v.shape() == sn::shape_vector{3});
    CHECK(std::isnan(v(0)));
  }
  {
    const auto [s, l, n, r, v, first] =
        f(sn::tensor<float, 2>(3, 0), sn::tensor<float, 1>(0), sn::tensor<float, 1>(0));
    for (const auto& each : {s, l, n, r, first}) CHECK(each.shape() == sn::shape_vector{3, 0});
    CHECK(v.shape() == sn::shape_vector{0});
  }
  // The mean over no rows.
  auto loss = sn::fuse([](auto x, auto label) { return sn::cross_entropy(x, label); });
  CHECK(std::isnan(loss(sn::tensor<float, 2>(0, 3), sn::tensor<std::int32_t, 1>(0)).item()));
}

TEST_CASE("the gradient of a loss over an empty batch is a gradient of zeros") {
  auto gradient = sn::fuse([](auto x, auto w) {
    auto [dw] = sn::gradients(sn::sum(sn::tanh(sn::matmul(x, w))), w);
    return dw;
  });
  CHECK(gradient(sn::tensor<float, 2>(0, 2), sn::tensor<float, 2>{{1, 2, 3}, {4, 5, 6}}) ==
        sn::tensor<float, 2>{{0, 0, 0}, {0, 0, 0}});
}

TEST_CASE("moving nothing: concat, pad, slice, flip, gather") {
  auto join = sn::fuse([](auto x, auto y) { return sn::concat(0, x, y, x) + 1.0f; });
  const sn::tensor<float, 2> none(0, 2), some{{1, 2}};
  CHECK(join(none, some) == sn::tensor<float, 2>{{2, 3}});
  CHECK(join(some, none) == sn::tensor<float, 2>{{2, 3}, {2, 3}});
  CHECK(join(none, none).shape() == sn::shape_vector{0, 2});

  auto surround = sn::fuse([](auto x) { return sn::pad(x, {{1, 2}, {0, 1}}, 7); });
  CHECK(surround(none) == sn::tensor<float, 2>{{7, 7, 7}, {7, 7, 7}, {7, 7, 7}});
  CHECK(surround(sn::tensor<float, 2>(2, 0)).shape() == sn::shape_vector{5, 1});

  auto parts = sn::fuse([](auto x) {
    return sn::outputs(sn::slice(x, 0, 0, 0), sn::flip(x, 0), sn::transpose(x) * 2.0f,
                       sn::reshape(x, -1));
  });
  const auto [cut, turned, exchanged, line] = parts(none);
  CHECK(cut.shape() == sn::shape_vector{0, 2});
  CHECK(turned.shape() == sn::shape_vector{0, 2});
  CHECK(exchanged.shape() == sn::shape_vector{2, 0});
  CHECK(line.shape() == sn::shape_vector{0});

  auto pick = sn::fuse([](auto x, auto i) { return sn::gather(x, i, 0); });
  const sn::tensor<std::int32_t, 1> no_index(0), one{0};
  CHECK(pick(some, no_index).shape() == sn::shape_vector{0, 2});
  CHECK(pick(none, no_index).shape() == sn::shape_vector{0, 2});
  CHECK(pick(sn::tensor<float, 2>(3, 0), one).shape() == sn::shape_vector{1, 0});
  CHECK_THROWS_AS(pick(none, one), sn::index_error);
}

TEST_CASE("batched products: no batch, no rows, no columns, nothing to sum") {
  auto f = sn::fuse([](auto a, auto b) { return sn::matmul(a, b) + 1.0f; });
  const auto shape = [&](std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n) {
    const auto y = f(sn::tensor<float, 3>(batch, m, k), sn::tensor<float, 3>(batch, k, n));
    for (const float each : y) CHECK(each == 1);
    return y.shape();
  };
  CHECK(shape(0, 2, 3, 4) == sn::shape_vector{0, 2, 4});
  CHECK(shape(5, 0, 3, 4) == sn::shape_vector{5, 0, 4});
  CHECK(shape(5, 2, 3, 0) == sn::shape_vector{5, 2, 0});
  CHECK(shape(5, 2, 0, 4) == sn::shape_vector{5, 2, 4});
  // A batch of one against none broadcasts to none.
  CHECK(f(sn::tensor<float, 3>(1, 2, 3), sn::tensor<float, 3>(0, 3, 4)).shape() ==
        sn::shape_vector{0, 2, 4});
}

}  // namespace interop_fuse_test
