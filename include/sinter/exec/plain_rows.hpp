// SPDX-License-Identifier: MIT
// Rows of an element-wise region as most of them are: nothing is fetched, nothing goes past the
// caches, and operands lie in memory, but for a last one that may be the same for a whole row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sinter/exec/evaluate_region.hpp>
#include <sinter/exec/late_division.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/streamed_row.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/support/cache_lines.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec::detail {

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
// 3). So does one function (AVX2 on a Zen 4: rows of 100, gelu and log 0.88, tanh 0.95, exp 0.98;
// of 1024 0.98 to 1.02), and with AVX-512 what divides late: on a Zen 5 silu(2x + 1/2) y of 4,096
// f32 takes 0.94, tanh(x) sigmoid(y) z 0.92. Of several functions GCC moves so much across the
// tests that are no more there that values leave the registers: Black-Scholes 1.3.
template <ir::region R>
inline constexpr bool gains_without_tests =
    functions_of(R) <= 1 || (register_count >= 32 && divides_late<R>);

// The registers of a step.
template <Floating T, class Out, class Result, std::size_t U>
[[gnu::always_inline]] inline void store_step(Out* to, const Result (&results)[U], bool streams) {
  if (streams) [[unlikely]] {  // that is out of the way: 41 instead of 47 ns for 784 sums
#pragma GCC unroll 4
    for (int u = 0; u < static_cast<int>(U); ++u)
      if constexpr (std::is_same_v<Out, T>) store_streaming<T>(to + u * lanes<T>, results[u]);
  } else {
#pragma GCC unroll 4
    for (int u = 0; u < static_cast<int>(U); ++u) {
      store<T>(to + u * lanes<T>, results[u]);
#if defined(__GNUC__)
      // In order: a Xeon writes both halves of a line at once if nothing comes between them, which
      // GCC puts there (x + y with AVX2: 0.65 of the time in order; a Zen 4 takes as long).
      if constexpr (sizeof(simd<T>) < line_bytes) asm volatile("" ::: "memory");
#endif
    }
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

// What a region's results are stored as.
template <ir::region R>
using stored_type = std::conditional_t<result_is_truth<R>, bool, region_type<R>>;

// The steps of a row that fit in front of element n, at least one; leaves i behind them. Where a
// step `overlaps`, the last one ends at n. begin() comes first in each.
template <ir::region R, class Leaf, class Begin>
[[gnu::always_inline]] inline void run_steps(Leaf leaf, stored_type<R>* out, std::int64_t& i,
                                             std::int64_t n, bool overlaps, bool streams,
                                             const leaf_pointers<R>& scalars, Begin begin) {
  using T = region_type<R>;
  constexpr std::int64_t step = registers_at_once * lanes<T>;
  region_values<R, registers_at_once> values;
  load_scalars<R, registers_at_once>(values, scalars);
  const auto store_results = [&](std::int64_t at, const auto& results)
      __attribute__((always_inline)) {
    store_step<T>(out + at, results, streams);
  };
  if constexpr (divides_late<R>) {
    run_dividing_late<R>(values, leaf, i, n, begin, store_results);
  } else {
    for (;; i = n - step) {
      // Not tested in front: GCC would load the constants of functions anew in each step (tanh and
      // gelu 1.05 of the time).
      do {
        begin();
        evaluate_region_of<R, registers_at_once>(values, leaf, i);
        store_results(i, results_of(values));
        i += step;
      } while (i + step <= n);
      if (!overlaps || i == n) break;
    }
  }
}

// Is there a kernel for rows of which all operands but the last one lie in memory? A bias per row
// stands last: between two bounds 8 instructions per register instead of 15.
template <ir::region R>
inline constexpr bool may_repeat_last = ir::may_broadcast(R) && functions_of(R) == 0;

// Rows of at least one step. In a function of its own, whose values all stay in registers: beside
// what modes need GCC moves them to memory and vector registers at each row. (Zen 4, f32 in L1,
// parts of the time, AVX-512 and AVX2: x + y, rows of 100 0.6 and 0.7, of 250 0.85 and 0.83, of
// 1024 0.93 and 0.94; (x + row) column 0.53 and 0.6, 0.7 and 0.67, 0.92 and 0.95, in L3 0.96; exp
// and tanh of 100 0.9, with AVX-512.)
template <ir::region R, bool RepeatsLast>
[[gnu::noinline]] void plain_rows(const ir::map_run& run, const void* const* operands,
                                  stored_type<R>* out, bool overlaps) {
  using T = region_type<R>;
  leaf_pointers<R> leaf = leaves_of<R>(operands);
  const std::int64_t n = run.count;
  constexpr std::size_t last_leaf = ir::last_vector(R);
  for (std::int64_t row = run.rows;;) {
    [[maybe_unused]] const simd<T> last(RepeatsLast ? *leaf[last_leaf] : T(0));
    const auto of = [&](std::size_t k, std::int64_t at) __attribute__((always_inline)) {
      return RepeatsLast && k == last_leaf ? last : load<T>(leaf[k] + at);
    };
    std::int64_t i = 0;
    run_steps<R>(of, out, i, n, overlaps, false, leaf, [] {});
    if (i < n) {
      region_values<R, 1> values;
      load_scalars<R, 1>(values, leaf);
      do {
        const std::int64_t count = n - i;
#pragma GCC unroll 12
        for (std::size_t k = 0; k < R.leaf_count; ++k) {
          const bool is_whole = count >= lanes<T> || (RepeatsLast && k == last_leaf);
          if (!R.is_scalar(k))
            values.number[k][0] = is_whole ? of(k, i) : load_rest<T>(leaf[k] + i, count);
        }
        evaluate_nodes<R, 1>(values);
        if (count >= lanes<T>)
          store_step<T>(out + i, results_of(values), false);
        else
          store_rest<T>(out + i, count, results_of(values)[0]);
        i += lanes<T>;
      } while (i < n);
    }
    if (--row == 0) return;
    move_leaves<R>(leaf, run.steps);
    out = reinterpret_cast<stored_type<R>*>(reinterpret_cast<std::byte*>(out) + run.result_step);
  }
}

}  // namespace sinter::inline SINTER_ABI::exec::detail
