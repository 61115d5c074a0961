// SPDX-License-Identifier: MIT
// A batch at inference, with weights that are frozen and without.
#include <algorithm>
#include <cstdint>
#include <random>

#include <benchmark/benchmark.h>

#include <sinter/sinter.hpp>

namespace {

namespace sn = sinter;

template <class Tensor>
Tensor uniform(Tensor out, float low, float high) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> numbers(low, high);
  std::ranges::generate(out, [&] { return numbers(random); });
  return out;
}

sn::tensor<float, 1> vector(std::int64_t n, float low = -1, float high = 1) {
  return uniform(sn::tensor<float, 1>(n), low, high);
}

sn::tensor<float, 2> matrix_of(std::int64_t rows, std::int64_t columns, float low = -1,
                               float high = 1) {
  return uniform(sn::tensor<float, 2>(rows, columns), low, high);
}

// A batch at inference, by its rows: RMS norm, a layer with batch norm and relu, a layer. Frozen,
// the norms are in the weights, which are packed.
template <bool Frozen>
void inference(benchmark::State& state) {
  const std::int64_t rows = state.range(0), width = 768;
  auto x = matrix_of(rows, width), w1 = matrix_of(width, width, -0.05f, 0.05f),
       w2 = matrix_of(width, width, -0.05f, 0.05f), out = matrix_of(rows, width);
  auto weight = vector(width), mean = vector(width), variance = vector(width, 0.5f, 2),
       scale = vector(width), shift = vector(width);
  auto f =
      sn::fuse([](auto m, auto g, auto w_1, auto mu, auto var, auto gamma, auto beta, auto w_2) {
        auto h = sn::matmul(sn::rms_norm(m) * g, w_1);
        return sn::matmul(sn::relu((h - mu) * sn::rsqrt(var + 1e-5f) * gamma + beta), w_2);
      });
  for (auto _ : state) {
    if constexpr (Frozen)
      f.into(out)(x, sn::frozen(weight), sn::frozen(w1), sn::frozen(mean), sn::frozen(variance),
                  sn::frozen(scale), sn::frozen(shift), sn::frozen(w2));
    else
      f.into(out)(x, weight, w1, mean, variance, scale, shift, w2);
  }
  state.counters["GFLOP/s"] = benchmark::Counter(4e-9 * static_cast<double>(rows * width * width),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(inference<false>)
    ->Name("inference/ordinary")
    ->Arg(2)
    ->Arg(8)
    ->Arg(32)
    ->Arg(256)
    ->UseRealTime();
BENCHMARK(inference<true>)
    ->Name("inference/frozen")
    ->Arg(2)
    ->Arg(8)
    ->Arg(32)
    ->Arg(256)
    ->UseRealTime();

}  // namespace
