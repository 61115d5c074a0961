// SPDX-License-Identifier: MIT
// Values that are one for each row of images, whatever else they repeat along: kernels of the
// traced function take them as they are, and sums over rows follow from those of shorter rows.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace row_values_test {

namespace sn = sinter;

namespace {

using images = sn::tensor<float, 4>;
using channels = sn::tensor<float, 1>;

template <class Tensor>
Tensor numbers(Tensor out, std::uint32_t seed) {
  for (std::int64_t i = 0; i < out.size(); ++i) {
    seed = seed * 1664525u + 1013904223u;
    out.data()[i] = static_cast<float>(seed >> 8) / 8388608.0f - 1;
  }
  return out;
}
channels positive(channels out) {
  for (std::int64_t i = 0; i < out.size(); ++i) out.data()[i] = 0.5f + std::abs(out.data()[i]);
  return out;
}

template <class Tensor>
double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::int64_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, static_cast<double>(std::abs(a.data()[i] - b.data()[i])));
  return worst;
}

bool says(const std::string& explained, const std::string& what) {
  return explained.find(what) != std::string::npos;
}

struct shape {
  std::int64_t images, channels, height, width;
};
constexpr shape shapes[] = {{3, 4, 5, 7}, {1, 4, 5, 7}, {3, 1, 5, 7},   {3, 4, 1, 1}, {3, 4, 1, 7},
                            {3, 4, 5, 1}, {0, 4, 5, 7}, {2, 6, 33, 31}, {5, 8, 3, 3}};

}  // namespace

TEST_CASE("one value for all rows is a leaf of one kernel, however long they are") {
  const auto scaled = [](auto x, auto s) {
    const auto r = sn::reshape(s, 1, 1);
    return sn::relu(x * r) * x + r;
  };
  auto f = sn::fuse(scaled);
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{2, 3}, {0, 5}, {1, 40000}, {7, 33000}, {129, 1025}}) {
    const auto x = numbers(sn::tensor<float, 2>(rows, columns), 11);
    const channels s = positive(numbers(channels(1), 12));
    const auto y = f(x, s);
    double worst = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const double own = x.data()[i], by = s(0);
      worst = std::max(worst, std::abs(y.data()[i] - (std::max(own * by, 0.0) * own + by)));
    }
    CAPTURE(rows);
    CHECK(worst < 1e-6);
    CHECK(says(f.explain(x, s), "fused{mul relu mul"));
  }
}

TEST_CASE("factors and shifts of channels are leaves of one kernel") {
  const auto affine = [](auto x, auto mean, auto variance, auto scale, auto shift) {
    return sn::relu(sn::batch_norm(x, mean, variance, scale, shift));
  };
  auto fused = sn::fuse(affine), plain = sn::fuse(affine, {.superinstructions = false});
  for (const shape& s : shapes) {
    INFO(s.images << " " << s.channels << " " << s.height << " " << s.width);
    const images x = numbers(images(s.images, s.channels, s.height, s.width), 1);
    const channels mean = numbers(channels(s.channels), 2),
                   scale = numbers(channels(s.channels), 3),
                   shift = numbers(channels(s.channels), 4),
                   variance = positive(numbers(channels(s.channels), 5));
    const images got = fused(x, mean, variance, scale, shift);
    CHECK(distance(got, images(plain(x, mean, variance, scale, shift))) < 1e-5);
    for (std::int64_t n = 0; n < s.images; ++n)
      for (std::int64_t c = 0; c < s.channels; ++c)
        for (std::int64_t i = 0; i < s.height * s.width; ++i) {
          const std::int64_t at = (n * s.channels + c) * s.height * s.width + i;
          const double expected =
              std::max(0.0, (double(x.data()[at]) - double(mean(c))) /
                                    std::sqrt(double(variance(c)) + 1e-5) * double(scale(c)) +
                                double(shift(c)));
          CHECK(double(got.data()[at]) == doctest::Approx(expected).epsilon(1e-4));
        }
  }
  const images x(2, 6, 33, 31);
  const channels each(6);
  CHECK(says(fused.explain(x, each, each, each, each), "fused{sub mul mul add relu}"));
}

// Its rows are channels one behind the other, whose factors and shifts are one value per run.
TEST_CASE("a group norm goes from channel to channel") {
  auto norm =
      sn::fuse([](auto x, auto scale, auto shift) { return sn::group_norm(x, 2, scale, shift); });
  for (const shape& s : {shape{3, 8, 6, 6},
                         {2, 64, 7, 7},
                         {1, 64, 14, 14},
                         {2, 6, 33, 31},
                         {3, 2, 1, 40},
                         {2, 300, 5, 11},
                         {5, 8, 3, 3}}) {
    INFO(s.images << " " << s.channels << " " << s.height << " " << s.width);
    const images x = numbers(images(s.images, s.channels, s.height, s.width), 1);
    const channels scale = numbers(channels(s.channels), 3),
                   shift = numbers(channels(s.channels), 4);
    const images y = norm(x, scale, shift);
    const std::int64_t plane = s.height * s.width, group = s.channels / 2 * plane;
    double worst = 0;
    for (std::int64_t g = 0; g < s.images * 2; ++g) {
      double mean = 0, variance = 0;
      for (std::int64_t i = 0; i < group; ++i) mean += double(x.data()[g * group + i]);
      mean /= double(group);
      for (std::int64_t i = 0; i < group; ++i)
        variance += std::pow(double(x.data()[g * group + i]) - mean, 2) / double(group);
      for (std::int64_t i = 0; i < group; ++i) {
        const std::int64_t at = g * group + i, channel = at / plane % s.channels;
        const double expected =
            (double(x.data()[at]) - mean) / std::sqrt(variance + 1e-5) * double(scale(channel)) +
            double(shift(channel));
        worst = std::max(worst, std::abs(double(y.data()[at]) - expected));
      }
    }
    CHECK(worst < 1e-5);
  }
}

// Rows of planes, then columns of images: elements that lie apart are dearer than those.
TEST_CASE("moments of channels go by planes") {
  auto moments = sn::fuse([](auto x) {
    return sn::outputs(sn::mean(x, {0, 2, 3}), sn::var(x, {0, 2, 3}));
  });
  CHECK(says(moments.explain(images(32, 64, 28, 28)), "rows of the last 2 axes"));
  auto sums = sn::fuse([](auto x) { return sn::sum(x, 0); });
  CHECK(says(sums.explain(sn::tensor<float, 2>(5000, 1)), "tiles over [s0, 1]"));
  CHECK(says(sums.explain(sn::tensor<float, 2>(5000, 2)), "columns over"));
}

TEST_CASE("gradients of a group norm follow from the sums of its channels") {
  const auto norm = [](auto x, auto derivative, auto scale, auto shift) {
    const auto y = sn::group_norm(x, 2, scale, shift);
    return sn::outputs(y, sn::gradients(sn::sum(y * derivative), x, scale, shift));
  };
  auto in_steps = sn::fuse(norm),
       whole = sn::fuse(norm, {.disabled_rules = {"sum-in-steps"}, .superinstructions = false});
  for (const shape& s : shapes) {
    if (s.channels % 2 != 0) continue;
    INFO(s.images << " " << s.channels << " " << s.height << " " << s.width);
    const images x = numbers(images(s.images, s.channels, s.height, s.width), 1),
                 derivative = numbers(images(s.images, s.channels, s.height, s.width), 2);
    const channels scale = numbers(channels(s.channels), 3),
                   shift = numbers(channels(s.channels), 4);
    images y, dx, other_y, other_dx;
    channels dscale, dshift, other_dscale, other_dshift;
    std::tie(y, dx, dscale, dshift) = in_steps(x, derivative, scale, shift);
    std::tie(other_y, other_dx, other_dscale, other_dshift) = whole(x, derivative, scale, shift);
    CHECK(distance(y, other_y) < 1e-4);
    CHECK(distance(dx, other_dx) < 1e-4);
    CHECK(distance(dscale, other_dscale) < 1e-3);
    CHECK(distance(dshift, other_dshift) < 1e-3);
  }
  const images x = numbers(images(8, 64, 56, 56), 1);
  const channels each = numbers(channels(64), 2);
  const std::string explained = in_steps.explain(x, x, each, each);
  CHECK(says(explained, "sum-in-steps"));
  CHECK(says(explained, "fused{mul mul mul add sub}"));
}

}  // namespace row_values_test
