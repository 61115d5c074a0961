// SPDX-License-Identifier: MIT
// The names of an aggregate's members as text. C++20 has no reflection, but GCC and Clang print the
// template argument of a function in the name of that function, and a pointer to a member of an
// object is such an argument. Where a compiler prints something else, names are numbers.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <sinter/support/members.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// An object to have addresses of members of.
template <class S>
inline constexpr S member_owner{};

// In a struct, because Clang 16 takes no pointer to a part of an object as a template argument.
template <class T>
struct member_address {
  const T* pointer;
};

template <auto Address>
constexpr std::string_view printed_address() {
#if defined(__GNUC__) || defined(__clang__)
  return __PRETTY_FUNCTION__;
#else
  return {};
#endif
}

// The last identifier in front of the closing brackets; empty if there is none.
constexpr std::string_view last_identifier(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  // GCC goes on with the return type's names behind a semicolon.
  text = text.substr(0, text.find("; std::string_view"));
  while (!text.empty() && !is_letter(text.back())) text.remove_suffix(1);
  std::size_t begin = text.size();
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  const bool is_member = begin > 0 && (text[begin - 1] == '.' || text[begin - 1] == ':');
  return is_member ? text.substr(begin) : std::string_view{};
}

template <class S, std::size_t I>
constexpr std::string_view member_name() {
  constexpr auto* pointer = &std::get<I>(members(member_owner<S>));
  return last_identifier(
      printed_address<member_address<std::remove_pointer_t<decltype(pointer)>>{pointer}>());
}

}  // namespace detail

/// The names of the members of `S`, in their order: {"weight", "bias"}. An empty one where the
/// compiler does not tell. `S` is a literal type that needs no initial values, such as a struct of
/// handles.
template <Aggregate S>
inline constexpr std::array<std::string_view, member_count<S>> member_names =
    []<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<std::string_view, member_count<S>>{detail::member_name<S, I>()...};
    }(std::make_index_sequence<member_count<S>>{});

}  // namespace sinter::inline SINTER_ABI
