// SPDX-License-Identifier: MIT
//
// inline_vector<T, N>: a vector of at most N elements that live inside the object. It works in
// constant evaluation, allocates nothing and is a structural type (usable as a template argument)
// whenever T is one. The graph keeps shapes, axes and input lists in it.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>

#include <sinter/support/abi.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

/// A vector of 0 to N elements without allocation. Elements beyond `size()` are kept
/// value-initialised: two equal vectors are then equal member by member, which is what template
/// arguments are compared by. Going beyond the capacity throws `std::length_error` (and ends
/// constant evaluation).
template <class T, std::size_t N>
struct inline_vector {
  // Public only because a structural type may have no private members; use the functions below. A
  // plain array, because std::array's operator[] is four statements of the number that constant
  // evaluation may execute.
  T items[N]{};
  std::size_t count = 0;

  using value_type = T;
  using size_type = std::size_t;
  using iterator = T*;
  using const_iterator = const T*;

  constexpr inline_vector() = default;

  constexpr inline_vector(std::initializer_list<T> values)
      : inline_vector(values.begin(), values.end()) {}

  // Not std::input_iterator, whose answer takes GCC 12 28 million instructions for each type.
  template <class Iterator>
    requires requires(Iterator at) { *++at; }
  constexpr inline_vector(Iterator first, Iterator last) {
    for (; first != last; ++first) {
      require_room(count + 1);
      items[count++] = static_cast<T>(*first);
    }
  }

  /// `n` copies of `value`. A function rather than a constructor: `{3, 4}` always means two
  /// elements.
  static constexpr inline_vector filled(std::size_t n, const T& value) {
    inline_vector result;
    result.resize(n, value);
    return result;
  }

  static constexpr std::size_t capacity() { return N; }
  constexpr std::size_t size() const { return count; }
  constexpr bool empty() const { return count == 0; }
  constexpr bool full() const { return count == N; }

  // Any integer type may index: axes are `int`, positions `std::size_t`, and a cast at each use
  // helps nobody.
  template <std::integral Index>
  constexpr T& operator[](Index i) {
    assert(static_cast<std::size_t>(i) < count);
    return items[static_cast<std::size_t>(i)];
  }
  template <std::integral Index>
  constexpr const T& operator[](Index i) const {
    assert(static_cast<std::size_t>(i) < count);
    return items[static_cast<std::size_t>(i)];
  }

  constexpr T& front() { return (*this)[0]; }
  constexpr const T& front() const { return (*this)[0]; }
  constexpr T& back() { return (*this)[count - 1]; }
  constexpr const T& back() const { return (*this)[count - 1]; }

  constexpr T* data() { return items; }
  constexpr const T* data() const { return items; }
  constexpr T* begin() { return items; }
  constexpr const T* begin() const { return items; }
  constexpr T* end() { return items + count; }
  constexpr const T* end() const { return items + count; }

  constexpr void push_back(const T& value) {
    require_room(count + 1);
    items[count] = value;
    ++count;
  }

  constexpr void pop_back() {
    assert(count > 0);
    --count;
    items[count] = T{};
  }

  constexpr void clear() { resize(0); }

  constexpr void resize(std::size_t n, const T& value = T{}) {
    require_room(n);
    // i < N says again what has been checked: GCC 12 warns at -O3 of the iteration behind the end.
    for (std::size_t i = count; i < n && i < N; ++i) items[i] = value;
    for (std::size_t i = n; i < count; ++i) items[i] = T{};
    count = n;
  }

  /// Inserts before `position` (an iterator of this vector) and returns where the new element is.
  constexpr T* insert(const T* position, const T& value) {
    const auto at = static_cast<std::size_t>(position - begin());
    const T copy = value;  // `value` may be one of the elements that move
    push_back(copy);
    for (std::size_t i = count - 1; i > at; --i) items[i] = items[i - 1];
    items[at] = copy;
    return begin() + at;
  }

  /// Removes the element at `position` and returns where the next one is now.
  constexpr T* erase(const T* position) {
    const auto at = static_cast<std::size_t>(position - begin());
    assert(at < count);
    for (std::size_t i = at; i + 1 < count; ++i) items[i] = items[i + 1];
    pop_back();
    return begin() + at;
  }

  friend constexpr bool operator==(const inline_vector& a, const inline_vector& b) {
    if (a.count != b.count) return false;
    for (std::size_t i = 0; i < a.count; ++i)
      if (!(a.items[i] == b.items[i])) return false;
    return true;
  }

  friend constexpr auto operator<=>(const inline_vector& a, const inline_vector& b)
    requires std::three_way_comparable<T>
  {
    return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  static constexpr void require_room(std::size_t n) {
    if (n > N) raise(std::length_error("inline_vector: more elements than its capacity"));
  }
};

}  // namespace sinter::inline SINTER_ABI
