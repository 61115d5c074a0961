// SPDX-License-Identifier: MIT
// Regions that end in a quotient whose denominator is most of their work, as silu(u) v does. Their
// loop divides one turn late: what waits for a denominator would otherwise fill the processor's
// scheduler behind a chain of fifteen instructions, while the next registers could begin theirs.
// (4,096 f32 on a Xeon: silu(2x + 1/2) y takes 0.90 to 0.97 of the time, the most where another
// process uses the core's other half; a sigmoid times something 0.85 to 0.92. Divisions between the
// chains of their own turn, or all of them in front of the next turn's chains, gain nothing.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sinter/exec/elementwise.hpp>
#include <sinter/exec/evaluate_region.hpp>
#include <sinter/graph/region.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

// The node that divides and has only short ops behind it; -1 where there is none.
constexpr int late_node(const ir::region& r) {
  for (int node = r.node_count; node-- > 0;) {
    if (is_quotient(r.code(node))) return node;
    if (ir::info(r.code(node)).cost > 1 || is_truth(r, r.leaf_count + node)) return -1;
  }
  return -1;
}

// The leaves that are loaded before the division is due: all but those that only what follows it
// reads.
constexpr std::uint32_t early_leaves(const ir::region& r) {
  std::uint32_t out = 0;
  for (int k = 0; k < r.leaf_count; ++k)
    if (!r.is_scalar(k) && is_read(r, k, 0, late_node(r) + 1)) out |= 1u << k;
  return out;
}

// Values that a turn of the loop leaves to the next: the denominator, and what else the division
// and the nodes behind it read.
constexpr int carried_values(const ir::region& r) {
  const int late = late_node(r);
  int out = 1;
  for (int operand = 0; operand < r.leaf_count + late; ++operand) {
    const bool is_computed = operand >= r.leaf_count || (early_leaves(r) >> operand & 1u) != 0;
    if (is_computed && is_read(r, operand, late, r.node_count)) ++out;
  }
  return out;
}

// Four registers of each carried value leave 20 of 32 to constants and to the chain.
template <ir::region R>
inline constexpr bool divides_late =
    register_count >= 32 && late_node(R) >= 0 && carried_values(R) <= 3;

// Nodes of register u, from the first on.
template <ir::region R, int First, class Values, std::size_t... Node>
[[gnu::always_inline]] inline void evaluate_from(Values& values, [[maybe_unused]] std::size_t u,
                                                 std::index_sequence<Node...>) {
  ((values.template at<R.leaf_count + First + static_cast<int>(Node)>(u) =
        value_of_node<R, First + static_cast<int>(Node)>(values, u)),
   ...);
}

template <ir::region R, std::uint32_t Which, int U, class Leaf>
[[gnu::always_inline]] inline void load_leaves(region_values<R, U>& values, Leaf leaf,
                                               std::int64_t begin, std::size_t u) {
#pragma GCC unroll 12
  for (std::size_t k = 0; k < R.leaf_count; ++k)
    if ((Which >> k & 1u) != 0)
      values.number[k][u] = leaf(k, begin + static_cast<std::int64_t>(u) * lanes<region_type<R>>);
}

// All registers from element `begin` on, as far as what the denominator is computed from; leaf as
// for evaluate_region_of.
template <ir::region R, int U, class Leaf>
[[gnu::always_inline]] inline void evaluate_early(region_values<R, U>& values, Leaf leaf,
                                                  std::int64_t begin) {
#pragma GCC unroll 4
  for (std::size_t u = 0; u < U; ++u) {
    load_leaves<R, early_leaves(R)>(values, leaf, begin, u);
    evaluate_from<R, 0>(values, u, std::make_index_sequence<late_node(R)>{});
  }
}

// The denominator of register u, which takes the quotient's place.
template <ir::region R, int U>
[[gnu::always_inline]] inline void evaluate_denominator(region_values<R, U>& values,
                                                        std::size_t u) {
  constexpr int late = late_node(R);
  values.template at<R.leaf_count + late>(u) =
      denominator<R.code(late)>(values.template at<R.operand(late, 0)>(u));
}

// The division of register u and what follows it.
template <ir::region R, int U, class Leaf>
[[gnu::always_inline]] inline simd<region_type<R>> evaluate_late(region_values<R, U>& values,
                                                                 Leaf leaf, std::int64_t begin,
                                                                 std::size_t u) {
  constexpr int late = late_node(R);
  constexpr std::uint32_t rest = ~(early_leaves(R) | R.scalar_leaves);
  load_leaves<R, rest>(values, leaf, begin, u);
  auto& q = values.template at<R.leaf_count + late>(u);
  q = quotient<R.code(late)>(values.template at<R.operand(late, 0)>(u), q);
  evaluate_from<R, late + 1>(values, u, std::make_index_sequence<R.node_count - late - 1>{});
  return results_of(values)[u];
}

// What the nodes behind a denominator read of another turn's values, and it itself.
template <ir::region R, int U>
[[gnu::always_inline]] inline void copy_early(region_values<R, U>& from, region_values<R, U>& to) {
  constexpr std::uint32_t leaves = early_leaves(R) | R.scalar_leaves;
  unrolled<R.leaf_count + late_node(R) + 1>([&](auto operand) __attribute__((always_inline)) {
    constexpr int k = static_cast<int>(operand());
    if constexpr (k >= R.leaf_count || (leaves >> k & 1u) != 0)
#pragma GCC unroll 4
      for (std::size_t u = 0; u < U; ++u) to.template at<k>(u) = from.template at<k>(u);
  });
}

// The steps of U registers from element i on that fit in front of n, at least one; leaves i behind
// them. store(i, results): the results from element i on. What the denominators are computed from
// comes first, of all registers: register by register silu(2x + 1/2) y takes 1.06 of the time on a
// Zen 5 and on a Xeon, sigmoid(x) y 1.0 to 1.1 and 1.0.
template <ir::region R, int U, class Leaf, class Begin, class Store>
[[gnu::always_inline]] inline void run_dividing_late(region_values<R, U>& values, Leaf leaf,
                                                     std::int64_t& i, std::int64_t n, Begin begin,
                                                     Store store) {
  constexpr std::int64_t step = U * lanes<region_type<R>>;
  simd<region_type<R>> results[U];
  evaluate_early(values, leaf, i);
#pragma GCC unroll 4
  for (std::size_t u = 0; u < U; ++u) evaluate_denominator(values, u);
  region_values<R, U> next;
  copy_early(values, next);
  for (; i + 2 * step <= n; i += step) {
    begin();
    evaluate_early(next, leaf, i + step);
#pragma GCC unroll 4
    for (std::size_t u = 0; u < U; ++u) {
      results[u] = evaluate_late(values, leaf, i, u);
      evaluate_denominator(next, u);
    }
    store(i, results);
    copy_early(next, values);
  }
#pragma GCC unroll 4
  for (std::size_t u = 0; u < U; ++u) results[u] = evaluate_late(values, leaf, i, u);
  store(i, results);
  i += step;
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
