// SPDX-License-Identifier: MIT
// Trains a convolutional network on Fashion-MNIST (Debian: dataset-fashion-mnist). Ctrl-C stops
// behind the step at hand; the next run goes on from there.
//
//   fashion_cnn [folder with the four IDX files] [epochs] [checkpoint, a .safetensors file]
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <zlib.h>

#include "support/convolutional_network.hpp"
#include "support/count_argument.hpp"
#include "support/fashion_images.hpp"
#include <sinter/training/checkpoint.hpp>

namespace cn = convolutional;
namespace sn = sinter;
using cn::images, cn::labels, cn::side;

namespace {

constexpr std::int64_t pixels = side * side, batch_size = 128;

volatile std::sig_atomic_t interrupted = 0;

struct data_set {
  images x;
  labels y;
};

data_set load(const std::string& folder, const std::string& name) {
  const fashion::part from = fashion::load(folder, name);
  const auto count = static_cast<std::int64_t>(from.classes.size());
  data_set out{images(count, 1, side, side), labels(count)};
  // Mean and standard deviation of the training set.
  std::ranges::transform(from.pixels, out.x.begin(), [](std::uint8_t p) {
    return (static_cast<float>(p) / 255.0f - 0.286f) / 0.353f;
  });
  std::ranges::copy(from.classes, out.y.begin());
  return out;
}

// The images of `from` in another order, and half of them mirrored: of an epoch, always the same.
class shuffled {
 public:
  shuffled(const data_set& from, std::int64_t epoch)
      : from_(from), order_(static_cast<std::size_t>(from.y.size())), mirrored_(order_.size()) {
    std::mt19937 random(static_cast<unsigned>(epoch + 1));
    std::iota(order_.begin(), order_.end(), 0);
    std::ranges::shuffle(order_, random);
    std::generate(mirrored_.begin(), mirrored_.end(), [&] { return random() % 2 == 1; });
  }

  /// As many images as `x` has, from place `first` on.
  void batch(std::int64_t first, images& x, labels& y) const {
    for (std::int64_t r = 0; r < y.size(); ++r) {
      const auto place = static_cast<std::size_t>(first + r);
      const float* source = from_.x.data() + order_[place] * pixels;
      float* target = x.data() + r * pixels;
      for (std::int64_t row = 0; row < side; ++row, source += side, target += side)
        if (mirrored_[place])
          std::reverse_copy(source, source + side, target);
        else
          std::copy_n(source, side, target);
      y(r) = from_.y(order_[place]);
    }
  }

 private:
  const data_set& from_;
  std::vector<std::int64_t> order_;
  std::vector<bool> mirrored_;
};

double accuracy(cn::model<cn::floats>& network, const data_set& test) {
  static auto predict = sn::fuse(sn::trace_in_first_call(cn::predict));
  constexpr std::int64_t rows = 1000;
  std::int64_t right = 0;
  for (std::int64_t first = 0; first < test.y.size(); first += rows) {
    const std::int64_t count = std::min(rows, test.y.size() - first);
    images x(count, 1, side, side);
    std::copy_n(test.x.data() + first * pixels, count * pixels, x.data());
    const sn::tensor<std::int64_t, 1> guessed = predict(network, x);
    for (std::int64_t i = 0; i < count; ++i) right += guessed(i) == test.y(first + i) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(test.y.size());
}

int train(const std::string& folder, std::int64_t epochs, const std::string& checkpoint) {
  const data_set train_set = load(folder, "train"), test_set = load(folder, "t10k");
  const std::int64_t per_epoch = train_set.y.size() / batch_size, last = epochs * per_epoch;
  auto state = cn::training_state<cn::floats>::make(1);
  const auto step = [&] { return state.steps.item(); };
  if (std::filesystem::exists(checkpoint)) {
    sn::load_checkpoint(checkpoint, state);
    std::printf("going on behind step %lld of %lld, from %s\n", static_cast<long long>(step()),
                static_cast<long long>(last), checkpoint.c_str());
  }
  std::signal(SIGINT, [](int) { interrupted = 1; });

  // Up for a fifth of the time, then down to nothing (Smith 2018, "super-convergence").
  const auto rate_of = sn::schedules::then(sn::schedules::linear(0.01, 0.1, last / 5), last / 5,
                                           sn::schedules::linear(0.1, 0, last - last / 5));
  auto train = sn::fuse(sn::trace_in_first_call(cn::train));
  images x(batch_size, 1, side, side);
  labels y(batch_size);
  sn::tensor<float, 0> loss;
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(clock::now() - start).count(); };
  std::chrono::duration<double> in_steps{0};
  const std::int64_t begun = step();
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  while (step() < last && interrupted == 0) {
    const std::int64_t epoch = step() / per_epoch, from = step();
    const shuffled images_of_epoch(train_set, epoch);
    double total = 0;
    while (step() < (epoch + 1) * per_epoch && interrupted == 0) {
      images_of_epoch.batch(step() % per_epoch * batch_size, x, y);
      const auto rate = static_cast<float>(rate_of(step()));
      const auto before = clock::now();
      train.into(loss)(state, x, y, rate);
      in_steps += clock::now() - before;
      total += static_cast<double>(loss.item());
      const std::int64_t of_epoch = step() - epoch * per_epoch;
      if (terminal && of_epoch % 16 == 0) {
        std::printf("\repoch %lld/%lld  %3lld %%  loss %.4f  %.0f s ",
                    static_cast<long long>(epoch + 1), static_cast<long long>(epochs),
                    static_cast<long long>(100 * of_epoch / per_epoch),
                    total / static_cast<double>(step() - from), elapsed());
        std::fflush(stdout);
      }
    }
    sn::save_checkpoint(checkpoint, state);
    if (step() == from) continue;
    std::printf("%sepoch %lld/%lld  loss %.4f  test accuracy %.4f  %.1f s\n", terminal ? "\r" : "",
                static_cast<long long>(epoch + 1), static_cast<long long>(epochs),
                total / static_cast<double>(step() - from), accuracy(state.network, test_set),
                elapsed());
    std::fflush(stdout);
  }
  if (interrupted != 0 && step() < last) {
    std::printf("interrupted behind step %lld; %s has what the next run goes on from\n",
                static_cast<long long>(step()), checkpoint.c_str());
    return 130;  // as shells say it of an interrupted program
  }
  if (step() > begun) {
    const auto steps = static_cast<double>(step() - begun);
    std::printf("%.2f ms per step of %lld images, %.0f images per second, %.1f s in all\n",
                in_steps.count() * 1e3 / steps, static_cast<long long>(batch_size),
                steps * static_cast<double>(batch_size) / in_steps.count(), elapsed());
  }
  std::printf("test accuracy: %.4f\n", accuracy(state.network, test_set));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto epochs = count_argument(argc, argv, 2, 5, 1000);
  if (argc > 4 || !epochs) {
    std::cerr << "usage: fashion_cnn [folder with the four IDX files] [epochs, 1 to 1000] "
                 "[checkpoint, a .safetensors file]\n";
    return 1;
  }
  try {
    return train(argc > 1 ? argv[1] : fashion::usual_folder, *epochs,
                 argc > 3 ? argv[3] : "fashion_cnn.safetensors");
  } catch (const std::exception& problem) {
    std::cerr << "fashion_cnn: " << problem.what() << '\n';
    return 1;
  }
}
