// SPDX-License-Identifier: MIT
// Several threads at once: one function object, many of them, expressions, and a call that fails
// among others.
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <latch>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/exec/parallel.hpp>
#include <sinter/sinter.hpp>

namespace threads_test {

namespace sn = sinter;

namespace {

constexpr int thread_count = 8;

// Runs body(0), ..., body(7) on threads that start together, so that first calls meet. What threads
// find wrong they count: doctest's checks belong to the main thread.
void together(const std::function<void(int)>& body) {
  std::latch start(thread_count);
  std::vector<std::jthread> threads;
  for (int t = 0; t < thread_count; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      body(t);
    });
}

sn::tensor<float, 2> filled(std::int64_t rows, std::int64_t columns, int seed) {
  sn::tensor<float, 2> out(rows, columns);
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.data()[i] = 0.01f * static_cast<float>((i * 37 + seed * 11) % 101 - 50);
  return out;
}

// Elements of `got` that are not relu(x w + b).
int wrong_elements(const sn::tensor<float, 2>& got, const sn::tensor<float, 2>& x,
                   const sn::tensor<float, 2>& w, const sn::tensor<float, 1>& b) {
  if (!(got.shape() == sn::shape_vector{x.extent(0), w.extent(1)})) return 1;
  int wrong = 0;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t j = 0; j < w.extent(1); ++j) {
      double sum = b(j);
      for (std::int64_t k = 0; k < x.extent(1); ++k)
        sum += static_cast<double>(x(i, k)) * static_cast<double>(w(k, j));
      wrong += std::abs(got(i, j) - std::max(sum, 0.0)) < 1e-4 ? 0 : 1;
    }
  }
  return wrong;
}

// Doubles rows; throws where one begins below zero.
struct doubled_row {
  static constexpr std::string_view name = "doubled_row";
  static constexpr int arity = 1;
  static constexpr int core_axes = 1;
  template <class T>
  static void kernel(std::span<const sn::custom_input> in, const sn::custom_output& out,
                     std::span<const double>) {
    const auto x = in[0].as<T>();
    const auto y = out.as<T>();
    const auto rows = static_cast<std::size_t>(out.extent(0));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i % (x.size() / rows) == 0 && x[i] < 0) throw std::domain_error("a row below zero");
      y[i] = 2 * x[i];
    }
  }
};

// The same element by element: throws where one is above a thousand.
struct bounded {
  static constexpr std::string_view name = "bounded";
  static constexpr int arity = 1;
  static constexpr auto element = [](auto x) {
    using std::abs;
    if constexpr (requires { any(x > 1000); }) {
      if (any(x > 1000)) throw std::domain_error("an element above 1000");
    }
    return abs(x);
  };
};

}  // namespace

TEST_CASE("one function, eight threads, several shape classes and buckets") {
  auto layer = sn::fuse([](auto x, auto w, auto b) { return sn::relu(sn::matmul(x, w) + b); });
  // Every thread meets every bucket of rows, each in another order; a batch of one and a single
  // column are classes of their own.
  constexpr std::array<std::int64_t, 8> rows{1, 2, 3, 7, 16, 33, 64, 100};
  constexpr std::array<std::int64_t, 3> columns{1, 5, 40};
  std::atomic<int> wrong = 0;
  together([&](int t) {
    for (std::size_t round = 0; round < 24; ++round) {
      const std::size_t at = round + static_cast<std::size_t>(t) * 3;
      const auto x = filled(rows[at % 8], 9, t), w = filled(9, columns[at % 3], t + 1);
      sn::tensor<float, 1> b(w.extent(1));
      for (std::int64_t j = 0; j < b.size(); ++j) b(j) = 0.1f * static_cast<float>(j - 2);
      wrong += wrong_elements(layer(x, w, b), x, w, b);
    }
  });
  CHECK(wrong == 0);
  const sn::program_statistics counts = layer.statistics();
  CHECK(counts.calls == 8 * 24);
  // Rows and columns one or not; 3 and 4 rows are one bucket, the others differ.
  CHECK(counts.saturations == 4);
  CHECK(counts.extractions == 7 * 3);
}

TEST_CASE("one function whose assignments are the thread's own: state is not shared") {
  auto step = sn::fuse([](auto w, auto x, auto rate) {
    auto [dw] = sn::gradients(sn::sum(sn::square(sn::matmul(x, w))), w);
    return sn::outputs(sn::assign(w, w - rate * dw));
  });
  const auto x = filled(12, 6, 0);
  const auto trained = [&](int seed) {
    auto w = filled(6, 4, seed);
    for (int i = 0; i < 20; ++i) step(w, x, 0.01f);
    return w;
  };
  std::vector<sn::tensor<float, 2>> alone, results(thread_count);
  for (int t = 0; t < thread_count; ++t) alone.push_back(trained(t));
  together([&](int t) { results[static_cast<std::size_t>(t)] = trained(t); });
  for (std::size_t t = 0; t < thread_count; ++t) CHECK(results[t] == alone[t]);  // every bit
}

TEST_CASE("eight function objects side by side share nothing") {
  const auto x = filled(30, 20, 0);
  std::vector<sn::tensor<float, 2>> results(thread_count);
  std::vector<std::size_t> saturations(thread_count);
  together([&](int t) {
    auto f = sn::fuse([](auto a, auto scale) { return sn::softmax(a * scale); });
    for (int i = 0; i < 5; ++i)
      results[static_cast<std::size_t>(t)] = f(x, static_cast<float>(1 + t));
    saturations[static_cast<std::size_t>(t)] = f.statistics().saturations;
  });
  auto f = sn::fuse([](auto a, auto scale) { return sn::softmax(a * scale); });
  for (std::size_t t = 0; t < thread_count; ++t) {
    CHECK(results[t] == f(x, static_cast<float>(1 + t)));
    CHECK(saturations[t] == 1);
  }
}

TEST_CASE("an expression that is evaluated by eight threads") {
  std::atomic<int> wrong = 0;
  together([&](int t) {
    for (int round = 0; round < 12; ++round) {
      const auto x = filled(1 + (round + t) % 6 * 7, 9, t), w = filled(9, 5, t + 1);
      sn::tensor<float, 1> b(5);
      for (std::int64_t j = 0; j < b.size(); ++j) b(j) = 0.1f * static_cast<float>(j - 2);
      const sn::tensor<float, 2> y = sn::relu(sn::matmul(x, w) + b);
      wrong += wrong_elements(y, x, w, b);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a call that throws in one thread leaves the others right") {
  auto pick = sn::fuse([](auto x, auto i) { return sn::gather(x, i, 0) * 2.0f; });
  const auto x = filled(10, 8, 0);
  std::atomic<int> wrong = 0, index_errors = 0;
  together([&](int t) {
    for (int round = 0; round < 40; ++round) {
      sn::tensor<std::int32_t, 1> index{round % 10, (round + t) % 10, 9};
      const bool bad = t == 3;
      if (bad) index(1) = 10 + round;
      try {
        const auto got = pick(x, index);
        wrong += bad ? 1 : 0;
        for (std::int64_t i = 0; i < 3; ++i)
          for (std::int64_t c = 0; c < 8; ++c) wrong += got(i, c) == 2 * x(index(i), c) ? 0 : 1;
      } catch (const sn::index_error&) {
        ++index_errors;
      }
    }
  });
  CHECK(wrong == 0);
  CHECK(index_errors == 40);
}

TEST_CASE("calls that repeat the last one of their thread, among others that drop its plan") {
  // 16 threads share 8 places; a plan is kept for one bucket alone, so they take it from each
  // other.
  auto f = sn::fuse([](auto x, auto b) { return sn::relu(x + b); }, {.keep = {.buckets = 1}});
  std::atomic<int> wrong = 0;
  const auto calls = [&](int t) {
    for (int round = 0; round < 8; ++round) {
      const std::int64_t n = (t + round) % 4 == 0 ? 40 : 9;
      sn::tensor<float, 1> x(n), b(n), y(n);
      x.fill(static_cast<float>(t));
      b.fill(static_cast<float>(round));
      for (int repeat = 0; repeat < 50; ++repeat) {
        f.into(y)(x, b);
        for (const float each : y) wrong += each == static_cast<float>(t + round) ? 0 : 1;
      }
    }
  };
  together([&](int t) {
    std::jthread other([&, t] { calls(t + thread_count); });
    calls(t);
  });
  CHECK(wrong == 0);
  const sn::program_statistics counts = f.statistics();
  CHECK(counts.calls == 16 * 8 * 50);
  CHECK(counts.hits + counts.misses == counts.calls);
  CHECK(counts.plans == 1);
}

TEST_CASE(
    "what a kernel throws inside a parallel loop reaches the caller, and the next call runs") {
  const sn::exec::loop_threads four(4);
  auto f = sn::fuse([](auto x) { return sn::custom<doubled_row>(x) + 1.0f; });
  auto g = sn::fuse([](auto x) { return sn::sum(sn::custom<bounded>(x) * 2.0f, 1); });
  const auto good = sn::tensor<float, 2>::full({1024, 512}, 3);
  for (const std::int64_t row : {0, 511, 1023}) {
    auto bad = good;
    bad(row, 0) = -1;
    const auto kept = bad;
    CHECK_THROWS_AS(f(bad), std::domain_error);
    CHECK(bad == kept);
    CHECK(f(good) == sn::tensor<float, 2>::full({1024, 512}, 7));
    bad(row, 7) = 2000;
    CHECK_THROWS_AS(g(bad), std::domain_error);
    CHECK(g(good) == sn::tensor<float, 1>::full({1024}, 3072));
  }
}

TEST_CASE("an index out of range among many reaches the caller before anything is written") {
  const sn::exec::loop_threads four(4);
  auto f = sn::fuse([](auto x, auto y, auto i) {
    return sn::outputs(sn::assign(x, x * 2.0f), sn::gather(y, i + 1, 0) * 3.0f);
  });
  const auto y = filled(100, 64, 0);
  sn::tensor<std::int32_t, 1> index(20000);
  for (std::int64_t k = 0; k < index.size(); ++k) index(k) = static_cast<std::int32_t>(k % 99);
  sn::tensor<float, 1> x{1, 2};
  for (const std::int64_t at : {0, 9999, 19999}) {
    auto bad = index;
    bad(at) = 99;
    CHECK_THROWS_AS(f(x, y, bad), sn::index_error);
    CHECK(x == sn::tensor<float, 1>{1, 2});
  }
  const auto picked = f(x, y, index);
  CHECK(x == sn::tensor<float, 1>{2, 4});
  CHECK(picked(19999, 63) == 3 * y(19999 % 99 + 1, 63));
}

}  // namespace threads_test
