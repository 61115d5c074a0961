// SPDX-License-Identifier: MIT
// What fuzz targets are made of. A target defines LLVMFuzzerTestOneInput: bytes from anywhere end
// in a value or in sinter::error, and nothing else; what must not be, aborts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
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

// Bytes as decisions, one after the other; behind the last one all are 0.
class bytes {
 public:
  bytes(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}
  bool empty() const { return rest_.empty(); }
  std::uint8_t next() {
    if (rest_.empty()) return 0;
    const std::uint8_t out = rest_.front();
    rest_ = rest_.subspan(1);
    return out;
  }
  std::size_t below(std::size_t limit) { return next() % limit; }
  // Mostly small, now and then what overflows.
  std::int64_t integer() {
    const std::uint8_t byte = next();
    if (byte < 240) return byte % 12 - 3;
    constexpr std::int64_t large[] = {std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min(),
                                      std::int64_t{1} << 31,
                                      std::int64_t{1} << 62,
                                      -100,
                                      100};
    return large[byte % std::size(large)];
  }
  int axis() { return static_cast<int>(integer()); }
  // Up to so many bytes as they are.
  std::string text(std::size_t most) {
    const std::size_t count = std::min(most, rest_.size());
    const std::string out(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(count));
    rest_ = rest_.subspan(count);
    return out;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

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
