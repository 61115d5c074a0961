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

// cos and sin of p 10000^(-2 i / depth): [length, depth / 2].
struct angles {
  sn::tensor<float, 2> cos, sin;
  angles(std::int64_t length, std::int64_t depth) : cos(length, depth / 2), sin(length, depth / 2) {
    for (std::int64_t p = 0; p < length; ++p)
      for (std::int64_t i = 0; i < depth / 2; ++i) {
        const double angle =
            static_cast<double>(p) *
            std::pow(10000, -2.0 * static_cast<double>(i) / static_cast<double>(depth));
        cos.data()[p * depth / 2 + i] = static_cast<float>(std::cos(angle));
        sin.data()[p * depth / 2 + i] = static_cast<float>(std::sin(angle));
      }
  }
};

void rope_attention_sinter(benchmark::State& state) {
  inputs x(state.range(0), state.range(1), 64);
  const angles table(state.range(1), 64);
  auto f = sn::fuse([](auto q, auto k, auto v, auto c, auto s) {
    const auto turned = [&](auto y) {
      auto a = sn::slice(y, -1, 0, 32), b = sn::slice(y, -1, 32, 64);
      return sn::concat(-1, a * c - b * s, b * c + a * s);
    };
    return sn::matmul(
        sn::softmax(sn::matmul(turned(q), sn::permute(turned(k), {0, 2, 1})) * 0.125f), v);
  });
  for (auto _ : state) f.into(x.out)(x.q, x.k, x.v, table.cos, table.sin);
  count_flops(state, flops(state.range(0), state.range(1), 64));
}

void rope_composite_sinter(benchmark::State& state) {
  inputs x(state.range(0), state.range(1), 64);
  auto f = sn::fuse([](auto q, auto k, auto v) {
    return sn::matmul(
        sn::softmax(sn::matmul(sn::rope(q), sn::permute(sn::rope(k), {0, 2, 1})) * 0.125f), v);
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

void attention_with_eigen(benchmark::State& state, bool causal, bool rope) {
  const std::int64_t heads = state.range(0), length = state.range(1), depth = 64;
  inputs x(heads, length, depth);
  const angles table(length, depth);
  const Eigen::Map<const matrix> c(table.cos.data(), length, depth / 2),
      s(table.sin.data(), length, depth / 2);
  matrix scores(length, length), turned_q(length, depth), turned_k(length, depth);
  const auto turn = [&](const auto& from, matrix& to) {
    const auto a = from.leftCols(depth / 2).array(), b = from.rightCols(depth / 2).array();
    to.leftCols(depth / 2) = a * c.array() - b * s.array();
    to.rightCols(depth / 2) = b * c.array() + a * s.array();
  };
  for (auto _ : state) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t at = h * length * depth;
      const Eigen::Map<matrix> q(x.q.data() + at, length, depth), k(x.k.data() + at, length, depth),
          v(x.v.data() + at, length, depth);
      Eigen::Map<matrix> out(x.out.data() + at, length, depth);
      if (rope) {
        turn(q, turned_q);
        turn(k, turned_k);
        scores.noalias() = turned_q * turned_k.transpose();
      } else {
        scores.noalias() = q * k.transpose();
      }
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
void attention_eigen(benchmark::State& state) { attention_with_eigen(state, false, false); }
void causal_attention_eigen(benchmark::State& state) { attention_with_eigen(state, true, false); }
void rope_attention_eigen(benchmark::State& state) { attention_with_eigen(state, false, true); }

BENCHMARK(attention_sinter)->Name("attention/sinter")->Args({12, 512})->UseRealTime();
BENCHMARK(attention_eigen)->Name("attention/eigen")->Args({12, 512})->UseRealTime();
BENCHMARK(rope_attention_sinter)->Name("rope_attention/sinter")->Args({12, 512})->UseRealTime();
BENCHMARK(rope_composite_sinter)
    ->Name("rope_attention/sinter_composite")
    ->Args({12, 512})
    ->UseRealTime();
BENCHMARK(rope_attention_eigen)->Name("rope_attention/eigen")->Args({12, 512})->UseRealTime();
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
