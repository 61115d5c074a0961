// SPDX-License-Identifier: MIT
// Convolution, pooling and enlarging against plain loops in double, with odd extents, strides,
// paddings, dilations and groups; their gradients against central differences.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "support/check_function.hpp"

namespace image_test {

namespace sn = sinter;
using namespace test_support;

namespace {

using handles = std::vector<sn::handle>;

struct image_case {
  shape_vector x, w;
  sn::convolution_options options;
};

std::int64_t count_of(std::int64_t extent, std::int64_t size, std::int64_t stride,
                      std::int64_t padding, std::int64_t dilation) {
  return (extent + 2 * padding - dilation * (size - 1) - 1) / stride + 1;
}

double element(const reference_tensor& x, std::int64_t n, std::int64_t c, std::int64_t row,
               std::int64_t column, double outside) {
  if (row < 0 || row >= x.shape[2] || column < 0 || column >= x.shape[3]) return outside;
  return x.data[static_cast<std::size_t>(((n * x.shape[1] + c) * x.shape[2] + row) * x.shape[3] +
                                         column)];
}

reference_tensor convolved(const reference_tensor& x, const reference_tensor& w,
                           const sn::convolution_options& o) {
  const std::int64_t each = w.shape[1], outputs = w.shape[0] / o.groups;
  const shape_vector shape{
      x.shape[0], w.shape[0],
      count_of(x.shape[2], w.shape[2], o.stride[0], o.padding[0], o.dilation[0]),
      count_of(x.shape[3], w.shape[3], o.stride[1], o.padding[1], o.dilation[1])};
  reference_tensor out{x.type, shape, {}};
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t f = 0; f < shape[1]; ++f)
      for (std::int64_t i = 0; i < shape[2]; ++i)
        for (std::int64_t j = 0; j < shape[3]; ++j) {
          double total = 0;
          for (std::int64_t c = 0; c < each; ++c)
            for (std::int64_t a = 0; a < w.shape[2]; ++a)
              for (std::int64_t b = 0; b < w.shape[3]; ++b)
                total += element(x, n, f / outputs * each + c,
                                 i * o.stride[0] + a * o.dilation[0] - o.padding[0],
                                 j * o.stride[1] + b * o.dilation[1] - o.padding[1], 0) *
                         element(w, f, c, a, b, 0);
          out.data.push_back(total);
        }
  return out;
}

std::vector<image_case> convolution_cases() {
  return {
      {{2, 3, 7, 5}, {4, 3, 3, 2}, {}},
      {{1, 2, 8, 9}, {3, 2, 3, 3}, {.stride = 2, .padding = 1}},
      {{2, 4, 7, 6}, {6, 2, 2, 3}, {.stride = {3, 1}, .padding = {0, 2}, .groups = 2}},
      {{1, 3, 9, 11}, {3, 1, 3, 3}, {.padding = 2, .dilation = 2, .groups = 3}},
      {{2, 2, 10, 7}, {1, 2, 2, 3}, {.stride = {2, 3}, .padding = {3, 1}, .dilation = {4, 2}}},
      {{3, 5, 4, 3}, {2, 5, 1, 1}, {}},
      {{2, 3, 5, 5}, {2, 3, 1, 1}, {.stride = 2}},
      {{1, 1, 4, 4}, {1, 1, 4, 4}, {}},
      {{2, 6, 3, 4}, {4, 3, 1, 2}, {.stride = {2, 1}, .groups = 2}},
  };
}

// The windows of avg_pool2d and max_pool2d over the last two of four axes.
template <class Combine>
reference_tensor pooled(const reference_tensor& x, sn::plane window, sn::pooling_options o,
                        Combine combine) {
  for (std::int64_t* s : {&o.stride.vertical, &o.stride.horizontal})
    if (*s == 0) *s = s == &o.stride.vertical ? window.vertical : window.horizontal;
  const shape_vector shape{
      x.shape[0], x.shape[1],
      count_of(x.shape[2], window[0], o.stride[0], o.padding[0], o.dilation[0]),
      count_of(x.shape[3], window[1], o.stride[1], o.padding[1], o.dilation[1])};
  reference_tensor out{x.type, shape, {}};
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t c = 0; c < shape[1]; ++c)
      for (std::int64_t i = 0; i < shape[2]; ++i)
        for (std::int64_t j = 0; j < shape[3]; ++j) {
          std::vector<double> inside;
          for (std::int64_t a = 0; a < window[0]; ++a)
            for (std::int64_t b = 0; b < window[1]; ++b) {
              const double e = element(x, n, c, i * o.stride[0] + a * o.dilation[0] - o.padding[0],
                                       j * o.stride[1] + b * o.dilation[1] - o.padding[1],
                                       std::numeric_limits<double>::quiet_NaN());
              if (!std::isnan(e)) inside.push_back(e);
            }
          out.data.push_back(combine(inside));
        }
  return out;
}

struct pooling_case {
  shape_vector x;
  sn::plane window;
  sn::pooling_options options;
};

std::vector<pooling_case> pooling_cases() {
  return {
      {{2, 3, 6, 4}, 2, {}},
      {{1, 2, 7, 8}, 3, {.stride = 2, .padding = 1}},
      {{2, 1, 5, 9}, {2, 3}, {.stride = 1}},
      {{1, 2, 7, 5}, {3, 2}, {.stride = {1, 2}, .padding = {1, 0}}},
      {{1, 1, 9, 8}, 3, {.stride = {1, 3}, .dilation = {2, 3}}},
      {{2, 2, 3, 3}, 3, {}},
      {{1, 2, 4, 5}, 1, {.stride = {2, 3}}},
      {{1, 2, 5, 6}, 4, {.stride = 1, .padding = 2}},
  };
}

}  // namespace

TEST_CASE("conv2d agrees with loops over images, channels, places and windows") {
  for (const image_case& c : convolution_cases()) {
    INFO("x " << sn::to_string(c.x) << ", w " << sn::to_string(c.w));
    const reference_tensor x = scattered(c.x), w = scattered(c.w, 1);
    check_values([&](const handles& a) { return sn::conv2d(a[0], a[1], c.options); }, {x, w},
                 convolved(x, w, c.options));
    reference_tensor shifted = convolved(x, w, c.options);
    const reference_tensor bias = scattered({c.w[0]}, 2);
    const std::int64_t places = shifted.shape[2] * shifted.shape[3];
    for (std::size_t i = 0; i < shifted.data.size(); ++i)
      shifted.data[i] += bias.data[static_cast<std::size_t>(static_cast<std::int64_t>(i) / places %
                                                            shifted.shape[1])];
    check_values([&](const handles& a) { return sn::conv2d(a[0], a[1], a[2], c.options); },
                 {x, w, bias}, shifted);
  }
}

TEST_CASE("gradients of conv2d by images, weights and bias") {
  for (const image_case& c : convolution_cases()) {
    INFO("x " << sn::to_string(c.x) << ", w " << sn::to_string(c.w));
    check_gradients([&](const handles& a) { return sn::conv2d(a[0], a[1], a[2], c.options); },
                    {scattered(c.x), scattered(c.w, 1), scattered({c.w[0]}, 2)});
  }
}

TEST_CASE("pooling agrees with loops; padding counts, or does not") {
  const auto largest = [](const std::vector<double>& v) {
    return v.empty() ? -std::numeric_limits<double>::infinity() : *std::ranges::max_element(v);
  };
  for (const pooling_case& c : pooling_cases()) {
    INFO("x " << sn::to_string(c.x) << ", window " << c.window.vertical);
    const reference_tensor x = scattered(c.x);
    sn::pooling_options without = c.options;
    without.count_padding = false;
    const double area = static_cast<double>(c.window.vertical * c.window.horizontal);
    check_values([&](const handles& a) { return sn::max_pool2d(a[0], c.window, c.options); }, {x},
                 pooled(x, c.window, c.options, largest));
    check_values([&](const handles& a) { return sn::avg_pool2d(a[0], c.window, c.options); }, {x},
                 pooled(x, c.window, c.options, [&](const std::vector<double>& v) {
                   double total = 0;
                   for (double e : v) total += e;
                   return total / area;
                 }));
    check_values([&](const handles& a) { return sn::avg_pool2d(a[0], c.window, without); }, {x},
                 pooled(x, c.window, c.options, [](const std::vector<double>& v) {
                   double total = 0;
                   for (double e : v) total += e;
                   return total / static_cast<double>(v.size());
                 }));
    check_gradients([&](const handles& a) { return sn::max_pool2d(a[0], c.window, c.options); },
                    {x});
    check_gradients([&](const handles& a) { return sn::avg_pool2d(a[0], c.window, c.options); },
                    {x});
    check_gradients([&](const handles& a) { return sn::avg_pool2d(a[0], c.window, without); }, {x});
  }
}

TEST_CASE("the gradient of max_pool2d goes to the first of equal elements, in every window") {
  // Windows of 2x2, one place apart, over [[1 1 0] [1 1 2] [2 2 2]]; each gets another weight.
  auto f = sn::fuse([](auto x, auto weights) {
    const auto [d] = sn::gradients(sn::sum(sn::max_pool2d(x, 2, {.stride = 1}) * weights), x);
    return d;
  });
  const sn::tensor<float, 2> x{{1, 1, 0}, {1, 1, 2}, {2, 2, 2}}, weights{{1, 10}, {100, 1000}};
  const sn::tensor<float, 2> d = f(x, weights);
  CHECK(d == sn::tensor<float, 2>{{1, 0, 0}, {0, 0, 1010}, {100, 0, 0}});
}

TEST_CASE("NaN is the largest element of its windows; integers are pooled as they are") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const sn::tensor<float, 2> x{{1, nan, 3, 4}};
  const sn::tensor<float, 2> y = sn::max_pool2d(x, {1, 2});
  CHECK(std::isnan(y(0, 0)));
  CHECK(y(0, 1) == 4);
  const sn::tensor<std::int32_t, 2> i{{-5, -7, -9}};
  const sn::tensor<std::int32_t, 2> j = sn::max_pool2d(i, {2, 2}, {.stride = 1, .padding = {1, 0}});
  CHECK(j == sn::tensor<std::int32_t, 2>{{-5, -7}, {-5, -7}});
  const sn::tensor<float, 2> k = sn::avg_pool2d(i, {1, 3});
  CHECK(k(0, 0) == -7);
}

TEST_CASE("global pools and nearest neighbours") {
  const reference_tensor x = scattered({2, 3, 3, 5});
  reference_tensor mean{dtype::f64, {2, 3}, {}}, largest = mean;
  for (int i = 0; i < 6; ++i) {
    const auto first = x.data.begin() + 15 * i;
    double total = 0;
    for (auto e = first; e != first + 15; ++e) total += *e;
    mean.data.push_back(total / 15);
    largest.data.push_back(*std::max_element(first, first + 15));
  }
  const auto average = [](const handles& a) { return sn::global_avg_pool(a[0]); };
  const auto maximum = [](const handles& a) { return sn::global_max_pool(a[0]); };
  check_values(average, {x}, mean);
  check_values(maximum, {x}, largest);
  check_gradients(average, {x});
  check_gradients(maximum, {x});

  reference_tensor enlarged{dtype::f64, {2, 3, 6, 15}, {}};
  for (int c = 0; c < 6; ++c)
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 15; ++j)
        enlarged.data.push_back(x.data[static_cast<std::size_t>(15 * c + 5 * (i / 2) + j / 3)]);
  const auto enlarge = [](const handles& a) { return sn::upsample_nearest(a[0], {2, 3}); };
  check_values(enlarge, {x}, enlarged);
  check_gradients(enlarge, {x});
}

TEST_CASE("what images do not take") {
  const sn::tensor<float, 4> x(1, 4, 5, 5), w(2, 4, 3, 3), narrow(2, 3, 3, 3), large(2, 4, 6, 3);
  const auto conv = [&](const auto& weights, const sn::convolution_options& o) {
    sn::tensor<float, 4> y = sn::conv2d(x, weights, o);
  };
  CHECK_NOTHROW(conv(w, {}));
  CHECK_THROWS_AS(conv(narrow, {}), sn::shape_error);
  CHECK_THROWS_AS(conv(large, {}), sn::shape_error);
  CHECK_NOTHROW(conv(large, {.padding = {1, 0}}));
  CHECK_THROWS_AS(conv(w, {.groups = 3}), sn::shape_error);
  CHECK_THROWS_AS(conv(w, {.groups = 2}), sn::shape_error);
  CHECK_THROWS_AS(conv(w, {.stride = 0}), sn::shape_error);
  CHECK_THROWS_AS(conv(w, {.padding = -1}), sn::shape_error);
  CHECK_THROWS_AS(conv(w, {.dilation = 0}), sn::shape_error);
  CHECK_THROWS_AS(conv(w, {.dilation = 3}), sn::shape_error);
  const sn::tensor<float, 1> bias(3);
  CHECK_THROWS_AS((sn::tensor<float, 4>(sn::conv2d(x, w, bias))), sn::shape_error);
  const sn::tensor<double, 4> doubles(2, 4, 3, 3);
  sn::tensor<float, 4> y;
  const auto pool = [&](sn::plane window, const sn::pooling_options& o) {
    y = sn::max_pool2d(x, window, o);
  };
  CHECK_NOTHROW(pool(5, {}));
  CHECK_THROWS_AS(pool(6, {}), sn::shape_error);
  CHECK_THROWS_AS(pool(0, {}), sn::shape_error);
  CHECK_THROWS_AS(pool(3, {.padding = 2}), sn::shape_error);
  CHECK_THROWS_AS(pool(3, {.stride = -1}), sn::shape_error);
  const sn::tensor<bool, 2> flags(4, 4);
  sn::tensor<bool, 2> z;
  CHECK_THROWS_AS(z = sn::max_pool2d(flags, 2), sn::dtype_error);
}

TEST_CASE(
    "a convolution is a product with its bias and activation behind it; a pool copies nothing") {
  auto conv = sn::fuse(
      [](auto x, auto w, auto b) { return sn::relu(sn::conv2d(x, w, b, {.padding = 1})); });
  const sn::tensor<float, 4> x(2, 8, 12, 12), w(16, 8, 3, 3);
  const sn::tensor<float, 1> b(16);
  sn::tensor<float, 4> y = conv(x, w, b);
  const std::string text = conv.explain(x, w, b);
  INFO(text);
  CHECK(text.find("product of") != std::string::npos);
  CHECK(text.find("relu") != std::string::npos);

  auto pool = sn::fuse([](auto image) { return sn::avg_pool2d(image, 3, {.stride = 1}); });
  sn::tensor<float, 4> z = pool(x);
  CHECK(z.shape() == shape_vector{2, 8, 10, 10});
  const std::string pooled_text = pool.explain(x);
  INFO(pooled_text);
  CHECK(pooled_text.find("copy") == std::string::npos);
}

}  // namespace image_test
