// SPDX-License-Identifier: MIT
// Trains a convolutional network on Fashion-MNIST (Xiao et al. 2017; Debian:
// dataset-fashion-mnist). Ctrl-C stops behind the step at hand; the next run goes on from there.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>

#include <zlib.h>

#include <sinter/layers/layers.hpp>
#include <sinter/sinter.hpp>
#include <sinter/training/checkpoint.hpp>
#include <sinter/training/training.hpp>

namespace sn = sinter;

constexpr std::int64_t side = 28, train_count = 60'000, test_count = 10'000, per_step = 128;
volatile std::sig_atomic_t interrupted = 0;

template <class Kind>
struct network {
  sn::layers::conv2d<Kind, false> lines;  // a bias would be undone by the norm behind it
  sn::layers::batch_norm<Kind> line_norm;
  sn::layers::conv2d<Kind, false> shapes;
  sn::layers::batch_norm<Kind> shape_norm;
  sn::layers::linear<Kind> scores;

  static network make(sn::initialiser init) {
    return {decltype(lines)::make(1, 16, 3, init), decltype(line_norm)::make(16),
            decltype(shapes)::make(16, 32, 3, init), decltype(shape_norm)::make(32),
            decltype(scores)::make(2 * side * side, 10, init)};
  }
  /// Bytes [n, 28, 28] to scores [n, 10].
  constexpr sn::handle operator()(sn::handle bytes, sn::forward_pass& pass) const {
    sn::handle x = (sn::cast<float>(bytes) / 255.0f - 0.286f) / 0.353f;  // of the training set
    x = sn::max_pool2d(sn::relu(line_norm(lines(sn::unsqueeze(x, 1), {.padding = 1}), pass)), 2);
    x = sn::max_pool2d(sn::relu(shape_norm(shapes(x, {.padding = 1}), pass)), 2);
    return scores(sn::flatten(x, 1));
  }
};

/// All that a training has to remember.
template <class Kind>
struct training_state {
  network<Kind> model;
  sn::adam_state<network<Kind>> adam;
};

// A gzip'd IDX file: a header of rank + 1 words, of which bytes 2 and 3 are type and rank.
template <int Rank>
sn::tensor<std::uint8_t, Rank> read(const std::string& path, const sn::shape_vector& shape) {
  sn::tensor<std::uint8_t, Rank> out(shape);
  const auto size = static_cast<std::size_t>(out.size());
  std::uint8_t header[4 + 4 * Rank] = {};
  const gzFile file = gzopen(path.c_str(), "rb");
  const bool right = gzfread(header, sizeof header, 1, file) == 1 && header[2] == 8 &&
                     header[3] == Rank && gzfread(out.data(), 1, size, file) == size;
  gzclose(file);
  if (!right) throw sn::io_error(path + (file == nullptr ? " cannot be opened" : " is damaged"));
  return out;
}

void train(const std::string& folder, std::int64_t last, const std::string& file) {
  const auto x = read<3>(folder + "/train-images-idx3-ubyte.gz", {train_count, side, side});
  const auto y = read<1>(folder + "/train-labels-idx1-ubyte.gz", {train_count});
  const auto test_x = read<3>(folder + "/t10k-images-idx3-ubyte.gz", {test_count, side, side});
  const auto test_y = read<1>(folder + "/t10k-labels-idx1-ubyte.gz", {test_count});
  auto fit = sn::fuse(sn::trace_in_first_call([](auto s, auto all, auto kinds, auto at, auto rate) {
    auto pass = sn::training();
    const auto scores = s.model(sn::take(all, at), pass);
    const auto loss = sn::cross_entropy(scores, sn::take(kinds, at));
    const auto better = sn::adam().update(s.model, sn::gradients(loss, s.model), s.adam, rate);
    return sn::outputs(loss, better, pass.updates());
  }));
  auto right_of = sn::fuse(sn::trace_in_first_call([](auto model, auto all, auto kinds, auto at) {
    auto pass = sn::inference();
    const auto guessed = sn::argmax(model(sn::take(all, at), pass), {-1});
    return sn::sum(guessed == sn::cast<std::int64_t>(sn::take(kinds, at)));
  }));

  const auto fresh = network<sn::stored<float>>::make(sn::initialiser(1));
  training_state<sn::stored<float>> state{fresh, decltype(state.adam)::make(fresh)};
  if (std::filesystem::exists(file)) sn::load_checkpoint(file, state);
  std::signal(SIGINT, [](int) { interrupted = 1; });
  const auto rate = sn::schedules::cosine(3e-3, 0, last);
  for (std::int64_t n = state.adam.steps.item(); n < last && interrupted == 0; ++n) {
    const sn::tensor<std::int64_t, 1> rows = sn::randint<std::int64_t>(n, 0, train_count, per_step);
    const sn::tensor<float, 0> loss = fit(state, x, y, rows, rate(n));
    if (n % 50 == 0) std::cout << "step " << n << ": loss " << loss.item() << std::endl;
  }
  sn::save_checkpoint(file, state);
  if (interrupted != 0) std::exit(130);  // what shells call interrupted
  double accuracy = 0;
  for (std::int64_t first = 0; first < test_count; first += 1000) {
    const sn::tensor<std::int64_t, 1> rows = sn::arange<std::int64_t>(first, first + 1000);
    const sn::tensor<std::int64_t, 0> right = right_of(state.model, test_x, test_y, rows);
    accuracy += static_cast<double>(right.item()) / test_count;
  }
  std::cout << "test accuracy: " << accuracy << '\n';
  const double least = last >= 2340 ? 0.9 : last >= 100 ? 0.7 : 0;  // the first: 5 epochs
  if (accuracy < least) throw sn::error("expected at least " + std::to_string(least));
}

int main(int argc, char** argv) try {
  char* end = nullptr;
  const long steps = argc > 2 ? std::strtol(argv[2], &end, 10) : 2340;
  if (argc > 4 || steps < 1 || steps > 1'000'000 || (end != nullptr && *end != 0)) {
    std::cerr << "usage: fashion_cnn [folder with the four IDX files] [steps] [checkpoint]\n";
    return 1;
  }
  train(argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist", steps,
        argc > 3 ? argv[3] : "fashion_cnn.safetensors");
} catch (const std::exception& problem) {
  std::cerr << "fashion_cnn: " << problem.what() << '\n';
  return 1;
}
