// SPDX-License-Identifier: MIT
// A fused kernel with a reduction behind it: what a region computes goes from registers into the
// accumulators, so that a row is neither written nor read again. One instantiation per region and
// monoid.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinter/exec/evaluate_region.hpp>
#include <sinter/exec/map_kernel.hpp>
#include <sinter/exec/map_reduce_columns.hpp>
#include <sinter/exec/overlapped_map.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_row.hpp>
#include <sinter/exec/rows_beside.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/graph/regions.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Evaluates region R over n elements of a row, works on the rows beside it (rows_beside.hpp), and
// returns what M combines the results to. The same bits as map_kernel<R> and then the row reduction
// of M.
template <monoid M, ir::region R, class Beside>
[[gnu::always_inline]] inline region_type<R> map_reduce_row(std::int64_t n, ir::run_mode mode,
                                                            leaf_pointers<R> leaf,
                                                            region_type<R>* out, Beside& beside) {
  using T = region_type<R>;
  static_assert(!result_is_truth<R>, "truth values have no sum");
  constexpr int at_once = registers_at_once;
  static_assert(at_once == 4, "as many as a block has accumulators");

  // The pointers are copied for each block: read through references they would be loaded again
  // after each store, and the loop's first turn, which looks whether there is a place for results,
  // would be compiled apart. The prefetcher, which goes by the address of a load, then lost its
  // track at every block.
  const auto block = [&](std::int64_t first, std::int64_t count) __attribute__((always_inline)) {
    const leaf_pointers<R> from = leaf;
    T* const to = out;
    auto others = beside.begin_block();
    const bool fetches = mode.fetches(), does_more = fetches || to != nullptr;
    lines_ahead lines;
    if (fetches) add_leaves<R>(lines, mode, leaf, first * lanes<T>);
    block_accumulators<M, T> sums;
    const auto add = [&]<int U>(region_values<R, U> & values, std::int64_t begin)
        __attribute__((always_inline)) {
      evaluate_region<R, U>(values, from, begin);
      const auto& results = results_of(values);
      others.template work<U>(begin);
      // One test for what most sums do not, out of their way: 17 instead of 20 instructions for
      // four registers of squares.
      if (does_more) [[unlikely]] {
        if (U == at_once && fetches) lines.ask<at_once * sizeof(simd<T>)>();
        if (to != nullptr) {
#pragma GCC unroll 4
          for (int u = 0; u < U; ++u) store<T>(to + begin + u * lanes<T>, results[u]);
        }
      }
#pragma GCC unroll 4
      for (std::size_t u = 0; u < U; ++u) sums.add(u, results[u]);
    };
    region_values<R, at_once> values;
    load_scalars<R, at_once>(values, from);
    const std::int64_t last = (first + count) * lanes<T>;
    std::int64_t i = first * lanes<T>;
    for (; i + at_once * lanes<T> <= last; i += at_once * lanes<T>) add(values, i);
    region_values<R, 1> single;
    load_scalars<R, 1>(single, from);
    for (; i < last; i += lanes<T>) add(single, i);
    beside.end_block(others);
    return sums.all();
  };
  const std::int64_t whole = n / lanes<T>, rest = n % lanes<T>;
  simd<T> all = reduce_registers<M, T>(whole, block);

  if (rest != 0) {
    region_values<R, 1> values;
    load_scalars<R, 1>(values, leaf);
    load_rests<R>(values, leaf, whole * lanes<T>, rest);
    evaluate_nodes<R, 1>(values);
    const simd<T> x = results_of(values)[0];
    if (out != nullptr) store_part<T>(out + whole * lanes<T>, rest, x);
    all = combine<M>(all, keep_part<T>(x, rest, identity_of<M, T>()));
  }
  return reduce_all<M, T>(all);
}

}  // namespace detail

/// Evaluates region R over rows of elements and combines what it computes of each; see
/// ir::map_reduce_function. The same bits as map_kernel<R> and then the row reduction of M.
/// Allocates nothing. Precondition: run.rows > 0.
template <monoid M, ir::region R>
void map_reduce_kernel(const ir::map_run& run, const void* const* operands, void* result,
                       const ir::row_results& to) {
  using T = detail::region_type<R>;
  detail::no_rows_beside none;
  detail::leaf_pointers<R> leaf = detail::leaves_of<R>(operands);
  auto* at = static_cast<std::byte*>(to.whole != nullptr ? to.whole : to.accumulator);
  for (std::int64_t row = run.rows;;) {
    const T all =
        detail::map_reduce_row<M, R>(run.count, run.mode, leaf, static_cast<T*>(result), none);
    if (to.whole != nullptr)
      *reinterpret_cast<T*>(at) = detail::result_of_row<M, T>(all);
    else
      detail::add_row<M, T>(all, at);
    if (--row == 0) return;
    detail::move_leaves<R>(leaf, run.steps);
    if (result != nullptr) result = static_cast<std::byte*>(result) + run.result_step;
    at += to.step;
  }
}

/// The sum of a region over a whole row, beside which one is scaled and the largest element of
/// another found; see ir::overlapped_function. The same bits as map_reduce_kernel, the product of a
/// row and a factor, and the largest of a row, each by itself. Allocates nothing.
template <ir::region R>
void overlapped_sum_kernel(std::int64_t n, ir::run_mode mode, const void* const* operands,
                           void* result, void* whole_row, const ir::rows_beside& rows) {
  using T = detail::region_type<R>;
  detail::two_rows_beside<T> beside(n, rows);
  const T row = detail::map_reduce_row<monoid::sum, R>(n, mode, detail::leaves_of<R>(operands),
                                                       static_cast<T*>(result), beside);
  beside.finish(n);
  *static_cast<T*>(whole_row) = detail::result_of_row<monoid::sum, T>(row);
}

/// The kernel for rows one after the other, where there is one and registers are left for it.
template <ir::traced_region R>
constexpr void add_overlapped(ir::instruction& to) {
  constexpr ir::region region = R;
  if constexpr (register_count >= 32) {
    if constexpr (R.summed && ir::ends_in(region, ir::op::exp)) {
      to.overlapped = &overlapped_sum_kernel<region>;
      to.behind = ir::row_behind::largest;
    } else if constexpr (R.behind == ir::row_behind::deviations) {
      to.overlapped = &overlapped_map_kernel<region, detail::deviations_behind>;
      to.behind = R.behind;
    } else if constexpr (R.behind == ir::row_behind::squares) {
      to.overlapped = &overlapped_map_kernel<region, detail::squares_behind>;
      to.behind = R.behind;
    }
  }
}

/// The kernels of a region of a traced graph.
template <ir::traced_region R>
constexpr ir::instruction instruction_for() {
  ir::instruction out{ir::region(R), &map_kernel<ir::region(R)>};
  out.run_rows = &map_rows_kernel<ir::region(R)>;
  if constexpr (R.summed) out.sum = &map_reduce_kernel<monoid::sum, ir::region(R)>;
  if constexpr (R.maximized) out.max = &map_reduce_kernel<monoid::max, ir::region(R)>;
  if constexpr (R.column_summed)
    out.column_sum = &map_reduce_columns_kernel<monoid::sum, ir::region(R)>;
  if constexpr (R.column_maximized)
    out.column_max = &map_reduce_columns_kernel<monoid::max, ir::region(R)>;
  add_overlapped<R>(out);
  return out;
}

}  // namespace sinter::inline SINTER_ABI::exec
