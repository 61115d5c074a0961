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

#include <sinter/autodiff/expand.hpp>
#include <sinter/expr/expr.hpp>
#include <sinter/function/arguments.hpp>
#include <sinter/graph/freeze.hpp>
#include <sinter/graph/regions.hpp>
#include <sinter/support/flat_vector.hpp>
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

  constexpr bool fit_into(const trace_sizes& room) const {
    return words <= room.words && outputs <= room.outputs && regions <= room.regions &&
           customs <= room.customs;
  }
};

// What leaves constant evaluation, in room for so much.
template <trace_sizes Room>
struct frozen_trace {
  std::array<std::int64_t, Room.words> words{};
  std::array<output_spec, Room.outputs> outputs{};
  std::array<ir::traced_region, Room.regions> regions{};
  std::array<const ir::custom_op*, Room.customs> customs{};
  unsigned dtypes = 0;
  ir::fault problem;
};

// A trace whose sizes are not known yet. `parts` is empty if the trace does not fit.
struct drafted_trace {
  // A function of some thirty ops, or a small network's forward pass.
  static constexpr trace_sizes room{512, 4, 4, 4};

  trace_sizes size;
  frozen_trace<room> parts;
};

template <class From, class To>
constexpr void copy_some(const From& from, To& to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
}

// Writes the trace into `parts` if it fits, and returns its sizes: none of a trace that failed.
template <trace_sizes Room>
constexpr trace_sizes freeze_trace(const ir::graph& g, frozen_trace<Room>& parts) {
  parts.problem = g.first_fault;
  if (g.failed()) return {};
  const flat_vector<std::int64_t> words = ir::freeze(g);
  const ir::region_list regions = ir::find_regions(g);
  const trace_sizes size{words.size(), g.outputs.size(), regions.size(), g.customs.size()};
  if (!size.fit_into(Room)) return size;
  copy_some(words, parts.words, size.words);
  for (std::size_t i = 0; i < size.outputs; ++i) parts.outputs[i] = spec_of_output(g, g.outputs[i]);
  copy_some(regions, parts.regions, size.regions);
  copy_some(g.customs, parts.customs, size.customs);
  parts.dtypes = dtypes_of(g);
  return size;
}

// Trace: anything with a static `run()` that returns a graph.
template <class Trace>
constexpr drafted_trace draft_trace() {
  drafted_trace out;
  out.size = freeze_trace(Trace::run(), out.parts);
  return out;
}

// Can the compiler evaluate the trace? (std::sqrt of a literal is constant for GCC and not for
// Clang; a variable from outside never is.)
template <class Trace>
concept ConstantTrace = !requires { Trace::in_first_call; } && requires {
  typename std::integral_constant<std::size_t, draft_trace<Trace>().size.words>;
};

template <class Trace, trace_sizes Size>
constexpr frozen_trace<Size> in_its_size(const drafted_trace& draft) {
  frozen_trace<Size> out;
  if constexpr (Size.fit_into(drafted_trace::room)) {
    copy_some(draft.parts.words, out.words, Size.words);
    copy_some(draft.parts.outputs, out.outputs, Size.outputs);
    copy_some(draft.parts.regions, out.regions, Size.regions);
    copy_some(draft.parts.customs, out.customs, Size.customs);
    out.dtypes = draft.parts.dtypes;
    out.problem = draft.parts.problem;
  } else {
    freeze_trace(Trace::run(), out);
  }
  return out;
}

// A trace that fits into a draft is evaluated once, which is a third of what the front end of GCC
// 12 does for a function of ten ops (130 of 400 million instructions); others are evaluated again
// when their sizes are known.
template <class Trace>
struct traced {
  static constexpr drafted_trace draft = draft_trace<Trace>();
  static constexpr trace_sizes size = draft.size;
  static constexpr frozen_trace<size> value = in_its_size<Trace, size>(draft);
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
