// SPDX-License-Identifier: MIT
// Trains a 784-512-10 network on Fashion-MNIST (Debian: dataset-fashion-mnist) with one fused
// function: loss, gradients and updates are one graph, planned once and replayed for every batch.
//
//   fashion_mnist [folder with the four IDX files] [epochs]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <zlib.h>

#include "support/count_argument.hpp"
#include "support/fashion_images.hpp"
#include <sinter/sinter.hpp>

namespace sn = sinter;
using sn::dyn;

using images = sn::tensor<float, sn::extents<dyn, 784>>;
using labels = sn::tensor<std::int32_t, 1>;

struct data_set {
  images x;
  labels y;
};

data_set load(const std::string& folder, const std::string& name) {
  const fashion::part from = fashion::load(folder, name);
  const auto count = static_cast<std::int64_t>(from.classes.size());
  data_set out{images(count, 784), labels(count)};
  std::ranges::transform(from.pixels, out.x.begin(),
                         [](std::uint8_t p) { return static_cast<float>(p) / 255.0f; });
  std::ranges::copy(from.classes, out.y.begin());
  return out;
}

// He et al. 2015: normal weights of variance 2 / inputs.
template <class Tensor>
void initialise(Tensor& w, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0f, std::sqrt(2.0f / static_cast<float>(w.extent(0))));
  std::ranges::generate(w, [&] { return normal(random); });
}

int train(const std::string& folder, int epochs) {
  const data_set train_set = load(folder, "train"), test_set = load(folder, "t10k");

  std::mt19937 random(1);
  sn::tensor<float, sn::extents<784, 512>> w1;
  sn::tensor<float, sn::extents<512>> b1;
  sn::tensor<float, sn::extents<512, 10>> w2;
  sn::tensor<float, sn::extents<10>> b2;
  initialise(w1, random);
  initialise(w2, random);

  auto step = sn::fuse([](auto x, auto label, auto w_1, auto b_1, auto w_2, auto b_2, auto rate) {
    auto hidden = sn::relu(sn::matmul(x, w_1) + b_1);
    auto loss = sn::cross_entropy(sn::matmul(hidden, w_2) + b_2, label);
    auto [dw1, db1, dw2, db2] = sn::gradients(loss, w_1, b_1, w_2, b_2);
    return sn::outputs(loss, sn::assign(w_1, w_1 - rate * dw1), sn::assign(b_1, b_1 - rate * db1),
                       sn::assign(w_2, w_2 - rate * dw2), sn::assign(b_2, b_2 - rate * db2));
  });
  auto predict = sn::fuse([](auto x, auto w_1, auto b_1, auto w_2, auto b_2) {
    return sn::argmax(sn::matmul(sn::relu(sn::matmul(x, w_1) + b_1), w_2) + b_2, -1);
  });

  constexpr std::int64_t batch_size = 128;
  const std::int64_t count = train_set.y.extent(0);
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  images x(batch_size, 784);
  labels y(batch_size);
  sn::tensor<float, 0> loss;
  std::cout << step.explain(x, y, w1, b1, w2, b2, 0.1f) << std::flush;

  using clock = std::chrono::steady_clock;
  std::chrono::duration<double> in_steps{0};
  const auto start = clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(clock::now() - start).count(); };
  std::int64_t steps = 0;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    std::ranges::shuffle(order, random);
    const float rate =
        0.1f * (1 + std::cos(3.14159265f * static_cast<float>(epoch) / static_cast<float>(epochs)));
    double total = 0;
    int drawn = -1;
    for (std::int64_t first = 0; first < count; first += batch_size) {
      // The last batch is smaller: another shape of the same bucket, so nothing is planned anew.
      const std::int64_t rows = std::min(batch_size, count - first);
      if (x.extent(0) != rows) {
        x = images(rows, 784);
        y = labels(rows);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t sample = order[static_cast<std::size_t>(first + r)];
        std::copy_n(&train_set.x(sample, 0), 784, &x(r, 0));
        y(r) = train_set.y(sample);
      }
      const auto before = clock::now();
      step.into(loss)(x, y, w1, b1, w2, b2, rate);
      in_steps += clock::now() - before;
      ++steps;
      total += static_cast<double>(loss.item()) * static_cast<double>(rows);
      const int percent = static_cast<int>(100 * (first + rows) / count);
      if (terminal && percent != drawn) {
        drawn = percent;
        std::printf("\repoch %2d/%d  %3d %%  loss %.4f  %.0f s ", epoch + 1, epochs, percent,
                    total / static_cast<double>(first + rows), elapsed());
        std::fflush(stdout);
      }
    }
    std::printf("%sepoch %2d/%d  loss %.4f  %.1f s      \n", terminal ? "\r" : "", epoch + 1,
                epochs, total / static_cast<double>(count), elapsed());
    std::fflush(stdout);
  }

  const auto guessed = predict(test_set.x, w1, b1, w2, b2);
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < test_set.y.extent(0); ++i)
    right += guessed(i) == test_set.y(i) ? 1 : 0;
  const sn::program_statistics s = step.statistics();
  std::printf(
      "%.0f us per step of %d images (%lld steps, %zu saturation, %zu extraction), training took "
      "%.1f s\n",
      in_steps.count() * 1e6 / static_cast<double>(steps), static_cast<int>(batch_size),
      static_cast<long long>(steps), s.saturations, s.extractions, elapsed());
  std::printf("test accuracy: %.4f\n",
              static_cast<double>(right) / static_cast<double>(test_set.y.extent(0)));
  return 0;
}

int main(int argc, char** argv) {
  const auto epochs = count_argument(argc, argv, 2, 15, 1000);
  if (argc > 3 || !epochs) {
    std::cerr << "usage: fashion_mnist [folder with the four IDX files] [epochs, 1 to 1000]\n";
    return 1;
  }
  try {
    return train(argc > 1 ? argv[1] : fashion::usual_folder, static_cast<int>(*epochs));
  } catch (const std::exception& problem) {
    std::cerr << "fashion_mnist: " << problem.what() << '\n';
    return 1;
  }
}
