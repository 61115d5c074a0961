// SPDX-License-Identifier: MIT
// The schedules of a graph that was built at run time, and their interpreter on arguments as the
// reference interpreter has them.
#pragma once

#include <vector>

#include "run_graph.hpp"
#include <sinter/plan/interpret_schedule.hpp>
#include <sinter/plan/print_schedule.hpp>

namespace test_support {

// As program::schedules. frozen[a]: is argument a frozen?
inline std::vector<sinter::planning::schedule> schedules_of(
    sinter::program& p, std::span<const reference_tensor> arguments,
    const std::vector<bool>& frozen = {}) {
  const given_arguments given = arguments_for(p, arguments, frozen);
  const sinter::program::prepared_call call = p.prepare(given.memory, given.symbols);
  return p.schedules(call, given.memory, given.symbols);
}

// What prepares comes first, and the last one gives the outputs.
inline std::vector<reference_tensor> interpret(
    const std::vector<sinter::planning::schedule>& schedules,
    std::span<const reference_tensor> arguments) {
  std::vector<reference_tensor> prepared;
  for (const sinter::planning::schedule& s : schedules) {
    auto results = sinter::planning::interpret_schedule(s, arguments, prepared);
    if (!s.once) return std::move(results.outputs);
    prepared = std::move(results.prepared);
  }
  return {};
}

}  // namespace test_support
