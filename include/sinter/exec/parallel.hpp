// SPDX-License-Identifier: MIT
// The one place that knows OpenMP: a parallel loop over tasks. Tasks are divided by shape before
// they come here, so the number of threads decides only who runs a task, never what it computes.
// Without OpenMP everything runs in the caller.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
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

/// Threads that share such work.
inline std::int64_t threads_for(std::int64_t tasks, double estimated_nanoseconds) {
  return pays_for_threads(tasks, estimated_nanoseconds) ? thread_count() : 1;
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

// Ranges that a thread gets, so that others can take some of them. One for each thread where they
// would be shorter by the cost model: data then stay with their thread from call to call, and 16
// threads take 24 µs instead of 39 for relu(x + b) over 8 MB.
inline constexpr std::int64_t most_ranges_per_thread = 8;
inline constexpr double least_range_nanoseconds = 200'000;

/// Tasks [0, tasks), dealt to threads in parts of neighbours. A thread takes the tasks of its own
/// part in order, and when none is left there, those of others, one by one: where a core is slower,
/// because something else runs on it, it leaves work to the others.
class dealt_tasks {
 public:
  dealt_tasks(std::int64_t tasks, int threads) : parts_(std::min(threads, most_parts)) {
    for (int i = 0; i < parts_; ++i) {
      part_[index(i)].next.store(planning::piece_begin(tasks, 1, parts_, i),
                                 std::memory_order_relaxed);
      part_[index(i)].end = planning::piece_begin(tasks, 1, parts_, i + 1);
    }
  }

  /// Calls f(task) until no task is left.
  template <class F>
  void run(int thread, F f) {
    for (int i = 0; i < parts_; ++i) {
      part& from = part_[index((thread + i) % parts_)];
      // The test alone keeps counters from growing without end, and lines from being fetched.
      while (from.next.load(std::memory_order_relaxed) < from.end) {
        const std::int64_t task = from.next.fetch_add(1, std::memory_order_relaxed);
        if (task >= from.end) break;
        f(task);
      }
    }
  }

 private:
  // More threads share parts: this lies on the stack of the thread that starts a loop.
  static constexpr int most_parts = 64;
  struct alignas(64) part {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  int parts_;
  std::array<part, most_parts> part_;
};

/// Calls f(task, thread) for every task in [0, tasks), each exactly once; a thread begins with
/// consecutive tasks, the same in every loop of this length. `thread` is smaller than
/// thread_count() and unique among the calls that run at the same time, so it may index scratch
/// memory. Runs in the caller, in order, where the work (nanoseconds on one thread) does not pay
/// for threads. The first exception thrown by f stops tasks that have not started and is rethrown
/// here. Allocates nothing.
template <class F>
void parallel_for(std::int64_t tasks, double estimated_nanoseconds, const F& f) {
#ifdef _OPENMP
  if (pays_for_threads(tasks, estimated_nanoseconds) && thread_count() > 1) {
    // An exception must not leave a parallel region.
    first_failure failure;
    dealt_tasks dealt(tasks, static_cast<int>(std::min<std::int64_t>(tasks, thread_count())));
    const timeline::label* const part_of = timeline::tasks;
    // All threads, even for fewer tasks: GCC's runtime ends those that a region does not ask for
    // and starts them anew for the next one, which takes 300 µs for 12 threads.
#pragma omp parallel
    if (const int thread = omp_get_thread_num(); thread < tasks) {
      // Without the time in which a thread waits for the others, at the region's end.
      const timeline::share share(part_of, thread);
      dealt.run(thread, [&](std::int64_t task) {
        if (!failure.happened()) failure.guard([&] { f(task, thread); });
      });
    }
    failure.rethrow();
    return;
  }
#else
  static_cast<void>(estimated_nanoseconds);
#endif
  for (std::int64_t task = 0; task < tasks; ++task) f(task, 0);
}

namespace detail {

// Apart, so that what is small has no part in it.
template <class F>
[[gnu::noinline]] void share_ranges(std::int64_t tasks, double estimated_nanoseconds, const F& f) {
  const std::int64_t threads = thread_count();
  const auto affordable = static_cast<std::int64_t>(
      estimated_nanoseconds / least_range_nanoseconds / static_cast<double>(threads));
  const std::int64_t each =
      threads == 1 ? 1 : std::clamp<std::int64_t>(affordable, 1, most_ranges_per_thread);
  const std::int64_t ranges = std::min(tasks, threads * each);
  parallel_for(ranges, estimated_nanoseconds, [&](std::int64_t range, int thread) {
    f(planning::piece_begin(tasks, 1, ranges, range),
      planning::piece_begin(tasks, 1, ranges, range + 1), thread);
  });
}

}  // namespace detail

/// The same for tasks that any one call may take several of: f(first, last, thread) for ranges that
/// cover [0, tasks). Small work does not even ask how many threads there are, nor hands f on: its
/// references, written one by one and read in pairs, would take 5 ns of a call's 50 to arrive.
template <class F>
[[gnu::always_inline]] inline void parallel_ranges(std::int64_t tasks, double estimated_nanoseconds,
                                                   const F& f) {
  if (pays_for_threads(tasks, estimated_nanoseconds))
    detail::share_ranges(tasks, estimated_nanoseconds, f);
  else if (tasks > 0)
    f(std::int64_t{0}, tasks, 0);
}

/// Tasks [first, last), of which so many `parts` make a row, row by row: f(row, part, end) for its
/// parts [part, end).
template <class F>
void for_each_row_of_tasks(std::int64_t first, std::int64_t last, std::int64_t parts, F f) {
  while (first < last) {
    const std::int64_t row = first / parts, end = std::min(last, (row + 1) * parts);
    f(row, first - row * parts, end - row * parts);
    first = end;
  }
}

/// Rows whose columns threads share in parts of so many: f(row, column, column_end, thread). A
/// thread takes neighbouring parts of a row in one call: whole rows of a table, not 16 times a line
/// of each.
template <class F>
void parallel_columns(std::int64_t rows, std::int64_t columns, std::int64_t columns_per_part,
                      double estimated_nanoseconds, F f) {
  const std::int64_t parts = planning::pieces_of(columns, columns_per_part);
  parallel_ranges(
      rows * parts, estimated_nanoseconds, [&](std::int64_t first, std::int64_t last, int thread) {
        for_each_row_of_tasks(
            first, last, parts, [&](std::int64_t row, std::int64_t part, std::int64_t end) {
              f(row, part * columns_per_part, std::min(columns, end * columns_per_part), thread);
            });
      });
}

}  // namespace sinter::inline SINTER_ABI::exec
