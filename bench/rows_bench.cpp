// SPDX-License-Identifier: MIT
// Row-wise kernels: softmax, layer norm, log-sum-exp.
#include "support.hpp"

namespace {

using namespace bench;

void softmax_sinter(benchmark::State& state) {
  auto x = matrix_of(4096, 1024, -4, 4), out = matrix_of(4096, 1024);
  auto f = sn::fuse([](auto m) { return sn::softmax(m); });
  for (auto _ : state) f.into(out)(x);
  count_bytes(state, 8 * 4096 * 1024);
}
void softmax_eigen(benchmark::State& state) {
  auto x = matrix_of(4096, 1024, -4, 4), out = matrix_of(4096, 1024);
  const auto m = as_array(x);
  auto o = as_array(out);
  for (auto _ : state) {
    for (Eigen::Index r = 0; r < m.rows(); ++r) {
      o.row(r) = (m.row(r) - m.row(r).maxCoeff()).exp();
      o.row(r) *= 1.0f / o.row(r).sum();
    }
    benchmark::ClobberMemory();
  }
  count_bytes(state, 8 * 4096 * 1024);
}
BENCHMARK(softmax_sinter)->Name("softmax/sinter")->UseRealTime();
BENCHMARK(softmax_eigen)->Name("softmax/eigen")->UseRealTime();

void layernorm_sinter(benchmark::State& state) {
  auto x = matrix_of(4096, 768), out = matrix_of(4096, 768);
  auto gamma = vector(768), beta = vector(768);
  auto f = sn::fuse([](auto m, auto g, auto b) { return sn::layer_norm(m, g, b); });
  for (auto _ : state) f.into(out)(x, gamma, beta);
  count_bytes(state, 8 * 4096 * 768);
}
void layernorm_eigen(benchmark::State& state) {
  auto x = matrix_of(4096, 768), out = matrix_of(4096, 768);
  auto gamma = vector(768), beta = vector(768);
  const auto m = as_array(x);
  const auto g = as_row(gamma).array(), b = as_row(beta).array();
  auto o = as_array(out);
  for (auto _ : state) {
    for (Eigen::Index r = 0; r < m.rows(); ++r) {
      const float mean = m.row(r).mean();
      const float scale = 1.0f / std::sqrt((m.row(r) - mean).square().mean() + 1e-5f);
      o.row(r) = (m.row(r) - mean) * scale * g + b;
    }
    benchmark::ClobberMemory();
  }
  count_bytes(state, 8 * 4096 * 768);
}
BENCHMARK(layernorm_sinter)->Name("layernorm/sinter")->UseRealTime();
BENCHMARK(layernorm_eigen)->Name("layernorm/eigen")->UseRealTime();

template <int Axis>
void logsumexp_sinter(benchmark::State& state) {
  auto x = matrix_of(1024, 1024);
  sn::tensor<float, 1> out(1024);
  auto f = sn::fuse([](auto m) { return sn::logsumexp(m, Axis); });
  for (auto _ : state) f.into(out)(x);
  count_bytes(state, 4 << 20);
}
void logsumexp_rows_eigen(benchmark::State& state) {
  auto x = matrix_of(1024, 1024);
  auto out = vector(1024);
  const auto m = as_array(x);
  auto o = as_array(out);
  for (auto _ : state) {
    for (Eigen::Index r = 0; r < m.rows(); ++r) {
      const float top = m.row(r).maxCoeff();
      o(r) = std::log((m.row(r) - top).exp().sum()) + top;
    }
    benchmark::ClobberMemory();
  }
  count_bytes(state, 4 << 20);
}
void logsumexp_columns_eigen(benchmark::State& state) {
  auto x = matrix_of(1024, 1024);
  auto out = vector(1024);
  const auto m = as_array(x);
  auto o = as_row(out).array();
  Eigen::Array<float, 1, Eigen::Dynamic> top(1024);
  for (auto _ : state) {
    // Row by row, so that memory is read in order.
    top = m.row(0);
    for (Eigen::Index r = 1; r < m.rows(); ++r) top = top.max(m.row(r));
    o = (m.row(0) - top).exp();
    for (Eigen::Index r = 1; r < m.rows(); ++r) o += (m.row(r) - top).exp();
    o = o.log() + top;
    benchmark::ClobberMemory();
  }
  count_bytes(state, 4 << 20);
}
BENCHMARK(logsumexp_sinter<0>)->Name("logsumexp_axis0/sinter")->UseRealTime();
BENCHMARK(logsumexp_columns_eigen)->Name("logsumexp_axis0/eigen")->UseRealTime();
BENCHMARK(logsumexp_sinter<1>)->Name("logsumexp_axis1/sinter")->UseRealTime();
BENCHMARK(logsumexp_rows_eigen)->Name("logsumexp_axis1/eigen")->UseRealTime();

}  // namespace
