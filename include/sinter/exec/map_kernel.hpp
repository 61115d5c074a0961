// SPDX-License-Identifier: MIT
// The fused kernel of an element-wise region: all values stay in registers. One instantiation per
// region, that is per structure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sinter/exec/evaluate_region.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/late_division.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/streamed_row.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Fewer results than a register has lanes.
template <Floating T, class Out, class Result>
[[gnu::always_inline]] inline void store_rest(Out* to, std::int64_t count, Result x) {
  if constexpr (std::is_same_v<Out, bool>) {
    alignas(64) bool all[static_cast<std::size_t>(lanes<T>)];
    store<T>(all, x);
    std::memcpy(to, all, static_cast<std::size_t>(count));
  } else if (count == 1) {
    *to = x.get(0);
  } else {
    store_part<T>(to, count, x);
  }
}

// Does a loop without tests for modes gain? A step of short ops takes as long as the tests: (a b +
// c) d in L1 takes 0.68 of the time without, a layer norm's scale and shift 0.66 (768 f32 on a Zen
// 3). With AVX-512 one function is short enough, too, and what divides late: on a Zen 5 silu(2x +
// 1/2) y of 4,096 f32 takes 0.94, tanh 0.93, exp 0.97, tanh(x) sigmoid(y) z 0.92; with AVX2 on a
// Zen 3 nothing less. Of several functions GCC moves so much across the tests that are no more
// there that values leave the registers: Black-Scholes 1.3.
template <ir::region R>
inline constexpr bool gains_without_tests =
    functions_of(R) == 0 || (register_count >= 32 && (functions_of(R) == 1 || divides_late<R>));

// What lies ahead of a row, of results that are as wide as operands.
template <ir::region R, class Out>
[[gnu::always_inline]] inline void find_lines(lines_ahead& lines, ir::run_mode mode,
                                              const leaf_pointers<R>& leaf, const Out* to) {
  lines.clear();
  add_leaves<R>(lines, mode, leaf);
  if (!result_is_truth<R> && mode.is_fetched(mode.result)) lines.add(to, mode.bytes_ahead());
}

// The registers of a step.
template <Floating T, class Out, class Result, std::size_t U>
[[gnu::always_inline]] inline void store_step(Out* to, const Result (&results)[U], bool streams) {
  if (streams) [[unlikely]] {  // that is out of the way: 41 instead of 47 ns for 784 sums
#pragma GCC unroll 4
    for (int u = 0; u < static_cast<int>(U); ++u)
      if constexpr (std::is_same_v<Out, T>) store_streaming<T>(to + u * lanes<T>, results[u]);
  } else {
#pragma GCC unroll 4
    for (int u = 0; u < static_cast<int>(U); ++u) store<T>(to + u * lanes<T>, results[u]);
  }
}

// The first `count` elements of an operand. A single one is most often the value of a row that was
// written a moment ago, one element wide: a wider load would wait until that store, and all before
// it, have left for the cache.
template <Floating T>
[[gnu::always_inline]] inline simd<T> load_rest(const T* from, std::int64_t count) {
  return count == 1 ? simd<T>(*from) : load_part<T>(from, count, T(1));
}

// Is what is left of a row behind its steps better computed by one step more, with elements before
// it a second time, than register by register? Where each takes long: of rows of 49 f32 a layer
// norm's kernel, of five leaves, takes 0.7 of the time, relu(x a + b + y) 0.88, silu(x a + b) 0.95,
// but x a + b 1.0 to 1.06 and relu(x + b) 1.08 (a and b one per row; a Zen 3).
template <ir::region R>
inline constexpr bool gains_from_overlap = R.leaf_count >= 4 || functions_of(R) > 0;

// Is the result one of the operands?
template <ir::region R>
[[gnu::always_inline]] inline bool is_in_place(const leaf_pointers<R>& leaf, unsigned single,
                                               const void* out) {
  bool found = false;
#pragma GCC unroll 12
  for (std::size_t k = 0; k < R.leaf_count; ++k)
    if (!R.is_scalar(k)) found |= leaf[k] == out && (single >> k & 1u) == 0;
  return found;
}

}  // namespace detail

/// Evaluates region R over rows of elements; see ir::map_rows_function for the operands. R.type is
/// f32 or f64; a region whose last node is a truth value writes bools. The bits of an element
/// depend neither on its position nor on their number. Allocates nothing. Precondition: run.rows >
/// 0.
template <ir::region R>
void map_rows_kernel(const ir::map_run& run, const void* const* operands, void* result) {
  using T = detail::region_type<R>;
  using out_type = std::conditional_t<detail::result_is_truth<R>, bool, T>;
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

  // A broadcast operand stays in a register: one test per leaf and step, where another kernel for
  // each set of broadcast leaves would be compiled otherwise. (Read from copies in memory again and
  // again, it costs as much as any other operand where there is one load per cycle, as on Zen 4.)
  [[maybe_unused]] simd<T> first[R.leaf_count];
  unsigned single = mode.single;
  const auto of_leaf = [&](std::size_t k, std::int64_t i) __attribute__((always_inline)) {
    if constexpr (ir::may_broadcast(R))
      if ((single >> k & 1u) != 0) return first[k];
    return load<T>(leaf[k] + i);
  };

  // Unrolled, as below, so that the pointers stay in registers: from the stack, where the caller's
  // stores are still under way, a call of few elements takes 50 instead of 15 ns. Not before the
  // loop that reads them, since they would be in the way of the one without tests.
  const auto load_first = [&]() __attribute__((always_inline)) {
    if constexpr (ir::may_broadcast(R))
#pragma GCC unroll 12
      for (std::size_t k = 0; k < R.leaf_count; ++k)
        if (!R.is_scalar(k)) first[k] = simd<T>(*leaf[k]);
  };
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
      const bool is_first = ir::may_broadcast(R) && (single >> k & 1u) != 0;
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
      detail::region_values<R, at_once> values;
      detail::load_scalars<R, at_once>(values, leaf);
      const auto run_steps = [&](auto of, auto begin_step) __attribute__((always_inline)) {
        if constexpr (!detail::divides_late<R>) {
          for (;; i = n - step) {
            for (; i + step <= n; i += step) {
              begin_step();
              detail::evaluate_region_of<R, at_once>(values, of, i);
              detail::store_step<T>(out + i, detail::results_of(values), past.any());
            }
            if (!overlaps || i == n) break;
          }
        } else {
          detail::run_dividing_late<R>(
              values, of, i, n,
              begin_step, [&](std::int64_t at, const auto& results) __attribute__((always_inline)) {
                detail::store_step<T>(out + at, results, past.any());
              });
        }
      };
      if constexpr (detail::gains_without_tests<R>)
        if (single == 0 && !fetches) run_steps(detail::from_memory<R>(leaf), [] {});
      // A bias per row stands last: between two bounds 8 instructions per register instead of 15.
      if constexpr (ir::may_broadcast(R) && detail::functions_of(R) == 0) {
        constexpr std::size_t last = ir::last_vector(R);
        if (single == 1u << last && !fetches)
          run_steps(detail::from_memory_and<R>(simd<T>(*leaf[last]), leaf), [] {});
      }
      if (i + step <= n) {
        load_first();
        run_steps(
            of_leaf, [&]() __attribute__((always_inline)) {
              if (fetches) [[unlikely]]
                lines.ask<step_bytes>();
#if defined(__GNUC__)
              if constexpr (ir::may_broadcast(R))
                asm volatile("" : "+r"(single));  // or GCC compiles a loop for every set after all
#endif
            });
      }
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
