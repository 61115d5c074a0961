// SPDX-License-Identifier: MIT
// Programs whose tiles overlap: softmax along rows. While exponentials of a tile are summed up,
// those of the tile before are scaled, and the largest elements of the tile behind are looked for.
// The kernel of the exponentials does that beside its own (rows_beside.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/bind_walk.hpp>
#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// The commands of a program that overlap, each alone in its phase; nullptr where none do.
struct row_overlap {
  const command* largest = nullptr;
  const command* exponentials = nullptr;
  const command* scale = nullptr;
  int factor = -1;  // operand of the scale; the other are the exponentials

  bool any() const { return scale != nullptr; }
  /// Do exponentials of two tiles lie in scratch memory? Otherwise they wait in the result.
  bool keeps_two_tiles() const {
    return any() && exponentials->target.where == location::memory::kept;
  }
};

namespace detail {

// What is done once per row costs more beside two others: on a Zen 4 rows of 64 take 1.24 of the
// time, rows of 96 1.11, of 128 0.95, of 200 0.80.
inline constexpr std::int64_t shortest_overlapped_row = 128;

// Bytes. Four tiles are in L1 at once: the one at hand, those before and behind, and the results.
// With 8 KiB each they fill that of a Zen 4, which bears it while what is read and written stays in
// the last level (rows of 2048: 0.89 of the time in L2, 1.08 over 16 MB, 1.3 from memory; rows of
// 1536 0.84, 0.90 and 0.99). On a Xeon, which has 48 KiB, rows of 2048 take 0.91, 0.97 and 0.84, of
// 4096 1.1 to 1.2 in L2.
inline std::int64_t largest_overlapped_tile(const tile_program& p) {
  const bool is_far = this_family() == processor_family::amd_19h && streamed_bytes(p) > 8 << 20;
  return is_far ? 6 << 10 : 8 << 10;
}

inline bool has_size_to_overlap(const tile_program& p, dtype type) {
  const std::int64_t bytes =
      p.tile_rows * p.axes.columns * static_cast<std::int64_t>(size_of(type));
  return p.axes.columns >= shortest_overlapped_row && bytes <= largest_overlapped_tile(p);
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

}  // namespace detail

/// Which commands of a program overlap where tiles are run one after the other.
inline row_overlap find_overlap(const tile_program& p) {
  constexpr std::size_t phases = 3;
  if (p.phase_lists.size() != phases || !p.whole_rows() || p.split ||
      p.row_lists.front().size() != 0 || p.row_lists.back().size() != 0)
    return {};
  const command* only[phases];
  for (std::size_t phase = 0; phase < phases; ++phase) {
    if (p.phase_lists[phase].size() != 1) return {};
    only[phase] = &p.commands[static_cast<std::size_t>(p.phase_lists[phase].first)];
  }
  const auto [largest, exponentials, scale] = only;
  const auto reduces = [&](const command& c, command_kind kind, monoid m) {
    if (c.kind != kind) return false;
    const bound_reduction& r = p.reductions[static_cast<std::size_t>(c.reduction)];
    return r.monoid == m && r.result.valid() && !r.sum.valid();
  };
  const bool overlaps =
      reduces(*largest, command_kind::reduce, monoid::max) &&
      walks_memory(p.operands_of(*largest)[0]) &&
      reduces(*exponentials, command_kind::map_reduce, monoid::sum) &&
      exponentials->fused != nullptr && exponentials->fused->overlapped_sum != nullptr &&
      largest->type == exponentials->type && detail::has_size_to_overlap(p, largest->type);
  if (!overlaps) return {};
  // Row values of a tile are computed when the largest elements of the next one have been found,
  // which take the place of its own.
  const command_range behind_sums = p.row_lists[2];
  const location found = p.reductions[static_cast<std::size_t>(largest->reduction)].result;
  const int factor = detail::factor_of(p, *scale, exponentials->target, behind_sums);
  if (factor < 0 || detail::is_read(p, behind_sums, found)) return {};
  return {largest, exponentials, scale, factor};
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
