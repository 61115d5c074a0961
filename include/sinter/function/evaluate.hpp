// SPDX-License-Identifier: MIT
// Expressions that are evaluated directly: `tensor<float, 2> y = relu(matmul(x, w) + b);`. The same
// graph, optimizer and executor as a fused function; plans are kept in a static of the expression's
// type, keyed by attribute values, by which leaves are the same memory, and by shape class; see
// evaluation_cache.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sinter/function/evaluation_cache.hpp>
#include <sinter/function/fuse.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// An expression's leaves as the arguments of its graph. Leaves of one memory, shape and strides are
// one argument.
struct leaf_list {
  std::vector<argument_memory> arguments;
  std::vector<argument_spec> specs;    // of the arguments
  std::vector<std::size_t> number_of;  // by leaf: its argument

  explicit leaf_list(std::size_t leaves) {
    arguments.reserve(leaves);
    specs.reserve(leaves);
    number_of.reserve(leaves);
  }

  void add(const argument_memory& m, const argument_spec& spec) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const argument_memory& known = arguments[i];
      const bool same = !spec.weak && known.data == m.data && known.shape == m.shape &&
                        known.strides == m.strides && specs[i] == spec;
      if (!same) continue;
      number_of.push_back(i);
      return;
    }
    number_of.push_back(arguments.size());
    arguments.push_back(m);
    specs.push_back(spec);
  }
};

template <class Leaf>
argument_memory leaf_memory(const Leaf& leaf) {
  if constexpr (Scalar<Leaf>)
    return memory_of(leaf);
  else
    return memory_of(&leaf);
}

template <class... Leaf>
constexpr std::size_t leaf_count(type_list<Leaf...>) {
  return sizeof...(Leaf);
}

template <class E>
leaf_list leaves_of(const E& e) {
  leaf_list out(leaf_count(leaf_types<E>{}));
  e.for_each_leaf(
      [&]<class Leaf>(const Leaf& leaf) { out.add(leaf_memory(leaf), spec_of<Leaf>::value); });
  return out;
}

template <class E>
ir::graph trace_expression(const E& e, const leaf_list& leaves) {
  ir::graph g;
  std::vector<handle> arguments(leaves.specs.size());
  write_arguments(g, leaves.specs, arguments);
  std::size_t next = 0;
  const handle result = e.trace([&](const auto&) { return arguments[leaves.number_of[next++]]; });
  g.outputs.push_back({result.node.id, -1});
  return g;
}

// The compiler traces expressions without attribute values, for the fused kernels of their regions.
template <class... Leaf>
constexpr std::array<handle, sizeof...(Leaf)> write_leaves(ir::graph& g, type_list<Leaf...>) {
  return write_arguments(g, std::array<argument_spec, sizeof...(Leaf)>{spec_of<Leaf>::value...});
}

template <class E>
struct expression_trace {
  static constexpr ir::graph run() {
    ir::graph g;
    const auto leaves = write_leaves(g, leaf_types<E>{});
    g.outputs.push_back({trace_type<E>(leaves).node.id, -1});
    return g;
  }
};

template <class E>
concept TracedByCompiler = (!E::has_attributes) && ConstantTrace<expression_trace<E>>;

template <class E>
constexpr ir::fault expression_fault() {
  if constexpr (TracedByCompiler<E>)
    return traced<expression_trace<E>>::value.problem;
  else
    return {};
}

template <class... Leaf>
constexpr unsigned leaf_dtypes(type_list<Leaf...>) {
  return (0u | ... | (1u << static_cast<unsigned>(spec_of<Leaf>::value.type)));
}

// The dtypes whose kernels an expression may need: those of its trace, or, where attribute values
// keep the compiler from tracing it, those of its leaves and result, those that its functions name,
// and i64, the dtype of indices.
template <class E, class T>
constexpr unsigned expression_dtypes() {
  unsigned known = leaf_dtypes(leaf_types<E>{}) | dtype_bits(dtype_of<T>);
  if constexpr (TracedByCompiler<E>)
    known |= traced<expression_trace<E>>::value.dtypes;
  else
    known |= E::dtypes | dtype_bits(dtype::i64);
  // What 16-bit floats compute in.
  return (known & dtype_bits(dtype::f16, dtype::bf16)) != 0 ? known | dtype_bits(dtype::f32)
                                                            : known;
}

template <class E>
constexpr span<const ir::instruction> expression_kernels() {
  if constexpr (TracedByCompiler<E>)
    return region_kernels<expression_trace<E>>;
  else
    return {};
}

template <class E, class T>
std::shared_ptr<program> program_of(const E& e, const leaf_list& leaves) {
  static registered_programs programs;
  std::vector<std::int64_t> key;
  e.append_key(key);
  key.reserve(key.size() + leaves.number_of.size());
  for (std::size_t number : leaves.number_of) key.push_back(static_cast<std::int64_t>(number));
  return programs.find_or_make(std::move(key), [&] {
    const tracing step;
    return make_program(trace_expression(e, leaves), expression_kernels<E>(),
                        &code_for<expression_dtypes<E, T>()>);
  });
}

// What the compiler can see to be wrong does not compile; the rest throws.
template <class Function, class... Captured>
struct evaluation_check<expression<Function, Captured...>> {
  static constexpr ir::fault found = expression_fault<expression<Function, Captured...>>();
  static constexpr ir::fault_kind kind = found.kind;
  static constexpr ir::op code = found.code;
  static constexpr std::int64_t lhs = found.lhs, rhs = found.rhs;
};

template <class E, class T, extents_spec Extents>
void evaluate_checked(const E& e, tensor<T, Extents>& out) {
  const leaf_list leaves = leaves_of(e);
  const std::shared_ptr<program> p = program_of<E, T>(e, leaves);
  std::vector<std::int64_t> symbols;
  for (std::size_t i = 0; i < leaves.specs.size(); ++i)
    for_each_symbol(leaves.specs[i].extents, leaves.arguments[i].shape,
                    [&](std::int64_t value) { symbols.push_back(value); });
  program::prepared_call call = p->prepare(leaves.arguments, symbols);
  if (call.output_type(0) != dtype_of<T>)
    raise(dtype_error("evaluate: the expression is " + std::string(name(call.output_type(0))) +
                      " where the tensor is " + std::string(name(dtype_of<T>))));
  const shape_vector shape = call.output_shape(0);
  require_fits(shape, Extents, "evaluate");
  // Always into new storage: the tensor may be a leaf, and must stay as it is if the run throws.
  tensor<T, Extents> fresh = tensor<T, Extents>::uninitialized(shape);
  const output_memory memory[] = {
      {fresh.data(), static_cast<std::size_t>(fresh.size()) * sizeof(T)}};
  p->run(call, leaves.arguments, memory);
  out = std::move(fresh);
}

}  // namespace detail

/// Evaluates an expression into a tensor, which takes the shape of the result. The result may be
/// one of the leaves: the old elements are read. Throws shape_error, axis_error, dtype_error or
/// index_error before anything is written.
template <class Function, class... Captured, class T, extents_spec E>
void evaluate(const expression<Function, Captured...>& e, tensor<T, E>& out) {
  // The tensor that is made of an expression says what is wrong with it.
  if constexpr (detail::evaluation_check<expression<Function, Captured...>>::kind ==
                ir::fault_kind::none)
    detail::evaluate_checked(e, out);
}

}  // namespace sinter::inline SINTER_ABI
