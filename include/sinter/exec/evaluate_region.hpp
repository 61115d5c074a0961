// SPDX-License-Identifier: MIT
// Evaluates an element-wise region in registers, node by node over several registers at once, so
// that the latencies of one are hidden behind the others.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <sinter/exec/elementwise.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// Registers a region evaluates at once. Four hide the latency of what precedes, even where more
// values are alive than there are registers: Black-Scholes (21 nodes) takes 2.23, 1.86, 1.66
// and 1.58 ns per element with 1, 2, 3 and 4 registers of AVX-512, and 4.0, 3.1, 2.7 and 2.5 with
// AVX2, which has but 16.
inline constexpr int registers_at_once = 4;

template <ir::region R>
using region_type = cpp_type<R.type>;

template <ir::region R>
inline constexpr bool result_is_truth = is_truth(R, R.leaf_count + R.node_count - 1);

// All values of a region for U registers. Unused halves cost nothing: after inlining every entry is
// a register.
template <ir::region R, int U>
struct region_values {
  static constexpr std::size_t count = std::size_t{R.leaf_count} + std::size_t{R.node_count};
  simd<region_type<R>> number[count][std::size_t{U}];
  simd_mask<region_type<R>> truth[count][std::size_t{U}];

  template <int Operand>
  [[gnu::always_inline]] auto& at(std::size_t u) {
    if constexpr (is_truth(R, Operand))
      return truth[Operand][u];
    else if constexpr (Operand < R.leaf_count && R.is_scalar(Operand))
      return number[Operand][0];
    else
      return number[Operand][u];
  }
};

template <ir::region R, int Node, class Values>
[[gnu::always_inline]] inline auto value_of_node(Values& values, std::size_t u) {
  constexpr ir::op code = R.code(Node);
  constexpr int arity = ir::info(code).arity;
  if constexpr (code == ir::op::where)
    return apply_where(values.template at<R.operand(Node, 0)>(u),
                       values.template at<R.operand(Node, 1)>(u),
                       values.template at<R.operand(Node, 2)>(u));
  else if constexpr (code == ir::op::cast) {
    using T = region_type<R>;
    return select<T>(values.template at<R.operand(Node, 0)>(u), simd<T>(T(1)), simd<T>(T(0)));
  } else if constexpr (arity == 1)
    return apply<code>(values.template at<R.operand(Node, 0)>(u));
  else if constexpr (arity == 2)
    return apply<code>(values.template at<R.operand(Node, 0)>(u),
                       values.template at<R.operand(Node, 1)>(u));
  else
    return apply<code>(values.template at<R.operand(Node, 0)>(u),
                       values.template at<R.operand(Node, 1)>(u),
                       values.template at<R.operand(Node, 2)>(u));
}

// fold(f) calls f(std::integral_constant<std::size_t, i>) for i in [0, N): loops the optimizer
// cannot leave rolled.
template <std::size_t N, class F>
[[gnu::always_inline]] inline void unrolled(F f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<std::size_t, I>{}), ...);
  }
  (std::make_index_sequence<N>{});
}

template <ir::region R>
using leaf_pointers = std::array<const region_type<R>*, R.leaf_count>;

// The operands' pointers, read one by one: whoever calls has just written them one by one, and a
// load of several of them waits until these stores, and all before them, have left for the cache.
template <ir::region R, class Pointer>
[[gnu::always_inline]] inline leaf_pointers<R> leaves_of(const Pointer* operands) {
  leaf_pointers<R> leaf;
  for (std::size_t k = 0; k < leaf.size(); ++k) {
    const void* at = operands[k];
#if defined(__GNUC__)
    asm("" : "+r"(at));  // hides from the optimizer that the next one lies behind
#endif
    leaf[k] = static_cast<const region_type<R>*>(at);
  }
  return leaf;
}

// The scalar leaves, which stay the same for all elements.
template <ir::region R, int U>
[[gnu::always_inline]] inline void load_scalars(region_values<R, U>& values,
                                                const leaf_pointers<R>& leaf) {
#pragma GCC unroll 12
  for (std::size_t k = 0; k < R.leaf_count; ++k)
    if (R.is_scalar(k)) values.number[k][0] = simd<region_type<R>>(*leaf[k]);
}

// To the next row, so many bytes behind.
template <ir::region R>
[[gnu::always_inline]] inline void move_leaves(leaf_pointers<R>& leaf, const std::int64_t* steps) {
#pragma GCC unroll 12
  for (std::size_t k = 0; k < R.leaf_count; ++k)
    leaf[k] = reinterpret_cast<const region_type<R>*>(reinterpret_cast<const std::byte*>(leaf[k]) +
                                                      steps[k]);
}

// What the mode says of the leaves of a row, from element `begin` on.
template <ir::region R>
[[gnu::always_inline]] inline void add_leaves(lines_ahead& lines, ir::run_mode mode,
                                              const leaf_pointers<R>& leaf,
                                              std::int64_t begin = 0) {
#pragma GCC unroll 12
  for (std::size_t k = 0; k < R.leaf_count; ++k)
    if (!R.is_scalar(k) && mode.is_fetched(k)) lines.add(leaf[k] + begin, mode.bytes_ahead());
}

// What is left of a row, `count` elements from `begin` on, and ones behind them.
template <ir::region R>
[[gnu::always_inline]] inline void load_rests(region_values<R, 1>& values,
                                              const leaf_pointers<R>& leaf, std::int64_t begin,
                                              std::int64_t count) {
  using T = region_type<R>;
#pragma GCC unroll 12
  for (std::size_t k = 0; k < R.leaf_count; ++k)
    if (!R.is_scalar(k)) values.number[k][0] = load_part<T>(leaf[k] + begin, count, T(1));
}

// All nodes, of leaves that are loaded. Here as above, loops with a request to unroll them (four
// registers, at most region::max_leaves leaves) rather than `unrolled` or a fold over the
// registers: the same code, but of the time that a kernel takes to compile most is that of inlining
// and of what precedes the unrolling. (GCC 12 spends a third less on a kernel of ten ops.)
template <ir::region R, int Node, int U>
[[gnu::always_inline]] inline void evaluate_node(region_values<R, U>& values) {
#pragma GCC unroll 4
  for (std::size_t u = 0; u < U; ++u)
    values.template at<R.leaf_count + Node>(u) = value_of_node<R, Node>(values, u);
}
template <ir::region R, int U, std::size_t... Node>
[[gnu::always_inline]] inline void evaluate_nodes(region_values<R, U>& values,
                                                  std::index_sequence<Node...>) {
  (evaluate_node<R, static_cast<int>(Node), U>(values), ...);
}
template <ir::region R, int U>
[[gnu::always_inline]] inline void evaluate_nodes(region_values<R, U>& values) {
  evaluate_nodes<R, U>(values, std::make_index_sequence<R.node_count>{});
}

// Is an operand read by the nodes [first, last)?
constexpr bool is_read(const ir::region& r, int operand, int first, int last) {
  for (int node = first; node < last; ++node)
    for (int which = 0; which < ir::info(r.code(node)).arity; ++which)
      if (r.operand(node, which) == operand) return true;
  return false;
}

// A node with as much work as this, in additions, has many values of its own.
inline constexpr float work_of_function = 8;
constexpr bool is_function(const ir::region& r, int node) {
  return ir::info(r.code(node)).cost >= work_of_function;
}

constexpr int functions_of(const ir::region& r) {
  int out = 0;
  for (int node = 0; node < r.node_count; ++node) out += is_function(r, node) ? 1 : 0;
  return out;
}

// The leaves, other than scalar ones, that are loaded in front of a node: where a region begins and
// behind each function, what nodes read for the first time as far as the next one.
constexpr std::uint32_t leaves_before(const ir::region& r, int node) {
  if (node != 0 && !is_function(r, node - 1)) return 0;
  int end = node;
  while (end < r.node_count && !is_function(r, end)) ++end;
  end = std::min(end + 1, int{r.node_count});
  std::uint32_t out = 0;
  for (int k = 0; k < r.leaf_count; ++k)
    if (!r.is_scalar(k) && is_read(r, k, node, end) && !is_read(r, k, 0, node)) out |= 1u << k;
  return out;
}

// A node, and in front of it the leaves that nobody has read yet: loaded all at once, those of the
// last nodes would wait in memory where there are 16 registers. (silu(2x + 1/2) y of 4,096 f32 on a
// Zen 3: 0.93 of the time.)
template <ir::region R, int Node, int U, class Leaf>
[[gnu::always_inline]] inline void load_and_evaluate(region_values<R, U>& values, Leaf leaf,
                                                     std::int64_t begin) {
  constexpr std::uint32_t before = leaves_before(R, Node);
#pragma GCC unroll 12
  for (std::size_t k = 0; k < R.leaf_count; ++k) {
    if ((before >> k & 1u) == 0) continue;
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) values.number[k][u] = leaf(k, begin + u * lanes<region_type<R>>);
  }
  evaluate_node<R, Node, U>(values);
}
template <ir::region R, int U, class Leaf, std::size_t... Node>
[[gnu::always_inline]] inline void load_and_evaluate(region_values<R, U>& values, Leaf leaf,
                                                     std::int64_t begin,
                                                     std::index_sequence<Node...>) {
  (load_and_evaluate<R, static_cast<int>(Node)>(values, leaf, begin), ...);
}

// All nodes for the U registers from element `begin` on, leaf(k, i): the register of leaf k from
// element i on.
template <ir::region R, int U, class Leaf>
[[gnu::always_inline]] inline void evaluate_region_of(region_values<R, U>& values, Leaf leaf,
                                                      std::int64_t begin) {
  load_and_evaluate<R>(values, leaf, begin, std::make_index_sequence<R.node_count>{});
}

// Leaves that all are in memory, for evaluate_region_of.
template <ir::region R>
[[gnu::always_inline]] inline auto from_memory(const leaf_pointers<R>& leaf) {
  return [&leaf](std::size_t k, std::int64_t i) __attribute__((always_inline)) {
    return load<region_type<R>>(leaf[k] + i);
  };
}

template <ir::region R, int U>
[[gnu::always_inline]] inline void evaluate_region(region_values<R, U>& values,
                                                   const leaf_pointers<R>& leaf,
                                                   std::int64_t begin) {
  evaluate_region_of<R, U>(values, from_memory<R>(leaf), begin);
}

template <ir::region R, int U>
[[gnu::always_inline]] inline auto& results_of(region_values<R, U>& values) {
  constexpr int last = R.leaf_count + R.node_count - 1;
  if constexpr (result_is_truth<R>)
    return values.truth[last];
  else
    return values.number[last];
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
