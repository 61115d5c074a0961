// SPDX-License-Identifier: MIT
// graph_function: a graph that was made at run time, as a function. The same optimizer and executor
// as behind `fuse`, run on micro-ops and the library's superinstructions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/autodiff/expand.hpp>
#include <sinter/function/code.hpp>
#include <sinter/function/graph_argument.hpp>
#include <sinter/function/plan_cache.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

/// The extent of a named symbol, for graph_function::prepare.
struct named_extent {
  std::string name;
  std::int64_t extent = 0;
};

/// A function made from a graph: by graph_builder::compile, or from a graph that was read
/// (parse_graph). Copies share plans and bound tensors. Calls from several threads are safe;
/// `bind` comes before them.
class graph_function {
 public:
  /// The function of a graph, which may hold gradients. Throws graph_error if the graph breaks a
  /// rule of the representation, if argument numbers have gaps, or if a symbol is an extent of no
  /// argument; shape_error or dtype_error where a gradient is of no floating scalar.
  /// With `plans`, functions of equal graphs share what is planned; see plan_cache.
  template <class = void>
  explicit graph_function(const ir::graph& g, program_options options = {},
                          plan_cache* plans = nullptr)
      : state_(std::make_shared<state>(made(expanded(g), std::move(options), plans))) {}

  /// Arguments by number, those that are bound included: "argument 1" where they have no name.
  std::size_t argument_count() const { return state_->arguments.size(); }
  /// The number of the argument with that name. Throws graph_error if there is none.
  int argument_number(std::string_view name) const {
    const std::vector<std::string>& names = traced().argument_names;
    const auto place = std::ranges::find(names, name);
    if (name.empty() || place == names.end())
      raise(graph_error("graph_function: there is no argument named '" + std::string(name) + "'"));
    return static_cast<int>(place - names.begin());
  }
  /// The graph, gradients written out.
  const ir::graph& traced() const { return state_->program->traced(); }

  /// Fixes an argument to these elements, which are shared as `frozen` ones: what follows from
  /// bound arguments alone is computed once, the promise is that of `frozen`. Calls then leave it
  /// out. Throws dtype_error or shape_error if the tensor does not fit the argument, graph_error if
  /// it is bound already or assigned.
  void bind(int number, const any_tensor& x) {
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
  void bind(std::string_view name, const any_tensor& x) { bind(argument_number(name), x); }

  /// Calls the function with the arguments that are not bound, in the order of their numbers;
  /// returns the results that are not assigned, in the order of the outputs. Throws shape_error
  /// where shapes do not fit (naming argument, symbol and range), dtype_error, index_error,
  /// alias_error or graph_error, before anything is written.
  std::vector<any_tensor> operator()(span<const graph_argument> arguments) const {
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
  std::vector<any_tensor> operator()(std::initializer_list<graph_argument> arguments) const {
    return (*this)(as_span(arguments));
  }

  /// `f.into({y, loss})({x, label})`: results go into existing tensors (resized if their shape
  /// differs) or contiguous views. Throws like the call itself; shape_error, dtype_error or
  /// alias_error as `fused::into`, graph_error unless there is one place per result.
  auto into(std::vector<graph_result> places) const { return caller(state_, std::move(places)); }

  /// Plans before the first call, for extents that `extents` names; other symbols take the middle
  /// of their range (the geometric mean of its ends), an unnamed argument axis without a range
  /// none: throws graph_error for such, and for a name that is no symbol; shape_error outside of a
  /// range.
  void prepare(span<const named_extent> extents = {}) const {
    const std::vector<std::int64_t> values = nominal_extents(extents);
    std::vector<detail::argument_memory> memory;
    for (const argument& a : state_->arguments) {
      if (a.bound) {
        memory.push_back(bound_memory(*a.bound));
        continue;
      }
      detail::argument_memory m;
      for (ir::dim d : a.shape) m.shape.push_back(traced().dims.evaluate(d, values));
      m.strides = row_major_strides(m.shape);
      memory.push_back(std::move(m));
    }
    state_->program->prepare(memory, checked_symbols(*state_, memory));
  }
  void prepare(std::initializer_list<named_extent> extents) const { prepare(as_span(extents)); }

  /// What the optimizer did for arguments of these shapes; see fused::explain.
  std::string explain(span<const graph_argument> arguments) const {
    call c(*state_, arguments);
    return state_->program->explain(c.prepared, c.memory, c.symbols);
  }
  std::string explain(std::initializer_list<graph_argument> arguments) const {
    return explain(as_span(arguments));
  }
  /// The same as one page of HTML; see fused::explain_html.
  std::string explain_html(span<const graph_argument> arguments) const {
    call c(*state_, arguments);
    return state_->program->explain_html(c.prepared, c.memory, c.symbols);
  }
  std::string explain_html(std::initializer_list<graph_argument> arguments) const {
    return explain_html(as_span(arguments));
  }
  /// What is bound for arguments of these shapes; see fused::tile_programs.
  std::string tile_programs(span<const graph_argument> arguments) const {
    call c(*state_, arguments);
    return state_->program->tile_programs(c.prepared, c.memory, c.symbols);
  }
  std::string tile_programs(std::initializer_list<graph_argument> arguments) const {
    return tile_programs(as_span(arguments));
  }
  /// What runs for arguments of these shapes and strides; see fused::schedule.
  std::string schedule(span<const graph_argument> arguments) const {
    call c(*state_, arguments);
    return state_->program->schedule(c.prepared, c.memory, c.symbols);
  }
  std::string schedule(std::initializer_list<graph_argument> arguments) const {
    return schedule(as_span(arguments));
  }
  /// The plan for arguments of these shapes as a text; see fused::export_plan. Like the next two it
  /// needs `#include <sinter/plans.hpp>`.
  std::string export_plan(span<const graph_argument> arguments) const;
  std::string export_plan(std::initializer_list<graph_argument> arguments) const {
    return export_plan(as_span(arguments));
  }
  /// Writes all plans that are kept into a file; see fused::save_plans.
  void save_plans(const std::string& path) const;
  /// Reads plans that another run saved; see fused::load_plans. Throws io_error also where the file
  /// has no plan of this graph.
  void load_plans(const std::string& path) const;
  /// The saturated e-graph as a program that egglog replays; see fused::egglog.
  std::string egglog(span<const graph_argument> arguments) const {
    call c(*state_, arguments);
    return state_->program->egglog(c.prepared);
  }
  std::string egglog(std::initializer_list<graph_argument> arguments) const {
    return egglog(as_span(arguments));
  }
  program_statistics statistics() const { return state_->program->statistics(); }

 private:
  struct argument {
    dtype type{};
    ir::symbolic_shape shape;
    std::optional<any_tensor> bound;
  };

  struct state {
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

    std::shared_ptr<sinter::program> program;
    std::vector<argument> arguments;   // by number
    std::vector<std::size_t> results;  // the outputs that are not assigned
  };

  template <class = void>
  static std::shared_ptr<sinter::program> made(const ir::graph& g, program_options options,
                                               plan_cache* plans) {
    if (plans != nullptr) return plans->find_or_make(g, detail::code_of<>, options);
    return std::make_shared<sinter::program>(g, detail::code_of<>(g), std::move(options));
  }

  // The program checks once more: what expands gradients takes a sound graph for granted.
  static ir::graph expanded(const ir::graph& g) {
    ir::verify(g);
    ir::verify_callable(g);
    return ir::expand_gradients(g);
  }

  template <class T>
  static span<const T> as_span(std::initializer_list<T> list) {
    return {list.begin(), list.size()};
  }

  static detail::argument_memory bound_memory(const any_tensor& x) {
    detail::argument_memory m = detail::memory_of_any(x);
    m.is_frozen = true;
    m.elements = x.storage().current_contents();
    return m;
  }

  static std::vector<std::int64_t> checked_symbols(const state& s,
                                                   span<const detail::argument_memory> memory) {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < memory.size(); ++i)
      ir::match_extents(s.program->traced(), static_cast<std::int64_t>(i), s.arguments[i].shape,
                        memory[i].shape, values);
    return values;
  }

  // One call: arguments checked and joined with those that are bound, and the plan for their
  // shapes.
  struct call {
    call(state& s, span<const graph_argument> given)
        : owner(s),
          memory(joined(s, given)),
          symbols(checked_symbols(s, memory)),
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
      std::size_t next = 0;
      for (std::size_t i = 0; i < s.arguments.size(); ++i) {
        const argument& a = s.arguments[i];
        if (a.bound) {
          out.push_back(bound_memory(*a.bound));
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
      for (std::size_t k = 0; k < assigned.size(); ++k) {
        if (assigned[k] < 0) continue;
        const auto a = static_cast<std::size_t>(assigned[k]);
        detail::require_assignable(memory[a], targets[a]->target(), a);
        out[k] = {targets[a]->target(), memory[a].bytes};
      }
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

  class caller {
   public:
    caller(std::shared_ptr<state> f, std::vector<graph_result> places)
        : state_(std::move(f)), places_(std::move(places)) {}
    void operator()(span<const graph_argument> arguments) const {
      const std::vector<std::size_t>& results = state_->results;
      if (places_.size() != results.size())
        raise(graph_error("into: " + std::to_string(places_.size()) + " places for " +
                          std::to_string(results.size()) + " results"));
      call c(*state_, arguments);
      std::vector<std::unique_ptr<graph_result::place>> made;
      std::vector<detail::output_memory> memory;
      for (std::size_t i = 0; i < places_.size(); ++i) {
        const int k = static_cast<int>(results[i]);
        made.push_back(places_[i].prepare(c.prepared.output_type(k), c.prepared.output_shape(k)));
        memory.push_back(made.back()->memory());
      }
      c.run(memory);
      for (const auto& each : made) each->keep();
    }
    void operator()(std::initializer_list<graph_argument> arguments) const {
      (*this)(as_span(arguments));
    }

   private:
    std::shared_ptr<state> state_;
    std::vector<graph_result> places_;
  };

  std::vector<std::int64_t> nominal_extents(span<const named_extent> given) const {
    const ir::dim_table& dims = traced().dims;
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
    for (const argument& a : state_->arguments)
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

  std::shared_ptr<state> state_;
};

}  // namespace sinter::inline SINTER_ABI
