// SPDX-License-Identifier: MIT
// k-means (Lloyd 1982): points in the plane fall into clusters around centres that move to the
// middle of what is theirs. Distances, the nearest centre and the new centres are one function.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include <sinter/sinter.hpp>

namespace sn = sinter;

namespace {

constexpr std::int64_t clusters = 4, points = 20'000;

// The same step as loops.
sn::tensor<float, 2> looped(const sn::tensor<float, 2>& x, const sn::tensor<float, 2>& centres) {
  double sums[clusters][2] = {};
  double counts[clusters] = {};
  for (std::int64_t i = 0; i < points; ++i) {
    std::int64_t best = 0;
    const auto squared = [&](std::int64_t c) {
      const float a = x(i, 0) - centres(c, 0), b = x(i, 1) - centres(c, 1);
      return a * a + b * b;
    };
    for (std::int64_t c = 1; c < clusters; ++c)
      if (squared(c) < squared(best)) best = c;
    sums[best][0] += static_cast<double>(x(i, 0));
    sums[best][1] += static_cast<double>(x(i, 1));
    ++counts[best];
  }
  sn::tensor<float, 2> out(clusters, 2);
  for (std::int64_t c = 0; c < clusters; ++c)
    for (std::int64_t axis = 0; axis < 2; ++axis)
      out(c, axis) = static_cast<float>(sums[c][axis] / std::max(counts[c], 1.0));
  return out;
}

}  // namespace

int main() {
  auto step = sn::fuse([](auto x, auto centres) {
    // [points, 1, 2] - [clusters, 2]: a difference for every pair
    const auto difference = sn::unsqueeze(x, 1) - centres;
    const auto distance = sn::sum(sn::square(difference), {-1});
    const auto owner = sn::argmin(distance, {-1});
    const auto is_owner = sn::one_hot<float>(owner, sn::extent(centres, 0));
    const auto count = sn::maximum(sn::sum(is_owner, {0}), 1.0f);
    const auto moved = sn::matmul(sn::transpose(is_owner), x) / sn::unsqueeze(count, 1);
    const auto spread = sn::mean(sn::min(distance, {-1}));
    return sn::outputs(moved, spread);
  });

  // Four heaps around known places.
  const float places[clusters][2] = {{-4, -4}, {-4, 4}, {4, -4}, {4, 4}};
  std::mt19937 random(3);
  std::normal_distribution<float> noise(0, 1);
  sn::tensor<float, 2> x(points, 2);
  for (std::int64_t i = 0; i < points; ++i)
    for (std::int64_t axis = 0; axis < 2; ++axis)
      x(i, axis) = places[i % clusters][axis] + noise(random);

  sn::tensor<float, 2> centres{{-1, -2}, {-2, 1}, {2, -1}, {1, 2}};
  for (int round = 0; round < 4; ++round) {
    const auto expected = looped(x, centres);
    const auto [moved, spread] = step(x, centres);
    double difference = 0;
    for (std::int64_t c = 0; c < clusters; ++c)
      for (std::int64_t axis = 0; axis < 2; ++axis)
        difference =
            std::max(difference, static_cast<double>(std::abs(moved(c, axis) - expected(c, axis))));
    std::printf("round %d: mean squared distance %.4f, loops differ by %.1e\n", round + 1,
                static_cast<double>(spread.item()), difference);
    if (!(difference < 1e-3)) {
      std::puts("k_means: not what the loops found");
      return 1;
    }
    centres = moved;
  }
  for (std::int64_t c = 0; c < clusters; ++c) {
    std::printf("centre %lld: (%.2f, %.2f)\n", static_cast<long long>(c),
                static_cast<double>(centres(c, 0)), static_cast<double>(centres(c, 1)));
    if (std::hypot(centres(c, 0) - places[c][0], centres(c, 1) - places[c][1]) > 0.1f) {
      std::puts("k_means: far from where the points were put");
      return 1;
    }
  }
}
