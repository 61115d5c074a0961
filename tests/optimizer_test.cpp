// SPDX-License-Identifier: MIT
// Optimizers and clipping against trajectories of PyTorch's
// (tests/data/training_reference.py), learning-rate schedules, and what optimizers leave alone.
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include <doctest/doctest.h>

#include "support/reference_wave.hpp"
#include <sinter/sinter.hpp>
#include <sinter/training/training.hpp>

namespace optimizer_test {

namespace sn = sinter;
using namespace test_support;

namespace {

template <class Kind>
struct affine {
  sn::parameter<Kind, 2> weight;
  sn::parameter<Kind, 1> bias;
};
template <class Kind>
struct model_of {
  affine<Kind> only;
  sn::statistic<Kind, 1> seen;
};
using model = model_of<sn::stored<double>>;

model start() { return {{wave<2>({2, 3}, 3), wave<1>({3}, 4)}, {wave<1>({3}, 5)}}; }

const auto loss_of = [](auto m, auto x, auto y) {
  return sn::mean(sn::square(sn::matmul(x, m.only.weight) + m.only.bias - y));
};

// Five steps; the parameters after the first and the last are those of the reference.
template <class Step>
void check_trajectory(const char* name, Step step) {
  INFO(name);
  const auto reference = training_reference()["optimizers"][name];
  REQUIRE(reference.size() == 2);
  const sn::tensor<double, 2> x = wave<2>({4, 2}, 1), y = wave<2>({4, 3}, 2);
  model m = start();
  for (int t = 1; t <= 5; ++t) {
    step(m, x, y);
    if (t != 1 && t != 5) continue;
    const auto& expected = reference[t == 1 ? 0 : 1];
    REQUIRE(expected.size() == 9);
    for (std::size_t i = 0; i < 9; ++i) {
      const double got = i < 6 ? m.only.weight.data()[i] : m.only.bias.data()[i - 6];
      CHECK(got == doctest::Approx(expected[i].get<double>()).epsilon(1e-9));
    }
  }
  CHECK(m.seen.value == start().seen.value);
}

}  // namespace

TEST_CASE("sgd, with decay, momentum and Nesterov's") {
  auto plain = sn::fuse([](auto m, auto x, auto y, auto rate) {
    const auto g = sn::gradients(loss_of(m, x, y), m);
    return sn::outputs(sn::sgd{}.update(m, g, rate));
  });
  check_trajectory("sgd", [&](auto& m, auto& x, auto& y) { plain(m, x, y, 0.1); });
  auto decayed = sn::fuse([](auto m, auto x, auto y) {
    const auto g = sn::gradients(loss_of(m, x, y), m);
    return sn::outputs(sn::sgd{.weight_decay = 0.05}.update(m, g, 0.1));
  });
  check_trajectory("sgd_decay", [&](auto& m, auto& x, auto& y) { decayed(m, x, y); });
  auto heavy = sn::fuse([](auto m, auto s, auto x, auto y, auto rate) {
    const auto g = sn::gradients(loss_of(m, x, y), m);
    return sn::outputs(sn::sgd{.momentum = 0.9}.update(m, g, s, rate));
  });
  auto state = sn::sgd_state<model>::make(start());
  check_trajectory("momentum", [&](auto& m, auto& x, auto& y) { heavy(m, state, x, y, 0.1); });
  auto nesterov = sn::fuse([](auto m, auto s, auto x, auto y, auto rate) {
    const auto g = sn::gradients(loss_of(m, x, y), m);
    const sn::sgd rule{.momentum = 0.9, .weight_decay = 0.05, .nesterov = true};
    return sn::outputs(rule.update(m, g, s, rate));
  });
  state = sn::sgd_state<model>::make(start());
  check_trajectory("nesterov", [&](auto& m, auto& x, auto& y) { nesterov(m, state, x, y, 0.1); });
}

TEST_CASE("adam, with decay in the gradient and apart from it") {
  auto plain = sn::fuse([](auto m, auto s, auto x, auto y, auto rate) {
    return sn::outputs(sn::adam{}.update(m, sn::gradients(loss_of(m, x, y), m), s, rate));
  });
  auto state = sn::adam_state<model>::make(start());
  check_trajectory("adam", [&](auto& m, auto& x, auto& y) { plain(m, state, x, y, 0.1); });
  CHECK(state.steps.item() == 5);
  auto decayed = sn::fuse([](auto m, auto s, auto x, auto y, auto rate) {
    const sn::adam rule{.weight_decay = 0.05};
    return sn::outputs(rule.update(m, sn::gradients(loss_of(m, x, y), m), s, rate));
  });
  state = sn::adam_state<model>::make(start());
  check_trajectory("adam_decay", [&](auto& m, auto& x, auto& y) { decayed(m, state, x, y, 0.1); });
  auto decoupled = sn::fuse([](auto m, auto s, auto x, auto y, auto rate) {
    return sn::outputs(sn::adam_w(0.05).update(m, sn::gradients(loss_of(m, x, y), m), s, rate));
  });
  state = sn::adam_state<model>::make(start());
  check_trajectory("adam_w", [&](auto& m, auto& x, auto& y) { decoupled(m, state, x, y, 0.1); });
}

TEST_CASE("rmsprop and lion") {
  auto by_root = sn::fuse([](auto m, auto s, auto x, auto y, auto rate) {
    return sn::outputs(sn::rmsprop{}.update(m, sn::gradients(loss_of(m, x, y), m), s, rate));
  });
  auto roots = sn::rmsprop_state<model>::make(start());
  check_trajectory("rmsprop", [&](auto& m, auto& x, auto& y) { by_root(m, roots, x, y, 0.1); });
  auto by_sign = sn::fuse([](auto m, auto s, auto x, auto y, auto rate) {
    const sn::lion rule{.weight_decay = 0.05};
    return sn::outputs(rule.update(m, sn::gradients(loss_of(m, x, y), m), s, rate));
  });
  auto momentum = sn::lion_state<model>::make(start());
  check_trajectory("lion", [&](auto& m, auto& x, auto& y) { by_sign(m, momentum, x, y, 0.1); });
}

TEST_CASE("clipping by norm and by value") {
  auto by_norm = sn::fuse([](auto m, auto x, auto y) {
    const auto g = sn::gradients(loss_of(m, x, y), m);
    return sn::outputs(sn::sgd{}.update(m, sn::clip_by_global_norm(g, 0.3), 0.1));
  });
  check_trajectory("clipped_by_norm", [&](auto& m, auto& x, auto& y) { by_norm(m, x, y); });
  auto by_value = sn::fuse([](auto m, auto x, auto y) {
    const auto g = sn::gradients(loss_of(m, x, y), m);
    return sn::outputs(sn::sgd{}.update(m, sn::clip_by_value(g, 0.1), 0.1));
  });
  check_trajectory("clipped_by_value", [&](auto& m, auto& x, auto& y) { by_value(m, x, y); });
  auto norm = sn::fuse([](auto m) { return sn::global_norm(m); });
  const affine<sn::stored<float>> m{{{3, 0}}, {4, 12}};
  CHECK(norm(m).item() == 13);
  // Below the limit nothing changes, not even zeros.
  auto clipped = sn::fuse([](auto a) { return sn::clip_by_global_norm(a, 20.0); });
  affine<sn::stored<float>> out{};
  clipped.into(out)(m);
  CHECK(out.weight == m.weight);
  const affine<sn::stored<float>> zeros{{{0, 0}}, {0, 0}};
  clipped.into(out)(zeros);
  CHECK(out.bias == zeros.bias);
}

TEST_CASE("an f32 step with a rate in double changes every parameter by the rate, and plans once") {
  auto step = sn::fuse([](auto m, auto s, auto rate) {
    const auto loss = sn::sum(m.weight) * 2.0f + sn::sum(m.bias);
    return sn::outputs(loss, sn::adam{}.update(m, sn::gradients(loss, m), s, rate));
  });
  using single = affine<sn::stored<float>>;
  single m{{{1, 2}, {3, 4}}, {5, 6, 7}};
  auto state = sn::adam_state<single>::make(m);
  const auto rate = sn::schedules::warm_up(4, sn::schedules::constant(0.5));
  double total = 0;
  for (std::int64_t t = 0; t < 8; ++t) {
    total += rate(t);
    sn::tensor<float, 0> loss = step(m, state, rate(t));
  }
  CHECK(total == 2.75);
  CHECK(m.weight(0, 0) == doctest::Approx(1 - total).epsilon(1e-5));
  CHECK(m.bias(2) == doctest::Approx(7 - total).epsilon(1e-5));
  CHECK(step.statistics().saturations == 1);
}

TEST_CASE("schedules are functions of the step number") {
  namespace schedules = sn::schedules;
  CHECK(schedules::constant(0.5)(1000) == 0.5);
  const auto halved = schedules::step_decay(8, 10, 0.5);
  CHECK(halved(0) == 8);
  CHECK(halved(9) == 8);
  CHECK(halved(10) == 4);
  CHECK(halved(39) == 1);
  CHECK(schedules::exponential(2, 0.5)(3) == 0.25);
  const auto line = schedules::linear(1, 3, 4);
  CHECK(line(1) == 1.5);
  CHECK(line(4) == 3);
  CHECK(line(400) == 3);
  const auto wave_down = schedules::cosine(1, 0.5, 10);
  CHECK(wave_down(0) == 1);
  CHECK(wave_down(5) == doctest::Approx(0.75));
  CHECK(wave_down(10) == 0.5);
  CHECK(wave_down(11) == 0.5);
  const auto warmed = schedules::warm_up(4, halved);
  CHECK(warmed(0) == 0);
  CHECK(warmed(2) == 4);
  CHECK(warmed(4) == 8);
  CHECK(warmed(13) == 8);
  CHECK(warmed(14) == 4);
  const auto two = schedules::then(schedules::constant(1), 3, schedules::exponential(8, 0.5));
  CHECK(two(2) == 1);
  CHECK(two(3) == 8);
  CHECK(two(4) == 4);
}

}  // namespace optimizer_test
