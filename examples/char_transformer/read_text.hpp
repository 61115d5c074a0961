// SPDX-License-Identifier: MIT
// Reads a text file, gzip'd or not.
#pragma once

#include <array>
#include <memory>
#include <string>

#include <zlib.h>

#include <sinter/support/error.hpp>

namespace language_model {

/// All bytes of a file. Throws io_error if it cannot be read, or is damaged.
inline std::string read_text(const std::string& path) {
  struct closer {
    void operator()(gzFile_s* f) const { gzclose(f); }
  };
  const std::unique_ptr<gzFile_s, closer> file(gzopen(path.c_str(), "rb"));
  if (!file) throw sinter::io_error(path + " cannot be opened");
  std::string out;
  std::array<char, 1 << 16> block{};
  for (;;) {
    const int got = gzread(file.get(), block.data(), static_cast<unsigned>(block.size()));
    int problem = Z_OK;
    gzerror(file.get(), &problem);  // where a gzip'd file ends early, the last read succeeds
    if (got < 0 || problem != Z_OK)
      throw sinter::io_error(path + " is damaged behind byte " + std::to_string(out.size()));
    if (got == 0) return out;
    out.append(block.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace language_model
