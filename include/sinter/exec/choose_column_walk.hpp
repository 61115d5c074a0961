// SPDX-License-Identifier: MIT
// How rows that are reduced column by column are walked, on the processor at hand.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/bind_walk.hpp>
#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/graph/region.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Is this more than the last level keeps?
inline bool comes_from_memory(std::int64_t bytes) {
  return static_cast<double>(bytes) > most_kept_bytes(1);
}

/// Of rows, so many bytes in all, that are reduced as they are. Parts of the time without fetching
/// on a Zen 5, in brackets with AVX2: sums from L3 0.86 to 1.01 (0.9 to 1.01), maxima 0.77 to 1.03
/// (0.95 to 1.05), from memory 0.76 to 0.88 (0.48 to 0.66) and sums (0.7 to 0.88), but those by
/// whole lines 1.1. A Xeon reads as fast as it can in each way: 0.98 to 1.04. A Zen 4 with AVX2
/// loses a tenth in L3, and from memory rows side by side are to its prefetchers no stream: sums of
/// [16384,1024], [32768,512] and [65536,256] take 2.6, 2.3 and 2.6 ms in turn, 2.9, 4.4 and 5.8
/// four at a time, maxima 1.9, 2.2 and 2.4 instead of 3.0, 5.1 and 6.2. (Zen 3 was not measured.)
inline ir::column_walk walk_of_rows(std::int64_t bytes, const bound_reduction& r) {
  if (bytes <= cache_resident_bytes) return {};
  const bool from_memory = comes_from_memory(bytes);
  switch (this_family()) {
    case processor_family::amd_19h: return {.ahead = 0, .in_turn = from_memory};
    case processor_family::amd_1ah: {
      const auto bytes_of_register = r.kernels->lanes * static_cast<int>(size_of(r.type));
      const bool by_lines = bytes_of_register == ir::run_mode::line;
      if (!from_memory) return {.ahead = 8 << 10};
      return {.ahead = r.monoid == monoid::sum && by_lines ? 0 : 16 << 10};
    }
    default: return {};
  }
}

/// Of rows on which a region is evaluated first, so many operands of which are others in each row,
/// and so much work per element; in turn only where the kernel `is_alone`. What L2 has takes 1.5
/// to 2.3 times as long if it is asked for (a Xeon and a Zen 4, sums of x x, x y, relu(x + y) over
/// [64,1024] and [128,512]).
///
/// A Zen 5 follows several operands with little to compute by itself: sums of x y over 16 to 128 MB
/// take 0.92 of the time without, but of silu(x) y 1.4; of (x - m)^2 over [8192,512] 1.4, too. A
/// Xeon gains if rows go in turn: sums of x x, (x - m)^2, x y and exp(x) over [16384,1024] take
/// 0.76, 0.9, 0.7 and 0.72 of the time of four at a time, over [65536,256] 0.62, 0.6, 0.98 and
/// 0.86, over [8192,512] 0.92 each, as long over [1024,1024]. A Zen 4 with AVX2 reads fastest from
/// L3 what it does not ask for (x y over [1024,1024] 0.53 of the time, x x 0.82, exp(x) 0.94), but
/// for one operand that is a large part of it (over [8192,512] 1.2 each), and from memory in turn
/// (over [16384,1024] 0.6, 0.65, 0.55 and 0.85, over [65536,256] 0.43, 0.5, 0.45 and 0.93).
inline ir::column_walk walk_of_mapped_rows(std::int64_t bytes, int operands, float work,
                                           bool is_alone) {
  constexpr float light = 6;
  constexpr std::int64_t large_part = 8 << 20;
  constexpr ir::column_walk plain{}, fetching{.ahead = 16 << 10};
  const ir::column_walk in_turn = is_alone ? ir::column_walk{4 << 10, true} : fetching;
  if (bytes <= cache_resident_bytes) return plain;
  const bool is_one = operands < 2;
  switch (this_family()) {
    case processor_family::intel: return in_turn;
    case processor_family::amd_19h:
      if (!comes_from_memory(bytes)) return is_one && bytes > large_part ? fetching : plain;
      return is_one ? in_turn : ir::column_walk{0, is_alone};
    case processor_family::amd_1ah: return is_one || work > light ? fetching : plain;
    default: return fetching;
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
