// SPDX-License-Identifier: MIT
// Tracing: a captureless lambda is evaluated on handles. Where the compiler can do that in constant
// evaluation, it leaves a frozen graph, the types of its results, and the element-wise regions that
// get a fused kernel each; elsewhere the same code runs at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <sinter/autodiff/expand.hpp>
#include <sinter/expr/expr.hpp>
#include <sinter/function/arguments.hpp>
#include <sinter/graph/freeze.hpp>
#include <sinter/graph/regions.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Writes the argument nodes; symbols are numbered through, argument by argument, axis by axis.
// out[i]: argument i.
constexpr void write_arguments(ir::graph& g, span<const argument_spec> specs, span<handle> out) {
  std::int64_t symbols = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    ir::symbolic_shape shape;
    for (int axis = 0; axis < specs[i].extents.rank; ++axis)
      shape.push_back(specs[i].extents.is_static(axis) ? ir::dim(specs[i].extents[axis])
                                                       : g.dims.symbol(symbols++));
    out[i] = handle(ir::argument(g, specs[i].type, static_cast<int>(i), shape, specs[i].weak));
  }
}

template <std::size_t N>
constexpr std::array<handle, N> write_arguments(ir::graph& g,
                                                const std::array<argument_spec, N>& specs) {
  std::array<handle, N> out{};
  write_arguments(g, specs, out);
  return out;
}

// The next of the handles as what the lambda takes: one of them, or a struct of several.
template <class Argument>
constexpr auto take(span<const handle> all, std::size_t& at) {
  const std::size_t first = at;
  at += Argument::specs.size();
  if constexpr (std::is_same_v<typename Argument::type, handle>)
    return all[first];
  else
    return structure_of<typename Argument::type>(all.subspan(first, Argument::specs.size()));
}

// Argument: plain_argument or struct_argument.
template <class F, class... Argument>
constexpr ir::graph trace_function() {
  ir::graph g;
  const auto all = write_arguments(g, joined_specs<Argument...>());
  [[maybe_unused]] std::size_t at = 0;
  // Braces: elements of an initializer list are evaluated left to right.
  const std::tuple<typename Argument::type...> arguments{take<Argument>(all, at)...};
  // Not by std::apply, whose templates would stand in every message about the lambda's text.
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    set_outputs(g, F{}(std::get<I>(arguments)...));
  }(std::index_sequence_for<Argument...>{});
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
  std::size_t words = 0, outputs = 0, regions = 0, customs = 0;
};

template <trace_sizes Size>
struct frozen_trace {
  std::array<std::int64_t, Size.words> words{};
  std::array<output_spec, Size.outputs> outputs{};
  std::array<ir::traced_region, Size.regions> regions{};
  std::array<const ir::custom_op*, Size.customs> customs{};
  unsigned dtypes = 0;
  ir::fault problem;
};

// Trace: anything with a static `run()` that returns a graph.
template <class Trace>
constexpr trace_sizes measure_trace() {
  const ir::graph g = Trace::run();
  if (g.failed()) return {};
  return {ir::freeze(g).size(), g.outputs.size(), ir::find_regions(g).size(), g.customs.size()};
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
  for (std::size_t i = 0; i < g.customs.size(); ++i) out.customs[i] = g.customs[i];
  out.dtypes = dtypes_of(g);
  return out;
}

// Can the compiler evaluate the trace? (std::sqrt of a literal is constant for GCC and not for
// Clang; a variable from outside never is.)
template <class Trace>
concept ConstantTrace = !requires { Trace::in_first_call; } && requires {
  typename std::integral_constant<std::size_t, measure_trace<Trace>().words>;
};

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

// The lambda F, to be traced by the first call.
template <class F>
struct traced_later : F {};

template <class F, class... Argument>
struct function_trace {
  static constexpr auto specs = joined_specs<Argument...>();
  static constexpr ir::graph run() { return trace_function<F, Argument...>(); }

  // Results that are no assignments.
  using outputs =
      decltype(output_list_of<decltype(F{}(std::declval<const typename Argument::type&>()...))>());
  static constexpr std::size_t value_count = outputs::value_count;
};

template <class F, class... Argument>
struct function_trace<traced_later<F>, Argument...> : function_trace<F, Argument...> {
  static constexpr bool in_first_call = true;
};

}  // namespace sinter::inline SINTER_ABI::detail
