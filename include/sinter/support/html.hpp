// SPDX-License-Identifier: MIT
// Text in pages of HTML that are XML, too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::html {

namespace detail {

// How many bytes of UTF-8 begin here; 0: none that do.
inline std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80   ? 1
                             : byte(0) < 0xc2 ? 0
                             : byte(0) < 0xe0 ? 2
                             : byte(0) < 0xf0 ? 3
                             : byte(0) < 0xf5 ? 4
                                              : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Overlong forms, surrogates, and what is behind the last character.
  if ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) >= 0xa0) ||
      (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) >= 0x90))
    return 0;
  return length;
}

}  // namespace detail

/// Any bytes as text, in elements or in quoted attributes. What cannot be text (control characters,
/// bytes that are no UTF-8) becomes U+FFFD.
inline std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = detail::sequence_length(text);
    const char c = text.front();
    const bool is_control =
        length == 1 &&
        ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f);
    if (length == 0 || is_control)
      out += "\xef\xbf\xbd";
    else if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

/// An element with text in it. `attributes`: as they stand in the tag, escaped.
inline std::string element(std::string_view tag, std::string_view attributes,
                           std::string_view text) {
  const std::string space = attributes.empty() ? "" : " ";
  return "<" + std::string(tag) + space + std::string(attributes) + ">" + escaped(text) + "</" +
         std::string(tag) + ">";
}

}  // namespace sinter::inline SINTER_ABI::html
