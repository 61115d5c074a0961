// SPDX-License-Identifier: MIT
// Layers: their modes, running statistics and caches; recurrent cells against reference values;
// transformer blocks against what they are made of; gradients against central differences.
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "support/check_function.hpp"
#include "support/reference_wave.hpp"
#include <sinter/layers/layers.hpp>
#include <sinter/training/training.hpp>

namespace network_test {

namespace sn = sinter;
namespace layers = sinter::layers;
using namespace test_support;

namespace {

using handles = std::vector<sn::handle>;
using floats = sn::stored<float>;
using doubles = sn::stored<double>;

// The handles from `first` on as a struct.
template <template <class...> class Layer>
Layer<sn::handles> layer_of(const handles& a, std::size_t first) {
  return sn::structure_of<Layer<sn::handles>>(std::span(a).subspan(first));
}

template <class Tensor>
void check_close(const Tensor& got, const Tensor& expected, double tolerance) {
  REQUIRE(got.shape() == expected.shape());
  for (std::int64_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    CHECK(close(got.data()[i], expected.data()[i], tolerance, tolerance));
  }
}

sn::tensor<float, 3> numbered(std::int64_t a, std::int64_t b, std::int64_t c, double seed = 0) {
  sn::tensor<float, 3> out(a, b, c);
  const auto from = wave<3>({a, b, c}, seed);
  for (std::int64_t i = 0; i < out.size(); ++i) out.data()[i] = static_cast<float>(from.data()[i]);
  return out;
}

}  // namespace

TEST_CASE("layers of one function apply it to their parameters") {
  sn::initialiser init(1);
  const auto project = layers::linear<floats>::make(3, 2, init);
  CHECK(project.weight.shape() == sn::shape_vector{3, 2});
  CHECK(project.bias == sn::tensor<float, 1>{0, 0});
  const sn::tensor<float, 2> x{{1, 2, 3}};
  const sn::tensor<float, 2> y = project(x), expected = sn::matmul(x, project.weight);
  CHECK(y == expected);
  const auto bare = layers::linear<floats, false>::make(3, 2, init);
  static_assert(sn::parameter_count<layers::linear<sn::handles, false>> == 1);
  CHECK(bare.weight != project.weight);

  const auto table = layers::embedding<floats>::make(5, 3, init);
  const sn::tensor<float, 2> rows = table(sn::tensor<std::int32_t, 1>{4, 0});
  CHECK(rows(0, 2) == table.weight(4, 2));
  const sn::tensor<float, 2> scores = table.scores(x);
  CHECK(scores.shape() == sn::shape_vector{1, 5});

  const auto filters = layers::conv2d<floats>::make(4, 6, {3, 2}, init, 2);
  CHECK(filters.weight.shape() == sn::shape_vector{6, 2, 3, 2});
  sn::tensor<float, 4> images(2, 4, 5, 5);
  images.fill(0.5f);
  const sn::convolution_options options{
      .stride = 2, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2};
  auto convolve = sn::fuse([](auto layer, auto in) {
    return layer(in, {.stride = 2, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2});
  });
  const sn::tensor<float, 4> c = convolve(filters, images);
  const sn::tensor<float, 4> by_hand = sn::conv2d(images, filters.weight, filters.bias, options);
  check_close(c, by_hand, 1e-6);

  const auto norm = layers::layer_norm<floats>::make(3);
  const auto root = layers::rms_norm<floats>::make(3);
  const sn::tensor<float, 2> n = norm(x), n_expected = sn::layer_norm(x), r = root(x),
                             r_expected = sn::rms_norm(x);
  check_close(n, n_expected, 1e-6);
  check_close(r, r_expected, 1e-6);
  const auto groups = layers::group_norm<floats>::make(4);
  const sn::tensor<float, 4> g = groups(images, 2);
  CHECK(g(0, 0, 0, 0) == doctest::Approx(0));
}

TEST_CASE("batch norm: the batch's statistics in training, the running ones in inference") {
  auto train = sn::fuse([](auto layer, auto x) {
    auto pass = sn::training();
    const auto y = layer(x, pass, {.eps = 1e-3, .momentum = 0.25});
    return sn::outputs(y, pass.updates());
  });
  auto infer = sn::fuse([](auto layer, auto x) {
    auto pass = sn::inference();
    const auto y = layer(x, pass, {.eps = 1e-3});
    return sn::outputs(y, pass.updates());
  });
  for (const int rank : {2, 4}) {
    auto layer = layers::batch_norm<doubles>::make(3);
    layer.weight = sn::tensor<double, 1>{1, 2, 0.5};
    layer.bias = sn::tensor<double, 1>{0, 1, -1};
    std::array<double, 3> mean{}, variance{1, 1, 1};
    for (int step = 0; step < 3; ++step) {
      const sn::tensor<double, 4> images = wave<4>({4, 3, 2, 5}, step);
      const sn::tensor<double, 2> rows = wave<2>({4, 3}, step);
      const std::int64_t behind = rank == 4 ? 10 : 1;
      const auto trained = [&](std::int64_t i) {
        return rank == 4 ? images.data()[i] : rows.data()[i];
      };
      sn::tensor<double, 4> y4;
      sn::tensor<double, 2> y2;
      if (rank == 4)
        y4 = train(layer, images);
      else
        y2 = train(layer, rows);
      for (std::int64_t c = 0; c < 3; ++c) {
        double total = 0, squares = 0;
        const double count = static_cast<double>(4 * behind);
        const auto place = [&](std::int64_t n, std::int64_t k) { return (n * 3 + c) * behind + k; };
        for (std::int64_t n = 0; n < 4; ++n)
          for (std::int64_t k = 0; k < behind; ++k) total += trained(place(n, k));
        for (std::int64_t n = 0; n < 4; ++n)
          for (std::int64_t k = 0; k < behind; ++k)
            squares += std::pow(trained(place(n, k)) - total / count, 2);
        const auto at = static_cast<std::size_t>(c);
        mean[at] += 0.25 * (total / count - mean[at]);
        variance[at] += 0.25 * (squares / (count - 1) - variance[at]);
        CHECK(layer.mean.value(c) == doctest::Approx(mean[at]).epsilon(1e-12));
        CHECK(layer.variance.value(c) == doctest::Approx(variance[at]).epsilon(1e-12));
        const double expected = (trained(place(1, 0)) - total / count) /
                                    std::sqrt(squares / count + 1e-3) * layer.weight(c) +
                                layer.bias(c);
        CHECK((rank == 4 ? y4(1, c, 0, 0) : y2(1, c)) == doctest::Approx(expected));
      }
    }
    const auto before = layer;
    const sn::tensor<double, 2> x = wave<2>({1, 3}, 9);
    const sn::tensor<double, 2> y = infer(layer, x);
    for (std::int64_t c = 0; c < 3; ++c)
      CHECK(y(0, c) ==
            doctest::Approx((x(0, c) - layer.mean.value(c)) /
                                std::sqrt(layer.variance.value(c) + 1e-3) * layer.weight(c) +
                            layer.bias(c)));
    CHECK(layer.mean.value == before.mean.value);
    CHECK(layer.variance.value == before.variance.value);
  }
}

TEST_CASE("an optimizer leaves running statistics to the batch norm") {
  auto step = sn::fuse([](auto layer, auto state, auto x) {
    auto pass = sn::training();
    const auto loss = sn::mean(sn::square(layer(x, pass) - 1.0));
    return sn::outputs(loss, sn::adam_w(0.1).update(layer, sn::gradients(loss, layer), state, 0.1),
                       pass.updates());
  });
  auto layer = layers::batch_norm<floats>::make(2);
  auto state = sn::adam_state<layers::batch_norm<floats>>::make(layer);
  const sn::tensor<float, 2> x{{0, 10}, {2, 14}};
  sn::tensor<float, 0> loss = step(layer, state, x);
  CHECK(layer.mean.value(1) == doctest::Approx(1.2f));
  CHECK(layer.variance.value(0) == doctest::Approx(0.9f + 0.1f * 2));
  CHECK(layer.bias(0) == doctest::Approx(0.1f));
}

TEST_CASE("dropout: masked and scaled in training, nothing in inference") {
  auto train = sn::fuse([](auto x, auto key) {
    const auto y = layers::dropout(x, sn::training(key), 0.25);
    const auto [slope] = sn::gradients(sn::sum(y), x);
    return sn::outputs(y, slope);
  });
  sn::tensor<double, 1> x(10000);
  x.fill(3);
  const auto [y, slope] = train(x, 5);
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const bool is_kept = y(i) != 0;
    kept += is_kept ? 1 : 0;
    if (y(i) != (is_kept ? 3 / 0.75 : 0) || slope(i) != (is_kept ? 1 / 0.75 : 0))
      FAIL("element " << i << ": " << y(i) << ", slope " << slope(i));
  }
  CHECK(kept > 7300);
  CHECK(kept < 7700);
  const auto [again, same] = train(x, 5);
  CHECK(again == y);
  const auto [other, differs] = train(x, 6);
  CHECK(other != y);
  auto infer = sn::fuse([](auto in) { return layers::dropout(in, sn::inference(), 0.25) + 0.0; });
  CHECK(infer(x) == x);
  auto keyless = sn::fuse([](auto in) { return layers::dropout(in, sn::training(), 0.25); });
  CHECK_THROWS_AS(keyless(x), sn::graph_error);
}

TEST_CASE("recurrent cells compute the reference's sequences") {
  const auto reference = training_reference()["cells"];
  const auto check = [&](const char* name, auto&& outputs) {
    INFO(name);
    const sn::tensor<double, 3> got = outputs;
    REQUIRE(reference[name].size() == 12);
    REQUIRE(got.shape() == sn::shape_vector{3, 2, 2});
    for (std::size_t i = 0; i < 12; ++i)
      CHECK(got.data()[i] == doctest::Approx(reference[name][i].get<double>()).epsilon(1e-10));
  };
  const sn::tensor<double, 3> x = wave<3>({3, 2, 3}, 1);
  const sn::tensor<double, 2> h = wave<2>({2, 2}, 6), c = wave<2>({2, 2}, 7);
  auto one = sn::fuse([](auto cell, auto in, auto state) {
    const auto out = layers::unroll(cell, in, 3, {state});
    return sn::outputs(out.outputs, out.state);
  });
  auto two = sn::fuse([](auto cell, auto in, auto state, auto memory) {
    const auto out = layers::unroll(cell, in, 3, {state, memory});
    return sn::outputs(out.outputs, out.state);
  });
  const layers::rnn_cell<doubles> rnn{wave<2>({3, 2}, 2), wave<2>({2, 2}, 3), wave<1>({2}, 4)};
  const auto [y, last] = one(rnn, x, h);
  check("rnn", y);
  CHECK(last(1, 1) == y(2, 1, 1));
  const layers::lstm_cell<doubles> lstm{wave<2>({3, 8}, 2), wave<2>({2, 8}, 3), wave<1>({8}, 4)};
  check("lstm", std::get<0>(two(lstm, x, h, c)));
  const layers::gru_cell<doubles> gru{wave<2>({3, 6}, 2), wave<2>({2, 6}, 3), wave<1>({6}, 4),
                                      wave<1>({6}, 5)};
  check("gru", std::get<0>(one(gru, x, h)));
  CHECK_THROWS_AS(one(gru, wave<3>({4, 2, 3}, 1), h), sn::shape_error);

  check_gradients(
      [](const handles& a) {
        return layers::unroll(layer_of<layers::lstm_cell>(a, 3), a[0], 2, {a[1], a[2]}).outputs;
      },
      {scattered({2, 1, 3}), scattered({1, 2}, 1), scattered({1, 2}, 2), scattered({3, 8}, 3),
       scattered({2, 8}, 4), scattered({8}, 5)});
  check_gradients(
      [](const handles& a) {
        return layers::unroll(layer_of<layers::gru_cell>(a, 2), a[0], 2, {a[1]}).outputs;
      },
      {scattered({2, 2, 1}), scattered({2, 2}, 1), scattered({1, 6}, 3), scattered({2, 6}, 4),
       scattered({6}, 5), scattered({6}, 6)});
}

TEST_CASE("decoding place by place with a cache is causal attention over the whole") {
  sn::initialiser init(3);
  const auto block = layers::decoder_block<floats, false>::make(16, 24, init, 2);
  const sn::tensor<float, 3> x = numbered(2, 6, 16);
  auto whole = sn::fuse([](auto b, auto in) {
    auto pass = sn::inference();
    return b(in, pass, {.attention = {.heads = 4, .group = 2, .rope_theta = 100}});
  });
  auto next = sn::fuse([](auto b, auto cache, auto in, auto position) {
    auto pass = sn::inference();
    const auto y =
        b(in, cache, position, pass, {.attention = {.heads = 4, .group = 2, .rope_theta = 100}});
    return sn::outputs(y, pass.updates());
  });
  const sn::tensor<float, 3> expected = whole(block, x);
  auto cache = layers::attention_cache<floats>::make(2, 2, 8, 4);
  // Three places at once, then one by one.
  for (const auto& [first, count] : {std::array{0, 3}, {3, 1}, {4, 1}, {5, 1}}) {
    sn::tensor<float, 3> part(2, count, 16);
    for (int n = 0; n < 2; ++n)
      for (int t = 0; t < count; ++t)
        for (int i = 0; i < 16; ++i) part(n, t, i) = x(n, first + t, i);
    const sn::tensor<float, 3> y = next(block, cache, part, first);
    for (int n = 0; n < 2; ++n)
      for (int t = 0; t < count; ++t)
        for (int i = 0; i < 16; ++i)
          CHECK(y(n, t, i) == doctest::Approx(expected(n, first + t, i)).epsilon(1e-4));
  }
}

TEST_CASE("transformer blocks are their parts, with norms in front or behind") {
  const auto block_of = [](const handles& a) { return layer_of<layers::encoder_block>(a, 1); };
  std::vector<reference_tensor> point{scattered({1, 3, 4})};
  int seed = 1;
  for (const shape_vector& shape : std::vector<shape_vector>{{4},
                                                             {4},
                                                             {4, 4},
                                                             {4},
                                                             {4, 4},
                                                             {4},
                                                             {4, 4},
                                                             {4},
                                                             {4, 4},
                                                             {4},
                                                             {4},
                                                             {4},
                                                             {4, 5},
                                                             {5},
                                                             {5, 4},
                                                             {4}})
    point.push_back(scattered(shape, seed++));
  for (const bool first : {true, false}) {
    const layers::transformer_settings settings{.attention = {.heads = 2}, .norm_first = first};
    const auto by_layer = [&](const handles& a) {
      auto pass = sn::inference();
      return block_of(a)(a[0], pass, settings);
    };
    const auto by_hand = [&](const handles& a) {
      const auto attended = [&](sn::handle x) {
        const auto out = sn::multi_head_attention(
            sn::matmul(x, a[3]) + a[4], sn::matmul(x, a[5]) + a[6], sn::matmul(x, a[7]) + a[8], 2);
        return sn::matmul(out, a[9]) + a[10];
      };
      const auto network = [&](sn::handle x) {
        return sn::matmul(sn::gelu(sn::matmul(x, a[13]) + a[14]), a[15]) + a[16];
      };
      const auto norm = [&](sn::handle x, std::size_t i) {
        return sn::layer_norm(x, a[i], a[i + 1]);
      };
      if (first) {
        const sn::handle x = a[0] + attended(norm(a[0], 1));
        return x + network(norm(x, 11));
      }
      const sn::handle x = norm(a[0] + attended(a[0]), 1);
      return norm(x + network(x), 11);
    };
    sn::ir::graph g;
    const handles x = arguments_of(g, point, false);
    g.outputs.push_back({by_hand(x).node.id, -1});
    check_values(by_layer, point, sn::ir::interpret(g, point)[0]);
    if (first) check_gradients(by_layer, point);
  }
}

TEST_CASE("a decoder block with a memory sees all of it, and no later place of its own") {
  sn::initialiser init(4);
  const auto block = layers::decoder_block<floats>::make(8, 16, init);
  auto f = sn::fuse([](auto b, auto in, auto memory) {
    auto pass = sn::inference();
    return b(in, memory, pass, {.attention = {.heads = 2}, .norm_first = false});
  });
  sn::tensor<float, 3> x = numbered(1, 4, 8), memory = numbered(1, 5, 8, 2);
  const sn::tensor<float, 3> y = f(block, x, memory);
  CHECK(y.shape() == x.shape());
  x(0, 3, 0) += 1;
  const sn::tensor<float, 3> later = f(block, x, memory);
  memory(0, 4, 0) += 1;
  const sn::tensor<float, 3> remembered = f(block, x, memory);
  for (int t = 0; t < 4; ++t) {
    bool same = true, moved = false;
    for (int i = 0; i < 8; ++i) {
      same = same && later(0, t, i) == doctest::Approx(y(0, t, i));
      moved = moved || remembered(0, t, i) != later(0, t, i);
    }
    CHECK(same == (t < 3));
    CHECK(moved);
  }
}

namespace {

template <class Kind>
struct language_model {
  layers::embedding<Kind> tokens, places;
  std::array<layers::decoder_block<Kind, false>, 2> blocks;
  layers::layer_norm<Kind> norm;

  constexpr sn::handle operator()(sn::handle ids, sn::forward_pass& pass) const {
    sn::handle x = tokens(ids) + places(sn::iota<std::int64_t>(sn::extent(ids, 1)));
    for (const auto& block : blocks)
      x = block(x, pass, {.attention = {.heads = 4}, .dropout = 0.05});
    return tokens.scores(norm(x));
  }
};

}  // namespace

TEST_CASE("a small language model learns a sequence") {
  sn::initialiser init(5);
  language_model<floats> model{};
  model.tokens = layers::embedding<floats>::make(20, 32, init);
  model.places = layers::embedding<floats>::make(16, 32, init);
  for (auto& block : model.blocks) block = layers::decoder_block<floats, false>::make(32, 64, init);
  model.norm = layers::layer_norm<floats>::make(32);
  auto state = sn::adam_state<language_model<floats>>::make(model);
  auto step = sn::fuse(
      sn::trace_in_first_call([](auto m, auto s, auto ids, auto next, auto key, auto rate) {
        auto pass = sn::training(key);
        const auto loss = sn::cross_entropy(m(ids, pass), next);
        const auto slopes = sn::clip_by_global_norm(sn::gradients(loss, m), 1.0);
        return sn::outputs(loss, sn::adam_w().update(m, slopes, s, rate), pass.updates());
      }));
  sn::tensor<std::int32_t, 2> ids(2, 16), next(2, 16);
  for (std::int32_t i = 0; i < 32; ++i) {
    ids.data()[i] = i * 7 % 20;
    next.data()[i] = (i + 1) * 7 % 20;
  }
  float first = 0, last = 0;
  for (int i = 0; i < 40; ++i) {
    const sn::tensor<float, 0> loss = step(model, state, ids, next, i, 0.005);
    (i == 0 ? first : last) = loss.item();
  }
  CHECK(first == doctest::Approx(std::log(20.0)).epsilon(0.1));
  CHECK(last < 0.2f * first);
}

}  // namespace network_test
