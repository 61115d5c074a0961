// SPDX-License-Identifier: MIT
// Runs a graph that was built at run time through the whole pipeline (bind, saturate, choose, run),
// on micro-ops and library superinstructions, with arguments and results as the reference
// interpreter has them.
#pragma once

#include <vector>

#include <sinter/function/code.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/reference_bytes.hpp>

namespace test_support {

using sinter::dtype;
using sinter::shape_vector;
using sinter::ir::reference_tensor;

// The elements of a reference tensor in their own dtype, aligned like a tensor's.
struct raw_tensor {
  shape_vector shape;
  std::vector<std::byte> bytes;

  static raw_tensor from(const reference_tensor& x) { return {x.shape, sinter::ir::bytes_of(x)}; }
  reference_tensor to(dtype type) const { return sinter::ir::tensor_of(type, shape, bytes); }
};

// Arguments as a program wants them.
struct given_arguments {
  std::vector<raw_tensor> in;
  std::vector<sinter::detail::argument_memory> memory;  // of `in`
  std::vector<std::int64_t> symbols;
};

// frozen[a]: is argument a frozen? `apart`: with unused elements between all of theirs.
inline given_arguments arguments_for(const sinter::program& p,
                                     std::span<const reference_tensor> arguments,
                                     const std::vector<bool>& frozen = {}, bool apart = false) {
  given_arguments out;
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
    out.memory.push_back({x.bytes.data(), x.shape, strides, x.bytes.size()});
    out.memory.back().is_frozen =
        out.memory.size() <= frozen.size() && frozen[out.memory.size() - 1];
    shapes.push_back(x.shape);
  }
  out.symbols = sinter::ir::symbol_values(p.traced(), shapes);
  return out;
}

// Runs a call that was prepared for these arguments; one result per output.
inline std::vector<raw_tensor> results_of(sinter::program& p, sinter::program::prepared_call& call,
                                          const given_arguments& given) {
  std::vector<raw_tensor> out;
  for (int k = 0; k < static_cast<int>(p.assigned().size()); ++k) {
    const shape_vector shape = call.output_shape(k);
    out.push_back(
        {shape, std::vector<std::byte>(static_cast<std::size_t>(sinter::element_count(shape)) *
                                       sinter::size_of(call.output_type(k)))});
  }
  std::vector<sinter::detail::output_memory> results;
  for (raw_tensor& x : out) results.push_back({x.bytes.data(), x.bytes.size()});
  p.run(call, given.memory, results);
  return out;
}

// Results of a program for these arguments, one per output. frozen[a]: is argument a frozen?
inline std::vector<reference_tensor> run(sinter::program& p,
                                         std::span<const reference_tensor> arguments,
                                         const std::vector<bool>& frozen = {}) {
  const given_arguments given = arguments_for(p, arguments, frozen);
  sinter::program::prepared_call call = p.prepare(given.memory, given.symbols);
  const std::vector<raw_tensor> out = results_of(p, call, given);
  std::vector<reference_tensor> values;
  for (std::size_t k = 0; k < out.size(); ++k)
    values.push_back(out[k].to(call.output_type(static_cast<int>(k))));
  return values;
}

inline std::vector<reference_tensor> run(const sinter::ir::graph& g,
                                         std::span<const reference_tensor> arguments,
                                         sinter::program_options options = {}) {
  sinter::program p(g, sinter::detail::code_of(g), std::move(options));
  return run(p, arguments);
}

}  // namespace test_support
