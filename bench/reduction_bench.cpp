// SPDX-License-Identifier: MIT
// Reductions: mean squared error over 16.8 M elements, batch normalisation over axis 0.
#include "support.hpp"

namespace {

using namespace bench;

void mse_sinter(benchmark::State& state) {
  auto x = vector(1 << 24), y = vector(1 << 24, 0, 2);
  sn::tensor<float, 0> out;
  auto f = sn::fuse([](auto a, auto b) { return sn::mse(a, b); });
  for (auto _ : state) f.into(out)(x, y);
  count_bytes(state, std::int64_t{8} << 24);
}
void mse_eigen(benchmark::State& state) {
  auto x = vector(1 << 24), y = vector(1 << 24, 0, 2);
  const auto a = as_array(x), b = as_array(y);
  for (auto _ : state) benchmark::DoNotOptimize((a - b).square().mean());
  count_bytes(state, std::int64_t{8} << 24);
}
BENCHMARK(mse_sinter)->Name("mse_16m/sinter")->UseRealTime();
BENCHMARK(mse_eigen)->Name("mse_16m/eigen")->UseRealTime();

void batchnorm_sinter(benchmark::State& state) {
  auto x = matrix_of(8192, 512), out = matrix_of(8192, 512);
  auto f = sn::fuse(
      [](auto m) { return (m - sn::mean(m, 0, true)) * sn::rsqrt(sn::var(m, 0, true) + 1e-5f); });
  for (auto _ : state) f.into(out)(x);
  count_bytes(state, 8 * 8192 * 512);
}
void batchnorm_eigen(benchmark::State& state) {
  auto x = matrix_of(8192, 512), out = matrix_of(8192, 512);
  const auto m = as_array(x);
  auto o = as_array(out);
  Eigen::Array<float, 1, Eigen::Dynamic> mean(512), scale(512);
  for (auto _ : state) {
    mean = m.colwise().mean();
    scale = ((m.rowwise() - mean).square().colwise().mean() + 1e-5f).rsqrt();
    o = (m.rowwise() - mean).rowwise() * scale;
    benchmark::ClobberMemory();
  }
  count_bytes(state, 8 * 8192 * 512);
}
BENCHMARK(batchnorm_sinter)->Name("batchnorm/sinter")->UseRealTime();
BENCHMARK(batchnorm_eigen)->Name("batchnorm/eigen")->UseRealTime();

}  // namespace
