// SPDX-License-Identifier: MIT
// What a tile program fetches ahead.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sinter/exec/bind_walk.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/processor_family.hpp>
#include <sinter/exec/schedule_tile.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

inline bool is_streamed(const tile_program& p, int stream) {
  return std::ranges::any_of(
      p.commands, [&](const command& c) { return c.mode.streaming && c.target.index == stream; });
}

inline bool walks_memory(const tile_program& p, const command& c) {
  return std::ranges::any_of(p.operands_of(c), [](const location& l) {
    return l.where == location::memory::stream && l.extent == value_class::full;
  });
}

}  // namespace detail

/// Do steps of a region, which read this many bytes in bursts that are no steady stream, gain from
/// fetching ahead? From L3 of a Zen 4 they do not: a chain of eight ops on 3 to 18 MB takes 0.87 of
/// the time without, but on 48 MB, which come from memory, 1.27 (two cores, one thread).
inline bool steps_gain_from_fetching(std::int64_t bytes) {
  return this_family() == processor_family::amd_19h ? static_cast<double>(bytes) > most_kept_bytes()
                                                    : bytes > cache_resident_bytes;
}

// Streams whose next tile is fetched while this one is computed: only where it comes from memory,
// since in L2 prefetching just costs instructions, and where a tile is what several commands work
// on, so that the hardware sees no steady stream. (Layer norm over 12 MB: 0.6 ms with, 1.2
// without; relu(x + b) over 8 MB, a steady stream, 0.23 with and 0.21 without: EPYC.) A single
// kernel fetches by itself, where that gains; so do steps of a region.
inline void choose_prefetched(const tile_schedule& s, tile_program& p) {
  p.prefetched.clear();
  p.prefetch_steps = 0;
  int commands = 0;
  for (const command_range& phase : p.phase_lists) commands += phase.size();
  const bool streams_by = s.facts().kind == geometry::free || s.facts().kind == geometry::rows;
  const std::int64_t bytes = streamed_bytes(p);
  const bool from_memory = bytes > cache_resident_bytes;
  const bool kernels_fetch = commands == 1 && streams_gain_from_fetching();
  for (command& c : p.commands)
    c.mode.fetching =
        runs_steps(c) ? steps_gain_from_fetching(bytes)
                      : from_memory && kernels_fetch && can_fetch(c) && detail::walks_memory(p, c);
  if (streams_by && commands > 1 && from_memory && tiles_gain_from_fetching())
    for (int i = 0; i < static_cast<int>(p.streams.size()); ++i) {
      const stream& each = p.streams[static_cast<std::size_t>(i)];
      if (each.buffer < 0 || each.extent() != value_class::full || each.invariant ||
          detail::is_streamed(p, i))
        continue;
      if (each.linear && each.step == 1 && (p.tile_rows == 1 || (each.dense && s.whole_rows())))
        p.prefetched.push_back({i, 0});
    }
  if (p.prefetched.empty()) return;
  for (const command_range& phase : p.phase_lists)
    if (s.whole_rows() || &phase == &p.phase_lists.front())
      p.prefetch_steps += phase.last - phase.first;
  for (prefetched_stream& fetched : p.prefetched) {
    const std::int64_t tile_bytes =
        p.tile_rows * p.chunk *
        static_cast<std::int64_t>(p.streams[static_cast<std::size_t>(fetched.stream)].element_size);
    fetched.bytes_per_step = planning::whole_units(tile_bytes / std::max(1, p.prefetch_steps), 64);
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
