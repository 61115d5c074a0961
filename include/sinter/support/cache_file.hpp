// SPDX-License-Identifier: MIT
// Small text files that the library keeps for the user between processes, in the cache directory of
// the XDG Base Directory Specification. Losing one costs time, never a result.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <system_error>

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

/// The text of a file, or nothing if it cannot be read.
inline std::optional<std::string> read_cache_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Writes a file so that others see the old one or the new one, never a part: under another name in
/// the same directory, which is made if need be, and renamed. False if any of that fails; nothing
/// is left behind then.
inline bool write_cache_file(const std::filesystem::path& file, const std::string& text) {
  std::error_code failure;
  std::filesystem::create_directories(file.parent_path(), failure);
  std::filesystem::path part = file;
  part += "." + std::to_string(std::random_device{}()) + ".part";
  {
    std::ofstream out(part, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
      std::filesystem::remove(part, failure);
      return false;
    }
  }
  std::filesystem::rename(part, file, failure);
  if (!failure) return true;
  std::filesystem::remove(part, failure);
  return false;
}

}  // namespace sinter::inline SINTER_ABI
