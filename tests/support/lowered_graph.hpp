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
  lowered_graph out;
  std::vector<sinter::detail::argument_memory> memory;
  std::vector<shape_vector> shapes;
  for (const reference_tensor& x : arguments) out.in.push_back(raw_tensor::from(x));
  for (raw_tensor& x : out.in) {
    shape_vector strides = sinter::row_major_strides(x.shape);
    if (apart) {
      const std::size_t size =
          x.bytes.size() / static_cast<std::size_t>(sinter::element_count(x.shape));
      std::vector<std::byte> spread(2 * x.bytes.size(), std::byte{0x7f});
      for (std::size_t i = 0; i < x.bytes.size(); ++i)
        spread[i / size * 2 * size + i % size] = x.bytes[i];
      x.bytes = std::move(spread);
      for (std::int64_t& stride : strides) stride *= 2;
    }
    memory.push_back({x.bytes.data(), x.shape, strides, x.bytes.size()});
    memory.back().is_frozen = memory.size() <= frozen.size() && frozen[memory.size() - 1];
    shapes.push_back(x.shape);
  }
  const std::vector<std::int64_t> symbols = sinter::ir::symbol_values(p.traced(), shapes);
  sinter::program::prepared_call call = p.prepare(memory, symbols);
  out.plans = p.lowered(call, memory, symbols);
  out.text = p.tile_programs(call, memory, symbols);
  std::vector<sinter::detail::output_memory> results;
  for (int k = 0; k < static_cast<int>(p.assigned().size()); ++k) {
    const shape_vector shape = call.output_shape(k);
    out.out.push_back(
        {shape, std::vector<std::byte>(static_cast<std::size_t>(sinter::element_count(shape)) *
                                       sinter::size_of(call.output_type(k)))});
  }
  for (raw_tensor& x : out.out) results.push_back({x.bytes.data(), x.bytes.size()});
  p.run(call, memory, results);
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
