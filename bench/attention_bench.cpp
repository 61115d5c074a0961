// SPDX-License-Identifier: MIT
// Attention per head: softmax(q k^T / sqrt(d)) v, with and without a causal mask. Eigen computes
// two products per head and a softmax row by row between them, in a buffer for one head's scores.
#include <cmath>

#include "support.hpp"

namespace {

using namespace bench;

sn::tensor<float, 3> heads_of(std::int64_t heads, std::int64_t length, std::int64_t depth,
                              unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  sn::tensor<float, 3> out(heads, length, depth);
  std::ranges::generate(out, [&] { return uniform(random); });
  return out;
}

struct inputs {
  sn::tensor<float, 3> q, k, v, out;
  inputs(std::int64_t heads, std::int64_t length, std::int64_t depth)
      : q(heads_of(heads, length, depth, 1)),
        k(heads_of(heads, length, depth, 2)),
        v(heads_of(heads, length, depth, 3)),
        out(heads, length, depth) {}
};

double flops(std::int64_t heads, std::int64_t length, std::int64_t depth) {
  return 4.0 * static_cast<double>(heads * length * length * depth);
}

void attention_sinter(benchmark::State& state) {
  inputs x(state.range(0), state.range(1), 64);
  auto f = sn::fuse([](auto q, auto k, auto v) {
    return sn::matmul(sn::softmax(sn::matmul(q, sn::permute(k, {0, 2, 1})) * 0.125f), v);
  });
  for (auto _ : state) f.into(x.out)(x.q, x.k, x.v);
  count_flops(state, flops(state.range(0), state.range(1), 64));
}

void causal_attention_sinter(benchmark::State& state) {
  inputs x(state.range(0), state.range(1), 64);
  auto f = sn::fuse([](auto q, auto k, auto v) {
    auto scores = sn::matmul(q, sn::permute(k, {0, 2, 1})) * 0.125f;
    auto row = sn::iota_like(scores, 1), column = sn::iota_like(scores, 2);
    return sn::matmul(sn::softmax(sn::where(row >= column, scores, -1e30f)), v);
  });
  for (auto _ : state) f.into(x.out)(x.q, x.k, x.v);
  count_flops(state, flops(state.range(0), state.range(1), 64));
}

void attention_with_eigen(benchmark::State& state, bool causal) {
  const std::int64_t heads = state.range(0), length = state.range(1), depth = 64;
  inputs x(heads, length, depth);
  matrix scores(length, length);
  for (auto _ : state) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t at = h * length * depth;
      const Eigen::Map<matrix> q(x.q.data() + at, length, depth), k(x.k.data() + at, length, depth),
          v(x.v.data() + at, length, depth);
      Eigen::Map<matrix> out(x.out.data() + at, length, depth);
      scores.noalias() = q * k.transpose();
      for (std::int64_t i = 0; i < length; ++i) {
        auto row = scores.row(i).array();
        if (causal) row.tail(length - i - 1) = -1e30f;
        row = ((row - row.maxCoeff()) * 0.125f).exp();
        row *= 1 / row.sum();
      }
      out.noalias() = scores * v;
    }
    benchmark::ClobberMemory();
  }
  count_flops(state, flops(heads, length, depth));
}
void attention_eigen(benchmark::State& state) { attention_with_eigen(state, false); }
void causal_attention_eigen(benchmark::State& state) { attention_with_eigen(state, true); }

BENCHMARK(attention_sinter)->Name("attention/sinter")->Args({12, 512})->UseRealTime();
BENCHMARK(attention_eigen)->Name("attention/eigen")->Args({12, 512})->UseRealTime();
BENCHMARK(causal_attention_sinter)
    ->Name("causal_attention/sinter")
    ->Args({4, 4096})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(causal_attention_eigen)
    ->Name("causal_attention/eigen")
    ->Args({4, 4096})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
