// SPDX-License-Identifier: MIT
// What the benchmarks share: seeded inputs, and Eigen's views of them, so that both sides read the
// same memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include <Eigen/Core>
#include <benchmark/benchmark.h>

#include <sinter/sinter.hpp>

namespace bench {

namespace sn = sinter;

using array = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline sn::tensor<float, 1> vector(std::int64_t n, float low = -1, float high = 1) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(low, high);
  sn::tensor<float, 1> out(n);
  std::ranges::generate(out, [&] { return uniform(random); });
  return out;
}

inline sn::tensor<float, 2> matrix_of(std::int64_t rows, std::int64_t columns, float low = -1,
                                      float high = 1) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(low, high);
  sn::tensor<float, 2> out(rows, columns);
  std::ranges::generate(out, [&] { return uniform(random); });
  return out;
}

inline auto as_array(sn::tensor<float, 1>& x) {
  return Eigen::Map<Eigen::ArrayXf>(x.data(), x.extent(0));
}
inline auto as_array(sn::tensor<float, 2>& x) {
  return Eigen::Map<array>(x.data(), x.extent(0), x.extent(1));
}
inline auto as_matrix(sn::tensor<float, 2>& x) {
  return Eigen::Map<matrix>(x.data(), x.extent(0), x.extent(1));
}
inline auto as_row(sn::tensor<float, 1>& x) {
  return Eigen::Map<Eigen::RowVectorXf>(x.data(), x.extent(0));
}

inline void count_bytes(benchmark::State& state, std::int64_t bytes) {
  state.SetBytesProcessed(state.iterations() * bytes);
}
inline void count_flops(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace bench
