// SPDX-License-Identifier: MIT
// The fused kernel of an element-wise region: all values stay in registers. One instantiation per
// region, that is per structure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/exec/evaluate_region.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/plain_rows.hpp>
#include <sinter/exec/streamed_row.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// What lies ahead of a row, of results that are as wide as operands.
template <ir::region R, class Out>
[[gnu::always_inline]] inline void find_lines(lines_ahead& lines, ir::run_mode mode,
                                              const leaf_pointers<R>& leaf, const Out* to) {
  lines.clear();
  add_leaves<R>(lines, mode, leaf);
  if (!result_is_truth<R> && mode.is_fetched(mode.result)) lines.add(to, mode.bytes_ahead());
}

}  // namespace detail

/// Evaluates region R over rows of elements; see ir::map_rows_function for the operands. R.type is
/// f32 or f64; a region whose last node is a truth value writes bools. The bits of an element
/// depend neither on its position nor on their number. Allocates nothing. Precondition: run.rows >
/// 0.
template <ir::region R>
void map_rows_kernel(const ir::map_run& run, const void* const* operands, void* result) {
  using T = detail::region_type<R>;
  using out_type = detail::stored_type<R>;
  static_assert(R.type == dtype::f32 || R.type == dtype::f64,
                "regions of other dtypes have no fused kernel");
  static_assert(R.node_count > 0 && R.leaf_count > 0, "a region computes something from something");
  constexpr int at_once = detail::registers_at_once;
  constexpr std::int64_t step = at_once * lanes<T>;
  const std::int64_t n = run.count;
  if (n <= 0) return;
  const ir::run_mode mode = run.mode;
  const bool fetches = mode.fetches();
  lines_ahead lines;
  detail::leaf_pointers<R> leaf = detail::leaves_of<R>(operands);
  auto* out = static_cast<out_type*>(result);

  // What has been overwritten cannot be computed a second time.
  const bool overlaps = detail::gains_from_overlap<R> && n > step && n % step > lanes<T> &&
                        !mode.streaming && !detail::is_in_place<R>(leaf, mode.single, out);

  if constexpr (detail::gains_without_tests<R>)
    if (n >= step && !fetches && !mode.streaming) {
      if (mode.single == 0) return detail::plain_rows<R, false>(run, operands, out, overlaps);
      if constexpr (detail::may_repeat_last<R>)
        if (mode.single == 1u << ir::last_vector(R))
          return detail::plain_rows<R, true>(run, operands, out, overlaps);
    }

  const auto next_row = [&]() __attribute__((always_inline)) {
    detail::move_leaves<R>(leaf, run.steps);
    out = reinterpret_cast<out_type*>(reinterpret_cast<std::byte*>(out) + run.result_step);
  };
  // The register from element i on, of which `count` are left.
  const auto evaluate_one = [&](detail::region_values<R, 1> & values, std::int64_t i,
                                std::int64_t count, const streamed_part& past)
      __attribute__((always_inline)) {
    const bool is_whole = count >= lanes<T>;
#pragma GCC unroll 12
    for (std::size_t k = 0; k < R.leaf_count; ++k) {
      if (R.is_scalar(k)) continue;
      const bool is_first = ir::may_broadcast(R) && mode.is_single(k);
      values.number[k][0] = is_first   ? simd<T>(*leaf[k])
                            : is_whole ? load<T>(leaf[k] + i)
                                       : detail::load_rest<T>(leaf[k] + i, count);
    }
    detail::evaluate_nodes<R, 1>(values);
    if (!is_whole)
      detail::store_rest<T>(out + i, count, detail::results_of(values)[0]);
    else
      detail::store_step<T>(out + i, detail::results_of(values), past.contains(i));
  };
  // Of rows that are shorter than a step the next one follows at once, so that the constants stay
  // in registers.
  const bool are_short = n < step && !mode.streaming;

  for (std::int64_t row = run.rows;;) {
    // What lies before whole lines that go past the caches; then steps; then the rest.
    streamed_part past;
    if constexpr (std::is_same_v<out_type, T>)
      if (mode.streaming) [[unlikely]]
        past = begin_streaming<T>(out, n);
    for (std::int64_t i = 0, end = are_short ? n : past.begin;; end = n) {
      // Register by register: the values of rows, one per call, come here too.
      if (i < end) {
        detail::region_values<R, 1> values;
        detail::load_scalars<R, 1>(values, leaf);
        for (;;) {
          do {
            evaluate_one(values, i, end - i, past);
            i += lanes<T>;
          } while (i < end);
          if (!are_short) break;
          if (--row == 0) return;
#if defined(__GNUC__)
          asm volatile("" : "+r"(row));  // or GCC goes back to where any row begins
#endif
          next_row();
          detail::load_scalars<R, 1>(values, leaf);
          i = 0;
        }
        i = end;
      }
      if (end == n) break;
      if (i + step > n) continue;
      constexpr std::size_t step_bytes = at_once * sizeof(simd<T>);
      if (fetches) [[unlikely]]
        detail::find_lines<R>(lines, mode, leaf, out);
      // A broadcast operand stays in a register: one test per leaf and step, where another kernel
      // for each set of broadcast leaves would be compiled otherwise. (Read from copies in memory
      // again and again, it costs as much as any other operand where there is one load per cycle,
      // as on Zen 4.) Unrolled, so that the pointers stay in registers: from the stack, where the
      // caller's stores are still under way, a call of few elements takes 50 instead of 15 ns.
      [[maybe_unused]] simd<T> first[R.leaf_count];
      // Asked of memory in each step, or GCC compiles a loop for every set after all.
      [[maybe_unused]] const volatile unsigned of_all_steps = mode.single;
      [[maybe_unused]] unsigned single = of_all_steps;
      if constexpr (ir::may_broadcast(R))
#pragma GCC unroll 12
        for (std::size_t k = 0; k < R.leaf_count; ++k)
          if (!R.is_scalar(k)) first[k] = simd<T>(*leaf[k]);
      detail::run_steps<R>(
          [&](std::size_t k, std::int64_t at) __attribute__((always_inline)) {
            if constexpr (ir::may_broadcast(R))
              if ((single >> k & 1u) != 0) [[unlikely]]
                return first[k];
            return load<T>(leaf[k] + at);
          },
          out, i, n, overlaps, past.any(), leaf,
          [&]() __attribute__((always_inline)) {
            if (fetches) [[unlikely]]
              lines.ask<step_bytes>();
            if constexpr (ir::may_broadcast(R)) single = of_all_steps;
          });
    }

    if (--row == 0) return;
    next_row();
  }
}

/// One row of n elements, in no particular mode.
template <ir::region R>
void map_kernel(std::int64_t n, const void* const* operands, void* result) {
  map_rows_kernel<R>({.count = n}, operands, result);
}

}  // namespace sinter::inline SINTER_ABI::exec
