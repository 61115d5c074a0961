// SPDX-License-Identifier: MIT
// Element-wise kernels: silu(2x + 1/2) * y, bias and relu, Black-Scholes, transpose and add,
// broadcasts.
#include "support.hpp"

namespace {

using namespace bench;

void ew_sinter(benchmark::State& state) {
  auto x = vector(state.range(0)), y = vector(state.range(0)), out = vector(state.range(0));
  auto f = sn::fuse([](auto a, auto b) { return sn::silu(2.0f * a + 0.5f) * b; });
  for (auto _ : state) f.into(out)(x, y);
  count_bytes(state, 12 * state.range(0));
}
void ew_eigen(benchmark::State& state) {
  auto x = vector(state.range(0)), y = vector(state.range(0)), out = vector(state.range(0));
  const auto a = as_array(x), b = as_array(y);
  auto o = as_array(out);
  for (auto _ : state) {
    o = (2.0f * a + 0.5f) / (1.0f + (-(2.0f * a + 0.5f)).exp()) * b;
    benchmark::ClobberMemory();
  }
  count_bytes(state, 12 * state.range(0));
}
BENCHMARK(ew_sinter)->Name("ew/sinter")->Arg(4096)->Arg(131072)->Arg(1 << 24)->UseRealTime();
BENCHMARK(ew_eigen)->Name("ew/eigen")->Arg(4096)->Arg(131072)->Arg(1 << 24)->UseRealTime();

void bias_relu_sinter(benchmark::State& state) {
  auto x = matrix_of(2048, 1024), out = matrix_of(2048, 1024);
  auto b = vector(1024);
  auto f = sn::fuse([](auto m, auto v) { return sn::relu(m + v); });
  for (auto _ : state) f.into(out)(x, b);
  count_bytes(state, 8 * 2048 * 1024);
}
void bias_relu_eigen(benchmark::State& state) {
  auto x = matrix_of(2048, 1024), out = matrix_of(2048, 1024);
  auto b = vector(1024);
  const auto m = as_array(x);
  const auto v = as_row(b).array();
  auto o = as_array(out);
  for (auto _ : state) {
    o = (m.rowwise() + v).max(0.0f);
    benchmark::ClobberMemory();
  }
  count_bytes(state, 8 * 2048 * 1024);
}
BENCHMARK(bias_relu_sinter)->Name("bias_relu/sinter")->UseRealTime();
BENCHMARK(bias_relu_eigen)->Name("bias_relu/eigen")->UseRealTime();

// Hull's notation; r = 2 %, volatility 30 %. N(d) through erf.
void blackscholes_sinter(benchmark::State& state) {
  const std::int64_t n = 1 << 20;
  auto s = vector(n, 10, 100), k = vector(n, 10, 100), t = vector(n, 0.1f, 2.0f), out = vector(n);
  auto f = sn::fuse([](auto spot, auto strike, auto time) {
    auto deviation = 0.3f * sn::sqrt(time);
    auto d1 = (sn::log(spot / strike) + 0.065f * time) / deviation;
    auto d2 = d1 - deviation;
    auto normal = [](auto d) { return 0.5f * (1.0f + sn::erf(d * 0.70710678f)); };
    return spot * normal(d1) - strike * sn::exp(-0.02f * time) * normal(d2);
  });
  for (auto _ : state) f.into(out)(s, k, t);
  count_bytes(state, 16 * n);
}
void blackscholes_eigen(benchmark::State& state) {
  const std::int64_t n = 1 << 20;
  auto s = vector(n, 10, 100), k = vector(n, 10, 100), t = vector(n, 0.1f, 2.0f), out = vector(n);
  const auto spot = as_array(s), strike = as_array(k), time = as_array(t);
  auto o = as_array(out);
  for (auto _ : state) {
    // Blocked by hand, as an Eigen user would, so that d1 and d2 are computed once and stay in L1.
    // Eigen 3.4 has no vectorised erf outside of its unsupported modules; this is std::erf per
    // element.
    constexpr Eigen::Index step = 1024;
    Eigen::Array<float, step, 1> deviation, d1, d2;
    for (Eigen::Index i = 0; i < n; i += step) {
      const auto sp = spot.segment<step>(i), st = strike.segment<step>(i),
                 ti = time.segment<step>(i);
      deviation = 0.3f * ti.sqrt();
      d1 = ((sp / st).log() + 0.065f * ti) / deviation;
      d2 = d1 - deviation;
      const auto normal = [](auto& d) {
        d = 0.5f * (1.0f + (d * 0.70710678f).unaryExpr([](float v) { return std::erf(v); }));
      };
      normal(d1);
      normal(d2);
      o.segment<step>(i) = sp * d1 - st * (-0.02f * ti).exp() * d2;
    }
    benchmark::ClobberMemory();
  }
  count_bytes(state, 16 * n);
}
BENCHMARK(blackscholes_sinter)->Name("blackscholes/sinter")->UseRealTime();
BENCHMARK(blackscholes_eigen)->Name("blackscholes/eigen")->UseRealTime();

void transpose_add_sinter(benchmark::State& state) {
  auto x = matrix_of(1024, 1024), y = matrix_of(1024, 1024), out = matrix_of(1024, 1024);
  auto f = sn::fuse([](auto a, auto b) { return sn::transpose(a) + b; });
  for (auto _ : state) f.into(out)(x, y);
  count_bytes(state, 12 << 20);
}
void transpose_add_eigen(benchmark::State& state) {
  auto x = matrix_of(1024, 1024), y = matrix_of(1024, 1024), out = matrix_of(1024, 1024);
  const auto a = as_array(x), b = as_array(y);
  auto o = as_array(out);
  for (auto _ : state) {
    o = a.transpose() + b;
    benchmark::ClobberMemory();
  }
  count_bytes(state, 12 << 20);
}
BENCHMARK(transpose_add_sinter)->Name("transpose_add/sinter")->UseRealTime();
BENCHMARK(transpose_add_eigen)->Name("transpose_add/eigen")->UseRealTime();

void broadcast_sinter(benchmark::State& state) {
  auto x = matrix_of(1024, 1024), out = matrix_of(1024, 1024), column = matrix_of(1024, 1);
  auto row = vector(1024);
  auto f = sn::fuse([](auto m, auto r, auto c) { return (m + r) * c; });
  for (auto _ : state) f.into(out)(x, row, column);
  count_bytes(state, 8 << 20);
}
void broadcast_eigen(benchmark::State& state) {
  auto x = matrix_of(1024, 1024), out = matrix_of(1024, 1024), column = matrix_of(1024, 1);
  auto row = vector(1024);
  const auto m = as_array(x);
  const auto r = as_row(row).array();
  const auto c = as_array(column).col(0);
  auto o = as_array(out);
  for (auto _ : state) {
    o = (m.rowwise() + r).colwise() * c;
    benchmark::ClobberMemory();
  }
  count_bytes(state, 8 << 20);
}
BENCHMARK(broadcast_sinter)->Name("broadcast/sinter")->UseRealTime();
BENCHMARK(broadcast_eigen)->Name("broadcast/eigen")->UseRealTime();

}  // namespace
