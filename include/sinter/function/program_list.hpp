// SPDX-License-Identifier: MIT
// Programs by key, bounded in number: what plan_cache and the evaluation of expressions keep.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include <sinter/function/cache_statistics.hpp>
#include <sinter/function/program.hpp>
#include <sinter/support/recently_used.hpp>

namespace sinter::inline SINTER_ABI::detail {

// A bounded list of programs by key. May be used from several threads.
template <class Key>
class program_list {
 public:
  // The program of this key; `make` makes it, under the lock: who asks for it meanwhile waits.
  template <class Make>
  std::shared_ptr<program> find_or_make(Key key, std::size_t limit, Make make) {
    const std::scoped_lock lock(mutex_);
    if (const std::shared_ptr<program>* known = programs_.find(key)) {
      ++counts_.hits;
      return *known;
    }
    std::shared_ptr<program> made = make();
    ++counts_.misses;
    counts_.evictions += programs_.add(std::move(key), made, limit);
    return made;
  }

  void clear() {
    const std::scoped_lock lock(mutex_);
    programs_.clear();
  }

  cache_statistics statistics() const {
    const std::scoped_lock lock(mutex_);
    cache_statistics out = counts_;
    out.programs = programs_.size();
    programs_.for_each([&](const auto& each) { out.inside += each->statistics(); });
    return out;
  }

 private:
  mutable std::mutex mutex_;
  recently_used<Key, std::shared_ptr<program>> programs_;
  cache_statistics counts_;
};

}  // namespace sinter::inline SINTER_ABI::detail
