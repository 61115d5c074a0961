// SPDX-License-Identifier: MIT
// Matmul with what surrounds it: bias and activation, two layers, a chain.
#include "support.hpp"

namespace {

using namespace bench;

template <class X>
auto eigen_gelu(const X& x) {
  // The tanh form; Eigen 3.4 has no vectorised erf.
  return 0.5f * x * (1.0f + (0.7978845608f * (x + 0.044715f * x.cube())).tanh());
}

void linear_gelu_sinter(benchmark::State& state) {
  auto x = matrix_of(512, 768), w = matrix_of(768, 3072, -0.05f, 0.05f), out = matrix_of(512, 3072);
  auto b = vector(3072);
  auto f = sn::fuse(
      [](auto m, auto weight, auto bias) { return sn::gelu_tanh(sn::matmul(m, weight) + bias); });
  for (auto _ : state) f.into(out)(x, w, b);
  count_flops(state, 2.0 * 512 * 768 * 3072);
}
void linear_gelu_eigen(benchmark::State& state) {
  auto x = matrix_of(512, 768), w = matrix_of(768, 3072, -0.05f, 0.05f), out = matrix_of(512, 3072);
  auto b = vector(3072);
  auto o = as_matrix(out);
  for (auto _ : state) {
    o.noalias() = as_matrix(x) * as_matrix(w);
    o.rowwise() += as_row(b);
    o.array() = eigen_gelu(o.array());
    benchmark::ClobberMemory();
  }
  count_flops(state, 2.0 * 512 * 768 * 3072);
}
BENCHMARK(linear_gelu_sinter)->Name("linear_gelu/sinter")->UseRealTime();
BENCHMARK(linear_gelu_eigen)->Name("linear_gelu/eigen")->UseRealTime();

void mlp_sinter(benchmark::State& state) {
  auto x = matrix_of(512, 768), w1 = matrix_of(768, 3072, -0.05f, 0.05f),
       w2 = matrix_of(3072, 768, -0.05f, 0.05f), out = matrix_of(512, 768);
  auto b1 = vector(3072), b2 = vector(768);
  auto f = sn::fuse([](auto m, auto w_1, auto b_1, auto w_2, auto b_2) {
    return sn::matmul(sn::gelu_tanh(sn::matmul(m, w_1) + b_1), w_2) + b_2;
  });
  for (auto _ : state) f.into(out)(x, w1, b1, w2, b2);
  count_flops(state, 4.0 * 512 * 768 * 3072);
}
void mlp_eigen(benchmark::State& state) {
  auto x = matrix_of(512, 768), w1 = matrix_of(768, 3072, -0.05f, 0.05f),
       w2 = matrix_of(3072, 768, -0.05f, 0.05f), out = matrix_of(512, 768);
  auto b1 = vector(3072), b2 = vector(768);
  matrix hidden(512, 3072);
  auto o = as_matrix(out);
  for (auto _ : state) {
    hidden.noalias() = as_matrix(x) * as_matrix(w1);
    hidden.rowwise() += as_row(b1);
    hidden.array() = eigen_gelu(hidden.array());
    o.noalias() = hidden * as_matrix(w2);
    o.rowwise() += as_row(b2);
    benchmark::ClobberMemory();
  }
  count_flops(state, 4.0 * 512 * 768 * 3072);
}
BENCHMARK(mlp_sinter)->Name("mlp/sinter")->UseRealTime();
BENCHMARK(mlp_eigen)->Name("mlp/eigen")->UseRealTime();

// As written: (A B) v. Eigen computes what is written, sinter re-associates.
void chain_sinter(benchmark::State& state) {
  auto a = matrix_of(1024, 1024), b = matrix_of(1024, 1024), v = matrix_of(1024, 1),
       out = matrix_of(1024, 1);
  auto f = sn::fuse([](auto x, auto y, auto z) { return sn::matmul(sn::matmul(x, y), z); });
  for (auto _ : state) f.into(out)(a, b, v);
}
void chain_eigen(benchmark::State& state) {
  auto a = matrix_of(1024, 1024), b = matrix_of(1024, 1024), v = matrix_of(1024, 1),
       out = matrix_of(1024, 1);
  auto o = as_matrix(out);
  for (auto _ : state) {
    o.noalias() = (as_matrix(a) * as_matrix(b)) * as_matrix(v);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(chain_sinter)->Name("chain/sinter")->UseRealTime();
BENCHMARK(chain_eigen)->Name("chain/eigen")->UseRealTime();

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
  count_flops(state, 4.0 * static_cast<double>(rows * width * width));
}
BENCHMARK(inference<false>)
    ->Name("inference/sinter")
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
