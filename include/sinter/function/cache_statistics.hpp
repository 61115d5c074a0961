// SPDX-License-Identifier: MIT
// What a cache of programs counts.
#pragma once

#include <cstddef>

#include <sinter/function/program.hpp>

namespace sinter::inline SINTER_ABI {

/// Counts of a cache of programs.
struct cache_statistics {
  /// Look-ups that found a program, those that had to make one, and programs that were dropped.
  std::size_t hits = 0, misses = 0, evictions = 0;
  /// Programs that are kept, and what happened in them: their plans, arenas and calls.
  std::size_t programs = 0;
  program_statistics inside{};

  cache_statistics& operator+=(const cache_statistics& other) {
    hits += other.hits;
    misses += other.misses;
    evictions += other.evictions;
    programs += other.programs;
    inside += other.inside;
    return *this;
  }
};

}  // namespace sinter::inline SINTER_ABI
