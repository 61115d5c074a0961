// SPDX-License-Identifier: MIT
// A number or pointer that several threads change. std::atomic does the same, but its header
// brings waiting, mutexes and clocks along: 260 million instructions (50 ms) of GCC 12 in every
// unit that has a tensor.
#pragma once

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// Functions are named for the order that they have: what was written before a release is seen
/// after an acquire that reads its value.
template <class T>
class atomic_value {
 public:
  constexpr atomic_value(T value) : value_(value) {}
  atomic_value(const atomic_value&) = delete;
  atomic_value& operator=(const atomic_value&) = delete;

  T acquire() const noexcept { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
  void release(T value) noexcept { __atomic_store_n(&value_, value, __ATOMIC_RELEASE); }

  /// These return the value before.
  T add_relaxed(T n) noexcept { return __atomic_fetch_add(&value_, n, __ATOMIC_RELAXED); }
  T add_release(T n) noexcept { return __atomic_fetch_add(&value_, n, __ATOMIC_RELEASE); }
  /// Of what is shared: who gets 1 was the last, and sees what the others did.
  T subtract_one() noexcept { return __atomic_fetch_sub(&value_, T{1}, __ATOMIC_ACQ_REL); }

  /// Makes it `value` if it is `expected`. If not, `expected` becomes what it is.
  bool exchange_if(T& expected, T value) noexcept {
    return __atomic_compare_exchange_n(&value_, &expected, value, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
  }

 private:
  T value_;
};

}  // namespace sinter::inline SINTER_ABI
