// SPDX-License-Identifier: MIT
// Times a fused kernel with Google Benchmark, beside a loop that does the same. What to look after:
// plan before the clock runs, write into memory that is there, count bytes, and check the result.
#include <cmath>
#include <cstdio>

#include <benchmark/benchmark.h>

#include <sinter/sinter.hpp>

namespace sn = sinter;

namespace {

sn::tensor<float, 1> numbers(std::int64_t count, float first) {
  sn::tensor<float, 1> out(count);
  for (std::int64_t i = 0; i < count; ++i) out(i) = first + static_cast<float>(i % 1000) / 500;
  return out;
}

// Per element: two floats are read and one is written.
void count_work(benchmark::State& state) {
  const std::int64_t elements = state.iterations() * state.range(0);
  state.SetItemsProcessed(elements);
  state.SetBytesProcessed(elements * 3 * static_cast<std::int64_t>(sizeof(float)));
}

void fused(benchmark::State& state) {
  auto f = sn::fuse([](auto x, auto y) { return sn::silu(2.0f * x + 0.5f) * y; });
  const auto x = numbers(state.range(0), -1), y = numbers(state.range(0), 0);
  sn::tensor<float, 1> result(state.range(0));
  f.into(result)(x, y);  // plans; every call from here on replays
  for (auto _ : state) {
    f.into(result)(x, y);  // allocates nothing
    benchmark::DoNotOptimize(result.data());
    benchmark::ClobberMemory();
  }
  if (f.statistics().extractions != 1) state.SkipWithError("planned while the clock ran");
  count_work(state);
}

void looped(benchmark::State& state) {
  const auto x = numbers(state.range(0), -1), y = numbers(state.range(0), 0);
  sn::tensor<float, 1> result(state.range(0));
  for (auto _ : state) {
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const float line = 2 * x(i) + 0.5f;
      result(i) = line / (1 + std::exp(-line)) * y(i);
    }
    benchmark::DoNotOptimize(result.data());
    benchmark::ClobberMemory();
  }
  count_work(state);
}

// What is timed is right, or the figures are worth nothing.
bool same_result() {
  auto f = sn::fuse([](auto x, auto y) { return sn::silu(2.0f * x + 0.5f) * y; });
  const auto x = numbers(4099, -1), y = numbers(4099, 0);
  const sn::tensor<float, 1> result = f(x, y);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    const float line = 2 * x(i) + 0.5f, expected = line / (1 + std::exp(-line)) * y(i);
    if (!(std::abs(result(i) - expected) <= 1e-5f)) return false;
  }
  return true;
}

}  // namespace

// Elements: in the first level of caches, in the last, in memory.
BENCHMARK(fused)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 24)->UseRealTime();
BENCHMARK(looped)->Arg(1 << 10)->Arg(1 << 16)->Arg(1 << 24)->UseRealTime();

int main(int argc, char** argv) {
  if (!same_result()) {
    std::puts("benchmark_kernel: the fused kernel and the loop differ");
    return 1;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
