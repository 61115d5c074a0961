// SPDX-License-Identifier: MIT
// The machine as the cost model sees it: a table, in nanoseconds of one core. Absolute accuracy
// does not matter, ratios do: they decide what is fused, stored and recomputed. The built-in one is
// the default, so that a plan depends on shapes alone; a program may be given another
// (function/calibration.hpp), which is a value, never timings of the running program.
#pragma once

#include <cstddef>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::planning {

struct machine {
  // From a 2-core Xeon at 2.5 GHz with AVX-512: 11.7 GB/s from DRAM on one core, some 60 GB/s from
  // L2, GEMM 90 GFLOP/s.
  double dram_byte = 0.085;
  double l2_byte = 0.016;
  double l2_bytes = 1 << 20;
  // With 24 MB, layer norm of [4096,768] (12 MB read, 12 written) went past the caches, and
  // took 1.1 times as long on one thread of a Xeon and on two of another, 0.95 times on one of
  // these. Of 16 MB read and 16 written, relu(x + b) takes 0.75 of the time if it goes past them.
  double last_level_bytes = 28 << 20;
  double last_level_byte = 0.04;
  double unit_work = 0.04;     // one vectorised f32 addition per element, operands in L1
  double tile_operand = 0.03;  // a tile instruction reads or writes one f32 element in L1
  double flop = 0.011;
  double launch = 120;           // a nest: set-up and its share of a parallel region
  double row = 6;                // the end of a row: a reduction, or a value per row that is read
  double copied_row = 0.6;       // the same where a nest only copies
  double column_batch = 80;      // a batch of a column nest: its accumulators, two tile programs
  double strided_element = 1.0;  // an element that is gathered one by one
  double transposed_element = 0.4;  // one that is moved in square tiles
  double packed_element = 0.15;     // an element of a product's operand, rearranged for the kernel

  friend bool operator==(const machine&, const machine&) = default;
};

inline constexpr machine nominal_machine{};

// A thread keeps the rows of a product's left factor that it works on packed, from one block of
// columns to the next, if they take no more than this.
inline constexpr std::size_t packed_limit = 2 << 20;

}  // namespace sinter::inline SINTER_ABI::planning
