// SPDX-License-Identifier: MIT
//
// large_vector<T>: the part of std::vector that the e-graph needs, over memory that grows without
// being copied (see growing_memory).
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <sinter/support/growing_memory.hpp>

namespace sinter::inline SINTER_ABI {

/// A growing array of trivially copyable elements. Growing invalidates pointers, references and
/// spans.
template <class T>
  requires std::is_trivially_copyable_v<T>
class large_vector {
 public:
  using value_type = T;

  large_vector() = default;
  large_vector(std::size_t n, const T& value) { resize(n, value); }
  large_vector(const large_vector& other) { append(other.begin(), other.size_); }
  large_vector(large_vector&& other) noexcept { swap(other); }
  large_vector& operator=(large_vector other) noexcept {
    swap(other);
    return *this;
  }

  void swap(large_vector& other) noexcept {
    memory_.swap(other.memory_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  void reserve(std::size_t n) {
    if (n <= capacity_) return;
    memory_.grow(n * sizeof(T));
    data_ = static_cast<T*>(memory_.data());
    capacity_ = memory_.bytes() / sizeof(T);
  }

  void push_back(T value) {  // by value: it may be an element of this vector
    if (size_ == capacity_) [[unlikely]]
      make_room(1);
    ::new (static_cast<void*>(data_ + size_++)) T(value);
  }

  /// Adds `n` elements without values, which begin where it points.
  T* append(std::size_t n) {
    if (n > capacity_ - size_) [[unlikely]]
      make_room(n);
    T* const first = data_ + size_;
    size_ += n;
    return first;
  }
  /// Adds `n` elements that are not elements of this vector.
  void append(const T* values, std::size_t n) { std::copy_n(values, n, append(n)); }

  /// Drops elements at the end, or adds copies of `value`.
  void resize(std::size_t n, T value = {}) {
    if (n > size_) {
      if (n > capacity_) make_room(n - size_);
      std::fill(data_ + size_, data_ + n, value);
    }
    size_ = n;
  }
  void clear() { size_ = 0; }

 private:
  void make_room(std::size_t n) { reserve(std::max(size_ + n, size_ * 2 + 16)); }

  growing_memory memory_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace sinter::inline SINTER_ABI
