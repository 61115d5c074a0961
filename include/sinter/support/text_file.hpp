// SPDX-License-Identifier: MIT
// Small files of text, read and written as a whole.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <system_error>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// The text of a file, or nothing if it cannot be read.
inline std::optional<std::string> read_text_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// Writes a file so that others see the old one or the new one, never a part: under another name in
/// the same directory, which is made if need be, and renamed. False if any of that fails; nothing
/// is left behind then.
inline bool replace_text_file(const std::filesystem::path& file, const std::string& text) {
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
