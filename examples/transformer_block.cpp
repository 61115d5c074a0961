// SPDX-License-Identifier: MIT
// A block of a transformer (causal attention and a feed-forward network, norms in front), forward
// and backward: loss and the gradients of all its weights are one function, planned once. Plain
// loops check the result, and differences of it the gradients.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <sinter/layers/layers.hpp>
#include <sinter/sinter.hpp>

namespace sn = sinter;

namespace {

constexpr std::int64_t places = 24, width = 32, heads = 4, inner = 64;

using floats = sn::stored<double>;  // of double, so that differences show slopes
using block = sn::layers::decoder_block<floats, false>;
using matrix = sn::tensor<double, 2>;

matrix linear(const matrix& x, const sn::layers::linear<floats>& layer) {
  matrix out(x.extent(0), layer.weight.extent(1));
  for (std::int64_t i = 0; i < out.extent(0); ++i)
    for (std::int64_t j = 0; j < out.extent(1); ++j) {
      out(i, j) = layer.bias(j);
      for (std::int64_t k = 0; k < x.extent(1); ++k) out(i, j) += x(i, k) * layer.weight(k, j);
    }
  return out;
}

matrix norm(const matrix& x, const sn::layers::layer_norm<floats>& layer) {
  matrix out = x;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    double mean = 0, variance = 1e-5;
    for (std::int64_t j = 0; j < width; ++j) mean += x(i, j) / width;
    for (std::int64_t j = 0; j < width; ++j) variance += std::pow(x(i, j) - mean, 2) / width;
    for (std::int64_t j = 0; j < width; ++j)
      out(i, j) = (x(i, j) - mean) / std::sqrt(variance) * layer.weight(j) + layer.bias(j);
  }
  return out;
}

matrix attention(const matrix& x, const sn::layers::multi_head_attention<floats>& layer) {
  const matrix q = linear(x, layer.query), k = linear(x, layer.key), v = linear(x, layer.value);
  constexpr std::int64_t depth = width / heads;
  matrix mixed(places, width);
  for (std::int64_t first = 0; first < width; first += depth)
    for (std::int64_t i = 0; i < places; ++i) {
      std::vector<double> weight;
      double total = 0;
      for (std::int64_t j = 0; j <= i; ++j) {
        double score = 0;
        for (std::int64_t d = first; d < first + depth; ++d) score += q(i, d) * k(j, d);
        total += weight.emplace_back(std::exp(score / std::sqrt(depth)));
      }
      for (std::int64_t j = 0; j <= i; ++j)
        for (std::int64_t d = first; d < first + depth; ++d)
          mixed(i, d) += weight[static_cast<std::size_t>(j)] / total * v(j, d);
    }
  return linear(mixed, layer.output);
}

double loss_in_loops(const block& b, const matrix& x, const matrix& target) {
  matrix y = attention(norm(x, b.attention_norm), b.attention);
  for (std::int64_t i = 0; i < x.size(); ++i) y.data()[i] += x.data()[i];
  matrix h = linear(norm(y, b.network_norm), b.network.expand);
  for (double& each : h) each *= std::erfc(-each / std::sqrt(2.0)) / 2;  // gelu
  h = linear(h, b.network.contract);
  double loss = 0;
  for (std::int64_t i = 0; i < x.size(); ++i)
    loss += std::pow(y.data()[i] + h.data()[i] - target.data()[i], 2) / (places * width);
  return loss;
}

}  // namespace

int main() {
  auto learn = sn::fuse([](auto b, auto x, auto target) {
    sn::forward_pass pass = sn::training();
    const auto y = b(x, pass, {.attention = {.heads = heads}});
    const auto loss = sn::mse(y, target);
    return sn::outputs(loss, sn::gradients(loss, b));
  });

  sn::initialiser init(5);
  block b = block::make(width, inner, init);
  matrix x(places, width), target(places, width);
  init.normal(x, 0, 1);
  init.normal(target, 0, 1);
  const auto [loss, slopes] = learn(b, x, target);

  const double expected = loss_in_loops(b, x, target);
  std::printf("loss %.12f, in loops %.12f\n", loss.item(), expected);
  bool right = std::abs(loss.item() - expected) < 1e-10;

  // Some of the weights, one at a time a little up and down.
  const auto check = [&](const char* name, double& weight, double slope) {
    constexpr double step = 1e-5;
    const double kept = weight;
    weight = kept + step;
    const double above = loss_in_loops(b, x, target);
    weight = kept - step;
    const double difference = (above - loss_in_loops(b, x, target)) / (2 * step);
    weight = kept;
    std::printf("slope of %-16s %13.10f, by differences %13.10f\n", name, slope, difference);
    right = right && std::abs(slope - difference) < 1e-8;
  };
  check("query", b.attention.query.weight(3, 7), slopes.attention.query.weight(3, 7));
  check("key", b.attention.key.weight(30, 9), slopes.attention.key.weight(30, 9));
  check("value", b.attention.value.bias(5), slopes.attention.value.bias(5));
  check("attention norm", b.attention_norm.weight(0), slopes.attention_norm.weight(0));
  check("network norm", b.network_norm.bias(31), slopes.network_norm.bias(31));
  check("expand", b.network.expand.weight(1, 60), slopes.network.expand.weight(1, 60));
  check("contract", b.network.contract.weight(63, 2), slopes.network.contract.weight(63, 2));
  if (!right) std::puts("transformer_block: these differ");
  return right ? 0 : 1;
}
