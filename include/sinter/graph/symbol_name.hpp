// SPDX-License-Identifier: MIT
// Which names arguments and symbols may have, so that text with them can be read back.
#pragma once

#include <string_view>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::ir {

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Letters, digits, `_` and `.`, not a digit or point first.
constexpr bool is_identifier(std::string_view text) {
  if (text.empty() || !is_letter(text[0])) return false;
  for (char c : text)
    if (!is_letter(c) && !is_digit(c) && c != '.') return false;
  return true;
}

/// s0, s1...: a symbol without a name, by its number.
constexpr bool is_unnamed_symbol(std::string_view text) {
  if (text.size() < 2 || text[0] != 's') return false;
  for (char c : text.substr(1))
    if (!is_digit(c)) return false;
  return true;
}

/// An identifier that means nothing else where an extent stands.
constexpr bool is_symbol_name(std::string_view text) {
  return is_identifier(text) && !is_unnamed_symbol(text) && text != "broadcast";
}

}  // namespace sinter::inline SINTER_ABI::ir
