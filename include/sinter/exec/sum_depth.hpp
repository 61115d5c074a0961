// SPDX-License-Identifier: MIT
// How far along the depth of a product registers add up an element before it goes to memory, to
// which the next block adds: each depth is another way of rounding.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/strip_columns.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

/// Rows of B that stay in L1 while all rows of A pass, unless they are in each other's way there.
inline constexpr std::int64_t in_place_depth = 192;

/// The longest of few rows, for which there is room where rows and strips are kept.
inline constexpr std::int64_t most_kept_depth = 256;

// Of a packed B 147 KB, or 295: sums are loaded and stored half as often then, and f32 are 1 to 2 %
// faster with registers of 64 bytes (Zen 5, Xeon). A strip of it has to leave half of L1 to A where
// registers are shorter, and f64 fill L1 as they are.
constexpr std::int64_t most_packed_depth(dtype type) {
  return type == dtype::f32 && sizeof(simd<float>) >= 64 ? 384 : 192;
}

/// Of packed operands: equal pieces rather than full ones and a small rest.
constexpr std::int64_t packed_depth(dtype type, std::int64_t k) {
  const std::int64_t pieces =
      std::max<std::int64_t>(1, planning::pieces_of(k, most_packed_depth(type)));
  return std::min(k, planning::whole_units(planning::pieces_of(k, pieces), 8));
}

}  // namespace detail

/// Rows of B that few rows pass at once. A pass reads and writes the sums in C, which is a
/// twentieth of the work with 64 rows. Two blocks of these fit into L1; with 96, 8 rows of a Xeon
/// take 1.05 and 16 rows by [2048,2048] 1.15 times as long, with 256 these 1.6 times. Zen 4 fetches
/// from L2 as fast as it multiplies: 16 rows by three matrices of [768,768] take 524 µs with 64,
/// 502 with 128 and 493 with 256, by [2048,2048] 1340, 1280 and 1230; Zen 5 with 256 0.94 and 0.89
/// of the time, with 768 by [2048,2048] as long as with 64. On Zen 3, with AVX2, 192 are
/// as fast as 256 where B is in L3, and from memory 1.04 to 1.13 times.
template <Floating T>
std::int64_t few_rows_depth() {
  if (!has_near_level3()) return 64;
  return detail::strips_share_lines<T> ? 192 : detail::most_kept_depth;
}

/// The depth of a block of products whose depth is k, cut after every `most`, and at the ends of
/// longer pieces, where the next begins anew.
struct depth_cut {
  std::int64_t k, most, piece;

  std::int64_t from(std::int64_t p) const { return std::min({most, piece - p % piece, k - p}); }
};

/// Of rows that pass B: of few ones, or of some more, for which it may as well be packed. These end
/// where packed ones do, so that they have the same bits.
template <Floating T>
depth_cut passing_depth(planning::product_reading reading, std::int64_t k) {
  const bool may_be_packed = reading == planning::product_reading::some_rows;
  return {k, few_rows_depth<T>(), may_be_packed ? detail::packed_depth(dtype_of<T>, k) : k};
}

}  // namespace sinter::inline SINTER_ABI::exec
