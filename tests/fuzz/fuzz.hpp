// SPDX-License-Identifier: MIT
// What fuzz targets are made of. A target defines LLVMFuzzerTestOneInput: bytes from anywhere end
// in a value or in sinter::error, and nothing else; what must not be, aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#include <sinter/support/error.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

// Calls f(), which may refuse the input.
template <class F>
void read_or_refuse(F f) {
  try {
    f();
  } catch (const sinter::error&) {
  }
}

// Bytes as a file with a name, in memory.
class memory_file {
 public:
  memory_file(const std::uint8_t* data, std::size_t size) : number_(memfd_create("fuzz", 0)) {
    require(number_ >= 0, "no file in memory");
    require(write(number_, data, size) == static_cast<ssize_t>(size), "no room for the file");
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { close(number_); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

// Reads every byte: elements that lie outside of their memory show.
inline void look_at(const void* data, std::size_t bytes) {
  unsigned sum = 0;
  for (const std::byte each : std::span(static_cast<const std::byte*>(data), bytes))
    sum += std::to_integer<unsigned>(each);
  [[maybe_unused]] static volatile unsigned seen = 0;
  seen = sum;
}

}  // namespace fuzz
