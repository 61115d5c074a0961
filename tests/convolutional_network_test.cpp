// SPDX-License-Identifier: MIT
// The network of examples/fashion_cnn: it learns to tell patterns apart, and goes on from a
// checkpoint with the bits of a run that did not stop.
#include "../examples/support/convolutional_network.hpp"

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace sn = sinter;
using convolutional::images, convolutional::labels, convolutional::network, convolutional::side;

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

std::vector<float> train(network& net, unsigned first, unsigned last) {
  std::vector<float> losses;
  for (unsigned step = first; step < last; ++step) {
    const batch b = striped(16, step);
    losses.push_back(net.train(b.x, b.y, 0.02f));
  }
  return losses;
}

}  // namespace

TEST_CASE("a convolutional network learns, and goes on from a checkpoint with the same bits") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "sinter_convolutional_network_test.npy").string();
  network whole(1);
  const std::vector<float> first = train(whole, 0, 12);
  whole.save(path, 12);
  const std::vector<float> rest = train(whole, 12, 24);
  CHECK(first.front() > 2.0f);
  CHECK(rest.back() < 0.5f * first.front());

  network resumed(2);
  CHECK(resumed.load(path) == 12);
  CHECK(train(resumed, 12, 24) == rest);  // every bit

  const batch test = striped(100, 1000);
  const auto guessed = whole.predict(test.x);
  CHECK(guessed == resumed.predict(test.x));
  int right = 0;
  for (std::int64_t i = 0; i < 100; ++i) right += guessed(i) == test.y(i) ? 1 : 0;
  CHECK(right > 30);  // of ten classes, with running statistics that are still far off

  sn::save_npy(path, sn::tensor<float, 1>(7));
  CHECK_THROWS_AS(resumed.load(path), sn::shape_error);
  std::filesystem::remove(path);
}
