// SPDX-License-Identifier: MIT
// Lines that kernels ask for before they are needed.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/processor_family.hpp>
#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Do several steady streams gain, too, which the hardware follows by itself? On Intel's servers it
/// keeps few lines in flight, and fetches none that are only written (Xeon, two cores of Sapphire
/// Rapids: relu(x + b) over twice 8 MB takes 0.9 instead of 1.2 ms, over twice 64 MB 13.5 instead
/// of 16.8). AMD's lose a tenth (EPYC, Zen 5). Intel's other processors were not measured.
inline bool streams_gain_from_fetching() { return this_family() == processor_family::intel; }

/// Asks for the lines of so many bytes. Line by line, most instructions would be the loop's.
[[gnu::always_inline]] inline void fetch_lines(const std::byte* from, std::int64_t bytes) {
#pragma GCC unroll 8
  for (std::int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(from + line);
}

/// How far ahead of steady streams lines are asked for, in bytes.
inline constexpr std::int64_t stream_distance = 4096;

/// Asks for what lies so many bytes behind the next `Bytes` from here.
template <std::size_t Bytes>
[[gnu::always_inline]] inline void fetch_ahead(const void* from, std::int64_t ahead) {
  fetch_lines(static_cast<const std::byte*>(from) + ahead, std::int64_t{Bytes});
}

/// Does one stream, which is only read, gain? A Zen 5 does, and a Xeon; on a Zen 4 rows in L3 are
/// summed at 77 GB/s without, and at 60 with it, as are their maxima; from memory it gains nothing.
inline bool one_stream_gains_from_fetching() { return this_family() != processor_family::amd_19h; }

/// Are lines near a row's asked for, or are those of a stream? A Zen 4 brings rows from L3 into L2
/// in time, not from there into L1: it sums [1024,1024] in 0.93 of the time, rows of 256 floats in
/// 0.92 to 0.97, if the next two to eight lines are asked for; a dozen lines ahead it takes 1.2.
/// What is near does no harm to rows that L2 has. (Steady streams gain nothing so: 1.0 to 1.04. Zen
/// 3 was not measured.)
inline bool rows_fetch_near_lines() { return is_zen4(); }

/// How far ahead of rows lines are asked for, which are read one after the other, in bytes.
inline std::int64_t row_distance() { return rows_fetch_near_lines() ? 4 * 64 : stream_distance; }

/// Do rows of so many elements in all, which are read once? What L1 has takes 1.3 times as long if
/// each line is asked for.
template <class T>
bool rows_gain_from_fetching(std::int64_t count) {
  return count * static_cast<std::int64_t>(sizeof(T)) >= 64 << 10 &&
         (one_stream_gains_from_fetching() || rows_fetch_near_lines());
}

/// What a kernel asks for while it walks a row. The places stay in memory: kernels need all
/// registers that there are for their operands.
class lines_ahead {
 public:
  static constexpr std::size_t most = 4;

  void clear() { count_ = 0; }
  /// What lies `distance` bytes further on, if there is room for it.
  void add(const void* from, std::int64_t distance) {
    if (count_ < most) at_[count_++] = static_cast<const std::byte*>(from) + distance;
  }
  /// The next so many bytes of each.
  template <std::size_t Bytes>
  [[gnu::always_inline]] void ask() {
    for (std::size_t k = 0; k < count_; ++k) {
      fetch_lines(at_[k], std::int64_t{Bytes});
      at_[k] += Bytes;
    }
  }

 private:
  std::size_t count_ = 0;
  std::array<const std::byte*, most> at_;
};

/// What comes into L2 a few lines at a time, until all of it was asked for.
class coming_lines {
 public:
  coming_lines() = default;
  coming_lines(const void* from, std::int64_t bytes, std::int64_t lines_at_a_time)
      : at_(static_cast<const std::byte*>(from)),
        end_(at_ + bytes),
        step_(lines_at_a_time * line) {}

  [[gnu::always_inline]] void ask() {
    constexpr int read = 0, into_second_level = 2;
    for (std::int64_t bytes = std::min(step_, end_ - at_); bytes > 0; bytes -= line, at_ += line)
      __builtin_prefetch(at_, read, into_second_level);
  }

 private:
  static constexpr std::int64_t line = 64;

  const std::byte* at_ = nullptr;
  const std::byte* end_ = nullptr;
  std::int64_t step_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::exec
