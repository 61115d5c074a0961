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
  std::vector<raw_tensor> in;
  std::vector<sinter::detail::argument_memory> memory;
  std::vector<shape_vector> shapes;
  for (const reference_tensor& x : arguments) in.push_back(raw_tensor::from(x));
  for (raw_tensor& x : in) {
    memory.push_back({x.bytes.data(), x.shape, sinter::row_major_strides(x.shape), x.bytes.size()});
    memory.back().is_frozen = memory.size() <= frozen.size() && frozen[memory.size() - 1];
    shapes.push_back(x.shape);
  }
  const std::vector<std::int64_t> symbols = sinter::ir::symbol_values(p.traced(), shapes);
  const sinter::program::prepared_call call = p.prepare(memory, symbols);
  return p.schedules(call, memory, symbols);
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
