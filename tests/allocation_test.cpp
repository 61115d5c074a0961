// SPDX-License-Identifier: MIT
// A replayed call allocates nothing: every way to the heap is counted over 1,000 training steps.
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/counted_heap.hpp"
#include <sinter/layers/linear.hpp>
#include <sinter/sinter.hpp>
#include <sinter/training/adam.hpp>

namespace sn = sinter;
using counted_heap::allocations;

TEST_CASE("1,000 training steps without one allocation") {
  auto step = sn::fuse([](auto x, auto label, auto w, auto b, auto rate) {
    auto loss = sn::cross_entropy(sn::matmul(sn::relu(x), w) + b, label);
    auto [dw, db] = sn::gradients(loss, w, b);
    return sn::outputs(loss, sn::assign(w, w - rate * dw), sn::assign(b, b - rate * db));
  });
  sn::tensor<float, 2> x(8, 12), w(12, 5);
  sn::tensor<float, 1> b(5);
  sn::tensor<std::int32_t, 1> label(8);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 7) * 0.1f;
  for (std::int64_t i = 0; i < 8; ++i) label(i) = static_cast<std::int32_t>(i % 5);
  sn::tensor<float, 0> loss;
  step.into(loss)(x, label, w, b, 0.1f);
  const float first = loss.item();
  step.into(loss)(x, label, w, b, 0.1f);
  const long before = allocations;
  for (int i = 0; i < 1000; ++i) step.into(loss)(x, label, w, b, 0.1f);
  CHECK(allocations - before == 0);
  CHECK(loss.item() < first);
}

namespace {

template <class Kind>
struct two_layers {
  sinter::layers::linear<Kind> hidden, output;
  constexpr auto operator()(auto x) const { return output(sn::relu(hidden(x))); }
};

}  // namespace

TEST_CASE("training steps of a model with Adam allocate nothing") {
  using model_type = two_layers<sn::stored<float>>;
  auto step = sn::fuse([](auto model, auto state, auto x, auto label, auto rate) {
    const auto loss = sn::cross_entropy(model(x), label);
    return sn::outputs(loss, sn::adam{}.update(model, sn::gradients(loss, model), state, rate));
  });
  sn::initialiser init(1);
  using linear = sn::layers::linear<sn::stored<float>>;
  model_type model{linear::make(12, 16, init), linear::make(16, 5, init)};
  auto state = sn::adam_state<model_type>::make(model);
  sn::tensor<float, 2> x(8, 12);
  sn::tensor<std::int32_t, 1> label(8);
  init.normal(x, 0, 1);
  for (std::int64_t i = 0; i < 8; ++i) label(i) = static_cast<std::int32_t>(i % 5);
  sn::tensor<float, 0> loss;
  step.into(loss)(model, state, x, label, 0.01);
  const float first = loss.item();
  step.into(loss)(model, state, x, label, 0.01);
  const long before = allocations;
  for (int i = 0; i < 100; ++i) step.into(loss)(model, state, x, label, 0.01);
  CHECK(allocations - before == 0);
  CHECK(loss.item() < 0.1f * first);
}

TEST_CASE("attention that turns queries and keys on its way allocates nothing") {
  auto f = sn::fuse([](auto q, auto k, auto v) {
    return sn::matmul(
        sn::softmax(sn::matmul(sn::rope(q), sn::permute(sn::rope(k), {0, 2, 1})) * 0.25f), v);
  });
  sn::tensor<float, 3> q(2, 150, 16), k(2, 70, 16), v(2, 70, 8), out(2, 150, 8);
  for (sn::tensor<float, 3>* x : {&q, &k, &v})
    for (std::int64_t i = 0; i < x->size(); ++i) x->data()[i] = static_cast<float>(i % 7) * 0.1f;
  for (int i = 0; i < 2; ++i) f.into(out)(q, k, v);
  const long before = allocations;
  for (int i = 0; i < 20; ++i) f.into(out)(q, k, v);
  CHECK(allocations - before == 0);
}

TEST_CASE("replayed projections of one input and a gate allocate nothing") {
  auto f = sn::fuse([](auto x, auto wq, auto wk, auto wg, auto wu) {
    return sn::outputs(sn::matmul(x, wq), sn::matmul(x, wk),
                       sn::silu(sn::matmul(x, wg)) * sn::matmul(x, wu));
  });
  sn::tensor<float, 2> x(33, 48), wq(48, 40), wk(48, 20), wg(48, 90), wu(48, 90);
  for (auto* t : {&x, &wq, &wk, &wg, &wu})
    for (std::int64_t i = 0; i < t->size(); ++i) t->data()[i] = static_cast<float>(i % 5);
  sn::tensor<float, 2> q(33, 40), k(33, 20), gated(33, 90);
  f.into(q, k, gated)(x, wq, wk, wg, wu);
  f.into(q, k, gated)(x, wq, wk, wg, wu);
  const long before = allocations;
  for (int i = 0; i < 100; ++i) f.into(q, k, gated)(x, wq, wk, wg, wu);
  CHECK(allocations - before == 0);
}

TEST_CASE("a fresh result costs one allocation") {
  auto f = sn::fuse([](auto x) { return x + 1.0f; });
  sn::tensor<float, 1> x(100);
  auto y = f(x);
  const long before = allocations;
  for (int i = 0; i < 10; ++i) y = f(x);
  CHECK(allocations - before <= 10);
}

TEST_CASE("calls with frozen arguments allocate nothing, nor do calls by turns with two of them") {
  auto f = sn::fuse([](auto x, auto s, auto w) { return sn::relu(sn::matmul(x * s, w)); });
  sn::tensor<float, 2> x(8, 12), w(12, 5), v(12, 5), y(8, 5);
  sn::tensor<float, 1> s(12);
  s.fill(0.5f);
  w.fill(2);
  v.fill(3);
  for (int i = 0; i < 2; ++i) {
    f.into(y)(x, sn::frozen(s), sn::frozen(w));
    f.into(y)(x, sn::frozen(s), sn::frozen(v));
  }
  const long before = allocations;
  for (int i = 0; i < 100; ++i) {
    f.into(y)(x, sn::frozen(s), sn::frozen(w));
    f.into(y)(x, sn::frozen(s), sn::frozen(v));
  }
  CHECK(allocations - before == 0);
  CHECK(f.statistics().preparations == 2);
}

TEST_CASE("a large block fits where one of as many bytes was") {
  if (sn::detail::is_address_sanitized) return;  // which sees where each ends
  const auto asked = [](std::size_t bytes) {
    const sn::storage block(bytes);
    return counted_heap::last_bytes.load();
  };
  for (const std::size_t bytes : {sn::huge_pages_from, 3 * sn::huge_pages_from + 4097}) {
    const std::size_t first = asked(bytes);
    CHECK(first > bytes);
    for (std::size_t i = 0; i < 2 * sn::block_offsets; ++i) CHECK(asked(bytes) == first);
  }
}

TEST_CASE("blocks of some size that are freed are kept for the next of about their size") {
  if (sn::detail::is_address_sanitized) return;  // which sees who uses what was freed
  constexpr std::size_t size = 2 * sn::huge_pages_from;
  sn::freed_tensors.release();
  const long alive = counted_heap::alive;
  const auto made = [](std::size_t bytes) {
    const long before = allocations;
    const sn::storage a(bytes), b(bytes);
    a.data()[0] = b.data()[bytes - 1] = std::byte{1};
    CHECK(a.data() != b.data());
    return allocations - before;
  };
  CHECK(made(size) == 2);
  for (std::size_t less : {0, 1, 4096, 500'000}) CHECK(made(size - less) == 0);
  CHECK(made(size + size / 4) == 2);                   // larger
  CHECK(made(size / 2) == 2);                          // much smaller
  CHECK(made(sn::free_blocks::least_bytes / 2) == 2);  // small blocks are the C library's
  CHECK(counted_heap::alive - alive == 6);
  // No more is kept than there is room for, in bytes and in blocks; what does not fit at all never.
  for (std::size_t i = 1; i < 20; ++i) made(i * size / 2);
  CHECK(counted_heap::alive - alive <= static_cast<long>(sn::free_blocks::most_blocks));
  { const sn::storage whole(sn::free_blocks::most_bytes - 2 * sn::huge_pages_from); }
  CHECK(counted_heap::alive - alive == 1);
  { const sn::storage more(sn::free_blocks::most_bytes); }
  CHECK(counted_heap::alive - alive == 1);
  // Where there is no memory left they are given back.
  {
    const counted_heap::failure next(0, true);
    const sn::storage block(size);
    CHECK(counted_heap::alive - alive == 1);
  }
  sn::freed_tensors.release();
  CHECK(counted_heap::alive - alive == 0);
}

TEST_CASE("threads that free and take large blocks at once never share one") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 200; ++i) {
        const std::size_t bytes = sn::huge_pages_from + static_cast<std::size_t>(i % 3) * 70'000;
        const sn::storage block(bytes);
        std::byte* const ends[] = {block.data(), block.data() + bytes - 1};
        for (std::byte* end : ends) *end = static_cast<std::byte>(t);
        std::this_thread::yield();
        for (std::byte* end : ends) wrong += *end == static_cast<std::byte>(t) ? 0 : 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
