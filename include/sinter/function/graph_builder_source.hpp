// SPDX-License-Identifier: MIT
// What a graph_builder writes, and what it refuses to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sinter/function/graph_builder.hpp>
#include <sinter/graph/build.hpp>
#include <sinter/graph/symbol_name.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/separate.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

// In one place, to which handles point.
struct graph_builder::state {
  struct binding {
    int number;
    any_tensor elements;
  };

  ir::graph graph;
  std::vector<binding> bindings;

  int count() const { return static_cast<int>(graph.argument_names.size()); }

  void check_name(const std::string& name) const {
    if (name.empty()) return;
    if (!ir::is_identifier(name))
      raise(graph_error("argument: '" + name + "' is no name; expected letters, digits, _ and ."));
    for (const std::string& other : graph.argument_names)
      if (other == name) raise(graph_error("argument: there is a '" + name + "' already"));
  }
};

SINTER_INLINE graph_builder::graph_builder() : state_(std::make_unique<state>()) {}

SINTER_INLINE graph_builder::graph_builder(graph_builder&&) noexcept = default;

SINTER_INLINE graph_builder& graph_builder::operator=(graph_builder&&) noexcept = default;

SINTER_INLINE graph_builder::~graph_builder() = default;

SINTER_INLINE handle graph_builder::argument(const std::string& name, dtype type,
                                             span<const argument_extent> shape) {
  if (shape.size() > static_cast<std::size_t>(max_rank))
    raise(shape_error("argument " + name + ": rank " + std::to_string(shape.size()) +
                      " exceeds the limit of " + std::to_string(max_rank)));
  state_->check_name(name);
  ir::symbolic_shape dims;
  shape_vector largest;
  for (const argument_extent& each : shape) {
    if (!each.is_symbol() && each.number() < 0)
      raise(shape_error("argument " + name + ": extent " + std::to_string(each.number()) +
                        " is below 0"));
    dims.push_back(each.is_symbol() ? dim_of(each.symbol()) : ir::dim(each.number()));
    if (!each.is_symbol()) largest.push_back(each.number());
  }
  element_count(largest);  // throws if they cannot be counted
  return add_argument(name, type, dims, false);
}

SINTER_INLINE handle graph_builder::number(const std::string& name, dtype type) {
  state_->check_name(name);
  return add_argument(name, type, {}, true);
}

SINTER_INLINE handle graph_builder::bound(const std::string& name, const any_tensor& x) {
  const std::vector<argument_extent> shape(x.shape().begin(), x.shape().end());
  const handle out = argument(name, x.type(), shape);
  state_->bindings.push_back({state_->count() - 1, x});
  return out;
}

SINTER_INLINE handle graph_builder::extent(const sym& symbol) {
  return handle(ir::extent_scalar(graph(), dtype::i64, dim_of(symbol)));
}

SINTER_INLINE ir::graph graph_builder::graph_of(span<const graph_output> outputs) const {
  ir::graph g = state_->graph;
  for (const graph_output& each : outputs) {
    detail::require_graph(state_->graph, each.value);
    detail::add_output(g, each);
  }
  return g;
}

SINTER_INLINE ir::graph& graph_builder::graph() { return state_->graph; }

SINTER_INLINE handle graph_builder::add_argument(const std::string& name, dtype type,
                                                 const ir::symbolic_shape& shape, bool weak) {
  const handle out(ir::argument(graph(), type, state_->count(), shape, weak));
  graph().argument_names.push_back(name);
  return out;
}

SINTER_INLINE ir::dim graph_builder::dim_of(const sym& symbol) {
  ir::dim_table& dims = graph().dims;
  const auto rejected = [&](const std::string& reason) {
    return graph_error("symbol '" + symbol.name + "': " + reason);
  };
  if (!ir::is_symbol_name(symbol.name))
    raise(
        rejected("no name; expected letters, digits, _ and ., and not the form s0, which names "
                 "extents without a name"));
  const ir::extent_range range{symbol.low, symbol.high};
  if (range.low < 0 || range.high < range.low)
    raise(rejected("no extent is in " + ir::to_string(range)));
  std::int64_t number = dims.find_symbol(symbol.name);
  if (number < 0) {
    number = static_cast<std::int64_t>(dims.described().size());
    dims.describe(number, {symbol.name, range});
  } else if (symbol.has_range && !(dims.symbol_range(number) == range)) {
    raise(rejected("range " + ir::to_string(range) + " where it is known as " +
                   ir::to_string(dims.symbol_range(number))));
  }
  return dims.symbol(number);
}

SINTER_INLINE void graph_builder::bind_to(graph_function& f) const {
  for (const state::binding& each : state_->bindings) f.bind(each.number, each.elements);
}

}  // namespace sinter::inline SINTER_ABI
