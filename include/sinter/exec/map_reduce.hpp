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
#include <sinter/exec/plain_rows.hpp>
#include <sinter/exec/reduce_row.hpp>
#include <sinter/exec/rows_beside.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/graph/regions.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// The blocks of a row of which region R is evaluated: what M combines the results of one to. They
// are stored, too, if there is a place for them. The rows beside it are worked on meanwhile.
template <monoid M, ir::region R, class Beside>
struct mapped_blocks {
  using T = region_type<R>;
  static_assert(!result_is_truth<R>, "truth values have no sum");
  static constexpr int at_once = registers_at_once;
  static_assert(at_once == 4, "as many as a block has accumulators");
  static constexpr std::int64_t step = at_once * lanes<T>;

  leaf_pointers<R> leaf;
  T* out;
  lines_ahead& lines;
  Beside& beside;
  bool fetches, does_more;

  [[gnu::always_inline]] mapped_blocks(const leaf_pointers<R>& of, T* to, ir::run_mode mode,
                                       lines_ahead& ahead, Beside& rows)
      : leaf(of),
        out(to),
        lines(ahead),
        beside(rows),
        fetches(mode.fetches()),
        does_more(fetches || to != nullptr) {
    if (fetches) add_leaves<R>(lines, mode, leaf);
  }

  [[gnu::always_inline]] simd<T> operator()(std::int64_t first, std::int64_t count) const {
    auto others = beside.begin_block();
    block_accumulators<M, T> sums;
    const auto add = [&]<int U>(region_values<R, U> & values, std::int64_t begin)
        __attribute__((always_inline)) {
      evaluate_region<R, U>(values, leaf, begin);
      others.template work<U>(begin);
      const auto& results = results_of(values);
#pragma GCC unroll 4
      for (std::size_t u = 0; u < U; ++u) sums.add(u, results[u]);
    };
    const auto keep = [&]<int U>(region_values<R, U> & values, std::int64_t begin)
        __attribute__((always_inline)) {
      if (out != nullptr) store_step<T>(out + begin, results_of(values), false);
    };

    std::int64_t i = first * lanes<T>;
    const std::int64_t last = i + count * lanes<T>, fours = i + count / at_once * step;
    region_values<R, at_once> values;
    load_scalars<R, at_once>(values, leaf);
    // What most sums do not is no part of the loop: a test in it takes 1.02 to 1.04 of the time of
    // products in L3 (Zen 4).
    for (std::int64_t stop = does_more ? i + step : fours; i != fours; stop = i + step) {
#pragma GCC unroll 1
      do {
        add(values, i);
        i += step;
      } while (i != stop);
      if (!does_more) break;
      if (fetches) lines.ask<at_once * sizeof(simd<T>)>();
      keep(values, i - step);
    }
    region_values<R, 1> single;
    load_scalars<R, 1>(single, leaf);
    for (; i != last; i += lanes<T>) {
      add(single, i);
      keep(single, i);
    }
    beside.end_block(others);
    return sums.all();
  }
};

// Many blocks, in a function of its own, whose values the pointers are.
template <monoid M, ir::region R, class Beside>
[[gnu::noinline]] simd<region_type<R>> map_reduce_many(std::int64_t count, ir::run_mode mode,
                                                       const leaf_pointers<R>& leaf,
                                                       region_type<R>* out, Beside& beside) {
  lines_ahead lines;
  return reduce_blocks<M, region_type<R>>(
      count, mapped_blocks<M, R, Beside>(leaves_of<R>(leaf.data()), out, mode, lines, beside));
}

// Evaluates region R over n elements of a row, works on the rows beside it (rows_beside.hpp), and
// returns what M combines the results to. The same bits as map_kernel<R> and then the row reduction
// of M.
template <monoid M, ir::region R, class Beside>
[[gnu::always_inline]] inline region_type<R> map_reduce_row(std::int64_t n, ir::run_mode mode,
                                                            leaf_pointers<R> leaf,
                                                            region_type<R>* out, Beside& beside) {
  using T = region_type<R>;
  const std::int64_t whole = n / lanes<T>, rest = n % lanes<T>;
  lines_ahead lines;
  simd<T> all = whole > few_registers
                    ? map_reduce_many<M, R>(whole, mode, leaf, out, beside)
                    : reduce_few_blocks<M, T>(
                          whole, mapped_blocks<M, R, Beside>(leaf, out, mode, lines, beside));
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
