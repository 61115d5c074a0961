// SPDX-License-Identifier: MIT
// The lists of programs of all expression types, for what is asked of all of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <sinter/function/evaluation_cache.hpp>
#include <sinter/function/program_list.hpp>
#include <sinter/support/separate.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// By attribute values, and which leaves are the same memory. Scalars are arguments, and no part of
// a key.
struct expression_programs : program_list<std::vector<std::int64_t>> {};

struct evaluation_registry {
  std::mutex mutex;
  std::vector<expression_programs*> lists;
  std::atomic<std::size_t> limit = 32;

  static evaluation_registry& instance() {
    static evaluation_registry one;
    return one;
  }
};

SINTER_INLINE registered_programs::registered_programs()
    : programs_(std::make_unique<expression_programs>()) {
  evaluation_registry& registry = evaluation_registry::instance();
  const std::scoped_lock lock(registry.mutex);
  registry.lists.push_back(programs_.get());
}

SINTER_INLINE registered_programs::~registered_programs() {
  evaluation_registry& registry = evaluation_registry::instance();
  const std::scoped_lock lock(registry.mutex);
  std::erase(registry.lists, programs_.get());
}

SINTER_INLINE std::shared_ptr<program> registered_programs::find_or_make(
    std::vector<std::int64_t> key, const void* function, maker make) {
  const std::size_t limit = evaluation_registry::instance().limit.load(std::memory_order_relaxed);
  return programs_->find_or_make(std::move(key), limit, [&] { return make(function); });
}

}  // namespace detail

SINTER_INLINE void evaluation_cache::clear() {
  auto& registry = detail::evaluation_registry::instance();
  const std::scoped_lock lock(registry.mutex);
  for (detail::expression_programs* each : registry.lists) each->clear();
}

SINTER_INLINE void evaluation_cache::limit(std::size_t programs) {
  detail::evaluation_registry::instance().limit.store(programs, std::memory_order_relaxed);
}

SINTER_INLINE cache_statistics evaluation_cache::statistics() {
  auto& registry = detail::evaluation_registry::instance();
  const std::scoped_lock lock(registry.mutex);
  cache_statistics out;
  for (const detail::expression_programs* each : registry.lists) out += each->statistics();
  return out;
}

}  // namespace sinter::inline SINTER_ABI
