// SPDX-License-Identifier: MIT
// Reductions over columns (one accumulator per column), and the functions of every reduction. The
// order in which elements combine depends on the shape and the instruction set alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/exec/argmax.hpp>
#include <sinter/exec/reduce_row.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/widen.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// A register into as many accumulators.
template <monoid M, Floating T>
[[gnu::always_inline]] inline void accumulate(simd<T> x, accumulator_type<M, T>* to) {
  if constexpr (std::is_same_v<accumulator_type<M, T>, T>)
    store<T>(to, combine<M>(load<T>(to), x));
  else
    add_lanes(x, to);
}

// Registers x [0, rows) x U of a block, combined into the accumulators. The lines two strips ahead
// are prefetched: hardware does not follow 32 rows at once.
template <monoid M, int U, Floating T>
void reduce_strip(std::int64_t rows, const T* x, std::int64_t row_stride,
                  accumulator_type<M, T>* accumulator) {
  simd<T> partial[std::size_t{U}];
  // As if there were no NaN, and if there was one, once more.
  const auto combine_rows = [&](auto f) __attribute__((always_inline)) {
    for (int u = 0; u < U; ++u) partial[u] = load<T>(x + u * lanes<T>);
    simd_mask<T> numbers = are_numbers<T>(partial[0], partial[U - 1]);
    for (int u = 1; u + 1 < U; ++u) numbers = numbers & are_numbers<T>(partial[u], partial[u]);
    for (std::int64_t i = 1; i < rows; ++i) {
      const T* row = x + i * row_stride;
      if constexpr (U > 1)
        for (int u = 0; u < U; ++u) __builtin_prefetch(row + (2 * U + u) * lanes<T>);
      simd<T> next[std::size_t{U}];
      for (int u = 0; u < U; ++u) next[u] = load<T>(row + u * lanes<T>);
      if constexpr (loses_nan<M>)
        for (int u = 0; u < U; u += 2)
          numbers = numbers & are_numbers<T>(next[u], next[std::min(u + 1, U - 1)]);
      for (int u = 0; u < U; ++u) partial[u] = f(partial[u], next[u]);
    }
    return xsimd::all(numbers);
  };
  if (!loses_nan<M> || !combine_rows([](auto a, auto b) __attribute__((always_inline)) {
        return combine_numbers<M, T>(a, b);
      }))
    combine_rows([](auto a, auto b) __attribute__((always_inline)) { return combine<M>(a, b); });
  for (int u = 0; u < U; ++u) accumulate<M, T>(partial[u], accumulator + u * lanes<T>);
}

template <monoid M, class T>
void column_kernel(std::int64_t rows, std::int64_t columns, const void* x, std::int64_t row_stride,
                   void* accumulator) {
  const auto* element = static_cast<const T*>(x);
  using total = accumulator_type<M, T>;
  auto* target = static_cast<total*>(accumulator);
  if constexpr (Floating<T>) {
    for (std::int64_t i = 0; i < rows;
         i += column_block_rows, element += column_block_rows * row_stride) {
      const std::int64_t height = std::min(column_block_rows, rows - i);
      std::int64_t j = 0;
      for (; j + 4 * lanes<T> <= columns; j += 4 * lanes<T>)
        reduce_strip<M, 4>(height, element + j, row_stride, target + j);
      for (; j + lanes<T> <= columns; j += lanes<T>)
        reduce_strip<M, 1>(height, element + j, row_stride, target + j);
      if (const std::int64_t rest = columns - j; rest > 0) {
        T partial[static_cast<std::size_t>(lanes<T>)];
        for (std::int64_t c = 0; c < rest; ++c) partial[c] = element[j + c];
        for (std::int64_t r = 1; r < height; ++r)
          for (std::int64_t c = 0; c < rest; ++c)
            partial[c] = combine_single<M>(partial[c], element[r * row_stride + j + c]);
        for (std::int64_t c = 0; c < rest; ++c)
          target[j + c] = combine_single<M>(target[j + c], static_cast<total>(partial[c]));
      }
    }
  } else {
    for (std::int64_t i = 0; i < rows; ++i, element += row_stride)
      for (std::int64_t j = 0; j < columns; ++j) target[j] = combine<M>(target[j], element[j]);
  }
}

template <monoid M, class T>
void combine_kernel(std::int64_t n, const void* other, void* accumulator) {
  column_kernel<M, T>(1, n, other, 0, accumulator);
}

// The first one by itself, here and below: rows have one accumulator, and calls of memset and
// memmove, or loops over whole registers, take ten times the instructions.
template <monoid M, class T>
void identity_kernel(std::int64_t n, void* accumulator) {
  auto* const to = static_cast<T*>(accumulator);
  if (n <= 0) return;
  *to = identity_of<M, T>();
  if (n > 1) [[unlikely]]
    std::fill_n(to + 1, n - 1, identity_of<M, T>());
}

template <class T, class Total>
void finish_kernel(std::int64_t n, const void* accumulator, void* result) {
  const auto* const from = static_cast<const Total*>(accumulator);
  auto* const to = static_cast<T*>(result);
  if (n <= 0) return;
  *to = static_cast<T>(*from);
  if (n > 1) [[unlikely]]
    std::transform(from + 1, from + n, to + 1, [](Total x) { return static_cast<T>(x); });
}

template <class T>
constexpr int lanes_of() {
  if constexpr (Floating<T>)
    return lanes<T>;
  else
    return 1;
}

template <monoid M, class T>
constexpr reduction_kernels reduction_of() {
  if constexpr (M == monoid::argmax)
    return {&argmax_row<T>,    &argmax_whole_row<T>,    argmax_whole_rows<T>(),
            &argmax_column<T>, &argmax_combine<T>,      &argmax_identity<T>,
            &argmax_finish<T>, sizeof(argmax_state<T>), 1};
  else
    return {&row_kernel<M, T>,
            &whole_row_kernel<M, T>,
            whole_rows_kernel<M, T>(),
            &column_kernel<M, T>,
            &combine_kernel<M, accumulator_type<M, T>>,
            &identity_kernel<M, accumulator_type<M, T>>,
            &finish_kernel<T, accumulator_type<M, T>>,
            sizeof(accumulator_type<M, T>),
            lanes_of<T>()};
}

}  // namespace detail

/// The reductions of one dtype, indexed by monoid.
template <Element T>
  requires(Floating<T> || Integer<T>)
constexpr reduction_table reductions() {
  // Sums and products wrap, so signed and unsigned integers share them.
  using bits = std::conditional_t<Floating<T>, T, detail::unsigned_word<sizeof(T)>>;
  return {detail::reduction_of<monoid::sum, bits>(), detail::reduction_of<monoid::max, T>(),
          detail::reduction_of<monoid::min, T>(), detail::reduction_of<monoid::prod, bits>(),
          detail::reduction_of<monoid::argmax, T>()};
}

}  // namespace sinter::inline SINTER_ABI::exec
