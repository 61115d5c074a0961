// SPDX-License-Identifier: MIT
// How errors about files read: file, byte, reason.
#pragma once

#include <cstddef>
#include <string>

#include <sinter/support/error.hpp>

namespace sinter::detail {

/// Throws io_error "path, byte 12: reason". `offset` counts from the beginning of the file, or of
/// the part of it that `path` names.
[[noreturn]] inline void damaged(const std::string& path, std::size_t offset,
                                 const std::string& reason) {
  throw io_error(path + ", byte " + std::to_string(offset) + ": " + reason);
}

}  // namespace sinter::detail
