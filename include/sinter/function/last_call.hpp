// SPDX-License-Identifier: MIT
// What a call runs on, and where it waits for the next one. A call that repeats the last one of its
// thread finds everything at one place, without a lock and without counting references.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::detail {

struct shape_class;
struct bucket;
struct prepared_values;
class counted_executor;

struct ready_call {
  // Shared: a class or bucket that is forgotten while a call uses it lives until the call ends.
  std::shared_ptr<shape_class> shapes;
  std::shared_ptr<bucket> plan;
  std::shared_ptr<const prepared_values> kept;  // null where nothing is prepared
  std::unique_ptr<counted_executor> executor;   // the call's alone
};

/// A place for one ready call, with a lock that nobody waits for: who finds it taken does without.
/// Taking it costs one atomic exchange, giving it back a store. All else here belongs to who has
/// taken it: the store releases what the next one's exchange acquires.
class alignas(64) last_call {
 public:
  bool try_take() noexcept {
    return !taken_.load(std::memory_order_relaxed) &&
           !taken_.exchange(true, std::memory_order_acquire);
  }
  void give_back() noexcept { taken_.store(false, std::memory_order_release); }

  ready_call& ready() noexcept { return ready_; }

  // Counts are read by anybody but written by who has taken the place, hence no atomic addition.
  void count_hit() noexcept { add_one(hits_); }
  void count_call() noexcept { add_one(calls_); }
  std::size_t hits() const noexcept { return hits_.load(std::memory_order_relaxed); }
  std::size_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }

  // Was there a hit since this was asked last?
  bool take_used() noexcept {
    const bool used = hits() != hits_seen_;
    hits_seen_ = hits();
    return used;
  }

 private:
  static void add_one(std::atomic<std::size_t>& count) noexcept {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  std::atomic<bool> taken_{false};
  std::atomic<std::size_t> hits_{0}, calls_{0};
  std::size_t hits_seen_ = 0;
  ready_call ready_;
};

/// A place that was taken, for as long as this lives; or none.
class taken_place {
 public:
  explicit taken_place(last_call& place) noexcept : place_(place.try_take() ? &place : nullptr) {}
  taken_place(const taken_place&) = delete;
  taken_place& operator=(const taken_place&) = delete;
  ~taken_place() {
    if (place_ != nullptr) place_->give_back();
  }

  explicit operator bool() const noexcept { return place_ != nullptr; }
  last_call& operator*() const noexcept { return *place_; }
  last_call* operator->() const noexcept { return place_; }

 private:
  last_call* place_;
};

/// Numbers threads in the order in which they ask first.
inline std::size_t thread_number() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t own = next.fetch_add(1, std::memory_order_relaxed);
  return own;
}

}  // namespace sinter::inline SINTER_ABI::detail
