// SPDX-License-Identifier: MIT
// graph_function: a graph that was made at run time, as a function. The same optimizer and executor
// as behind `fuse`, run on micro-ops and the library's superinstructions. What its functions do is
// in graph_function_source.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/function/code.hpp>
#include <sinter/function/graph_argument.hpp>
#include <sinter/function/plan_cache.hpp>
#include <sinter/function/program.hpp>
#include <sinter/graph/graph.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/any_tensor.hpp>

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
      : state_(made(g, detail::code_of<>, std::move(options), plans)) {}

  /// Arguments by number, those that are bound included: "argument 1" where they have no name.
  std::size_t argument_count() const;
  /// The number of the argument with that name. Throws graph_error if there is none.
  int argument_number(std::string_view name) const;
  /// The graph, gradients written out.
  const ir::graph& traced() const;

  /// Fixes an argument to these elements, which are shared as `frozen` ones: what follows from
  /// bound arguments alone is computed once, the promise is that of `frozen`. Calls then leave it
  /// out. Throws dtype_error or shape_error if the tensor does not fit the argument, graph_error if
  /// it is bound already or assigned.
  void bind(int number, const any_tensor& x);
  void bind(std::string_view name, const any_tensor& x) { bind(argument_number(name), x); }

  /// Calls the function with the arguments that are not bound, in the order of their numbers;
  /// returns the results that are not assigned, in the order of the outputs. Throws shape_error
  /// where shapes do not fit (naming argument, symbol and range), dtype_error, index_error,
  /// alias_error or graph_error, before anything is written.
  std::vector<any_tensor> operator()(span<const graph_argument> arguments) const;
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
  void prepare(span<const named_extent> extents = {}) const;
  void prepare(std::initializer_list<named_extent> extents) const { prepare(as_span(extents)); }

  /// What the optimizer did for arguments of these shapes; see fused::explain.
  std::string explain(span<const graph_argument> arguments) const;
  std::string explain(std::initializer_list<graph_argument> arguments) const {
    return explain(as_span(arguments));
  }
  /// The same as one page of HTML; see fused::explain_html.
  std::string explain_html(span<const graph_argument> arguments) const;
  std::string explain_html(std::initializer_list<graph_argument> arguments) const {
    return explain_html(as_span(arguments));
  }
  /// What is bound for arguments of these shapes; see fused::tile_programs.
  std::string tile_programs(span<const graph_argument> arguments) const;
  std::string tile_programs(std::initializer_list<graph_argument> arguments) const {
    return tile_programs(as_span(arguments));
  }
  /// What runs for arguments of these shapes and strides; see fused::schedule.
  std::string schedule(span<const graph_argument> arguments) const;
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
  std::string egglog(span<const graph_argument> arguments) const;
  std::string egglog(std::initializer_list<graph_argument> arguments) const {
    return egglog(as_span(arguments));
  }
  program_statistics statistics() const;

 private:
  struct argument;
  struct state;
  struct call;

  class caller {
   public:
    caller(std::shared_ptr<state> f, std::vector<graph_result> places);
    void operator()(span<const graph_argument> arguments) const;
    void operator()(std::initializer_list<graph_argument> arguments) const {
      (*this)(as_span(arguments));
    }

   private:
    std::shared_ptr<state> state_;
    std::vector<graph_result> places_;
  };

  template <class T>
  static span<const T> as_span(std::initializer_list<T> list) {
    return {list.begin(), list.size()};
  }

  static std::shared_ptr<state> made(const ir::graph& g, program_code (*code)(const ir::graph&),
                                     program_options options, plan_cache* plans);

  std::shared_ptr<state> state_;
};

}  // namespace sinter::inline SINTER_ABI

#ifndef SINTER_SEPARATE
#include <sinter/function/graph_function_source.hpp>
#endif
