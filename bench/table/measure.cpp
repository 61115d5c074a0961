// SPDX-License-Identifier: MIT
// Google Benchmark run on one group of entrants at a time, with a reporter that only collects.
#include "measure.hpp"

#include <algorithm>
#include <cstddef>

#include <benchmark/benchmark.h>

namespace bench {

namespace {

// Keeps times by the number that an entrant was registered under; prints nothing.
class collector final : public benchmark::BenchmarkReporter {
 public:
  collector(std::size_t entrants, timer by) : timings(entrants), by_(by) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs)
      if (run.run_type == Run::RT_Iteration)
        timings[std::stoul(run.run_name.function_name)].repetitions.push_back(
            (by_ == timer::wall ? run.real_accumulated_time : run.cpu_accumulated_time) * 1e9 /
            static_cast<double>(run.iterations));
  }

  std::vector<timing> timings;

 private:
  timer by_;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::vector<timing> measure(const std::vector<entrant>& entrants, timer by) {
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    auto* const registered = benchmark::RegisterBenchmark(
        std::to_string(i).c_str(), [&run = entrants[i].run](benchmark::State& state) {
          // A call that is not timed: another entrant has left its data in the caches, and entrants
          // differ in how many calls share what it takes to bring one's own.
          run();
          for (auto _ : state) run();
        });
    if (by == timer::wall)
      registered->UseRealTime();
    else
      registered->MeasureProcessCPUTime();
  }
  collector collected(entrants.size(), by);
  benchmark::RunSpecifiedBenchmarks(&collected);
  benchmark::ClearRegisteredBenchmarks();
  for (timing& each : collected.timings) {
    if (each.repetitions.empty()) continue;
    each.median = median(each.repetitions);
    each.least = *std::ranges::min_element(each.repetitions);
  }
  return collected.timings;
}

void take_flags(int& argc, char** argv) {
  std::string interleaved = "--benchmark_enable_random_interleaving=true",
              repetitions = "--benchmark_repetitions=9", time = "--benchmark_min_time=0.03";
  std::vector<char*> all{argv[0], interleaved.data(), repetitions.data(), time.data()};
  all.insert(all.end(), argv + 1, argv + argc);
  int count = static_cast<int>(all.size());
  all.push_back(nullptr);
  benchmark::Initialize(&count, all.data());
  std::copy(all.begin() + 1, all.begin() + count, argv + 1);
  argc = count;
}

}  // namespace bench
