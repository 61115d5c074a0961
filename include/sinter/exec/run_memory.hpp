// SPDX-License-Identifier: MIT
// The memory that nests share while a plan runs: where buffers start, scratch for each thread, and
// a workspace that all threads see. Nests run one after the other, so one block of each kind serves
// them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/plan/division.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/support/cache_lines.hpp>

namespace sinter::inline SINTER_ABI::exec {

// Bytes a nest asks for.
struct memory_need {
  std::size_t per_thread = 0, shared = 0;

  void include(const memory_need& other) {
    per_thread = std::max(per_thread, other.per_thread);
    shared = std::max(shared, other.shared);
  }
};

// Entries of run_memory::bases for copies of operands: an attention's three, or one for each
// operand of a product.
inline std::size_t own_bases(const planning::plan& plan) {
  std::size_t most = 3;
  for (const planning::nest& n : plan.nests) {
    std::size_t operands = 0;
    for (const planning::nest& part : n.parts) operands += part.accesses.size();
    most = std::max(most, operands);
  }
  return most;
}

struct run_memory {
  // The first byte of every buffer of the plan, and behind them own_bases(plan) entries that a nest
  // may set while it runs.
  std::byte** bases = nullptr;
  std::byte* threads = nullptr;
  std::size_t thread_bytes = 0;
  std::byte* shared = nullptr;

  std::byte* scratch(int thread) const {
    return threads + static_cast<std::size_t>(thread) * thread_bytes;
  }
};

using planning::elements_per_task;

}  // namespace sinter::inline SINTER_ABI::exec
