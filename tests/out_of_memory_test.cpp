// SPDX-License-Identifier: MIT
// labels: fuzz
// Memory that runs out at any allocation of a call: the call throws std::bad_alloc, changes no
// argument, leaks nothing, and the next call of the same object is right.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <doctest/doctest.h>

#include "support/counted_heap.hpp"
#include <sinter/sinter.hpp>

namespace sn = sinter;
using counted_heap::failure;

namespace {

sn::tensor<float, 2> filled(std::int64_t rows, std::int64_t columns, int seed) {
  sn::tensor<float, 2> out(rows, columns);
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.data()[i] = 0.25f * static_cast<float>((i * 7 + seed) % 11 - 5);
  return out;
}

// Does `f` throw bad_alloc when allocations fail from number n on, or that one alone?
template <class F>
bool runs_out(F f, long n, bool once) {
  const failure armed(n, once);
  try {
    f();
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

// Every allocation where SINTER_FUZZ_SECONDS asks for long tests, every 47th otherwise: a call
// plans, some 2 ms each, and makes 1,500 allocations.
long stride() {
  static const bool all = std::getenv("SINTER_FUZZ_SECONDS") != nullptr;
  return all ? 1 : 47;
}

// For every n, in steps: call(object) with `make()` as object runs out of memory at allocation n,
// and with all that come behind it or without; then the object's tensors are as they were; the next
// call makes of them what one without a failure does; and everything is freed. Returns the number
// of allocations.
template <class Make, class Call>
long survives(Make make, Call call) {
  const auto fresh = make();
  auto expected = make();
  call(expected);
  long n = 0;
  for (bool once : {false, true}) {
    bool failed = true;
    // What fails alone may be caught where something else will do: then the call succeeds.
    for (long at = 0; once ? at < n : failed; at += stride()) {
      const long before = counted_heap::alive;
      bool kept = true, right = true;
      {
        auto object = make();
        failed = runs_out([&] { call(object); }, at, once);
        if (failed) {
          kept = object == fresh;
          call(object);
        }
        right = object == expected;
      }
      const long leaked = counted_heap::alive - before;
      if (!kept || !right || leaked != 0) {
        CAPTURE(at);
        CAPTURE(once);
        CHECK(kept);
        CHECK(right);
        REQUIRE(leaked == 0);
      }
      if (!once) n = at;
    }
  }
  return n;
}

constexpr auto layer = [](auto x, auto w, auto b) { return sn::softmax(sn::matmul(x, w) + b); };
constexpr auto training_step = [](auto w, auto x, auto rate) {
  auto [dw] = sn::gradients(sn::sum(sn::square(sn::matmul(x, w))), w);
  return sn::outputs(sn::assign(w, w - rate * dw), sn::sum(x, 0, true));
};

struct layer_call {
  decltype(sn::fuse(layer)) f = sn::fuse(layer);
  sn::tensor<float, 2> x = filled(3, 4, 0), w = filled(4, 5, 1), b = filled(1, 5, 2);
  sn::tensor<float, 2> y{{-1, -2}};

  friend bool operator==(const layer_call& one, const layer_call& other) {
    return one.x == other.x && one.w == other.w && one.b == other.b && one.y == other.y;
  }
};

struct training_call {
  decltype(sn::fuse(training_step)) f = sn::fuse(training_step);
  sn::tensor<float, 2> w = filled(4, 5, 1), x = filled(3, 4, 0), sums{{-1, -2}};

  friend bool operator==(const training_call& a, const training_call& b) {
    return a.w == b.w && a.x == b.x && a.sums == b.sums;
  }
};

}  // namespace

TEST_CASE("the first call of a process runs out of memory at one allocation after the other") {
  // Statics come into being: rules that are parsed, kernels that are listed. None of them is
  // complete before the failure has passed it, so that each is met half made.
  layer_call c;
  long n = 0;
  while (runs_out([&] { c.y = c.f(c.x, c.w, c.b); }, n, false)) ++n;
  CHECK(n > 100);
  layer_call other;
  other.y = other.f(c.x, c.w, c.b);
  CHECK(c == other);
}

TEST_CASE("a function that runs out of memory while it plans, binds, prepares or runs") {
  const auto first = [] { return layer_call(); };
  SUBCASE("first call, fresh result") {
    CHECK(survives(first, [](layer_call& c) { c.y = c.f(c.x, c.w, c.b); }) > 100);
  }
  SUBCASE("frozen arguments, into a tensor that has to grow") {
    const auto call = [](layer_call& c) { c.f.into(c.y)(c.x, sn::frozen(c.w), sn::frozen(c.b)); };
    CHECK(survives(first, call) > 100);
  }
  SUBCASE("a later call of the same shapes, of another bucket, of another class") {
    for (const std::int64_t rows : {3, 40, 1}) {
      const auto make = [rows] {
        layer_call c;
        c.y = c.f(c.x, c.w, c.b);
        c.x = filled(rows, 4, 3);
        return c;
      };
      CHECK(survives(make, [](layer_call& c) { c.y = c.f(c.x, c.w, c.b); }) > 0);
    }
  }
  SUBCASE("an argument that is assigned, into a tensor of the right shape and of another") {
    const auto make = [] { return training_call(); };
    CHECK(survives(make, [](training_call& c) { c.f.into(c.sums)(c.w, c.x, 0.1f); }) > 100);
    CHECK(survives(make, [](training_call& c) { c.sums = c.f(c.w, c.x, 0.1f); }) > 100);
  }
  SUBCASE("an expression") {
    const auto make = [] {
      sn::evaluation_cache::clear();
      return layer_call();
    };
    CHECK(survives(make, [](layer_call& c) { c.y = sn::matmul(c.x, c.w) + c.b; }) > 100);
  }
  SUBCASE("a graph that is built, compiled and run") {
    const auto call = [](layer_call& c) {
      sn::graph_builder g;
      const auto x = g.argument("x", sn::dtype::f32, {sn::sym("batch", 1, 64), 4});
      const auto w = g.bound("w", sn::any_tensor(c.w));
      const sn::graph_function f = g.compile({sn::relu(sn::matmul(x, w))});
      f.into({c.y})({c.x});
    };
    CHECK(survives(first, call) > 100);
  }
}

TEST_CASE("a call that ends while there is no memory") {
  // Two at a time: the second is not the thread's last one, and its executor goes to a list.
  sn::graph_builder g;
  const auto x = g.argument("x", sn::dtype::f32, {4, 5});
  const sn::ir::graph traced = g.graph_of({sn::relu(x) + x});
  sn::program p(traced, sn::detail::code_of(traced));
  const auto values = filled(4, 5, 0);
  const sn::detail::argument_memory memory[] = {
      {values.data(), values.shape(), {5, 1}, 20 * sizeof(float)}};
  const auto first = p.prepare(memory, {});
  auto second = std::make_unique<sn::program::prepared_call>(p, memory, std::span<std::int64_t>{});
  {
    const failure armed(0);
    second.reset();
  }
  sn::program::prepared_call third = p.prepare(memory, {});
  sn::tensor<float, 2> y(4, 5);
  const sn::detail::output_memory out[] = {{y.data(), 20 * sizeof(float)}};
  p.run(third, memory, out);
  CHECK(y == sn::tensor<float, 2>(sn::relu(values) + values));
}

#ifdef _OPENMP
TEST_CASE("a run that finds no memory for the scratch of more threads asks again") {
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  layer_call c;
  c.x = filled(300, 4, 0);
  c.f.into(c.y)(c.x, c.w, c.b);
  const auto expected = c.y;
  omp_set_num_threads(4);
  CHECK(runs_out([&] { c.f.into(c.y)(c.x, c.w, c.b); }, 0, false));
  const long allocations = counted_heap::allocations;
  c.f.into(c.y)(c.x, c.w, c.b);
  CHECK(counted_heap::allocations == allocations + 1);
  CHECK(c.y == expected);
  omp_set_num_threads(before);
}
#endif
