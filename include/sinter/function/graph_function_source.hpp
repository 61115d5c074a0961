// SPDX-License-Identifier: MIT
// What a graph_function does: checks the arguments of a call against those of the graph, joins them
// with those that are bound, and runs its program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/autodiff/expand.hpp>
#include <sinter/function/graph_function.hpp>
#include <sinter/function/results.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/separate.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

struct graph_function::argument {
  dtype type{};
  ir::symbolic_shape shape;
  std::optional<any_tensor> bound;

  // Frozen, where the argument is bound.
  detail::argument_memory bound_memory() const {
    detail::argument_memory m = detail::memory_of_any(*bound);
    m.is_frozen = true;
    m.elements = bound->storage().current_contents();
    return m;
  }
};

struct graph_function::state {
  explicit state(std::shared_ptr<sinter::program> made) : program(std::move(made)) {
    const ir::graph& traced = program->traced();
    for (int id = 0; id < traced.size(); ++id) {
      if (traced[id].code != ir::op::argument) continue;
      const auto number = static_cast<std::size_t>(traced.attributes(id)[1]);
      if (arguments.size() <= number) arguments.resize(number + 1);
      arguments[number] = {traced[id].type, traced[id].shape, std::nullopt};
    }
    for (std::size_t k = 0; k < program->assigned().size(); ++k)
      if (program->assigned()[k] < 0) results.push_back(k);
  }

  std::vector<std::int64_t> symbols_of(span<const detail::argument_memory> memory) const {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < memory.size(); ++i)
      ir::match_extents(program->traced(), static_cast<std::int64_t>(i), arguments[i].shape,
                        memory[i].shape, values);
    return values;
  }

  // The extents to plan for before a call has any.
  std::vector<std::int64_t> nominal_extents(span<const named_extent> given) const {
    const ir::dim_table& dims = program->traced().dims;
    std::vector<std::int64_t> values;
    const auto value_of = [&](std::int64_t symbol) -> std::int64_t& {
      const auto place = static_cast<std::size_t>(symbol);
      if (values.size() <= place) values.resize(place + 1, -1);
      return values[place];
    };
    for (const named_extent& each : given) {
      const std::int64_t symbol = dims.find_symbol(each.name);
      if (symbol < 0) raise(graph_error("prepare: there is no symbol named '" + each.name + "'"));
      value_of(symbol) = each.extent;
    }
    for (const argument& a : arguments)
      for (std::size_t axis = 0; axis < a.shape.size(); ++axis) {
        const ir::dim d = a.shape[axis];
        if (d.is_constant()) continue;
        const std::int64_t symbol = dims.operands(d)[0];
        if (a.bound) value_of(symbol) = a.bound->shape()[axis];
        if (value_of(symbol) >= 0) continue;
        const ir::extent_range range = dims.symbol_range(symbol);
        if (range.high == ir::extent_range::highest)
          raise(graph_error("prepare: " + dims.symbol_name(symbol) +
                            " has no upper bound; expected its extent"));
        const double low = static_cast<double>(std::max<std::int64_t>(1, range.low));
        value_of(symbol) = std::min(range.high, static_cast<std::int64_t>(std::llround(std::sqrt(
                                                    low * static_cast<double>(range.high)))));
      }
    return values;
  }

  std::shared_ptr<sinter::program> program;
  std::vector<argument> arguments;   // by number
  std::vector<std::size_t> results;  // the outputs that are not assigned
};

// One call: arguments checked and joined with those that are bound, and the plan for their shapes.
struct graph_function::call {
  call(state& s, span<const graph_argument> given)
      : owner(s),
        memory(joined(s, given)),
        symbols(s.symbols_of(memory)),
        prepared(*s.program, memory, symbols) {
    targets.resize(memory.size());
    for (std::size_t i = 0, next = 0; i < memory.size(); ++i)
      if (!s.arguments[i].bound) targets[i] = &given[next++];
  }

  static std::vector<detail::argument_memory> joined(const state& s,
                                                     span<const graph_argument> given) {
    const auto expected = static_cast<std::size_t>(
        std::ranges::count_if(s.arguments, [](const argument& a) { return !a.bound; }));
    if (given.size() != expected)
      raise(graph_error("graph_function: " + std::to_string(given.size()) + " arguments where " +
                        std::to_string(expected) + " are expected"));
    std::vector<detail::argument_memory> out;
    out.reserve(s.arguments.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < s.arguments.size(); ++i) {
      const argument& a = s.arguments[i];
      if (a.bound) {
        out.push_back(a.bound_memory());
        continue;
      }
      const graph_argument& x = given[next++];
      if (x.type() != a.type)
        raise(dtype_error(s.program->traced().argument_text(static_cast<std::int64_t>(i)) + ": " +
                          std::string(name(x.type())) + " where " + std::string(name(a.type)) +
                          " is expected"));
      out.push_back(x.memory());
    }
    return out;
  }

  // `results`: where those outputs go that are not assigned.
  void run(span<const detail::output_memory> results) {
    const std::vector<int>& assigned = owner.program->assigned();
    std::vector<detail::output_memory> out(assigned.size());
    for (std::size_t i = 0; i < results.size(); ++i) out[owner.results[i]] = results[i];
    std::vector<void*> writable(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (targets[i] != nullptr) writable[i] = targets[i]->target();
    detail::write_assigned(assigned, memory, writable, out);
    for (int a : assigned)
      if (a >= 0) targets[static_cast<std::size_t>(a)]->touch();
    owner.program->run(prepared, memory, out);
  }

  state& owner;
  std::vector<detail::argument_memory> memory;
  std::vector<std::int64_t> symbols;
  program::prepared_call prepared;
  std::vector<const graph_argument*> targets;  // null: bound
};

SINTER_INLINE std::shared_ptr<graph_function::state> graph_function::made(
    const ir::graph& g, program_code (*code)(const ir::graph&), program_options options,
    plan_cache* plans) {
  // The program checks once more: what expands gradients takes a sound graph for granted.
  ir::verify(g);
  ir::verify_callable(g);
  const ir::graph expanded = ir::expand_gradients(g);
  return std::make_shared<state>(
      plans != nullptr
          ? plans->find_or_make(expanded, code, options)
          : std::make_shared<sinter::program>(expanded, code(expanded), std::move(options)));
}

SINTER_INLINE std::size_t graph_function::argument_count() const {
  return state_->arguments.size();
}

SINTER_INLINE int graph_function::argument_number(std::string_view name) const {
  const std::vector<std::string>& names = traced().argument_names;
  const auto place = std::ranges::find(names, name);
  if (name.empty() || place == names.end())
    raise(graph_error("graph_function: there is no argument named '" + std::string(name) + "'"));
  return static_cast<int>(place - names.begin());
}

SINTER_INLINE const ir::graph& graph_function::traced() const { return state_->program->traced(); }

SINTER_INLINE void graph_function::bind(int number, const any_tensor& x) {
  if (number < 0 || static_cast<std::size_t>(number) >= state_->arguments.size())
    raise(graph_error("bind: there is no argument " + std::to_string(number)));
  argument& a = state_->arguments[static_cast<std::size_t>(number)];
  const std::string who = "bind: " + traced().argument_text(number);
  if (a.bound) raise(graph_error(who + " is bound already"));
  if (state_->program->assigns(number)) raise(graph_error(who + " is assigned by the function"));
  if (x.type() != a.type)
    raise(dtype_error(who + ": " + std::string(name(x.type())) + " where " +
                      std::string(name(a.type)) + " is expected"));
  // Against other bound arguments too, which may have the same symbols.
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < state_->arguments.size(); ++i)
    if (const argument& other = state_->arguments[i]; other.bound)
      ir::match_extents(traced(), static_cast<std::int64_t>(i), other.shape, other.bound->shape(),
                        values);
  ir::match_extents(traced(), number, a.shape, x.shape(), values);
  a.bound = x;
}

SINTER_INLINE std::vector<any_tensor> graph_function::operator()(
    span<const graph_argument> arguments) const {
  call c(*state_, arguments);
  std::vector<any_tensor> results;
  for (std::size_t k : state_->results)
    results.emplace_back(c.prepared.output_type(static_cast<int>(k)),
                         c.prepared.output_shape(static_cast<int>(k)));
  std::vector<detail::output_memory> memory;
  for (any_tensor& each : results) memory.push_back(detail::memory_of_result(each));
  c.run(memory);
  return results;
}

SINTER_INLINE graph_function::caller::caller(std::shared_ptr<state> f,
                                             std::vector<graph_result> places)
    : state_(std::move(f)), places_(std::move(places)) {}

SINTER_INLINE void graph_function::caller::operator()(span<const graph_argument> arguments) const {
  const std::vector<std::size_t>& results = state_->results;
  if (places_.size() != results.size())
    raise(graph_error("into: " + std::to_string(places_.size()) + " places for " +
                      std::to_string(results.size()) + " results"));
  call c(*state_, arguments);
  std::vector<std::unique_ptr<graph_result::place>> made;
  std::vector<detail::output_memory> memory;
  made.reserve(places_.size());
  memory.reserve(places_.size());
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const int k = static_cast<int>(results[i]);
    made.push_back(places_[i].prepare(c.prepared.output_type(k), c.prepared.output_shape(k)));
    memory.push_back(made.back()->memory());
  }
  c.run(memory);
  for (const auto& each : made) each->keep();
}

SINTER_INLINE void graph_function::prepare(span<const named_extent> extents) const {
  const std::vector<std::int64_t> values = state_->nominal_extents(extents);
  std::vector<detail::argument_memory> memory;
  for (const argument& a : state_->arguments) {
    if (a.bound) {
      memory.push_back(a.bound_memory());
      continue;
    }
    detail::argument_memory m;
    for (ir::dim d : a.shape) m.shape.push_back(traced().dims.evaluate(d, values));
    m.strides = row_major_strides(m.shape);
    memory.push_back(std::move(m));
  }
  state_->program->prepare(memory, state_->symbols_of(memory));
}

SINTER_INLINE std::string graph_function::explain(span<const graph_argument> arguments) const {
  call c(*state_, arguments);
  return state_->program->explain(c.prepared, c.memory, c.symbols);
}

SINTER_INLINE std::string graph_function::explain_html(span<const graph_argument> arguments) const {
  call c(*state_, arguments);
  return state_->program->explain_html(c.prepared, c.memory, c.symbols);
}

SINTER_INLINE std::string graph_function::tile_programs(
    span<const graph_argument> arguments) const {
  call c(*state_, arguments);
  return state_->program->tile_programs(c.prepared, c.memory, c.symbols);
}

SINTER_INLINE std::string graph_function::schedule(span<const graph_argument> arguments) const {
  call c(*state_, arguments);
  return state_->program->schedule(c.prepared, c.memory, c.symbols);
}

SINTER_INLINE std::string graph_function::egglog(span<const graph_argument> arguments) const {
  call c(*state_, arguments);
  return state_->program->egglog(c.prepared);
}

SINTER_INLINE program_statistics graph_function::statistics() const {
  return state_->program->statistics();
}

}  // namespace sinter::inline SINTER_ABI
