// SPDX-License-Identifier: MIT
// How errors about files read: file, byte, reason.
#pragma once

#include <cstddef>
#include <string>

#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::detail {

/// Throws io_error "path, byte 12: reason". `offset` counts from the beginning of the file, or of
/// the part of it that `path` names.
[[noreturn]] inline void damaged(const std::string& path, std::size_t offset,
                                 const std::string& reason) {
  raise(io_error(path + ", byte " + std::to_string(offset) + ": " + reason));
}

/// Text from a file for a message, quoted: it may be long, and hold any characters.
inline std::string quote(const std::string& text, std::size_t limit = 64) {
  std::string out = "'";
  for (const char c : text.substr(0, limit))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out + (text.size() > limit ? "...'" : "'");
}

}  // namespace sinter::inline SINTER_ABI::detail
