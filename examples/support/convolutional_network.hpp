// SPDX-License-Identifier: MIT
// A convolutional network for small grey images, and its training step: two blocks of convolution,
// batch norm, relu and pooling, then two layers. All of its state can be written to one vector, so
// that training goes on from there with the same bits as if it had not stopped.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include <sinter/sinter.hpp>

namespace convolutional {

namespace sn = sinter;
using sn::dyn;

inline constexpr std::int64_t side = 28, classes = 10, first = 16, second = 32, hidden = 128;
inline constexpr std::int64_t flat = second * (side / 4) * (side / 4);

using images = sn::tensor<float, sn::extents<dyn, 1, side, side>>;
using labels = sn::tensor<std::int32_t, 1>;

/// Weights of every layer; `visit` goes through them in an order that does not change.
struct weights {
  sn::tensor<float, sn::extents<first, 1, 3, 3>> filters1;
  sn::tensor<float, sn::extents<first>> scale1, shift1;
  sn::tensor<float, sn::extents<second, first, 3, 3>> filters2;
  sn::tensor<float, sn::extents<second>> scale2, shift2;
  sn::tensor<float, sn::extents<flat, hidden>> w3;
  sn::tensor<float, sn::extents<hidden>> b3;
  sn::tensor<float, sn::extents<hidden, classes>> w4;
  sn::tensor<float, sn::extents<classes>> b4;

  template <class Visitor>
  void visit(Visitor visitor) {
    visitor(filters1), visitor(scale1), visitor(shift1);
    visitor(filters2), visitor(scale2), visitor(shift2);
    visitor(w3), visitor(b3), visitor(w4), visitor(b4);
  }
};

/// Forward, backward, and the updates by gradient descent with Nesterov momentum (Sutskever et al.
/// 2013); returns the loss.
struct training_step {
  constexpr auto operator()(auto x, auto y, auto rate, auto k1, auto g1, auto s1, auto k2, auto g2,
                            auto s2, auto w3, auto b3, auto w4, auto b4, auto vk1, auto vg1,
                            auto vs1, auto vk2, auto vg2, auto vs2, auto vw3, auto vb3, auto vw4,
                            auto vb4, auto m1, auto v1, auto m2, auto v2) const {
    auto c1 = sn::conv2d(x, k1, {.padding = 1});
    auto h1 = sn::max_pool2d(sn::relu(sn::batch_norm(c1, g1, s1)), 2);
    auto c2 = sn::conv2d(h1, k2, {.padding = 1});
    auto h2 = sn::max_pool2d(sn::relu(sn::batch_norm(c2, g2, s2)), 2);
    auto h3 = sn::relu(sn::matmul(sn::flatten(h2, 1), w3) + b3);
    auto loss = sn::cross_entropy(sn::matmul(h3, w4) + b4, y);
    auto [dk1, dg1, ds1, dk2, dg2, ds2, dw3, db3, dw4, db4] =
        sn::gradients(loss, k1, g1, s1, k2, g2, s2, w3, b3, w4, b4);

    const auto velocity = [](auto v, auto gradient) { return 0.9f * v + gradient; };
    const auto moved = [&](auto w, auto v, auto gradient) {
      return sn::assign(w, w - rate * (gradient + 0.9f * velocity(v, gradient)));
    };
    const auto kept = [](auto running, auto batch) {
      return sn::assign(running, running + 0.1f * (batch - running));
    };
    return sn::outputs(loss, moved(k1, vk1, dk1), moved(g1, vg1, dg1), moved(s1, vs1, ds1),
                       moved(k2, vk2, dk2), moved(g2, vg2, dg2), moved(s2, vs2, ds2),
                       moved(w3, vw3, dw3), moved(b3, vb3, db3), moved(w4, vw4, dw4),
                       moved(b4, vb4, db4), sn::assign(vk1, velocity(vk1, dk1)),
                       sn::assign(vg1, velocity(vg1, dg1)), sn::assign(vs1, velocity(vs1, ds1)),
                       sn::assign(vk2, velocity(vk2, dk2)), sn::assign(vg2, velocity(vg2, dg2)),
                       sn::assign(vs2, velocity(vs2, ds2)), sn::assign(vw3, velocity(vw3, dw3)),
                       sn::assign(vb3, velocity(vb3, db3)), sn::assign(vw4, velocity(vw4, dw4)),
                       sn::assign(vb4, velocity(vb4, db4)), kept(m1, sn::mean(c1, {0, 2, 3})),
                       kept(v1, sn::var(c1, {0, 2, 3})), kept(m2, sn::mean(c2, {0, 2, 3})),
                       kept(v2, sn::var(c2, {0, 2, 3})));
  }
};

/// The class of every image, with running statistics instead of those of the batch.
struct prediction {
  constexpr auto operator()(auto x, auto k1, auto g1, auto s1, auto k2, auto g2, auto s2, auto w3,
                            auto b3, auto w4, auto b4, auto m1, auto v1, auto m2, auto v2) const {
    auto c1 = sn::conv2d(x, k1, {.padding = 1});
    auto h1 = sn::max_pool2d(sn::relu(sn::batch_norm(c1, m1, v1, g1, s1)), 2);
    auto c2 = sn::conv2d(h1, k2, {.padding = 1});
    auto h2 = sn::max_pool2d(sn::relu(sn::batch_norm(c2, m2, v2, g2, s2)), 2);
    auto h3 = sn::relu(sn::matmul(sn::flatten(h2, 1), w3) + b3);
    return sn::argmax(sn::matmul(h3, w4) + b4, -1);
  }
};

class network {
  // In the order of the training step's arguments.
  template <class Function>
  auto with_state(Function function) {
    return function(at_.filters1, at_.scale1, at_.shift1, at_.filters2, at_.scale2, at_.shift2,
                    at_.w3, at_.b3, at_.w4, at_.b4, velocity_.filters1, velocity_.scale1,
                    velocity_.shift1, velocity_.filters2, velocity_.scale2, velocity_.shift2,
                    velocity_.w3, velocity_.b3, velocity_.w4, velocity_.b4, mean1_, variance1_,
                    mean2_, variance2_);
  }

 public:
  explicit network(unsigned seed) {
    std::mt19937 random(seed);
    // He et al. 2015: normal weights of variance 2 / inputs.
    const auto initialise = [&](auto& w, std::int64_t inputs) {
      std::normal_distribution<float> normal(0.0f, std::sqrt(2.0f / static_cast<float>(inputs)));
      std::ranges::generate(w, [&] { return normal(random); });
    };
    initialise(at_.filters1, 9);
    initialise(at_.filters2, first * 9);
    initialise(at_.w3, flat);
    initialise(at_.w4, hidden);
    at_.scale1.fill(1), at_.scale2.fill(1), variance1_.fill(1), variance2_.fill(1);
  }

  /// One step on a batch; its mean loss.
  float train(const images& x, const labels& y, float rate) {
    with_state([&](auto&... state) { step_.into(loss_)(x, y, rate, state...); });
    return loss_.item();
  }

  /// The class of every image.
  sn::tensor<std::int64_t, 1> predict(const images& x) {
    return predict_(x, at_.filters1, at_.scale1, at_.shift1, at_.filters2, at_.scale2, at_.shift2,
                    at_.w3, at_.b3, at_.w4, at_.b4, mean1_, variance1_, mean2_, variance2_);
  }

  /// Plan and time of the training step.
  std::string explain(const images& x, const labels& y) {
    return with_state([&](auto&... state) { return step_.explain(x, y, 0.0f, state...); });
  }

  /// Writes all state and the number of steps done to a .npy file, which takes the place of an
  /// older one only when it is complete. Throws io_error.
  void save(const std::string& path, std::int64_t steps) {
    std::int64_t size = 1;
    visit([&](auto& t) { size += t.size(); });
    sn::tensor<float, 1> state(size);
    float* to = state.data();
    *to++ = static_cast<float>(steps);  // exact below 2^24
    visit([&](auto& t) { to = std::copy(t.begin(), t.end(), to); });
    sn::save_npy(path, state);
  }

  /// Reads what `save` wrote and returns the number of steps. Throws io_error or shape_error, and
  /// changes nothing then.
  std::int64_t load(const std::string& path) {
    const auto state = sn::load_npy<float, 1>(path);
    std::int64_t size = 1;
    visit([&](auto& t) { size += t.size(); });
    if (state.size() != size)
      throw sn::shape_error(path + ": " + std::to_string(state.size()) + " numbers, expected " +
                            std::to_string(size));
    const float* from = state.data();
    const auto steps = static_cast<std::int64_t>(*from++);
    visit([&](auto& t) {
      std::copy_n(from, t.size(), t.begin());
      from += t.size();
    });
    return steps;
  }

 private:
  template <class Visitor>
  void visit(Visitor visitor) {
    at_.visit(visitor);
    velocity_.visit(visitor);
    visitor(mean1_), visitor(variance1_), visitor(mean2_), visitor(variance2_);
  }

  weights at_, velocity_;
  sn::tensor<float, sn::extents<first>> mean1_, variance1_;
  sn::tensor<float, sn::extents<second>> mean2_, variance2_;
  sn::tensor<float, 0> loss_;
  sn::fused<training_step> step_;
  sn::fused<prediction> predict_;
};

}  // namespace convolutional
