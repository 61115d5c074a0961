// SPDX-License-Identifier: MIT
//
// opaque_value<T>: a T, or none, in an object whose own header only declares T. Where the value is
// made, T has to be known; whoever copies, moves or drops it need not.
#pragma once

#include <utility>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// As std::optional<T> (a copy is a copy of the value), but T may be incomplete except in
/// `emplace`. One allocation.
template <class T>
class opaque_value {
 public:
  opaque_value() = default;
  opaque_value(const opaque_value& other) : functions_(other.functions_) {
    if (other.value_ != nullptr) value_ = functions_->copy(*other.value_);
  }
  opaque_value(opaque_value&& other) noexcept
      : value_(std::exchange(other.value_, nullptr)), functions_(other.functions_) {}
  opaque_value& operator=(opaque_value other) noexcept {
    std::swap(value_, other.value_);
    std::swap(functions_, other.functions_);
    return *this;
  }
  ~opaque_value() {
    if (value_ != nullptr) functions_->destroy(value_);
  }

  T& emplace() {
    static constexpr functions of_value{[](const T& value) { return new T(value); },
                                        [](T* value) { delete value; }};
    opaque_value made;
    made.functions_ = &of_value;
    made.value_ = new T();
    *this = std::move(made);
    return *value_;
  }

  /// Null if there is none.
  const T* get() const { return value_; }
  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  T* operator->() { return value_; }

 private:
  struct functions {
    T* (*copy)(const T&);
    void (*destroy)(T*);
  };

  T* value_ = nullptr;
  const functions* functions_ = nullptr;
};

}  // namespace sinter::inline SINTER_ABI
