// SPDX-License-Identifier: MIT
// Reads the gzip'd IDX files of the MNIST family (http://yann.lecun.com/exdb/mnist: big-endian
// magic 0x0000TTRR with type and rank, then the extents, then the elements). Only unsigned bytes
// are accepted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zlib.h>

#include <sinter/support/error.hpp>

namespace idx {

struct file {
  std::vector<std::size_t> extents;
  std::vector<std::uint8_t> elements;
};

namespace detail {

struct closer {
  void operator()(gzFile_s* f) const { gzclose(f); }
};

class reader {
 public:
  explicit reader(std::string path) : path_(std::move(path)), file_(gzopen(path_.c_str(), "rb")) {
    if (!file_) fail("cannot be opened");
  }

  void read(std::span<std::uint8_t> out, const char* what) {
    // zlib takes an unsigned int; 1 MiB pieces also keep a file that lies about its size from
    // growing memory first.
    for (std::size_t done = 0; done < out.size();) {
      const auto step = static_cast<unsigned>(std::min<std::size_t>(out.size() - done, 1u << 20));
      const int got = gzread(file_.get(), out.data() + done, step);
      if (got < 0) fail(std::string("is damaged while reading ") + what);
      if (got == 0)
        fail("ends at byte " + std::to_string(offset_ + done) + " while reading " + what);
      done += static_cast<std::size_t>(got);
    }
    offset_ += out.size();
  }

  std::uint32_t big_endian(const char* what) {
    std::array<std::uint8_t, 4> b{};
    read(b, what);
    return static_cast<std::uint32_t>(b[0]) << 24 | static_cast<std::uint32_t>(b[1]) << 16 |
           static_cast<std::uint32_t>(b[2]) << 8 | b[3];
  }

  bool at_end() {
    std::uint8_t more = 0;
    const int got = gzread(file_.get(), &more, 1);
    if (got < 0) fail("is damaged at its end");
    return got == 0;
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw sinter::io_error(path_ + " " + why);
  }

 private:
  std::string path_;
  std::unique_ptr<gzFile_s, closer> file_;
  std::size_t offset_ = 0;
};

}  // namespace detail

// Throws io_error, naming file and reason, for a missing, damaged or unexpected file. `rank`: the
// rank expected.
inline file load(const std::string& path, std::size_t rank) {
  detail::reader in(path);
  const std::uint32_t magic = in.big_endian("the magic number");
  if (magic != (0x0800u | rank))
    in.fail("is no IDX file of bytes with rank " + std::to_string(rank));
  file out;
  // Deflate compresses at most 1032 to 1: what the file on disk cannot hold is not allocated.
  std::error_code ignored;
  const std::uintmax_t most = std::filesystem::file_size(path, ignored) * 1100;
  std::size_t count = 1;
  for (std::size_t i = 0; i < rank; ++i) {
    out.extents.push_back(in.big_endian("the extents"));
    const std::size_t extent = out.extents.back();
    // By division: three extents of 32 bits overflow a product.
    if (extent != 0 && count > most / extent)
      in.fail("claims more elements than it can hold, with an extent of " + std::to_string(extent));
    count *= extent;
  }
  out.elements.resize(count);
  in.read(out.elements, "the elements");
  if (!in.at_end()) in.fail("has bytes behind its elements");
  return out;
}

}  // namespace idx
