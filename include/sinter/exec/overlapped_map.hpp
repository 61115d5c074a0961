// SPDX-License-Identifier: MIT
// A fused kernel that reduces the next row while it runs on one: the two halves of a norm. What
// each waits for, the last additions of a row and the way of its results to memory, the other does
// not. (Of the time of one behind the other, one thread of a Zen 4 and of a Xeon: layer norm of
// [1024,256] 0.86 and 0.81, [64,1024] 0.95 and 0.9, [4096,1024] on the Xeon 0.88; RMS norm of
// [1024,256] 0.9 and 0.75.)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/evaluate_region.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/map_kernel.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_row.hpp>
#include <sinter/exec/row_moments.hpp>
#include <sinter/exec/streamed_row.hpp>
#include <sinter/graph/region.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// The reductions of a row of at most one block, with the bits of their own kernels.

template <Floating T>
class deviations_behind {
 public:
  [[gnu::always_inline]] deviations_behind(std::int64_t n, const ir::rows_beside& rows)
      : rows_(rows), block_(n, static_cast<const T*>(rows.reduced)) {}

  template <int U>
  [[gnu::always_inline]] void add(std::int64_t i) {
    block_.template add<U>(i);
  }
  [[gnu::always_inline]] void finish() const {
    const moments_state all = block_.all();
    *static_cast<T*>(rows_.result) = static_cast<T>(all.deviations);
    if (rows_.second_result != nullptr)
      *static_cast<T*>(rows_.second_result) = static_cast<T>(all.whole_sum());
  }

 private:
  const ir::rows_beside& rows_;
  moments_block<T> block_;
};

template <Floating T>
class squares_behind {
 public:
  [[gnu::always_inline]] squares_behind(std::int64_t n, const ir::rows_beside& rows)
      : n_(n), x_(static_cast<const T*>(rows.reduced)), result_(static_cast<T*>(rows.result)) {}

  template <int U>
  [[gnu::always_inline]] void add(std::int64_t i) {
#pragma GCC unroll 4
    for (std::size_t u = 0; u < U; ++u)
      sums_.add(u, square(load<T>(x_ + i + static_cast<std::int64_t>(u) * lanes<T>)));
  }
  [[gnu::always_inline]] void finish() const {
    const std::int64_t rest = n_ % lanes<T>;
    simd<T> all = sums_.all();
    if (rest != 0) all = all + square(load_part<T>(x_ + n_ - rest, rest, T(0)));
    *result_ = result_of_row<monoid::sum, T>(reduce_all<monoid::sum, T>(all));
  }

 private:
  static simd<T> square(simd<T> x) { return mul<T>(x, x); }

  std::int64_t n_;
  const T* x_;
  T* result_;
  block_accumulators<monoid::sum, T> sums_;
};

}  // namespace detail

/// Evaluates region R over a row of n elements, at most a block of a reduction (reduce_block), and
/// reduces the row behind it; see ir::overlapped_function. No operand is single but the scalar
/// leaves. The same bits as map_rows_kernel<R> and the reduction, each by itself. Allocates
/// nothing.
template <ir::region R, template <Floating> class Behind>
void overlapped_map_kernel(std::int64_t n, ir::run_mode mode, const void* const* operands,
                           void* result, void*, const ir::rows_beside& rows) {
  using T = detail::region_type<R>;
  constexpr int at_once = detail::registers_at_once;
  constexpr std::int64_t step = at_once * lanes<T>;
  const detail::leaf_pointers<R> leaf = detail::leaves_of<R>(operands);
  auto* const out = static_cast<T*>(result);
  const bool fetches = mode.fetches();
  streamed_part past;
  if (mode.streaming) past = begin_streaming<T>(out, n);
  lines_ahead lines;
  if (fetches) detail::find_lines<R>(lines, mode, leaf, out);

  Behind<T> behind(n, rows);
  detail::region_values<R, at_once> values;
  detail::load_scalars<R, at_once>(values, leaf);
  detail::region_values<R, 1> single;
  detail::load_scalars<R, 1>(single, leaf);
  std::int64_t i = 0, reduced = 0;
  const auto evaluate_until = [&](std::int64_t end) {
    for (std::int64_t count; i < end; i += count) {
      count = std::min<std::int64_t>(lanes<T>, end - i);
      detail::load_rests<R>(single, leaf, i, count);
      detail::evaluate_nodes<R, 1>(single);
      store_some<T>(out + i, count, detail::results_of(single)[0], past.contains(i));
    }
  };

  // Results begin where they can go past the caches, the row behind where it does.
  evaluate_until(past.begin);
  for (; i + step <= n; i += step, reduced += step) {
    if (fetches) lines.ask<at_once * sizeof(simd<T>)>();
    detail::evaluate_region<R, at_once>(values, leaf, i);
    behind.template add<at_once>(reduced);
    detail::store_step<T>(out + i, detail::results_of(values), past.any());
  }
  for (; reduced + step <= n; reduced += step) behind.template add<at_once>(reduced);
  for (; reduced + lanes<T> <= n; reduced += lanes<T>) behind.template add<1>(reduced);
  evaluate_until(n);
  behind.finish();
}

}  // namespace sinter::inline SINTER_ABI::exec
