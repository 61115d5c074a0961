// SPDX-License-Identifier: MIT
// Which lines the kernels of a tile program ask for while they work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <sinter/exec/bind_walk.hpp>
#include <sinter/exec/choose_column_walk.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/row_overlap.hpp>
#include <sinter/exec/schedule_tile.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Do steps of a region, which read this many bytes in bursts that are no steady stream, gain from
/// fetching ahead? From L3 of a Zen 4 they do not: a chain of eight ops on 3 to 18 MB takes 0.87 of
/// the time without, but on 48 MB, which come from memory, 1.27 (two cores, one thread); of a Zen 5
/// 0.86 to 1.0 on 6 and 12 MB, 1.53 on 48.
inline bool steps_gain_from_fetching(std::int64_t bytes) {
  return has_near_level3() ? comes_from_memory(bytes) : bytes > cache_resident_bytes;
}

/// Does a kernel that waits for loads and stores gain from asking for the next row, too, so many
/// bytes further on, where so many are read and written in all? From memory to memory, ns per row
/// of 768 without and with it on a Xeon: RMS norm 277 and 232, layer norm 256 and 230. Longer rows
/// its hardware follows by itself: RMS norm over rows of 4096 from memory, and layer norm, 0.80 and
/// 0.73 of the time where nothing is fetched, 0.97 and 0.88 with it. A Zen 4 loses: RMS norm 212
/// and 219 (Zen 3 was not measured). A Zen 5 loses a tenth in its L3 (layer norm over [512,768]),
/// and gains from memory however long rows are: over [16384,1024], [8192,1200] and [2048,4096]
/// layer norm takes 0.77, 0.67 and 0.73 of the time, RMS norm 0.96, 0.8 and 0.65.
inline bool light_kernels_gain_from_fetching(std::int64_t bytes, std::int64_t distance) {
  constexpr std::int64_t longest_distance = 4096;
  switch (this_family()) {
    case processor_family::amd_19h: return false;
    case processor_family::amd_1ah: return comes_from_memory(bytes);
    default: return bytes > cache_resident_bytes && distance <= longest_distance;
  }
}

namespace detail {

// Chooses what each command of a program fetches: see choose_fetched.
class fetch_chooser {
 public:
  fetch_chooser(const tile_schedule& s, tile_program& p)
      : s_(s), p_(p), bytes_(bytes_to_hold()), from_memory_(bytes_ > cache_resident_bytes) {}

  void choose() {
    for (command& c : p_.commands)
      if (reduces_columns(c)) choose_walk(c);
    if (p_.is_one_kernel())
      choose_stream();
    else if (walks_rows() && p_.tile_rows == 1 && bytes_ > first_level_bytes)
      choose_tiles();
  }

 private:
  // What stays in L1 need not be fetched.
  static constexpr std::int64_t first_level_bytes = 32 << 10;
  // From here on (the work of an exponential) a kernel is arithmetic.
  static constexpr float arithmetic_work = 12;

  // What one cache has to hold. Threads have an L2 of their own each, in which their part stays
  // from call to call; a Zen goes by the L3 that they share. (A Xeon, 16 threads, part of the time
  // without fetching: relu(x + b) over twice 0.25 to 0.5 MB per thread 0.74 to 0.83, RMS
  // norm 0.88, layer norm 0.92 to 0.95, softmax 0.96 to 1.02; from twice 0.75 MB on the same.)
  std::int64_t bytes_to_hold() const {
    const std::int64_t all = streamed_bytes(p_);
    return has_near_level3() ? all : all / s_.threads();
  }

  bool walks_rows() const {
    return s_.facts().kind == geometry::free || s_.facts().kind == geometry::rows;
  }

  // How rows are walked that are reduced column by column. What others have computed, or read
  // before, is near.
  void choose_walk(command& c) const {
    const bool is_alone = p_.is_one_kernel();
    const bound_reduction& r = p_.reductions[static_cast<std::size_t>(c.reduction)];
    ir::column_walk walk;
    if (c.kind == command_kind::map_reduce_columns || is_moments(c, r))
      walk = walk_of_mapped_rows(bytes_, operands_of_rows(c), work_of(c), is_alone);
    else if (is_alone && c.kind == command_kind::reduce_columns)
      walk = walk_of_rows(bytes_, r);
    c.by_row = walk.in_turn;
    if (walk.ahead > 0) fetch_streams(c, walk.ahead);
  }

  // Exponentials, the other pairs, have a walk of their own.
  static bool is_moments(const command& c, const bound_reduction& r) {
    return c.kind == command_kind::reduce_pair && r.monoid == monoid::sum;
  }

  // One kernel, which walks its operands from their beginning to their end.
  void choose_stream() {
    for (command& c : p_.commands) {
      const bool gains =
          runs_steps(c) ? steps_gain_from_fetching(bytes_) : from_memory_ && stream_gains(c);
      if (gains && can_fetch(c) && !reduces_columns(c)) fetch_streams(c, stream_distance);
    }
  }

  // All that it reads and writes where it lies.
  void fetch_streams(command& c, std::int64_t distance) const {
    for (int k = 0; k < c.operand_count; ++k)
      if (walks_memory(operand(c, k)) && !is_one_per_run(p_, operand(c, k))) fetch(c, k, distance);
    if (writes_memory(c)) fetch(c, ir::run_mode::result, distance);
  }

  // Operands that lie in memory, others in each row.
  int operands_of_rows(const command& c) const {
    int out = 0;
    for (int k = 0; k < c.operand_count; ++k) {
      const location& l = operand(c, k);
      if (walks_memory(l) && !p_.streams[static_cast<std::size_t>(l.index)].invariant) ++out;
    }
    return out;
  }

  // One stream alone, which is only read, gains on a Zen 5, too: 1 M squares in L3 are summed
  // in 37.5 instead of 41.5 us.
  static bool stream_gains(const command& c) {
    return streams_gain_from_fetching() ||
           (one_stream_gains_from_fetching() && c.operand_count == 1 && !writes_memory(c));
  }

  void choose_tiles() {
    for (int i = 0; i < static_cast<int>(p_.streams.size()); ++i) {
      const stream& each = p_.streams[static_cast<std::size_t>(i)];
      const bool is_new = each.buffer >= 0 && each.extent() == value_class::full &&
                          !each.invariant && each.has_unit_step();
      const std::int64_t distance = bytes_to_next_tile(each);
      if (is_new && distance > 0) choose_tile(i, distance);
    }
  }

  // Of one stream: whoever has its elements for the last time asks for those of the next tile.
  void choose_tile(int stream, std::int64_t distance) {
    const bool light = light_kernels_gain_from_fetching(bytes_, distance);
    const auto is_here = [&](const location& l) { return walks_memory(l) && l.index == stream; };
    command* last = nullptr;
    int place = 0;
    for (const command_range& phase : p_.phase_lists) {
      for (int i = phase.first; i < phase.last; ++i) {
        command& c = p_.commands[static_cast<std::size_t>(i)];
        // Columns go by rows of their own, not from tile to tile.
        if (!can_fetch(c) || reduces_columns(c)) continue;
        for (int k = 0; k < c.operand_count; ++k)
          if (is_here(operand(c, k)) && (light || is_arithmetic(c))) last = &c, place = k;
        if (light && is_here(c.target) && writes_memory(c)) last = &c, place = ir::run_mode::result;
      }
      // Later phases find the parts of a long row in the cache.
      if (!p_.whole_rows()) break;
    }
    if (last != nullptr) fetch(*last, place, tiles_ahead() * distance);
  }

  // Where tiles overlap, the next one is read at once. From memory that has to be in time, too:
  // over [16384,1024] softmax takes 1.2 and 0.94 of the time without overlap when one and two tiles
  // ahead are asked for, over [8192,1200] 0.88 and 0.69 on a Zen 4. What stays in caches comes by
  // itself, and two tiles ahead are a tile too many in L1 (a Xeon, [1024,1024]: 1.03 and 1.2).
  std::int64_t tiles_ahead() const { return p_.streaming && find_overlap(p_).any() ? 2 : 1; }

  // 0 where there is none. Behind the last row of an axis it lies elsewhere, and is not fetched.
  std::int64_t bytes_to_next_tile(const stream& s) const {
    const auto size = static_cast<std::int64_t>(s.element_size);
    if (!p_.whole_rows()) return p_.chunk * size;
    return p_.axes.outer.empty() || p_.axes.outer.back() == 1 ? 0 : s.outer.back() * size;
  }

  static bool is_arithmetic(const command& c) { return work_of(c) >= arithmetic_work; }

  static float work_of(const command& c) {
    if (c.fused == nullptr) return c.custom == nullptr ? ir::info(c.code).cost : 0;
    float work = 0;
    for (int i = 0; i < c.fused->structure.node_count; ++i)
      work += ir::info(c.fused->structure.code(i)).cost;
    return work;
  }

  static bool writes_memory(const command& c) {
    return c.kind == command_kind::map && walks_memory(c.target) && !c.mode.streaming;
  }
  const location& operand(const command& c, int k) const {
    return p_.operands_of(c)[static_cast<std::size_t>(k)];
  }

  // A kernel goes as far ahead of all that it fetches.
  static void fetch(command& c, int place, std::int64_t distance) {
    const std::int64_t lines = planning::pieces_of(distance, ir::run_mode::line);
    if (lines > std::numeric_limits<std::uint16_t>::max()) return;
    if (c.mode.fetches() && c.mode.distance != lines) return;
    c.mode.fetched = static_cast<std::uint16_t>(c.mode.fetched | 1u << place);
    c.mode.distance = static_cast<std::uint16_t>(lines);
  }

  const tile_schedule& s_;
  tile_program& p_;
  const std::int64_t bytes_;
  const bool from_memory_;
};

}  // namespace detail

/// Where a kernel is all of a program, it walks steady streams, and fetches one that is only read,
/// more of them only on processors that do not do it by themselves. Where several commands work on
/// a row, the hardware sees no such stream, and stops where the row ends: whoever reads an operand
/// for the last time asks, line by line, for the same of the next row. Where it is arithmetic that
/// a kernel waits for, that costs nothing; a burst of lines between two commands fills the line
/// buffers instead, and all wait. (ns per row of 1024 with bursts, or on the EPYC without, and so:
/// softmax over 4096 rows 399 and 327 on a Xeon, 331 and 297 on an EPYC, Zen 4; log-sum-exp 280 and
/// 234, 238 and 230; over 256 rows of 4096 on the Xeon 2346 and 1534, 1326 and 852.)
inline void choose_fetched(const tile_schedule& s, tile_program& p) {
  detail::fetch_chooser(s, p).choose();
}

}  // namespace sinter::inline SINTER_ABI::exec
