// SPDX-License-Identifier: MIT
// A graph as a list of integers and back. Vectors cannot leave constant evaluation, so a graph
// traced by the compiler leaves it in this form, as a std::array; the first call thaws it.
#pragma once

#include <cstdint>
#include <vector>

#include <sinter/graph/build.hpp>
#include <sinter/support/flat_vector.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace detail {

constexpr void freeze_dim(flat_vector<std::int64_t>& out, const dim_table& dims, dim d) {
  if (d.is_constant()) {
    out.push_back(-1);
    out.push_back(d.constant());
    return;
  }
  const auto operands = dims.operands(d);
  const dim_kind kind = dims.kind(d);
  out.push_back(static_cast<std::int64_t>(kind));
  if (kind == dim_kind::symbol) {
    out.push_back(operands[0]);
    return;
  }
  out.push_back(static_cast<std::int64_t>(operands.size()));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    // The coefficients of a sum are plain integers; everything else is a dim.
    if (kind == dim_kind::sum && i % 2 == 0)
      out.push_back(operands[i]);
    else
      freeze_dim(out, dims, dim::from_code(operands[i]));
  }
}

class reader {
 public:
  constexpr explicit reader(span<const std::int64_t> words) : words_(words) {}
  constexpr std::int64_t next() { return words_[at_++]; }

  constexpr dim next_dim(dim_table& dims) {
    const std::int64_t tag = next();
    if (tag < 0) return dim(next());
    const dim_kind kind = static_cast<dim_kind>(tag);
    const std::int64_t count = next();
    if (kind == dim_kind::symbol) return dims.symbol(count);
    dim total(kind == dim_kind::sum ? 0 : 1);
    if (kind == dim_kind::floor_div || kind == dim_kind::mod) {
      const dim a = next_dim(dims), b = next_dim(dims);
      return kind == dim_kind::mod ? dims.mod(a, b) : dims.floor_div(a, b);
    }
    if (kind == dim_kind::sum) {
      dim negative(0);
      for (std::int64_t i = 0; i < count; i += 2) {
        const std::int64_t coefficient = next();
        const dim term = next_dim(dims);
        if (coefficient >= 0)
          total = dims.add(total, dims.mul(dim(coefficient), term));
        else
          negative = dims.add(negative, dims.mul(dim(-coefficient), term));
      }
      return negative == dim(0) ? total : dims.sub(total, negative);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const dim next_one = next_dim(dims);
      total =
          kind == dim_kind::product ? dims.mul(total, next_one) : dims.broadcast(total, next_one);
    }
    return total;
  }

 private:
  span<const std::int64_t> words_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// The graph as integers: nodes, outputs and the number of random streams. Not its custom ops,
/// which are known by address and leave beside it, guards, symbol values, fault, names or ranges: a
/// graph that the compiler traced has none. Linear in the graph; throws nothing.
constexpr flat_vector<std::int64_t> freeze(const graph& g) {
  flat_vector<std::int64_t> out;
  out.reserve(16 * g.nodes().size() + 8);
  out.push_back(g.size());
  for (int id = 0; id < g.size(); ++id) {
    const node& n = g[id];
    out.push_back(static_cast<std::int64_t>(n.code));
    out.push_back(n.input_count);
    for (int i : g.inputs(id)) out.push_back(i);
    out.push_back(n.attribute_count);
    for (std::int64_t a : g.attributes(id)) out.push_back(a);
    out.push_back(n.dim_count);
    for (dim d : g.node_dims(id)) detail::freeze_dim(out, g.dims, d);
  }
  out.push_back(static_cast<std::int64_t>(g.outputs.size()));
  for (const output& o : g.outputs) {
    out.push_back(o.node);
    out.push_back(o.assigned_argument);
  }
  out.push_back(g.random_streams);
  return out;
}

/// The graph that `freeze` wrote, node for node, and the custom ops of the graph it was written
/// from. The words must be those of `freeze`: they are not checked.
constexpr graph thaw(span<const std::int64_t> words, span<const custom_op* const> customs = {}) {
  graph g;
  g.customs.assign(customs.begin(), customs.end());
  detail::reader in(words);
  const std::int64_t nodes = in.next();
  std::vector<int> inputs;
  std::vector<std::int64_t> attributes;
  std::vector<dim> dims;
  for (std::int64_t i = 0; i < nodes; ++i) {
    const op code = static_cast<op>(in.next());
    inputs.resize(static_cast<std::size_t>(in.next()));
    for (int& each : inputs) each = static_cast<int>(in.next());
    attributes.resize(static_cast<std::size_t>(in.next()));
    for (std::int64_t& each : attributes) each = in.next();
    dims.resize(static_cast<std::size_t>(in.next()));
    for (dim& each : dims) each = in.next_dim(g.dims);
    append(g, code, inputs, attributes, dims);
  }
  g.outputs.resize(static_cast<std::size_t>(in.next()));
  for (output& o : g.outputs) {
    o.node = static_cast<int>(in.next());
    o.assigned_argument = static_cast<int>(in.next());
  }
  g.random_streams = static_cast<int>(in.next());
  return g;
}

}  // namespace sinter::inline SINTER_ABI::ir
