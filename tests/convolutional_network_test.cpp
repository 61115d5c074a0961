// SPDX-License-Identifier: MIT
// A convolutional network: it learns to tell patterns apart, and goes on from a
// checkpoint with the bits of a run that did not stop.
// component: safetensors
#include "support/convolutional_network.hpp"

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/training/checkpoint.hpp>

namespace convolutional_network_test {

namespace cn = convolutional;
namespace sn = sinter;
using cn::images, cn::labels, cn::side;

namespace {

struct batch {
  images x;
  labels y;
};

// Stripes of a direction and width that the class decides, in noise.
batch striped(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, 0.5f);
  batch out{images(count, 1, side, side), labels(count)};
  for (std::int64_t n = 0; n < count; ++n) {
    const auto label = static_cast<std::int32_t>(random() % 10);
    out.y(n) = label;
    for (std::int64_t i = 0; i < side; ++i)
      for (std::int64_t j = 0; j < side; ++j) {
        const std::int64_t along = label % 2 == 0 ? i : j, width = label / 2 + 1;
        out.x(n, 0, i, j) = (along / width % 2 == 0 ? 1.0f : -1.0f) + noise(random);
      }
  }
  return out;
}

using state = cn::training_state<cn::floats>;

// Losses of the steps from the state's to `last`.
std::vector<float> train(state& s, std::int64_t last) {
  static auto step = sn::fuse(sn::trace_in_first_call(cn::train));
  std::vector<float> losses;
  sn::tensor<float, 0> loss;
  while (s.steps.item() < last) {
    const batch b = striped(16, static_cast<unsigned>(s.steps.item()));
    step.into(loss)(s, b.x, b.y, 0.02f);
    losses.push_back(loss.item());
  }
  return losses;
}

}  // namespace

TEST_CASE("a convolutional network learns, and goes on from a checkpoint with the same bits") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "sinter_convolutional_network_test.safetensors")
          .string();
  state whole = state::make(1);
  const std::vector<float> first = train(whole, 12);
  sn::save_checkpoint(path, whole);
  const std::vector<float> rest = train(whole, 24);
  CHECK(first.front() > 2.0f);
  CHECK(rest.back() < 0.5f * first.front());

  state resumed = state::make(2);
  sn::load_checkpoint(path, resumed);
  CHECK(resumed.steps.item() == 12);
  CHECK(train(resumed, 24) == rest);  // every bit
  std::filesystem::remove(path);

  auto predict = sn::fuse(sn::trace_in_first_call(cn::predict));
  const batch test = striped(100, 1000);
  const sn::tensor<std::int64_t, 1> guessed = predict(whole.network, test.x),
                                    again = predict(resumed.network, test.x);
  CHECK(guessed == again);
  int right = 0;
  for (std::int64_t i = 0; i < 100; ++i) right += guessed(i) == test.y(i) ? 1 : 0;
  CHECK(right > 30);  // of ten classes, with running statistics that are still far off
}

}  // namespace convolutional_network_test
