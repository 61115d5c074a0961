// SPDX-License-Identifier: MIT
// How a cache recognises what it saw before: the elements of one block of memory between two
// writes. A counter per block, which outlives the block, so that neither a later write nor another
// block at the same address is mistaken for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sinter/support/abi.hpp>
#include <sinter/support/atomic_value.hpp>

namespace sinter::inline SINTER_ABI {

/// Counts writes to the elements of a block. Shared by the block and all `contents` of it.
class content_counter {
 public:
  content_counter() = default;
  content_counter(const content_counter&) = delete;
  content_counter& operator=(const content_counter&) = delete;

  void count_write() noexcept { writes_.add_release(1); }
  std::uint64_t writes() const noexcept { return writes_.acquire(); }
  /// Does the block still exist?
  bool is_alive() const noexcept { return alive_.acquire(); }

  void share() noexcept { owners_.add_relaxed(1); }
  void release() noexcept {
    if (owners_.subtract_one() == 1) delete this;
  }
  /// The block's own part: it is freed.
  void end() noexcept {
    alive_.release(false);
    release();
  }

 private:
  ~content_counter() = default;

  atomic_value<std::size_t> owners_{1};
  atomic_value<std::uint64_t> writes_{0};
  atomic_value<bool> alive_{true};
};

/// The elements of a block as they were when the object was made. Does not keep the block alive.
class contents {
 public:
  contents() = default;
  explicit contents(content_counter* counter) noexcept
      : counter_(counter), writes_(counter->writes()) {
    counter_->share();
  }
  contents(const contents& other) noexcept : counter_(other.counter_), writes_(other.writes_) {
    if (counter_ != nullptr) counter_->share();
  }
  contents(contents&& other) noexcept
      : counter_(std::exchange(other.counter_, nullptr)), writes_(other.writes_) {}
  contents& operator=(contents other) noexcept {
    std::swap(counter_, other.counter_);
    std::swap(writes_, other.writes_);
    return *this;
  }
  ~contents() {
    if (counter_ != nullptr) counter_->release();
  }

  /// False once the block was written or freed, for good. Without a block always true.
  bool is_current() const noexcept {
    return counter_ == nullptr || (counter_->is_alive() && counter_->writes() == writes_);
  }

  /// The same block with no write between the two.
  friend bool operator==(const contents& a, const contents& b) noexcept {
    return a.counter_ == b.counter_ && a.writes_ == b.writes_;
  }

 private:
  content_counter* counter_ = nullptr;
  std::uint64_t writes_ = 0;
};

}  // namespace sinter::inline SINTER_ABI
