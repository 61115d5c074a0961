// SPDX-License-Identifier: MIT
// run: serial
#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/exec/parallel.hpp>

namespace parallel_test {

namespace exec = sinter::exec;

TEST_CASE("every task runs exactly once, with a thread number below thread_count()") {
  for (const std::int64_t tasks : {0, 1, 2, 7, 1000})
    for (const double work : {0.0, 1e9}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      std::atomic<bool> valid{true};
      const int threads = exec::thread_count();
      exec::parallel_for(tasks, work, [&](std::int64_t task, int thread) {
        ++runs[static_cast<std::size_t>(task)];
        if (thread < 0 || thread >= threads) valid = false;
      });
      CHECK(valid);
      for (const auto& count : runs) CHECK(count == 1);
    }
}

TEST_CASE("ranges cover all tasks once") {
  for (const std::int64_t tasks : {0, 1, 2, 7, 1000})
    for (const double work : {0.0, 1e9}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      std::atomic<int> ranges{0};
      exec::parallel_ranges(tasks, work, [&](std::int64_t first, std::int64_t last, int) {
        ++ranges;
        for (std::int64_t task = first; task < last; ++task) ++runs[static_cast<std::size_t>(task)];
      });
      CHECK(ranges <= exec::thread_count() * exec::most_ranges_per_thread);
      for (const auto& count : runs) CHECK(count == 1);
    }
}

TEST_CASE("a thread that has none of its own tasks left takes those of others") {
  for (const int threads : {1, 2, 3, 7, 100}) {
    std::vector<int> runs(40);
    exec::dealt_tasks dealt(40, threads);
    std::vector<std::int64_t> order;
    dealt.run(threads - 1, [&](std::int64_t task) {
      ++runs[static_cast<std::size_t>(task)];
      order.push_back(task);
    });
    for (const int count : runs) CHECK(count == 1);
    CHECK(order.front() == 40 * ((threads - 1) % 64) / std::min(threads, 64));
    for (int thread = 0; thread < threads; ++thread)
      dealt.run(thread, [](std::int64_t) { FAIL("a task runs twice"); });
  }
}

TEST_CASE("one slow thread does not keep its tasks to itself") {
  if (exec::thread_count() < 2) return;
  // The first task ends when all others have been run, most of which are dealt to its thread.
  std::atomic<int> others{0};
  exec::parallel_for(64, 1e9, [&](std::int64_t task, int) {
    if (task != 0) {
      ++others;
      return;
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (others < 63 && std::chrono::steady_clock::now() < deadline) {
    }
    CHECK(others == 63);
  });
}

TEST_CASE("a loop of few tasks keeps the threads for the next one") {
  const exec::loop_threads four(4);
  if (exec::thread_count() < 4) return;
  // One task for each thread, since none ends before all have begun.
  const auto in_all_threads = [](auto f) {
    std::atomic<int> begun{0};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    exec::parallel_for(4, 1e9, [&](std::int64_t, int) {
      ++begun;
      while (begun < 4 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      f();
    });
  };
  static thread_local bool is_known = false;
  in_all_threads([] { is_known = true; });
  exec::parallel_for(2, 1e9, [](std::int64_t, int) {});
  std::atomic<int> known{0};
  in_all_threads([&] { known += is_known ? 1 : 0; });
  CHECK(known == 4);
}

TEST_CASE("no two tasks run at the same time with the same thread number") {
  std::vector<std::atomic<int>> active(static_cast<std::size_t>(exec::thread_count()));
  std::atomic<bool> shared{false};
  exec::parallel_for(200, 1e9, [&](std::int64_t, int thread) {
    if (++active[static_cast<std::size_t>(thread)] != 1) shared = true;
    for (volatile int i = 0; i < 1000;) i = i + 1;
    --active[static_cast<std::size_t>(thread)];
  });
  CHECK_FALSE(shared);
}

TEST_CASE("small work stays in the calling thread, in order") {
  std::vector<std::int64_t> order;
  exec::parallel_for(100, sinter::planning::parallel_nanoseconds / 2,
                     [&](std::int64_t task, int thread) {
                       CHECK(thread == 0);
                       order.push_back(task);
                     });
  for (std::int64_t i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("what threads that sleep are woken for is larger") {
  for (const char* policy : {"passive", "PASSIVE", "Passive"}) CHECK(exec::says_passive(policy));
  for (const char* policy : {"", "active", "passiv", "passively"})
    CHECK(!exec::says_passive(policy));
  CHECK(!exec::says_passive(nullptr));
  CHECK(exec::least_parallel_nanoseconds() >= sinter::planning::parallel_nanoseconds);
}

TEST_CASE("an exception leaves the loop as it was thrown") {
  for (const double work : {0.0, 1e9})
    CHECK_THROWS_WITH_AS(exec::parallel_for(100, work,
                                            [](std::int64_t task, int) {
                                              if (task == 63) throw std::out_of_range("task 63");
                                            }),
                         "task 63", std::out_of_range);
}

TEST_CASE("a loop inside of a task runs in that task's thread") {
  std::atomic<int> sum{0};
  exec::parallel_for(4, 1e9, [&](std::int64_t, int) {
    exec::parallel_for(10, 1e9, [&](std::int64_t task, int thread) {
      // One thread runs the inner loop; without OpenMP, or with one thread, the outer one is not a
      // region either.
      if (thread == 0 || exec::thread_count() > 1) sum += static_cast<int>(task);
    });
  });
  CHECK(sum == 4 * 45);
}

}  // namespace parallel_test
