// SPDX-License-Identifier: MIT
// Programs whose tiles overlap: softmax and norms along rows. While the kernel in the middle works
// on a tile, what the tile behind is reduced to first is found, and of a softmax the exponentials
// of the tile before are scaled (rows_beside.hpp, overlapped_map.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/bind_walk.hpp>
#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The commands of a program that overlap, each alone in its phase; nullptr where none do.
struct row_overlap {
  const command* reduction = nullptr;  // of the tile behind
  const command* middle = nullptr;
  const command* scale = nullptr;  // of the tile before, if any
  int factor = -1;                 // its operand; the other is what the middle computed

  bool any() const { return middle != nullptr; }
  /// Does what is scaled lie in scratch memory, in two tiles? Otherwise it waits in the result.
  bool keeps_two_tiles() const {
    return scale != nullptr && middle->target.where == location::memory::kept;
  }
};

namespace detail {

// What is done once per row costs more beside two others: on a Zen 4 rows of 64 take 1.24 of the
// time, rows of 96 1.11, of 128 0.95, of 200 0.80.
inline constexpr std::int64_t shortest_overlapped_row = 128;

// Bytes that are read and written: a Zen 4 has them near a core, or in its last level with room to
// spare.
inline constexpr std::int64_t near_bytes = 8 << 20, last_level_bytes = 16 << 20;

// Bytes. Four tiles of a softmax are in L1 at once: the one at hand, those before and behind, and
// the results. With 8 KiB each they fill that of a Zen 4, which bears it while everything is near
// (rows of 2048: 0.89 of the time in L2, 1.08 over 16 MB, 1.3 from memory; rows of 1536 0.84, 0.90
// and 0.99). Where the last level has just room for it no tile gains (1.14 over 24 MB). On a Xeon,
// which has 48 KiB, rows of 2048 take 0.91, 0.97 and 0.84, of 4096 1.1 to 1.2 in L2.
inline std::int64_t largest_scaled_tile(const tile_program& p) {
  const std::int64_t bytes = streamed_bytes(p);
  if (this_family() != processor_family::amd_19h || bytes <= near_bytes) return 8 << 10;
  return p.streaming || bytes <= last_level_bytes ? 6 << 10 : 0;
}
// Of a norm there are three. Four rows of 768 lose 2 to 10 % on a Zen 4, and gain 3 to 15 % on the
// Xeon. What is far from a Zen 4 gains in short rows (layer norm over [3000,512] and [12000,512]
// 0.88 and 0.93 of the time), in longer ones only where the operand is in the last level and the
// result goes past it (over [4096,768] 0.89 to 0.95, where others use the last level up to 1.05;
// over [3000,768] and [4096,1024] 1.1 and up to 1.4). A Zen 5 gains 5 to 30 % everywhere but where
// its last level has just room for it (over [2800,768], [3400,768] and [2800,1024] 1.05, 1.09 and
// 1.19).
inline std::int64_t largest_mapped_tile(const tile_program& p, dtype type) {
  const std::int64_t bytes = streamed_bytes(p);
  if (this_family() == processor_family::amd_1ah && !p.streaming && bytes > last_level_bytes)
    return 0;
  if (this_family() != processor_family::amd_19h) return 12 << 10;
  if (bytes <= near_bytes) return 8 << 10;
  const std::int64_t operand =
      p.axes.rows * p.axes.columns * static_cast<std::int64_t>(size_of(type));
  return p.streaming && operand <= last_level_bytes ? 3 << 10 : 2 << 10;
}

inline bool has_size_to_overlap(const tile_program& p, dtype type, std::int64_t largest) {
  const std::int64_t bytes =
      p.tile_rows * p.axes.columns * static_cast<std::int64_t>(size_of(type));
  return p.axes.columns >= shortest_overlapped_row && bytes <= largest;
}

// x x, of one leaf.
inline bool is_square(const ir::region& r) {
  return r.leaf_count == 1 && r.node_count == 1 && ir::ends_in(r, ir::op::mul);
}

inline bool multiplies(const command& c) {
  if (c.kind != command_kind::map || c.run_rows == nullptr || c.operand_count != 2) return false;
  return c.fused == nullptr
             ? c.code == ir::op::mul
             : c.fused->structure.node_count == 1 && ir::ends_in(c.fused->structure, ir::op::mul);
}

// Is a row value read, or written, by these commands?
inline bool is_read(const tile_program& p, command_range list, const location& value) {
  for (int i = list.first; i < list.last; ++i)
    for (const location& l : p.operands_of(p.commands[static_cast<std::size_t>(i)]))
      if (l == value) return true;
  return false;
}
inline bool is_written(const tile_program& p, command_range list, const location& value) {
  for (int i = list.first; i < list.last; ++i)
    if (p.commands[static_cast<std::size_t>(i)].target == value) return true;
  return false;
}

// Which operand of a command that scales `values` by what is computed for each row in `list` that
// is; -1 if it does something else.
inline int factor_of(const tile_program& p, const command& c, const location& values,
                     command_range list) {
  if (!multiplies(c) || !walks_memory(c.target)) return -1;
  const location* const operands = p.operands_of(c).data();
  for (int factor = 0; factor < 2; ++factor)
    if (operands[factor].extent == value_class::row && is_written(p, list, operands[factor]) &&
        operands[1 - factor] == values)
      return factor;
  return -1;
}

inline const bound_reduction& reduction_of(const tile_program& p, const command& c) {
  return p.reductions[static_cast<std::size_t>(c.reduction)];
}

// Does a command reduce elements of the caller's memory, which have this dtype, to what `behind`
// says?
inline bool reduces_to(const tile_program& p, const command& c, ir::row_behind behind, dtype type) {
  if (c.operand_count != 1 || !walks_memory(p.operands_of(c)[0]) || operand_type(p, c, 0) != type)
    return false;
  const auto is = [&](command_kind kind, monoid m) {
    return c.kind == kind && reduction_of(p, c).monoid == m;
  };
  switch (behind) {
    case ir::row_behind::largest: return is(command_kind::reduce, monoid::max);
    case ir::row_behind::deviations: return is(command_kind::reduce, monoid::deviations);
    case ir::row_behind::squares:
      return is(command_kind::map_reduce, monoid::sum) && !c.target.valid() && c.fused != nullptr &&
             is_square(c.fused->structure);
    case ir::row_behind::none: return false;
  }
  return false;
}

// A norm: a map, whose reduction is of one block. (Of a region that is summed the kernel that
// overlaps is that of the sum.)
inline bool is_overlapped_map(const tile_program& p, const command& c, const command& reduction) {
  return c.kind == command_kind::map && c.fused->behind != ir::row_behind::largest &&
         c.mode.single == 0 && walks_memory(c.target) &&
         p.axes.columns <= reduce_block * reduction_of(p, reduction).kernels->lanes &&
         has_size_to_overlap(p, c.type, largest_mapped_tile(p, c.type));
}
// A softmax: a sum, whose values are scaled in the next phase.
inline bool is_overlapped_sum(const tile_program& p, const command& c) {
  return c.kind == command_kind::map_reduce && c.fused->behind == ir::row_behind::largest &&
         reduction_of(p, c).monoid == monoid::sum &&
         has_size_to_overlap(p, c.type, largest_scaled_tile(p));
}

}  // namespace detail

/// Which commands of a program overlap where tiles are run one after the other.
inline row_overlap find_overlap(const tile_program& p) {
  const std::size_t phases = p.phase_lists.size();
  const bool walks_rows = p.whole_rows() && !p.split && (phases == 2 || phases == 3) &&
                          p.row_lists.front().size() == 0 && p.row_lists.back().size() == 0;
  if (!walks_rows) return {};
  const command* only[3] = {};
  for (std::size_t phase = 0; phase < phases; ++phase) {
    if (p.phase_lists[phase].size() != 1) return {};
    only[phase] = &p.commands[static_cast<std::size_t>(p.phase_lists[phase].first)];
  }
  const auto [reduction, middle, scale] = only;
  const ir::instruction* code = middle->fused;
  if (code == nullptr || code->overlapped == nullptr ||
      !detail::reduces_to(p, *reduction, code->behind, middle->type))
    return {};
  if (scale == nullptr)
    return detail::is_overlapped_map(p, *middle, *reduction) ? row_overlap{reduction, middle}
                                                             : row_overlap{};
  // Row values of a tile are computed when the next one has been reduced, and has its own there.
  const command_range behind_sums = p.row_lists[2];
  const int factor = detail::factor_of(p, *scale, middle->target, behind_sums);
  if (!detail::is_overlapped_sum(p, *middle) || factor < 0 ||
      detail::is_read(p, behind_sums, detail::reduction_of(p, *reduction).result))
    return {};
  return {reduction, middle, scale, factor};
}

/// Bytes from a tile's place in scratch memory to that of the next one, which lies half a page
/// further on: where exponentials are written in steps right before what is read, modulo 4 KiB,
/// loads wait for stores of other memory.
inline std::int64_t kept_tile_step(std::int64_t bytes) {
  constexpr std::int64_t page = 4096;
  return planning::whole_units(bytes, page) + page / 2;
}

/// Bytes of scratch memory for a value of a program that is kept from phase to phase, one tile or
/// two.
inline std::int64_t kept_bytes(const tile_program& p, std::int64_t element_size) {
  const std::int64_t tile = p.tile_rows * p.axes.columns * element_size;
  return find_overlap(p).keeps_two_tiles() ? kept_tile_step(tile) + tile : tile;
}

}  // namespace sinter::inline SINTER_ABI::exec
