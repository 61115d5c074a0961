// SPDX-License-Identifier: MIT
// A bounded map from keys to values that drops what was used least recently. Keys are compared in
// full, one after the other: it is for some ten entries that take milliseconds to make.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

template <class Key, class Value>
class recently_used {
 public:
  /// The value of this key, which has now been used, or null.
  Value* find(const Key& key) {
    for (entry& each : entries_) {
      if (!(each.key == key)) continue;
      each.last_use = ++clock_;
      return &each.value;
    }
    return nullptr;
  }

  /// Adds a key that is not there, and drops others until there are at most `limit` (at least one:
  /// the new one); returns how many went.
  std::size_t add(Key key, Value value, std::size_t limit) {
    std::size_t dropped = 0;
    for (; entries_.size() >= std::max<std::size_t>(1, limit); ++dropped)
      entries_.erase(
          std::min_element(entries_.begin(), entries_.end(),
                           [](const entry& a, const entry& b) { return a.last_use < b.last_use; }));
    entries_.push_back({std::move(key), std::move(value), ++clock_});
    return dropped;
  }

  void clear() { entries_.clear(); }
  std::size_t size() const { return entries_.size(); }

  template <class F>
  void for_each(F f) const {
    for (const entry& each : entries_) f(each.value);
  }

 private:
  struct entry {
    Key key;
    Value value;
    std::size_t last_use = 0;
  };
  std::vector<entry> entries_;
  std::size_t clock_ = 0;
};

}  // namespace sinter::inline SINTER_ABI
