// SPDX-License-Identifier: MIT
// The calls of a plan and its nests, measured: for reports, and on the timeline of SINTER_TRACE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sinter/plan/nest.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/plan/work.hpp>
#include <sinter/support/debug.hpp>
#include <sinter/support/span.hpp>
#include <sinter/support/steady_time.hpp>
#include <sinter/support/timeline.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Calls are timed for whom?
inline constexpr unsigned timed_calls =
    debug::timeline_bit | 1u << static_cast<unsigned>(debug::topic::time);

// What the timeline says of a plan's calls, of each nest, and of what a thread does of it.
struct plan_labels {
  const timeline::label* call = nullptr;
  std::vector<const timeline::label*> nests, tasks;

  // `name`: of the calls. Bytes and predicted times are those of the extents in `symbols`, which
  // the plan was made for.
  plan_labels(const std::string& name, int function, std::size_t plan_number,
              const planning::plan& p, span<const std::int64_t> symbols) {
    timeline::recorder& all = timeline::recorder::instance();
    const auto numbered = [](std::size_t n) { return std::to_string(n); };
    std::string own;
    timeline::add_member(own, "function", std::to_string(function));
    timeline::add_member(own, "plan", numbered(plan_number));
    const planning::plan_printer printer(p);
    const planning::work_counter counter(p, symbols);
    for (std::size_t i = 0; i < p.nests.size(); ++i) {
      const planning::nest& n = p.nests[i];
      const planning::work w = counter.of(n, n.kind == planning::nest_kind::alias);
      std::string members = own;
      timeline::add_member(members, "nest", numbered(i));
      tasks.push_back(all.keep({"nest " + numbered(i) + ": tasks", "tasks", members}));
      timeline::add_member(members, "predicted_us",
                           planning::fixed(n.predicted_nanoseconds / 1000, 3));
      timeline::add_member(members, "bytes_read", std::to_string(w.bytes_read));
      timeline::add_member(members, "bytes_written", std::to_string(w.bytes_written));
      timeline::add_member(members, "operations", std::to_string(w.flops));
      nests.push_back(all.keep({printer.title(i), "nest", members}));
    }
    timeline::add_member(own, "predicted_us", planning::fixed(p.cost / 1000, 3));
    call = all.keep({name, "call", own});
  }
};

// Behind each nest of a run: notes the time it took, also on the timeline where the plan has
// labels. Lives as long as the run.
class nest_clock {
 public:
  explicit nest_clock(span<double> nanoseconds, const plan_labels* labels = nullptr)
      : nanoseconds_(nanoseconds), labels_(labels) {
    label_tasks(0);
  }
  nest_clock(const nest_clock&) = delete;
  nest_clock& operator=(const nest_clock&) = delete;
  ~nest_clock() {
    timeline::tasks = outer_tasks_;
    if (labels_ != nullptr) timeline::add(labels_->call, start_, steady_nanoseconds());
  }

  void operator()(std::size_t nest) {
    const std::int64_t now = steady_nanoseconds();
    nanoseconds_[nest] = static_cast<double>(now - last_);
    if (labels_ != nullptr) timeline::add(labels_->nests[nest], last_, now);
    label_tasks(nest + 1);
    last_ = steady_nanoseconds();
  }

  // From the first nest's begin on.
  double total() const { return static_cast<double>(last_ - start_); }

 private:
  void label_tasks(std::size_t nest) const {
    timeline::tasks =
        labels_ != nullptr && nest < labels_->tasks.size() ? labels_->tasks[nest] : nullptr;
  }

  span<double> nanoseconds_;
  const plan_labels* labels_;
  // Of the nest whose custom op makes this call, if it is made by one.
  const timeline::label* const outer_tasks_ = timeline::tasks;
  std::int64_t start_ = steady_nanoseconds(), last_ = start_;
};

}  // namespace sinter::inline SINTER_ABI::detail
