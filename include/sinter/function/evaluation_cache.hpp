// SPDX-License-Identifier: MIT
// The plans of expressions that are evaluated directly: a bounded list per expression type, in a
// static of the function that evaluates it, and what can be asked of all of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <sinter/function/plan_cache.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// By attribute values, and which leaves are the same memory. Scalars are arguments, and no part of
// a key.
using expression_programs = program_list<std::vector<std::int64_t>>;

struct evaluation_registry {
  std::mutex mutex;
  std::vector<expression_programs*> lists;
  std::atomic<std::size_t> limit = 32;

  static evaluation_registry& instance() {
    static evaluation_registry one;
    return one;
  }
};

// The list of one expression type, known to the registry, which lives longer.
class registered_programs {
 public:
  registered_programs() : registry_(evaluation_registry::instance()) {
    const std::scoped_lock lock(registry_.mutex);
    registry_.lists.push_back(&programs_);
  }
  registered_programs(const registered_programs&) = delete;
  registered_programs& operator=(const registered_programs&) = delete;
  ~registered_programs() {
    const std::scoped_lock lock(registry_.mutex);
    std::erase(registry_.lists, &programs_);
  }

  template <class Make>
  std::shared_ptr<program> find_or_make(std::vector<std::int64_t> key, Make make) {
    return programs_.find_or_make(std::move(key), registry_.limit.load(std::memory_order_relaxed),
                                  make);
  }

 private:
  evaluation_registry& registry_;
  expression_programs programs_;
};

}  // namespace detail

/// What `tensor y = relu(x + b);` keeps, in all of the process. All functions may be called from
/// several threads, also while expressions are evaluated.
struct evaluation_cache {
  /// Forgets all plans and their memory; what is being evaluated ends first with what it has.
  /// Counts stay.
  static void clear() {
    auto& registry = detail::evaluation_registry::instance();
    const std::scoped_lock lock(registry.mutex);
    for (detail::expression_programs* each : registry.lists) each->clear();
  }

  /// Keeps at most so many programs per expression type from now on; 32 at first, at least one. An
  /// expression type has a program for each set of attribute values it occurs with: the bounds of
  /// a slice, an eps.
  static void limit(std::size_t programs) {
    detail::evaluation_registry::instance().limit.store(programs, std::memory_order_relaxed);
  }

  /// Counts over all expression types.
  static cache_statistics statistics() {
    auto& registry = detail::evaluation_registry::instance();
    const std::scoped_lock lock(registry.mutex);
    cache_statistics out;
    for (const detail::expression_programs* each : registry.lists) out += each->statistics();
    return out;
  }
};

}  // namespace sinter::inline SINTER_ABI
