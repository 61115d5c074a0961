// SPDX-License-Identifier: MIT
// SINTER_DEBUG=time: time per nest over all calls of the process, printed when it ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/support/debug.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

// What the calls of one plan took, in nanoseconds.
struct plan_times {
  std::string name;
  std::vector<std::string> nests;
  std::vector<double> predicted, spent;  // by nest; of one call, of all
  double total = 0;                      // of all calls, from the first nest's begin on
  std::size_t calls = 0;

  plan_times(std::string own_name, const planning::plan& p)
      : name(std::move(own_name)), spent(p.nests.size(), 0.0) {
    const planning::plan_printer printer(p);
    for (std::size_t i = 0; i < p.nests.size(); ++i) {
      nests.push_back(printer.title(i));
      predicted.push_back(p.nests[i].predicted_nanoseconds);
    }
  }
};

class call_times {
 public:
  // Never destroyed: functions in statics may run after every other static has gone.
  static call_times& instance() {
    static call_times* const one = [] {
      std::atexit([] { debug::write(instance().to_text()); });
      return new call_times;
    }();
    return *one;
  }

  std::shared_ptr<plan_times> start(std::string name, const planning::plan& p) {
    const std::scoped_lock lock(mutex_);
    plans_.push_back(std::make_shared<plan_times>(std::move(name), p));
    return plans_.back();
  }

  void add(plan_times& plan, span<const double> nests, double total) {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < nests.size(); ++i) plan.spent[i] += nests[i];
    plan.total += total;
    ++plan.calls;
  }

  // A line per nest, most expensive first.
  std::string to_text() const {
    const std::scoped_lock lock(mutex_);
    struct line {
      double spent;
      std::string text;
    };
    std::vector<line> lines;
    double total = 0;
    std::size_t calls = 0;
    for (const auto& each : plans_) {
      total += each->total;
      calls += each->calls;
    }
    const auto add_line = [&](double spent, const plan_times& plan, const std::string& predicted,
                              const std::string& what) {
      char text[128];
      std::snprintf(text, sizeof text, "%12.3f %6.1f %10zu %12.3f %12s  ", spent / 1e6,
                    total > 0 ? 100 * spent / total : 0.0, plan.calls,
                    spent / 1e3 / static_cast<double>(std::max<std::size_t>(1, plan.calls)),
                    predicted.c_str());
      lines.push_back({spent, text + plan.name + ", " + what + "\n"});
    };
    for (const auto& each : plans_) {
      for (std::size_t i = 0; i < each->nests.size(); ++i)
        add_line(each->spent[i], *each, planning::fixed(each->predicted[i] / 1e3, 3),
                 each->nests[i]);
      add_line(each->total - std::accumulate(each->spent.begin(), each->spent.end(), 0.0), *each,
               "", "around its nests");
    }
    std::ranges::stable_sort(lines, std::ranges::greater{}, &line::spent);
    std::string out = "sinter: time per nest: " + std::to_string(calls) +
                      (calls == 1 ? " call, " : " calls, ") + planning::fixed(total / 1e6, 3) +
                      " ms\n          ms      %      calls      us/call    predicted  nest\n";
    for (const line& each : lines) out += each.text;
    return out;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<plan_times>> plans_;
};

}  // namespace sinter::inline SINTER_ABI::detail
