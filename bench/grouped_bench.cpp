// SPDX-License-Identifier: MIT
// Products of one input: the projections of an attention (one nest), the same as three functions,
// and three products by Eigen; a SwiGLU's gate. Few rows show what reading weights costs.
#include "support.hpp"

namespace {

using namespace bench;

struct projections {
  sn::tensor<float, 2> x, wq, wk, wv, q, k, v;
  explicit projections(std::int64_t rows)
      : x(matrix_of(rows, 768)),
        wq(matrix_of(768, 768)),
        wk(matrix_of(768, 768)),
        wv(matrix_of(768, 768)),
        q(matrix_of(rows, 768)),
        k(matrix_of(rows, 768)),
        v(matrix_of(rows, 768)) {}
  void count(benchmark::State& state) const {
    count_flops(state, 6.0 * static_cast<double>(x.extent(0)) * 768 * 768);
  }
};

void projections_sinter(benchmark::State& state) {
  projections p(state.range(0));
  auto f = sn::fuse([](auto x, auto wq, auto wk, auto wv) {
    return sn::outputs(sn::matmul(x, wq), sn::matmul(x, wk), sn::matmul(x, wv));
  });
  for (auto _ : state) f.into(p.q, p.k, p.v)(p.x, p.wq, p.wk, p.wv);
  p.count(state);
}
void projections_separate(benchmark::State& state) {
  projections p(state.range(0));
  auto f = sn::fuse([](auto x, auto w) { return sn::matmul(x, w); });
  for (auto _ : state) {
    f.into(p.q)(p.x, p.wq);
    f.into(p.k)(p.x, p.wk);
    f.into(p.v)(p.x, p.wv);
  }
  p.count(state);
}
void projections_eigen(benchmark::State& state) {
  projections p(state.range(0));
  auto q = as_matrix(p.q), k = as_matrix(p.k), v = as_matrix(p.v);
  for (auto _ : state) {
    q.noalias() = as_matrix(p.x) * as_matrix(p.wq);
    k.noalias() = as_matrix(p.x) * as_matrix(p.wk);
    v.noalias() = as_matrix(p.x) * as_matrix(p.wv);
    benchmark::ClobberMemory();
  }
  p.count(state);
}
BENCHMARK(projections_sinter)->Name("projections/sinter")->Arg(16)->Arg(512)->UseRealTime();
BENCHMARK(projections_separate)->Name("projections/separate")->Arg(16)->Arg(512)->UseRealTime();
BENCHMARK(projections_eigen)->Name("projections/eigen")->Arg(16)->Arg(512)->UseRealTime();

struct gate {
  sn::tensor<float, 2> x, w1, w2, out;
  explicit gate(std::int64_t rows)
      : x(matrix_of(rows, 768)),
        w1(matrix_of(768, 2048, -0.1f, 0.1f)),
        w2(matrix_of(768, 2048, -0.1f, 0.1f)),
        out(matrix_of(rows, 2048)) {}
  void count(benchmark::State& state) const {
    count_flops(state, 4.0 * static_cast<double>(x.extent(0)) * 768 * 2048);
  }
};

void swiglu_sinter(benchmark::State& state) {
  gate g(state.range(0));
  auto f = sn::fuse(
      [](auto x, auto w1, auto w2) { return sn::silu(sn::matmul(x, w1)) * sn::matmul(x, w2); });
  for (auto _ : state) f.into(g.out)(g.x, g.w1, g.w2);
  g.count(state);
}
void swiglu_eigen(benchmark::State& state) {
  gate g(state.range(0));
  auto out = as_matrix(g.out);
  matrix up(state.range(0), 2048);
  for (auto _ : state) {
    out.noalias() = as_matrix(g.x) * as_matrix(g.w1);
    up.noalias() = as_matrix(g.x) * as_matrix(g.w2);
    out.array() = out.array() / (1.0f + (-out.array()).exp()) * up.array();
    benchmark::ClobberMemory();
  }
  g.count(state);
}
BENCHMARK(swiglu_sinter)->Name("swiglu/sinter")->Arg(16)->Arg(512)->UseRealTime();
BENCHMARK(swiglu_eigen)->Name("swiglu/eigen")->Arg(16)->Arg(512)->UseRealTime();

}  // namespace
