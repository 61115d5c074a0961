// SPDX-License-Identifier: MIT
// A convolutional network for small grey images: two blocks of convolution, batch norm, relu and
// pooling, then two layers. With it what trains it and what guesses.
#pragma once

#include <cstdint>

#include <sinter/layers/layers.hpp>
#include <sinter/sinter.hpp>
#include <sinter/training/training.hpp>

namespace convolutional {

namespace sn = sinter;
namespace layers = sinter::layers;
using floats = sn::stored<float>;

inline constexpr std::int64_t side = 28, classes = 10;

using images = sn::tensor<float, sn::extents<sn::dyn, 1, side, side>>;
using labels = sn::tensor<std::int32_t, 1>;

template <class Kind>
struct model {
  layers::conv2d<Kind, false> lines;  // a bias would be undone by the norm behind it
  layers::batch_norm<Kind> line_norm;
  layers::conv2d<Kind, false> shapes;
  layers::batch_norm<Kind> shape_norm;
  layers::linear<Kind> hidden, scores;

  static model make(std::int64_t seed) {
    constexpr std::int64_t first = 16, second = 32, width = 128;
    sn::initialiser init(seed);
    model out{};
    out.lines = layers::conv2d<Kind, false>::make(1, first, 3, init);
    out.line_norm = layers::batch_norm<Kind>::make(first);
    out.shapes = layers::conv2d<Kind, false>::make(first, second, 3, init);
    out.shape_norm = layers::batch_norm<Kind>::make(second);
    out.hidden = layers::linear<Kind>::make(second * (side / 4) * (side / 4), width, init);
    out.scores = layers::linear<Kind>::make(width, classes, init);
    return out;
  }

  /// Images [n, 1, side, side] to [n, classes].
  constexpr sn::handle operator()(sn::handle x, sn::forward_pass& pass) const {
    x = sn::max_pool2d(sn::relu(line_norm(lines(x, {.padding = 1}), pass)), 2);
    x = sn::max_pool2d(sn::relu(shape_norm(shapes(x, {.padding = 1}), pass)), 2);
    return scores(sn::relu(hidden(sn::flatten(x, 1))));
  }
};

/// All that a training has to remember.
template <class Kind>
struct training_state {
  model<Kind> network;
  sn::sgd_state<model<Kind>> optimizer;
  sn::parameter<Kind, 0, std::int64_t> steps;  // made so far

  static training_state make(std::int64_t seed) {
    const auto network = model<Kind>::make(seed);
    return {network, sn::sgd_state<model<Kind>>::make(network), {}};
  }
};

/// One step of gradient descent with Nesterov momentum on a batch; returns its mean loss before it.
inline constexpr auto train = [](auto state, auto x, auto label, auto rate) {
  sn::forward_pass pass = sn::training();
  const auto loss = sn::cross_entropy(state.network(x, pass), label);
  const auto slopes = sn::gradients(loss, state.network);
  constexpr sn::sgd optimizer{.momentum = 0.9, .nesterov = true};
  return sn::outputs(loss, optimizer.update(state.network, slopes, state.optimizer, rate),
                     sn::assign(state.steps, state.steps + 1), pass.updates());
};

/// The class of every image.
inline constexpr auto predict = [](auto network, auto x) {
  sn::forward_pass pass = sn::inference();
  return sn::argmax(network(x, pass), -1);
};

}  // namespace convolutional
