// SPDX-License-Identifier: MIT
// Lines that are asked for before they are needed, by kernels that walk memory from its beginning
// to its end.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/processor_family.hpp>
#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Do steady streams gain, too, which the hardware follows by itself? On Intel's servers it keeps
/// few lines in flight, and fetches none that are only written (Xeon, two cores of Sapphire Rapids:
/// relu(x + b) over twice 8 MB takes 0.9 instead of 1.2 ms, over twice 64 MB 13.5 instead of 16.8).
/// AMD's lose a tenth (EPYC, Zen 5). Intel's other processors were not measured.
inline bool streams_gain_from_fetching() { return this_family() == processor_family::intel; }

/// Does it gain to fetch the next tile while several commands work on this one? Where the hardware
/// sees no steady stream it does, but not on AMD's family of Zen 3 and 4 (EPYC, Zen 4: layer norm
/// over 12 MB takes 210 ns per row without and 290 with it, in L2 170 either way; Zen 5: 290
/// without and 150 with; Zen 3 was not measured).
inline bool tiles_gain_from_fetching() { return this_family() != processor_family::amd_19h; }

/// Asks for the lines of so many bytes. Line by line, most instructions would be the loop's.
[[gnu::always_inline]] inline void fetch_lines(const std::byte* from, std::int64_t bytes) {
#pragma GCC unroll 8
  for (std::int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(from + line);
}

inline constexpr std::size_t fetched_ahead = 4096;  // bytes

/// Asks for the lines that lie `fetched_ahead` behind so many bytes.
template <std::size_t Bytes>
[[gnu::always_inline]] inline void fetch_ahead(const void* from) {
  fetch_lines(static_cast<const std::byte*>(from) + fetched_ahead, std::int64_t{Bytes});
}

}  // namespace sinter::inline SINTER_ABI::exec
