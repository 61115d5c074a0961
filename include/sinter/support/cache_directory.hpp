// SPDX-License-Identifier: MIT
// Where the library keeps small files for the user between processes: the cache directory of the
// XDG Base Directory Specification. Losing one costs time, never a result.
#pragma once

#include <cstdlib>
#include <filesystem>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// $XDG_CACHE_HOME/sinter, or ~/.cache/sinter where that is not set (or relative, which the
/// specification has ignored). Empty if there is no home either.
inline std::filesystem::path cache_directory() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return std::filesystem::path(text == nullptr ? "" : text);
  };
  const std::filesystem::path own = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (own.is_absolute()) return own / "sinter";
  return home.is_absolute() ? home / ".cache" / "sinter" : std::filesystem::path();
}

}  // namespace sinter::inline SINTER_ABI
