// SPDX-License-Identifier: MIT
// Training steps: 784-512-10 with batch 128, and a small network where overhead counts; overhead
// of a call; planning, which the first call pays.
#include "support.hpp"

namespace {

using namespace bench;

struct mlp_step {
  constexpr auto operator()(auto x, auto label, auto w1, auto b1, auto w2, auto b2,
                            auto rate) const {
    auto hidden = sn::relu(sn::matmul(x, w1) + b1);
    auto loss = sn::cross_entropy(sn::matmul(hidden, w2) + b2, label);
    auto [dw1, db1, dw2, db2] = sn::gradients(loss, w1, b1, w2, b2);
    return sn::outputs(loss, sn::assign(w1, w1 - rate * dw1), sn::assign(b1, b1 - rate * db1),
                       sn::assign(w2, w2 - rate * dw2), sn::assign(b2, b2 - rate * db2));
  }
};

sn::tensor<std::int32_t, 1> labels(std::int64_t n, std::int32_t classes) {
  sn::tensor<std::int32_t, 1> out(n);
  for (std::int64_t i = 0; i < n; ++i) out(i) = static_cast<std::int32_t>(i % classes);
  return out;
}

void train_sinter(benchmark::State& state, std::int64_t batch, std::int64_t in, std::int64_t hidden,
                  std::int64_t out) {
  auto x = matrix_of(batch, in), w1 = matrix_of(in, hidden, -0.05f, 0.05f),
       w2 = matrix_of(hidden, out, -0.05f, 0.05f);
  auto b1 = vector(hidden), b2 = vector(out);
  auto y = labels(batch, static_cast<std::int32_t>(out));
  sn::tensor<float, 0> loss;
  auto step = sn::fuse(mlp_step{});
  for (auto _ : state) step.into(loss)(x, y, w1, b1, w2, b2, 1e-4f);
}

// The same step by hand: forward, softmax cross-entropy, backward, updates.
void train_eigen(benchmark::State& state, std::int64_t batch, std::int64_t in, std::int64_t hidden,
                 std::int64_t out) {
  auto xs = matrix_of(batch, in), w1s = matrix_of(in, hidden, -0.05f, 0.05f),
       w2s = matrix_of(hidden, out, -0.05f, 0.05f);
  auto b1s = vector(hidden), b2s = vector(out);
  auto y = labels(batch, static_cast<std::int32_t>(out));
  auto x = as_matrix(xs), w1 = as_matrix(w1s), w2 = as_matrix(w2s);
  auto b1 = as_row(b1s), b2 = as_row(b2s);
  matrix h(batch, hidden), p(batch, out), dh(batch, hidden), dw1(in, hidden), dw2(hidden, out);
  for (auto _ : state) {
    h.noalias() = x * w1;
    h = (h.rowwise() + b1).cwiseMax(0.0f);
    p.noalias() = h * w2;
    p.rowwise() += b2;
    float loss = 0;
    for (Eigen::Index r = 0; r < batch; ++r) {
      const float top = p.row(r).maxCoeff();
      const float logit = p(r, y(r)) - top;
      p.row(r) = (p.row(r).array() - top).exp();
      const float total = p.row(r).sum();
      loss += std::log(total) - logit;
      p.row(r) /= total;
      p(r, y(r)) -= 1.0f;
    }
    p /= static_cast<float>(batch);
    benchmark::DoNotOptimize(loss);
    dh.noalias() = p * w2.transpose();
    dh = (h.array() > 0).select(dh, 0.0f);
    dw2.noalias() = h.transpose() * p;
    dw1.noalias() = x.transpose() * dh;
    w2 -= 1e-4f * dw2;
    b2 -= 1e-4f * p.colwise().sum();
    w1 -= 1e-4f * dw1;
    b1 -= 1e-4f * dh.colwise().sum();
    benchmark::ClobberMemory();
  }
}
BENCHMARK_CAPTURE(train_sinter, , 128, 784, 512, 10)->Name("train_mlp/sinter")->UseRealTime();
BENCHMARK_CAPTURE(train_eigen, , 128, 784, 512, 10)->Name("train_mlp/eigen")->UseRealTime();
BENCHMARK_CAPTURE(train_sinter, , 16, 128, 64, 10)->Name("small_train/sinter")->UseRealTime();
BENCHMARK_CAPTURE(train_eigen, , 16, 128, 64, 10)->Name("small_train/eigen")->UseRealTime();

void small_mlp_sinter(benchmark::State& state) {
  auto x = matrix_of(16, 128), w1 = matrix_of(128, 64), w2 = matrix_of(64, 64),
       w3 = matrix_of(64, 10), out = matrix_of(16, 10);
  auto f = sn::fuse([](auto m, auto a, auto b, auto c) {
    return sn::matmul(sn::relu(sn::matmul(sn::relu(sn::matmul(m, a)), b)), c);
  });
  for (auto _ : state) f.into(out)(x, w1, w2, w3);
}
void small_mlp_eigen(benchmark::State& state) {
  auto x = matrix_of(16, 128), w1 = matrix_of(128, 64), w2 = matrix_of(64, 64),
       w3 = matrix_of(64, 10), out = matrix_of(16, 10);
  matrix h1(16, 64), h2(16, 64);
  auto o = as_matrix(out);
  for (auto _ : state) {
    h1.noalias() = as_matrix(x) * as_matrix(w1);
    h1 = h1.cwiseMax(0.0f);
    h2.noalias() = h1 * as_matrix(w2);
    h2 = h2.cwiseMax(0.0f);
    o.noalias() = h2 * as_matrix(w3);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(small_mlp_sinter)->Name("small_mlp/sinter")->UseRealTime();
BENCHMARK(small_mlp_eigen)->Name("small_mlp/eigen")->UseRealTime();

void call_into(benchmark::State& state) {
  auto x = vector(16), b = vector(16), out = vector(16);
  auto f = sn::fuse([](auto a, auto c) { return sn::relu(a + c); });
  for (auto _ : state) f.into(out)(x, b);
}
void call_fresh(benchmark::State& state) {
  auto x = vector(16), b = vector(16);
  auto f = sn::fuse([](auto a, auto c) { return sn::relu(a + c); });
  for (auto _ : state) benchmark::DoNotOptimize(f(x, b));
}
void plan_mlp(benchmark::State& state) {
  auto x = matrix_of(64, 768), w = matrix_of(768, 3072), v = matrix_of(3072, 768);
  auto b = vector(3072), c = vector(768);
  for (auto _ : state) {
    auto f = sn::fuse([](auto in, auto w1, auto b1, auto w2, auto b2) {
      return sn::matmul(sn::gelu(sn::matmul(in, w1) + b1), w2) + b2;
    });
    f.prepare(x, w, b, v, c);
  }
}
void plan_training_step(benchmark::State& state) {
  auto x = matrix_of(128, 784), w1 = matrix_of(784, 512), w2 = matrix_of(512, 10);
  auto b1 = vector(512), b2 = vector(10);
  auto y = labels(128, 10);
  for (auto _ : state) {
    auto step = sn::fuse(mlp_step{});
    step.prepare(x, y, w1, b1, w2, b2, 1e-4f);
  }
}
BENCHMARK(plan_mlp)->Name("first_call/mlp")->Unit(benchmark::kMillisecond);
BENCHMARK(plan_training_step)->Name("first_call/train_mlp")->Unit(benchmark::kMillisecond);

BENCHMARK(call_into)->Name("call/into");
BENCHMARK(call_fresh)->Name("call/fresh");

}  // namespace
