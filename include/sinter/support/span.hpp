// SPDX-License-Identifier: MIT
//
// span<T>: elements that lie side by side and belong to somebody else. It is std::span with one
// difference: to find out that a vector converts to std::span takes GCC 12 a hundred million
// instructions (20 ms) for each type of element, because it asks the concepts of <ranges>; and in
// constant evaluation an iterator of std::span costs 15 statements where a pointer costs one. The
// two convert to each other.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

template <class T>
class span;

namespace detail {

// Has `Container` elements side by side that are a T or, but for const, are what T is?
template <class Container, class T>
concept SideBySide = requires(Container& c) {
  static_cast<T(*)[]>(static_cast<std::remove_pointer_t<decltype(c.data())>(*)[]>(nullptr));
  static_cast<std::size_t>(c.size());
};

}  // namespace detail

template <class T>
class span {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  using size_type = std::size_t;
  using iterator = T*;

  constexpr span() = default;
  constexpr span(T* first, std::size_t count) : data_(first), size_(count) {}
  template <std::size_t N>
  constexpr span(T (&array)[N]) : data_(array), size_(N) {}
  template <class Container>
    requires(std::is_const_v<T> && detail::SideBySide<const Container, T>)
  constexpr span(const Container& container) : data_(container.data()), size_(container.size()) {}
  template <class Container>
    requires(!std::is_const_v<T> && !std::is_same_v<Container, span> &&
             detail::SideBySide<Container, T>)
  constexpr span(Container& container) : data_(container.data()), size_(container.size()) {}

  constexpr T* data() const { return data_; }
  constexpr std::size_t size() const { return size_; }
  constexpr std::size_t size_bytes() const { return size_ * sizeof(T); }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](std::size_t i) const { return data_[i]; }
  constexpr T& front() const { return data_[0]; }
  constexpr T& back() const { return data_[size_ - 1]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

  constexpr span first(std::size_t count) const { return {data_, count}; }
  constexpr span last(std::size_t count) const { return {data_ + (size_ - count), count}; }
  constexpr span subspan(std::size_t offset) const { return {data_ + offset, size_ - offset}; }
  constexpr span subspan(std::size_t offset, std::size_t count) const {
    return {data_ + offset, count};
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

template <class Container>
span(Container& container) -> span<std::remove_pointer_t<decltype(container.data())>>;

}  // namespace sinter::inline SINTER_ABI

// Iterators may outlive the span that they are of.
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<sinter::span<T>> = true;
