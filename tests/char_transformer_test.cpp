// SPDX-License-Identifier: MIT
// The parts of examples/char_transformer.cpp with a model of a few numbers: what it learns, that it
// goes on from a checkpoint as if it had not stopped, and that it writes with a cache as without.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../examples/char_transformer/language_model.hpp"
#include "../examples/char_transformer/vocabulary.hpp"
#include "../examples/char_transformer/windows.hpp"
#include "../examples/char_transformer/writer.hpp"
#include <sinter/training/checkpoint.hpp>

namespace char_transformer_test {

namespace lm = language_model;
namespace sn = sinter;

namespace {

constexpr lm::sizes tiny{.characters = 5, .width = 16};
constexpr std::int64_t length = 12, rows = 4;

// abcdeabcde...: all of it can be foreseen.
lm::numbered_text alphabet(std::size_t count) {
  lm::numbered_text out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::int32_t>(i % 5);
  return out;
}

using state = lm::training_state<lm::floats>;

// One function for all cases: its graph is the expensive part.
auto& train() {
  static auto step = sn::fuse(sn::trace_in_first_call(lm::train));
  return step;
}

float train_steps(state& s, std::int64_t until) {
  const lm::numbered_text text = alphabet(200);
  lm::shuffled_windows batches(text, length, rows, 3);
  sn::tensor<float, 0> loss;
  while (s.optimizer.steps.item() < until)
    train().into(loss)(s, batches.of_step(s.optimizer.steps.item()), 0.01f);
  return loss.item();
}

bool equal(const state& a, const state& b) {
  bool same = true;
  std::vector<sn::any_tensor> left, right;
  sn::for_each_parameter(a, [&](const auto& x) { left.emplace_back(x); });
  sn::for_each_parameter(b, [&](const auto& x) { right.emplace_back(x); });
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto bytes = [](const sn::any_tensor& x) {
      const auto* p = static_cast<const char*>(x.data());
      return std::string(p, p + static_cast<std::size_t>(x.size()) * sn::size_of(x.type()));
    };
    same = same && left[i].shape() == right[i].shape() && bytes(left[i]) == bytes(right[i]);
  }
  return same && left.size() == right.size();
}

}  // namespace

TEST_CASE("a few steps foresee an alphabet, and a checkpoint loses none of them") {
  state whole = state::make(tiny, 7);
  const float first = train_steps(whole, 1);
  CHECK(first > 1.4f);  // log 5 = 1.61
  CHECK(train_steps(whole, 40) < 0.2f);
  CHECK(train().statistics().saturations == 1);

  state part = state::make(tiny, 7);
  train_steps(part, 23);
  const std::string path =
      std::filesystem::temp_directory_path() / "char_transformer_test.safetensors";
  sn::save_checkpoint(path, part);
  state resumed = state::make(tiny, 8);
  CHECK_FALSE(equal(resumed, part));
  sn::load_checkpoint(path, resumed);
  std::filesystem::remove(path);
  CHECK(equal(resumed, part));
  train_steps(resumed, 40);
  CHECK(equal(resumed, whole));

  // It writes what comes next.
  lm::writer writer(whole.network, tiny, 20);
  const lm::writing_style safe{.temperature = 0.1, .top = 1};
  writer.read(0, safe);
  for (std::int32_t i = 1; i < 20; ++i) {
    const std::int32_t next = writer.drawn(safe);
    CHECK(next == i % 5);
    writer.read(next, safe);
  }
  CHECK(writer.position() == 20);
  CHECK(writer.statistics().saturations == 1);
  CHECK_THROWS_AS(writer.read(0, safe), sn::shape_error);
}

TEST_CASE("scores with a cache are those without") {
  state s = state::make(tiny, 7);
  const lm::numbered_text text{3, 1, 4, 1, 0, 2, 2, 3, 0, 1, 4};
  const auto places = static_cast<std::int64_t>(text.size());
  auto at_once = sn::fuse(sn::trace_in_first_call([](auto network, auto characters) {
    sn::forward_pass pass = sn::inference();
    return network(characters, pass);
  }));
  lm::batch all(1, places);
  std::copy(text.begin(), text.end(), all.begin());
  const sn::tensor<float, 3> expected = at_once(s.network, all);
  lm::writer writer(s.network, tiny, 32);
  for (std::int64_t i = 0; i < places; ++i) {
    writer.read(text[static_cast<std::size_t>(i)]);
    for (std::int64_t c = 0; c < tiny.characters; ++c)
      CHECK(writer.scores()(0, 0, c) == doctest::Approx(expected(0, i, c)).epsilon(1e-4));
  }
}

TEST_CASE("draws follow the temperature, stay among the best, and repeat with their key") {
  state s = state::make(tiny, 7);
  const auto written = [&](const lm::writing_style& style) {
    lm::writer writer(s.network, tiny, 60);
    lm::numbered_text out{0};
    for (int i = 0; i < 60; ++i) {
      writer.read(out.back(), style);
      out.push_back(writer.drawn(style));
    }
    return out;
  };
  const auto warm = written({.temperature = 100, .top = 5, .key = 1});
  CHECK(warm == written({.temperature = 100, .top = 5, .key = 1}));
  CHECK(warm != written({.temperature = 100, .top = 5, .key = 2}));
  for (std::int32_t c = 0; c < 5; ++c) CHECK(std::count(warm.begin(), warm.end(), c) > 3);
  CHECK(written({.temperature = 100, .top = 1}) == written({.temperature = 1e-6, .top = 5}));
}

TEST_CASE("characters are code points, numbered in their order") {
  const auto points = lm::code_points("b\xC3\xA9 a\xE2\x95\x90\xF0\x9F\x98\x80");
  CHECK(points == std::vector<std::int32_t>{'b', 0xE9, ' ', 'a', 0x2550, 0x1F600});
  const lm::vocabulary v(points);
  CHECK(v.size() == 6);
  CHECK(v.numbers(lm::code_points("ab")) == std::vector<std::int32_t>{1, 2});
  CHECK(v.character(5) == "\xF0\x9F\x98\x80");
  CHECK(v.character(4) == "\xE2\x95\x90");
  CHECK(v.character(3) == "\xC3\xA9");
  CHECK_THROWS_AS(v.number('c'), sn::io_error);
  for (const char* damaged : {"a\xC3", "\x80", "\xE2\x95", "\xFF", "\xC3z"})
    CHECK_THROWS_AS(lm::code_points(damaged), sn::io_error);
}

TEST_CASE("a text is split in blocks, and an epoch has each window once") {
  const lm::text_parts parts = lm::split(alphabet(107));
  CHECK(parts.held_out.size() == 10);
  CHECK(parts.training.size() == 97);

  lm::numbered_text text(100);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::int32_t>(i);
  lm::shuffled_windows batches(text, 10, 3, 1), again(text, 10, 3, 1);
  CHECK(batches.steps_per_epoch() == 3);
  std::vector<std::int32_t> starts;
  for (std::int64_t step = 0; step < 3; ++step) {
    const lm::batch& b = batches.of_step(step);
    for (int r = 0; r < 3; ++r) {
      starts.push_back(b(r, 0));
      for (int i = 0; i < 11; ++i) CHECK(b(r, i) == b(r, 0) + i);
    }
  }
  std::sort(starts.begin(), starts.end());
  for (std::size_t i = 1; i < starts.size(); ++i) CHECK(starts[i] - starts[i - 1] == 10);
  CHECK(again.of_step(5) == batches.of_step(5));
  CHECK(again.of_step(2) == batches.of_step(2));
  CHECK_THROWS_AS(lm::shuffled_windows(text, 40, 3, 1), sn::io_error);
  CHECK(lm::split({}).training.empty());
}

}  // namespace char_transformer_test
