// SPDX-License-Identifier: MIT
//
// flat_vector<T>: the part of std::vector that a graph needs, written for constant evaluation.
// Clang counts every statement it evaluates and stops after 1,048,576; libstdc++'s push_back takes
// some 40 of them and a reallocation 20 per element, this one 4 and 3. That decides whether a
// training step of 2,000 nodes can be traced by the compiler.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>  // std::allocator, std::construct_at: <memory> has streams in it, 0.1 s with GCC 12

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// A growing array of trivially copyable elements; capacity quadruples, because moving elements is
/// what costs. Growing invalidates pointers, references and spans.
template <class T>
  requires std::is_trivially_copyable_v<T>
class flat_vector {
 public:
  constexpr flat_vector() = default;
  constexpr flat_vector(std::size_t n, const T& value) {
    reserve(n);
    if constexpr (is_number)
      for (; size_ < n; ++size_) data_[size_] = value;
    else
      for (; size_ < n; ++size_) std::construct_at(data_ + size_, value);
  }
  constexpr flat_vector(const flat_vector& other) {
    reserve(other.size_);
    append(other.data_, other.size_);
  }
  constexpr flat_vector(flat_vector&& other) noexcept { swap(other); }
  constexpr flat_vector& operator=(flat_vector other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~flat_vector() { release(); }

  constexpr void swap(flat_vector& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* data() { return data_; }
  constexpr const T* data() const { return data_; }
  constexpr T& operator[](std::size_t i) { return data_[i]; }
  constexpr const T& operator[](std::size_t i) const { return data_[i]; }
  constexpr T* begin() { return data_; }
  constexpr T* end() { return data_ + size_; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }

  constexpr void reserve(std::size_t n) {
    if (n <= capacity_) return;
    T* const grown = allocate(n);
    if constexpr (is_number)
      for (std::size_t i = 0; i < size_; ++i) grown[i] = data_[i];
    else
      for (std::size_t i = 0; i < size_; ++i) std::construct_at(grown + i, data_[i]);
    release();
    data_ = grown;
    capacity_ = n;
  }

  constexpr void push_back(T value) {  // by value: it may be an element of this vector
    if (size_ == capacity_) reserve(4 * size_ + 16);
    if constexpr (is_number)
      data_[size_++] = value;
    else
      std::construct_at(data_ + size_++, value);
  }

  /// Adds `n` elements that are not elements of this vector.
  constexpr void append(const T* values, std::size_t n) {
    if (size_ + n > capacity_) reserve(4 * size_ + n + 16);
    if constexpr (is_number)
      for (std::size_t i = 0; i < n; ++i) data_[size_++] = values[i];
    else
      for (std::size_t i = 0; i < n; ++i) std::construct_at(data_ + size_++, values[i]);
  }

  /// Puts `value` before position `at`.
  constexpr void insert(std::size_t at, T value) {
    push_back(value);
    for (std::size_t i = size_ - 1; i > at; --i) data_[i] = data_[i - 1];
    data_[at] = value;
  }
  /// Removes the element at position `at`.
  constexpr void erase(std::size_t at) {
    for (std::size_t i = at; i + 1 < size_; ++i) data_[i] = data_[i + 1];
    truncate(size_ - 1);
  }

  /// Drops all elements from position `n` on.
  constexpr void truncate(std::size_t n) {
    if constexpr (is_number)
      size_ = n;
    else
      while (size_ > n) std::destroy_at(data_ + --size_);
  }

  friend constexpr bool operator==(const flat_vector& a, const flat_vector& b) {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  // Numbers live in an array of their own kind and are assigned, one statement; the rest begins its
  // life where it is put.
  static constexpr bool is_number = std::is_arithmetic_v<T>;

  static constexpr T* allocate(std::size_t n) {
    if constexpr (is_number)
      return new T[n];
    else
      return std::allocator<T>().allocate(n);
  }
  constexpr void release() {
    if constexpr (is_number)
      delete[] data_;
    else if (capacity_ != 0)
      std::allocator<T>().deallocate(data_, capacity_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace sinter::inline SINTER_ABI
