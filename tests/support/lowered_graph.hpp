// SPDX-License-Identifier: MIT
// A graph on its way to the lowest level: planned, bound and run by the executor, with what was
// bound as values that point to the program's kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "run_graph.hpp"
#include <sinter/exec/interpret_lowered.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/tile_text.hpp>

namespace test_support {

struct lowered_graph {
  std::vector<sinter::exec::lowered_plan> plans;  // the last is what every call runs
  std::string text;                               // of all
  std::vector<raw_tensor> in, out;                // arguments, and what the executor made of them
};

inline sinter::exec::known_kernels kernels_of(const sinter::program& p) {
  return {&p.code().kernels, p.code().instructions, p.traced().customs};
}

// What is bound in `p`, which must outlive it, for these arguments. frozen[a]: is argument a?
// `apart`: with unused elements between all of theirs.
inline lowered_graph lower(sinter::program& p, std::span<const reference_tensor> arguments,
                           const std::vector<bool>& frozen = {}, bool apart = false) {
  given_arguments given = arguments_for(p, arguments, frozen, apart);
  sinter::program::prepared_call call = p.prepare(given.memory, given.symbols);
  lowered_graph out;
  out.plans = p.lowered(call, given.memory, given.symbols);
  out.text = p.tile_programs(call, given.memory, given.symbols);
  out.out = results_of(p, call, given);
  out.in = std::move(given.in);
  return out;
}

// Room for the values that a plan prepares, by number.
inline std::vector<std::vector<std::byte>> prepared_memory(
    const sinter::exec::lowered_plan& preparing) {
  std::vector<std::vector<std::byte>> out;
  for (const sinter::exec::lowered_buffer& b : preparing.buffers) {
    if (b.place != sinter::planning::place::prepared) continue;
    const auto number = static_cast<std::size_t>(b.number);
    if (out.size() <= number) out.resize(number + 1);
    const std::size_t bytes =
        static_cast<std::size_t>(sinter::element_count(b.shape)) * sinter::size_of(b.type);
    if (out[number].size() < bytes) out[number].resize(bytes);
  }
  return out;
}

// What the lowest level's interpreter makes of the same arguments.
inline std::vector<raw_tensor> interpret(lowered_graph& low,
                                         std::span<const sinter::exec::lowered_plan> plans) {
  std::vector<const void*> arguments;
  for (const raw_tensor& x : low.in) arguments.push_back(x.bytes.data());
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> prepared;
  if (plans.size() > 1) {
    memory = prepared_memory(plans.front());
    for (auto& each : memory) prepared.push_back(each.data());
    sinter::exec::interpret_lowered(plans.front(), arguments, {}, prepared);
  }
  std::vector<raw_tensor> out;
  std::vector<void*> outputs;
  for (const raw_tensor& x : low.out)
    out.push_back({x.shape, std::vector<std::byte>(x.bytes.size())});
  for (raw_tensor& x : out) outputs.push_back(x.bytes.data());
  sinter::exec::interpret_lowered(plans.back(), arguments, outputs, prepared);
  return out;
}

}  // namespace test_support
