// SPDX-License-Identifier: MIT
// The one place that knows OpenMP: a parallel loop over tasks. Tasks are divided by shape before
// they come here, so the number of threads decides only who runs a task, never what it computes.
// Without OpenMP everything runs in the caller.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <sinter/plan/division.hpp>
#include <sinter/support/timeline.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The most threads a parallel_for started here would use: the value range of `thread` is [0,
/// thread_count()).
inline int thread_count() {
#ifdef _OPENMP
  return omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
#else
  return 1;
#endif
}

/// What a program has of OpenMP, for people: "OpenMP with at most 4 threads" or "no OpenMP, one
/// thread".
inline std::string threads_text() {
#ifdef _OPENMP
  const int most = thread_count();
  return "OpenMP with at most " + std::to_string(most) + (most == 1 ? " thread" : " threads");
#else
  return "no OpenMP, one thread";
#endif
}

// Waking a thread that sleeps takes some 60 µs. Work has to be twice that to gain from a second
// one, and predictions are for a machine that is a third as fast as some: silu of 128 K elements
// (23 µs) took 87 µs on two threads, (X + row) column of [1024,1024] (77 µs, 380
// predicted) 98.
inline constexpr double least_nanoseconds_with_waking = 400'000;

/// Does a value of OMP_WAIT_POLICY say that idle threads sleep? nullptr: it is not set.
constexpr bool says_passive(const char* policy) {
  constexpr std::string_view passive = "passive";
  const std::string_view given = policy == nullptr ? "" : policy;
  return std::ranges::equal(given, passive, [](char a, char b) {
    return a == b || (a >= 'A' && a <= 'Z' && a + 32 == b);
  });
}

/// Work that takes one thread less is not given to several. By the environment at the first call.
inline double least_parallel_nanoseconds() {
  static const double least = says_passive(std::getenv("OMP_WAIT_POLICY"))
                                  ? least_nanoseconds_with_waking
                                  : planning::parallel_nanoseconds;
  return least;
}

/// Are tasks that take one thread so long given to several, if there are several?
inline bool pays_for_threads(std::int64_t tasks, double estimated_nanoseconds) {
  return planning::goes_to_threads(tasks, estimated_nanoseconds) &&
         estimated_nanoseconds >= least_parallel_nanoseconds();
}

/// While it lives, loops that this thread starts have at most so many threads, however many
/// processors there are: for measurements and tests.
class loop_threads {
 public:
  explicit loop_threads([[maybe_unused]] int most) {
#ifdef _OPENMP
    omp_set_num_threads(most);
#endif
  }
  loop_threads(const loop_threads&) = delete;
  loop_threads& operator=(const loop_threads&) = delete;
  ~loop_threads() {
#ifdef _OPENMP
    omp_set_num_threads(before_);
#endif
  }

 private:
#ifdef _OPENMP
  int before_ = omp_get_max_threads();
#endif
};

/// What several threads run, each in a guard: keeps the first exception for the thread that started
/// them. Where exceptions are switched off there is none to keep.
class first_failure {
 public:
  bool happened() const { return happened_.load(std::memory_order_relaxed); }

  template <class F>
  void guard(F&& f) {
#ifdef __cpp_exceptions
    try {
      f();
    } catch (...) {
      // The first to fail owns `failure_`; what joins the threads makes it visible to the caller.
      if (!happened_.exchange(true)) failure_ = std::current_exception();
    }
#else
    f();
#endif
  }

  /// Behind what joins the threads.
  void rethrow() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
  }

 private:
  std::atomic<bool> happened_{false};
  std::exception_ptr failure_;
};

/// Calls f(task, thread) for every task in [0, tasks), each exactly once; consecutive tasks go to
/// the same thread. `thread` is smaller than thread_count() and unique among the calls that run at
/// the same time, so it may index scratch memory. Runs in the caller, in order, where the work
/// (nanoseconds on one thread) does not pay for threads. The first exception thrown by f stops
/// tasks that have not started and is rethrown here. Allocates nothing.
template <class F>
void parallel_for(std::int64_t tasks, double estimated_nanoseconds, F f) {
#ifdef _OPENMP
  if (pays_for_threads(tasks, estimated_nanoseconds) && thread_count() > 1) {
    // An exception must not leave a parallel region.
    first_failure failure;
    const int threads = static_cast<int>(tasks < thread_count() ? tasks : thread_count());
    const timeline::label* const part_of = timeline::tasks;
#pragma omp parallel num_threads(threads)
    {
      const int thread = omp_get_thread_num();
      // Without the time in which a thread waits for the others, at the region's end.
      const timeline::share share(part_of, thread);
#pragma omp for schedule(static) nowait
      for (std::int64_t task = 0; task < tasks; ++task) {
        if (!failure.happened()) failure.guard([&] { f(task, thread); });
      }
    }
    failure.rethrow();
    return;
  }
#else
  static_cast<void>(estimated_nanoseconds);
#endif
  for (std::int64_t task = 0; task < tasks; ++task) f(task, 0);
}

/// The same for tasks that any one call may take several of: f(first, last, thread) for ranges that
/// cover [0, tasks), one per thread. Small work does not even ask how many threads there are.
template <class F>
void parallel_ranges(std::int64_t tasks, double estimated_nanoseconds, F f) {
  if (!pays_for_threads(tasks, estimated_nanoseconds)) {
    if (tasks > 0) f(std::int64_t{0}, tasks, 0);
    return;
  }
  const std::int64_t ranges = std::min<std::int64_t>(tasks, thread_count());
  parallel_for(ranges, estimated_nanoseconds, [&](std::int64_t range, int thread) {
    f(tasks * range / ranges, tasks * (range + 1) / ranges, thread);
  });
}

}  // namespace sinter::inline SINTER_ABI::exec
