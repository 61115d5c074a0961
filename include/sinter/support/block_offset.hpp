// SPDX-License-Identifier: MIT
// Large blocks begin at different offsets within pages of memory.
#pragma once

#include <cstddef>

#include <sinter/support/abi.hpp>
#include <sinter/support/atomic_value.hpp>

namespace sinter::inline SINTER_ABI {

/// Offsets of blocks: multiples of the first number, so many different ones. 32 KiB and a page, as
/// the C library's header of a block takes a page of its own, and brings neighbours that closer.
inline constexpr std::size_t block_offset_step = std::size_t{36} << 10, block_offsets = 8;

/// The largest of them. Blocks have room for it whatever their own is: a block then fits where one
/// of as many elements was. (`z = f(x, y)` of 4 MiB in a loop takes memory from the system in every
/// turn otherwise, as the C library gives back what two of different sizes leave over.)
inline constexpr std::size_t most_block_offset = (block_offsets - 1) * block_offset_step;

/// How many bytes behind its beginning the next large block's elements begin: 0 to 252 KiB in
/// turns. A system that gives large blocks in huge pages begins each at the same place in them; a
/// loop over several then goes from row to row of the same banks of DRAM. mean((x - y)^2) of twice
/// 64 MiB takes 0.88 to 0.91 of the time where the two are 32 KiB or more apart, 0.95 to 1 at 16
/// KiB, all of it at 4 KiB; x y + z 0.9 (Zen 3; where they lie in L3, as on a large Xeon, 1). The
/// memory before the elements is not touched.
inline std::size_t next_block_offset() {
  static constinit atomic_value<std::size_t> blocks{0};
  return blocks.add_relaxed(1) % block_offsets * block_offset_step;
}

}  // namespace sinter::inline SINTER_ABI
