// SPDX-License-Identifier: MIT
// Tracing: a captureless lambda is evaluated on handles. Where the compiler can do that in constant
// evaluation, it leaves a frozen graph, the types of its results, and the element-wise regions that
// get a fused kernel each; elsewhere the same code runs at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <sinter/autodiff/reverse.hpp>
#include <sinter/expr/expr.hpp>
#include <sinter/function/arguments.hpp>
#include <sinter/graph/freeze.hpp>
#include <sinter/graph/regions.hpp>

namespace sinter::detail {

// Writes the argument nodes; symbols are numbered through, argument by argument, axis by axis.
// out[i]: argument i.
constexpr void write_arguments(ir::graph& g, std::span<const argument_spec> specs,
                               std::span<handle> out) {
  std::int64_t symbols = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    ir::symbolic_shape shape;
    for (int axis = 0; axis < specs[i].extents.rank; ++axis)
      shape.push_back(specs[i].extents.is_static(axis) ? ir::dim(specs[i].extents[axis])
                                                       : g.dims.symbol(symbols++));
    out[i] = handle(ir::argument(g, specs[i].type, static_cast<int>(i), shape, specs[i].weak));
  }
}

template <argument_spec... Spec>
constexpr std::array<handle, sizeof...(Spec)> write_arguments(ir::graph& g) {
  std::array<handle, sizeof...(Spec)> out{};
  write_arguments(g, std::array<argument_spec, sizeof...(Spec)>{Spec...}, out);
  return out;
}

template <class F, argument_spec... Spec>
constexpr ir::graph trace_function() {
  ir::graph g;
  const auto arguments = write_arguments<Spec...>(g);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    set_outputs(g, F{}(arguments[I]...));
  }(std::index_sequence_for<decltype(Spec)...>{});
  return ir::expand_gradients(g);
}

// The type of one result.
struct output_spec {
  dtype type{};
  extents_spec extents = 0;
  int assigned_argument = -1;
};

constexpr output_spec spec_of_output(const ir::graph& g, const ir::output& o) {
  const ir::node& n = g[o.node];
  extents_spec extents(static_cast<int>(n.shape.size()));
  for (std::size_t axis = 0; axis < n.shape.size(); ++axis)
    if (n.shape[axis].is_constant()) extents.extent[axis] = n.shape[axis].constant();
  return {n.type, extents, o.assigned_argument};
}

constexpr unsigned dtypes_of(const ir::graph& g) {
  unsigned mask = 0;
  for (const ir::node& n : g.nodes()) mask |= 1u << static_cast<unsigned>(n.type);
  return mask;
}

struct trace_sizes {
  std::size_t words = 0, outputs = 0, regions = 0;
};

template <trace_sizes Size>
struct frozen_trace {
  std::array<std::int64_t, Size.words> words{};
  std::array<output_spec, Size.outputs> outputs{};
  std::array<ir::traced_region, Size.regions> regions{};
  unsigned dtypes = 0;
  ir::fault problem;
};

// Trace: anything with a static `run()` that returns a graph.
template <class Trace>
constexpr trace_sizes measure_trace() {
  const ir::graph g = Trace::run();
  if (g.failed()) return {};
  return {ir::freeze(g).size(), g.outputs.size(), ir::find_regions(g).size()};
}

template <class Trace, trace_sizes Size>
constexpr frozen_trace<Size> freeze_trace() {
  frozen_trace<Size> out;
  const ir::graph g = Trace::run();
  out.problem = g.first_fault;
  if (g.failed()) return out;
  const std::vector<std::int64_t> words = ir::freeze(g);
  for (std::size_t i = 0; i < words.size(); ++i) out.words[i] = words[i];
  for (std::size_t i = 0; i < g.outputs.size(); ++i)
    out.outputs[i] = spec_of_output(g, g.outputs[i]);
  const auto regions = ir::find_regions(g);
  for (std::size_t i = 0; i < regions.size(); ++i) out.regions[i] = regions[i];
  out.dtypes = dtypes_of(g);
  return out;
}

// Can the compiler evaluate the trace? (std::sqrt of a literal is constant for GCC and not for
// Clang; a variable from outside never is.)
template <class Trace>
concept ConstantTrace =
    requires { typename std::integral_constant<std::size_t, measure_trace<Trace>().words>; };

template <class Trace>
struct traced {
  static constexpr trace_sizes size = measure_trace<Trace>();
  static constexpr frozen_trace<size> value = freeze_trace<Trace, size>();
};

// What is wrong with the function, as far as the compiler can tell.
template <class Trace>
constexpr ir::fault fault_of() {
  if constexpr (ConstantTrace<Trace>)
    return traced<Trace>::value.problem;
  else
    return {};
}

template <class F, argument_spec... Spec>
struct function_trace {
  static constexpr ir::graph run() { return trace_function<F, Spec...>(); }

  // Results that are no assignments.
  static constexpr std::size_t value_count =
      detail::value_count<decltype(F{}((static_cast<void>(Spec), handle{})...))>();
};

}  // namespace sinter::detail
