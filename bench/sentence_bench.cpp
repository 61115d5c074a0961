// SPDX-License-Identifier: MIT
// The sentence encoder written with layers, against the same network read from ONNX. Calls take
// turns, so that what else the machine does meets both; `ratio` is the least processor time of ONNX
// by that of layers, `paired` the median of the ratios of neighbouring calls, which a drift of the
// clock leaves alone.
//
// SENTENCE_MODEL is the folder of model.safetensors (that of `./dev demo sentence_embedding` unless
// given), with model.onnx from examples/sentence_embedding/make_onnx.py in it.
// component: onnx
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "../examples/sentence_embedding/onnx_encoder.hpp"
#include "processor_time.hpp"

namespace {

namespace sn = sinter;
using namespace sentence_embedding;

// One sentence in three is shorter than the longest by up to half.
batch batch_of(std::int64_t rows, std::int64_t places) {
  batch out{sn::tensor<std::int32_t, 2>(rows, places), sn::tensor<std::int32_t, 1>(rows)};
  for (std::int64_t r = 0; r < rows; ++r) {
    out.lengths(r) = static_cast<std::int32_t>(r % 3 == 2 ? places - r % (places / 2) : places);
    for (std::int64_t i = 0; i < places; ++i)
      out.tokens(r, i) = static_cast<std::int32_t>(1000 + (r * 977 + i * 131) % 20000);
  }
  return out;
}

// Milliseconds, over all threads: what others do on the same cores counts less than on the clock.
double processor_time() { return bench::processor_nanoseconds() * 1e-6; }

// A call of one of the encoders, timed.
class timed_call {
 public:
  timed_call(const encoder& network, const batch& b)
      : function_(network.function),
        made_(network.arguments(b)),
        passed_(made_.begin(), made_.end()),
        result_(function_(passed_)[0]) {}

  void run() {
    const double start = processor_time();
    function_.into({result_})(passed_);
    times_.push_back(processor_time() - start);
  }
  const embeddings& result() const { return result_; }
  std::span<const double> times() const { return times_; }
  double least() const { return *std::ranges::min_element(times_); }

 private:
  sn::graph_function function_;
  std::vector<sn::any_tensor> made_;
  std::vector<sn::graph_argument> passed_;
  embeddings result_;
  std::vector<double> times_;
};

double median(std::vector<double> x) {
  std::ranges::nth_element(x, x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2));
  return x[x.size() / 2];
}

double largest_difference(const embeddings& a, const embeddings& b) {
  double out = 0;
  for (std::int64_t i = 0; i < a.size(); ++i)
    out = std::max(out, std::abs(static_cast<double>(a.data()[i]) - b.data()[i]));
  return out;
}

void both(benchmark::State& state, const encoder& written, const encoder& read) {
  const batch b = batch_of(state.range(0), state.range(1));
  timed_call first(written, b), second(read, b);
  // Vectors of length 1, in f32.
  if (largest_difference(first.result(), second.result()) > 1e-5)
    state.SkipWithError("the two encoders differ");
  for (auto _ : state) {
    first.run();
    second.run();
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < first.times().size(); ++i)
    ratios.push_back(second.times()[i] / first.times()[i]);
  if (ratios.empty()) return;
  state.counters["layers_ms"] = first.least();
  state.counters["onnx_ms"] = second.least();
  state.counters["ratio"] = second.least() / first.least();
  state.counters["paired"] = median(std::move(ratios));
}

}  // namespace

int main(int argc, char** argv) {
  const char* const given = std::getenv("SENTENCE_MODEL");
  const std::filesystem::path folder = given != nullptr ? given : "build/all-minilm-l6-v2";
  const std::string weights = folder / "model.safetensors", onnx = folder / "model.onnx";
  for (const std::string& file : {weights, onnx})
    if (!std::filesystem::exists(file)) {
      std::cout << "sentence_bench is skipped: there is no " << file
                << " (./dev demo sentence_embedding fetches the model, "
                   "examples/sentence_embedding/make_onnx.py writes model.onnx)\n";
      return 0;
    }
  const encoder written = written_encoder(weights), read = onnx_encoder(onnx);
  auto* const each =
      benchmark::RegisterBenchmark("sentence/onnx_by_layers",
                                   [&](benchmark::State& state) { both(state, written, read); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
  for (const auto& [rows, places] : {std::pair{1, 16}, {1, 128}, {1, 256}, {8, 128}, {32, 64}})
    each->Args({rows, places});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
