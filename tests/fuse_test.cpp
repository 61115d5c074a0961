// SPDX-License-Identifier: MIT
// fuse: calls, into, assign, several outputs, views, scalars, rank 0, empty tensors.
#include <cmath>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "support/close.hpp"
#include <sinter/sinter.hpp>

namespace fuse_test {

namespace sn = sinter;
using sn::dyn;

TEST_CASE("a fused function returns a new tensor") {
  auto f = sn::fuse([](auto x, auto b) { return sn::relu(x + b); });
  sn::tensor<float, 2> x{{1, -2, 3}, {-4, 5, -6}};
  sn::tensor<float, 1> b{0.5f, 0.5f, -4};
  const sn::tensor<float, 2> y = f(x, b);
  CHECK(y == sn::tensor<float, 2>{{1.5f, 0, 0}, {0, 5.5f, 0}});
}

TEST_CASE("a traced function knows the extents of its result") {
  auto f = sn::fuse([](auto x, auto w) { return sn::matmul(x, w); });
  sn::tensor<float, sn::extents<dyn, 3>> x(2, 3);
  sn::tensor<float, sn::extents<3, 4>> w;
  static_assert(std::is_same_v<decltype(f(x, w)), sn::tensor<float, sn::extents<dyn, 4>>>);
  CHECK(f(x, w).shape() == sn::shape_vector{2, 4});
}

TEST_CASE("into writes an existing tensor, and resizes it where needed") {
  auto f = sn::fuse([](auto x) { return x * 2.0f; });
  sn::tensor<float, 1> x{1, 2, 3}, y(3);
  const float* before = y.data();
  f.into(y)(x);
  CHECK(y == sn::tensor<float, 1>{2, 4, 6});
  CHECK(y.data() == before);
  sn::tensor<float, 1> z;
  f.into(z)(x);
  CHECK(z == y);
}

TEST_CASE("a fused function may be const") {
  const auto f = sn::fuse([](auto x) { return x * 2.0f; });
  sn::tensor<float, 1> x{1, 2, 3}, y;
  f.prepare(x);
  CHECK(f.statistics().extractions == 1);
  CHECK(f(x) == sn::tensor<float, 1>{2, 4, 6});
  f.into(y)(x);
  CHECK(y == f(x));
  CHECK(f.statistics().extractions == 1);
}

TEST_CASE("several outputs, and an output that is an argument") {
  auto f = sn::fuse([](auto x) { return sn::outputs(x + 1.0f, x, sn::sum(x), x + 1.0f); });
  sn::tensor<float, 1> x{1, 2, 3};
  auto [a, b, c, d] = f(x);
  CHECK(a == sn::tensor<float, 1>{2, 3, 4});
  CHECK(b == x);
  CHECK(c.item() == 6);
  CHECK(d == a);
}

// The gradient reads x and g, under another shape, after y and dx are written.
TEST_CASE("a result may be the memory of an argument that is read under another shape") {
  auto f = sn::fuse([](auto x, auto s, auto g) {
    const auto y = sn::group_norm(x, 2, s, s);
    return sn::outputs(y, sn::vjp(y, g, x));
  });
  sn::tensor<float, 4> x(3, 4, 5, 7), g(3, 4, 5, 7);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<float>(i * 7 % 31) - 11;
    g.data()[i] = static_cast<float>(i * 5 % 13) - 4;
  }
  const sn::tensor<float, 1> s = {1, 2, 3, 4};
  const sn::tensor<float, 4> first_x = x, first_g = g;
  const auto expected = f(x, s, g);
  const auto& y = std::get<0>(expected);
  const auto& dx = std::get<1>(expected);
  const auto check_separate = [&] {
    sn::tensor<float, 4> other_y, other_dx;
    f.into(other_y, other_dx)(x, s, g);
    CHECK(other_y == y);
    CHECK(other_dx == dx);
    CHECK(x == first_x);
    CHECK(g == first_g);
  };
  check_separate();
  sn::tensor<float, 4> over_x = x, apart;
  f.into(over_x, apart)(over_x, s, g);
  CHECK(over_x == y);
  CHECK(apart == dx);
  check_separate();
  sn::tensor<float, 4> over_g = g;
  over_x = x;
  f.into(over_x, over_g)(over_x, s, over_g);
  CHECK(over_x == y);
  CHECK(over_g == dx);
  check_separate();
}

TEST_CASE("assign updates arguments in place, all reads see the old values") {
  auto f = sn::fuse(
      [](auto a, auto b) { return sn::outputs(sn::assign(a, b * 1.0f), sn::assign(b, a + b)); });
  sn::tensor<float, 1> a{1, 2}, b{10, 20};
  f(a, b);
  CHECK(a == sn::tensor<float, 1>{10, 20});
  CHECK(b == sn::tensor<float, 1>{11, 22});
}

TEST_CASE("two arguments exchange their values") {
  auto swap =
      sn::fuse([](auto a, auto b) { return sn::outputs(sn::assign(a, b), sn::assign(b, a)); });
  sn::tensor<float, 1> a{1, 2, 3}, b{4, 5, 6};
  swap(a, b);
  CHECK(a == sn::tensor<float, 1>{4, 5, 6});
  CHECK(b == sn::tensor<float, 1>{1, 2, 3});
}

TEST_CASE("assigning a transposed value to its own argument goes through a temporary") {
  auto f = sn::fuse([](auto a) { return sn::outputs(sn::assign(a, sn::transpose(a))); });
  sn::tensor<float, sn::extents<2, 2>> a{{1, 2}, {3, 4}};
  f(a);
  CHECK(a(0, 1) == 3);
  CHECK(a(1, 0) == 2);
}

TEST_CASE("an argument that is updated beside another one is read before by all") {
  // One nest stores both, and reads neither.
  auto f = sn::fuse([](auto a, auto b, auto x) {
    auto u = sn::exp(x);
    auto v = sn::sin(u) * u;
    return sn::outputs(sn::assign(a, v), sn::assign(b, u), sn::sum(b, {0}), sn::sum(a, {0}));
  });
  sn::tensor<float, 2> a(8, 4), b(8, 4), x(8, 4);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    a.data()[i] = 1;
    b.data()[i] = 2;
    x.data()[i] = 0;
  }
  const auto [sum_b, sum_a] = f(a, b, x);
  CHECK(sum_b == sn::tensor<float, 1>{16, 16, 16, 16});
  CHECK(sum_a == sn::tensor<float, 1>{8, 8, 8, 8});
  CHECK(b(7, 3) == 1);
}

TEST_CASE("a matmul may read the argument that it updates") {
  auto f =
      sn::fuse([](auto a, auto x) { return sn::outputs(sn::assign(a, a - sn::matmul(a, x))); });
  sn::tensor<float, 2> a{{1, 2}, {3, 4}}, x{{0, 1}, {1, 0}};
  f(a, x);
  CHECK(a == sn::tensor<float, 2>{{-1, 1}, {-1, 1}});
}

TEST_CASE("scalars are arguments: a new value is no new plan") {
  auto f = sn::fuse([](auto x, auto s) { return x * s; });
  sn::tensor<float, 1> x{1, 2};
  CHECK(f(x, 2.0f) == sn::tensor<float, 1>{2, 4});
  CHECK(f(x, 3.0f) == sn::tensor<float, 1>{3, 6});
  CHECK(f.statistics().saturations == 1);
  CHECK(f.statistics().extractions == 1);
  CHECK(f(x, 2) == sn::tensor<float, 1>{2, 4});
  CHECK(f(x, 0.5) == sn::tensor<float, 1>{0.5f, 1});
}

TEST_CASE("views with any strides are read in place") {
  auto f = sn::fuse([](auto x, auto y) { return x + y; });
  std::vector<float> memory{0, 1, 2, 3, 4, 5};
  const sn::view<const float, 1> even(memory.data(), {3}, {2});
  const sn::view<const float, 1> backwards(memory.data() + 5, {3}, {-1});
  CHECK(f(even, backwards) == sn::tensor<float, 1>{5, 6, 7});
}

TEST_CASE("the e-graph as egglog text") {
  auto f = sn::fuse([](auto x) { return sn::relu(x) * 2.0f; });
  const std::string text = f.egglog(sn::tensor<float, 1>(4));
  CHECK(text.starts_with("(datatype Term\n"));
  CHECK(text.find("(op-relu String Term)") != std::string::npos);
  CHECK(text.find("(union (class ") != std::string::npos);
}

TEST_CASE("prepare plans and runs nothing") {
  auto f = sn::fuse([](auto x) { return sn::outputs(sn::assign(x, x + 1.0f), sn::sum(x)); });
  sn::tensor<float, 1> x{1, 2};
  f.prepare(x);
  CHECK(f.statistics().extractions == 1);
  CHECK(f.statistics().calls == 0);
  CHECK(x == sn::tensor<float, 1>{1, 2});
  CHECK(f(x).item() == 3);
  CHECK(f.statistics().extractions == 1);
}

TEST_CASE("rank 0 and empty tensors") {
  auto f = sn::fuse(
      [](auto x) { return sn::outputs(sn::exp(x), sn::sum(x), sn::max(sn::abs(x) + 1.0f)); });
  sn::tensor<float, 0> scalar(0.0f);
  auto [e, s, m] = f(scalar);
  CHECK(e.item() == 1);
  CHECK(s.item() == 0);
  CHECK(m.item() == 1);
  auto position = sn::fuse([](auto x) { return sn::outputs(sn::argmax(x), sn::argmin(x)); });
  auto [largest, smallest] = position(scalar);
  CHECK(largest.item() == 0);
  CHECK(smallest.item() == 0);
  sn::tensor<float, 2> none(0, 3);
  auto g = sn::fuse([](auto x) { return sn::outputs(sn::relu(x), sn::sum(x, 0), sn::sum(x)); });
  auto [r, columns, total] = g(none);
  CHECK(r.shape() == sn::shape_vector{0, 3});
  CHECK(columns == sn::tensor<float, 1>{0, 0, 0});
  CHECK(total.item() == 0);
}

TEST_CASE("an empty inner extent gives a product of zeros, and its epilogue runs") {
  auto f = sn::fuse([](auto x, auto w, auto b) { return sn::matmul(x, w) + b; });
  sn::tensor<float, 2> x(2, 0), w(0, 3);
  sn::tensor<float, 1> b{1, 2, 3};
  CHECK(f(x, w, b) == sn::tensor<float, 2>{{1, 2, 3}, {1, 2, 3}});
}

TEST_CASE("one function object for several dtypes") {
  auto f = sn::fuse([](auto x) { return x * x; });
  CHECK(f(sn::tensor<float, 1>{2}) == sn::tensor<float, 1>{4});
  CHECK(f(sn::tensor<double, 1>{3}) == sn::tensor<double, 1>{9});
  CHECK(f(sn::tensor<std::int32_t, 1>{-4}) == sn::tensor<std::int32_t, 1>{16});
}

TEST_CASE("softmax written by hand runs as one nest") {
  auto f = sn::fuse([](auto x) {
    auto e = sn::exp(x - sn::max(x, -1, true));
    return e / sn::sum(e, -1, true);
  });
  sn::tensor<float, 2> x(64, 300);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 37) * 0.3f;
  const auto y = f(x);
  for (std::int64_t r = 0; r < 64; ++r) {
    double total = 0;
    for (std::int64_t c = 0; c < 300; ++c) total += y(r, c);
    CHECK(total == doctest::Approx(1.0));
  }
  const std::string text = f.explain(x);
  CHECK(text.find("nest 0") != std::string::npos);
  CHECK(text.find("nest 1") == std::string::npos);
}

TEST_CASE("a layer with gradient matches central differences") {
  auto loss = sn::fuse([](auto x, auto w) { return sn::sum(sn::tanh(sn::matmul(x, w))); });
  auto gradient = sn::fuse([](auto x, auto w) {
    auto l = sn::sum(sn::tanh(sn::matmul(x, w)));
    auto [dw] = sn::gradients(l, w);
    return dw;
  });
  sn::tensor<double, 2> x{{0.1, 0.2}, {0.3, -0.4}, {0.5, 0.6}},
      w{{0.7, -0.8, 0.1}, {0.2, 0.3, 0.9}};
  const auto dw = gradient(x, w);
  for (std::int64_t i = 0; i < w.size(); ++i) {
    const double h = 1e-5, kept = w.data()[i];
    w.data()[i] = kept + h;
    const double up = loss(x, w).item();
    w.data()[i] = kept - h;
    const double down = loss(x, w).item();
    w.data()[i] = kept;
    CHECK(dw.data()[i] == doctest::Approx((up - down) / (2 * h)).epsilon(1e-6));
  }
}

TEST_CASE("a softmax of numbers that are known to be equal") {
  auto f = sn::fuse([](auto x) { return sn::softmax(sn::pow(x, 0.0f)); });
  CHECK(f(sn::tensor<float, 1>{1, 2, 3, 4}) == sn::tensor<float, 1>{0.25f, 0.25f, 0.25f, 0.25f});
}

}  // namespace fuse_test
