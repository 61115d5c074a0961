// SPDX-License-Identifier: MIT
// What each kind of fusion brings: the same function with it and without, in turns; and what a
// graph takes that is known only at run time.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>

#include <benchmark/benchmark.h>

#include <sinter/sinter.hpp>

namespace {

namespace sn = sinter;

template <int Rank, class... Extent>
sn::tensor<float, Rank> numbers(Extent... extents) {
  sn::tensor<float, Rank> out(static_cast<std::int64_t>(extents)...);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> one(-1, 1);
  std::ranges::generate(out, [&] { return one(random); });
  return out;
}

// f of x, planned with `options`, into `out`, one result or a tuple of them.
template <class F, class Out, class... X>
void add(const std::string& name, F f, sn::program_options options, const Out& out, X... x) {
  const auto run = [f, options, out = std::tuple(out), x...](benchmark::State& state) mutable {
    auto function = sn::fuse(f, options);
    std::apply(
        [&](auto&... results) {
          for (auto _ : state) function.into(results...)(x...);
        },
        out);
  };
  benchmark::RegisterBenchmark(name.c_str(), run)->MeasureProcessCPUTime()->UseRealTime();
}

// `with`/`without` behind the name.
template <class F, class Out, class... X>
void compare(const std::string& name, const sn::program_options& without, F f, const Out& out,
             const X&... x) {
  add(name + "/with", f, {}, out, x...);
  add(name + "/without", f, without, out, x...);
}

void rows() {
  const sn::program_options off{.nests = {.rows = false}};
  const auto x = numbers<2>(4096, 1024), y = numbers<2>(4096, 768);
  compare(
      "rows/softmax", off, [](auto m) { return sn::softmax(m); }, x, x);
  compare(
      "rows/layer_norm", off, [](auto m, auto g, auto b) { return sn::layer_norm(m, g, b); }, y, y,
      numbers<1>(768), numbers<1>(768));
}

void epilogues() {
  const sn::program_options off{.nests = {.epilogues = false}};
  const auto linear_gelu = [](auto x, auto w, auto b) {
    return sn::gelu_tanh(sn::matmul(x, w) + b);
  };
  const auto swiglu = [](auto x, auto w, auto v) {
    return sn::silu(sn::matmul(x, w)) * sn::matmul(x, v);
  };
  compare("epilogues/linear_gelu", off, linear_gelu, numbers<2>(512, 3072), numbers<2>(512, 768),
          numbers<2>(768, 3072), numbers<1>(3072));
  compare("epilogues/linear_gelu_64", off, linear_gelu, numbers<2>(1024, 1024),
          numbers<2>(1024, 64), numbers<2>(64, 1024), numbers<1>(1024));
  compare("epilogues/swiglu", off, swiglu, numbers<2>(512, 2048), numbers<2>(512, 768),
          numbers<2>(768, 2048), numbers<2>(768, 2048));
}

void attention() {
  const auto f = [](auto q, auto k, auto v) {
    return sn::matmul(sn::softmax(sn::matmul(q, sn::transpose(k)) * 0.125f), v);
  };
  const auto x = numbers<3>(12, 512, 64), longer = numbers<3>(4, 4096, 64);
  compare("streamed/attention", {.nests = {.streamed = false}}, f, x, x, x, x);
  compare("streamed/attention_4096", {.nests = {.streamed = false}}, f, longer, longer, longer,
          longer);
}

void groups() {
  const auto f = [](auto x, auto q, auto k, auto v) {
    return std::tuple(sn::matmul(x, q), sn::matmul(x, k), sn::matmul(x, v));
  };
  for (const int m : {16, 512}) {
    const auto x = numbers<2>(m, 768), w = numbers<2>(768, 768);
    compare("grouped/projections_" + std::to_string(m), {.nests = {.grouped = false}}, f,
            std::tuple(x, x, x), x, w, w, w);
  }
}

void sums() {
  const auto gradients = [](auto x, auto scale, auto dy) {
    const auto y = sn::layer_norm(x, 1);
    return std::tuple(sn::vjp(y, dy * scale, x), sn::sum(dy * y, 0), sn::sum(dy, 0));
  };
  for (const int rows : {128, 4096}) {
    const auto x = numbers<2>(rows, 1024);
    const auto scale = numbers<1>(1024);
    compare("sums/layer_norm_gradients_" + std::to_string(rows), {.nests = {.sums = false}},
            gradients, std::tuple(x, scale, scale), x, scale, x);
  }
}

// Two statistics of the same rows, and one beside what the rows become.
void siblings() {
  const auto statistics = [](auto x) { return std::tuple(sn::sum(x, 1), sn::sum(x * x, 1)); };
  const auto beside = [](auto x) { return std::tuple(sn::relu(x), sn::sum(x * x, 1)); };
  for (const int rows : {1024, 4096}) {
    const auto x = numbers<2>(rows, 1024);
    const auto each = numbers<1>(rows);
    const std::string shape = std::to_string(rows) + "x1024";
    compare("siblings/statistics_" + shape, {.nests = {.siblings = false}}, statistics,
            std::tuple(each, each), x);
    compare("siblings/beside_" + shape, {.nests = {.siblings = false}}, beside, std::tuple(x, each),
            x);
  }
}

// Two activations side by side, and columns beside some that are copied.
void pieces() {
  const auto activations = [](auto x, auto y) {
    return sn::concat(1, sn::relu(x), sn::sigmoid(y));
  };
  const auto beside = [](auto x, auto y) { return sn::concat(1, x, x * y + 1.0f); };
  for (const auto& [rows, columns] : {std::pair{512, 256}, {2048, 1024}, {65536, 32}}) {
    const auto x = numbers<2>(rows, columns);
    const std::string shape = std::to_string(rows) + "x" + std::to_string(columns);
    compare("pieces/activations_" + shape, {.nests = {.pieces = false}}, activations,
            numbers<2>(rows, 2 * columns), x, x);
    compare("pieces/beside_" + shape, {.nests = {.pieces = false}}, beside,
            numbers<2>(rows, 2 * columns), x, x);
  }
}

// Distances from the mean, or exponentials, are needed by a reduction and by what is normalised.
void recomputation() {
  const sn::program_options off{.nests = {.recompute = false}},
      two_sweeps{.nests = {.moments = false}},
      neither{.nests = {.moments = false, .recompute = false}};
  const auto x = numbers<2>(8192, 512);
  const auto batch_norm = [](auto m) {
    return (m - sn::mean(m, 0, true)) * sn::rsqrt(sn::var(m, 0, true) + 1e-5f);
  };
  compare("moments/batch_norm", two_sweeps, batch_norm, x, x);
  compare(
      "moments/logsumexp_columns", two_sweeps, [](auto m) { return sn::logsumexp(m, 0); },
      numbers<1>(1024), numbers<2>(1024, 1024));
  compare(
      "moments/softmax_columns", two_sweeps, [](auto m) { return sn::softmax(m, 0); }, x, x);
  add("recompute/batch_norm/with", batch_norm, two_sweeps, x, x);
  add("recompute/batch_norm/without", batch_norm, neither, x, x);
  compare(
      "recompute/softmax_columns", off, [](auto m) { return sn::softmax(m, 0); }, x, x);
}

void tiles() {
  const sn::program_options off{.nests = {.winograd = false}};
  const auto f = [](auto x, auto w) { return sn::relu(sn::conv2d(x, w, {.padding = 1})); };
  compare("winograd/conv_56", off, f, numbers<4>(8, 64, 56, 56), numbers<4>(8, 64, 56, 56),
          numbers<4>(64, 64, 3, 3));
  compare("winograd/conv_14", off, f, numbers<4>(128, 32, 14, 14), numbers<4>(128, 16, 14, 14),
          numbers<4>(32, 16, 3, 3));
}

// Eight cheap ops, whose passes over memory are most of the work.
constexpr auto chain = [](auto x, auto y) {
  return sn::maximum((x * y + x) * 0.5f - y, x * 0.25f) * y + x;
};

// The kernel of the whole chain; micro-ops alone; micro-ops and what the library has of two ops,
// which is what a graph gets that is known only at run time.
void instructions() {
  for (const std::int64_t n : {std::int64_t{65536}, std::int64_t{1} << 22}) {
    const auto x = numbers<1>(n), y = numbers<1>(n);
    const std::string name = "instructions/chain_" + std::to_string(n);
    add(name + "/fused", chain, {}, x, x, y);
    add(name + "/micro_ops", chain, {.superinstructions = false}, x, x, y);
    benchmark::RegisterBenchmark((name + "/run_time_graph").c_str(),
                                 [=](benchmark::State& state) {
                                   sn::graph_builder g;
                                   const auto a = g.argument("x", sn::dtype::f32, {sn::sym("n")}),
                                              b = g.argument("y", sn::dtype::f32, {sn::sym("n")});
                                   auto function = g.compile({chain(a, b)});
                                   auto out = x;
                                   for (auto _ : state) function.into({out})({x, y});
                                 })
        ->MeasureProcessCPUTime()
        ->UseRealTime();
  }
}

}  // namespace

int main(int argc, char** argv) {
  rows();
  epilogues();
  attention();
  groups();
  recomputation();
  sums();
  siblings();
  pieces();
  tiles();
  instructions();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
