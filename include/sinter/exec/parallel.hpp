// SPDX-License-Identifier: MIT
// The one place that knows OpenMP: a parallel loop over tasks. Tasks are divided by shape before
// they come here, so the number of threads decides only who runs a task, never what it computes.
// Without OpenMP everything runs in the caller.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <sinter/plan/division.hpp>

namespace sinter::exec {

/// The most threads a parallel_for started here would use: the value range of `thread` is [0,
/// thread_count()).
inline int thread_count() {
#ifdef _OPENMP
  return omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
#else
  return 1;
#endif
}

/// While it lives, loops that this thread starts run on it alone: for measurements.
class one_thread {
 public:
  one_thread() {
#ifdef _OPENMP
    omp_set_num_threads(1);
#endif
  }
  one_thread(const one_thread&) = delete;
  one_thread& operator=(const one_thread&) = delete;
  ~one_thread() {
#ifdef _OPENMP
    omp_set_num_threads(before_);
#endif
  }

 private:
#ifdef _OPENMP
  int before_ = omp_get_max_threads();
#endif
};

/// Calls f(task, thread) for every task in [0, tasks), each exactly once; consecutive tasks go to
/// the same thread. `thread` is smaller than thread_count() and unique among the calls that run at
/// the same time, so it may index scratch memory. Runs in the caller, in order, where the work
/// (nanoseconds on one thread) does not pay for threads. The first exception thrown by f stops
/// tasks that have not started and is rethrown here. Allocates nothing.
template <class F>
void parallel_for(std::int64_t tasks, double estimated_nanoseconds, F f) {
#ifdef _OPENMP
  if (planning::goes_to_threads(tasks, estimated_nanoseconds) && thread_count() > 1) {
    // An exception must not leave a parallel region.
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
    const int threads = static_cast<int>(tasks < thread_count() ? tasks : thread_count());
#pragma omp parallel num_threads(threads)
    {
      const int thread = omp_get_thread_num();
#pragma omp for schedule(static)
      for (std::int64_t task = 0; task < tasks; ++task) {
        if (failed.load(std::memory_order_relaxed)) continue;
        try {
          f(task, thread);
        } catch (...) {
          // The first to fail owns `failure`; the region's closing barrier makes it visible to the
          // caller.
          if (!failed.exchange(true)) failure = std::current_exception();
        }
      }
    }
    if (failed) std::rethrow_exception(failure);
    return;
  }
#else
  static_cast<void>(estimated_nanoseconds);
#endif
  for (std::int64_t task = 0; task < tasks; ++task) f(task, 0);
}

}  // namespace sinter::exec
