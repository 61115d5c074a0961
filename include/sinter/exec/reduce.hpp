// SPDX-License-Identifier: MIT
// Reductions over columns (one accumulator per column), and the functions of every reduction. The
// order in which elements combine depends on the shape and the instruction set alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/exec/argmax.hpp>
#include <sinter/exec/each_element.hpp>
#include <sinter/exec/reduce_row.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/row_blocks.hpp>
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

// The partial results of `width` columns into their accumulators.
template <monoid M, Floating T>
[[gnu::always_inline]] inline void accumulate_partials(std::int64_t width, const T* partial,
                                                       accumulator_type<M, T>* to) {
  std::int64_t j = 0;
  for (; j + lanes<T> <= width; j += lanes<T>) accumulate<M, T>(load<T>(partial + j), to + j);
  for (; j < width; ++j)
    to[j] = combine_single<M>(to[j], static_cast<accumulator_type<M, T>>(partial[j]));
}

// pass(f) combines registers with f and returns whether there was no NaN, which f may lose: as if
// there were none, and if there was one, once more.
template <monoid M, Floating T, class Pass>
[[gnu::always_inline]] inline void combine_numbers_first(Pass pass) {
  const bool numbers = pass([](simd<T> a, simd<T> b) __attribute__((always_inline)) {
    return combine_numbers<M, T>(a, b);
  });
  if constexpr (loses_nan<M>)
    if (!numbers) [[unlikely]]
      pass([](simd<T> a, simd<T> b) __attribute__((always_inline)) { return combine<M>(a, b); });
}

enum class block_part { first, middle, last };

// Rows of a block into partial[j] for each column: the first ones from the identity, the last ones
// on to the accumulators. In loops of their own both take a time in which nothing is read (sums of
// [1024,1024] 0.95, of [16,768] 0.79 of the time on a Zen 5); tests in one loop for all would let
// the processor look less far ahead (from DRAM 1.5). What lies `ahead` elements behind is fetched
// meanwhile, if anything does. `numbers` loses lanes that met a NaN, which f may lose; what is
// accumulated without one does no harm, since the accumulator becomes NaN anyway.
template <monoid M, int Rows, block_part Part, bool Fetches, Floating T, class F>
[[gnu::always_inline]] inline void combine_rows(std::int64_t width, const T* x,
                                                std::int64_t row_stride, std::int64_t ahead,
                                                T* partial, accumulator_type<M, T>* accumulator,
                                                simd_mask<T>& numbers, F f) {
  for_each_register<Rows>(
      width, x, row_stride, identity_of<M, T>(),
      [&](std::int64_t j, const simd<T>(&next)[std::size_t{Rows}]) __attribute__((always_inline)) {
        simd<T> all = simd<T>(identity_of<M, T>());
        if constexpr (Part != block_part::first) all = load<T>(partial + j);
        if constexpr (Fetches)
#pragma GCC unroll 8
          for (int r = 0; r < Rows; ++r) __builtin_prefetch(x + j + r * row_stride + ahead);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) all = f(all, next[r]);
        if constexpr (loses_nan<M>)
#pragma GCC unroll 4
          for (int r = 0; r < Rows; r += 2)
            numbers = numbers & are_numbers<T>(next[r], next[std::min(r + 1, Rows - 1)]);
        if (Part == block_part::last && j + lanes<T> <= width)
          accumulate<M, T>(all, accumulator + j);
        else
          store<T>(partial + j, all);
      });
  const std::int64_t rest = width % lanes<T>;
  if (Part == block_part::last && rest > 0)
    accumulate_partials<M, T>(rest, partial + width - rest, accumulator + width - rest);
}

// A block of at least `Together` rows, which are walked side by side, into the accumulators of
// `width` columns, at most partial_columns. From the identity a block begins with its first row,
// but for the sign of a zero, which is lost in the accumulator.
template <monoid M, int Together, bool Fetches, Floating T>
void reduce_block_of_rows(std::int64_t rows, std::int64_t width, const T* x,
                          std::int64_t row_stride, std::int64_t ahead,
                          accumulator_type<M, T>* accumulator) {
  using enum block_part;
  alignas(64) T partial[static_cast<std::size_t>(partial_columns)];
  combine_numbers_first<M, T>([&](auto f) __attribute__((always_inline)) {
    simd_mask<T> numbers = are_numbers<T>(simd<T>(T(0)), simd<T>(T(0)));
    const auto combine = [&]<int Rows, block_part Part>(std::int64_t row)
        __attribute__((always_inline)) {
      combine_rows<M, Rows, Part, Fetches>(width, x + row * row_stride, row_stride, ahead, partial,
                                           accumulator, numbers, f);
    };
    combine.template operator()<Together, first>(0);
    std::int64_t row = Together;
    for (; row + Together < rows; row += Together)
      combine.template operator()<Together, middle>(row);
    if (row + Together == rows) {
      combine.template operator()<Together, last>(row);
    } else {
      for (; row < rows; ++row) combine.template operator()<1, middle>(row);
      accumulate_partials<M, T>(width, partial, accumulator);
    }
    return xsimd::all(numbers);
  });
}

// The same of one register of columns, which load(row) reads.
template <monoid M, Floating T, class Load>
[[gnu::always_inline]] inline simd<T> reduce_register_of_rows(std::int64_t rows, Load load) {
  simd<T> all;
  combine_numbers_first<M, T>([&](auto f) __attribute__((always_inline)) {
    simd<T> combined = load(0);
    simd_mask<T> numbers = are_numbers<T>(combined, combined);
    std::int64_t row = 1;
    for (; row + 2 <= rows; row += 2) {
      const simd<T> next = load(row), behind = load(row + 1);
      if constexpr (loses_nan<M>) numbers = numbers & are_numbers<T>(next, behind);
      combined = f(f(combined, next), behind);
    }
    if (row < rows) {
      const simd<T> last = load(row);
      if constexpr (loses_nan<M>) numbers = numbers & are_numbers<T>(last, last);
      combined = f(combined, last);
    }
    all = combined;
    return xsimd::all(numbers);
  });
  return all;
}

// And of `width` columns, a register after the other: whole(j, all) of what the columns from j on
// come to, part(j, count, all) where fewer than a register are left.
template <monoid M, Floating T, class Whole, class Part>
[[gnu::always_inline]] inline void reduce_registers_of_rows(std::int64_t rows, std::int64_t width,
                                                            const T* x, std::int64_t row_stride,
                                                            Whole whole, Part part) {
  std::int64_t j = 0;
  const auto load_whole = [&](std::int64_t row) __attribute__((always_inline)) {
    return load<T>(x + row * row_stride + j);
  };
  const auto load_rest = [&](std::int64_t row) __attribute__((always_inline)) {
    return load_part<T>(x + row * row_stride + j, width - j, T(1));
  };
  for (; j + lanes<T> <= width; j += lanes<T>)
    whole(j, reduce_register_of_rows<M, T>(rows, load_whole));
  if (j < width) part(j, width - j, reduce_register_of_rows<M, T>(rows, load_rest));
}

// A block of a few columns, or of a few rows.
template <monoid M, Floating T>
void reduce_narrow_block(std::int64_t rows, std::int64_t width, const T* x, std::int64_t row_stride,
                         std::int64_t /*ahead*/, accumulator_type<M, T>* accumulator) {
  reduce_registers_of_rows<M, T>(
      rows, width, x, row_stride,
      [&](std::int64_t j, simd<T> all)
          __attribute__((always_inline)) { accumulate<M, T>(all, accumulator + j); },
      [&](std::int64_t j, std::int64_t count, simd<T> all) __attribute__((always_inline)) {
        alignas(64) T rest[static_cast<std::size_t>(lanes<T>)];
        store<T>(rest, all);
        accumulate_partials<M, T>(count, rest, accumulator + j);
      });
}

// A block of rows to the results of their columns. From the identity, as accumulators begin, which
// turns the sum -0 into 0.
template <monoid M, Floating T>
void whole_columns_kernel(std::int64_t rows, std::int64_t columns, const void* x,
                          std::int64_t row_stride, void* result) {
  auto* to = static_cast<T*>(result);
  const simd<T> identity(identity_of<M, T>());
  reduce_registers_of_rows<M, T>(
      rows, columns, static_cast<const T*>(x), row_stride,
      [&](std::int64_t j, simd<T> all)
          __attribute__((always_inline)) { store<T>(to + j, combine<M>(identity, all)); },
      [&](std::int64_t j, std::int64_t count, simd<T> all) __attribute__((always_inline)) {
        store_part<T>(to + j, count, combine<M>(identity, all));
      });
}

template <monoid M, class T>
constexpr whole_columns_function whole_columns_of() {
  if constexpr (Floating<T>)
    return &whole_columns_kernel<M, T>;
  else
    return nullptr;
}

// The same for a block of at least four rows, of which lines so many rows ahead are fetched.
template <monoid M, Floating T>
auto block_kernel_of_rows(bool in_turn, bool fetches, std::int64_t rows_ahead) {
  if (in_turn) return &reduce_block_of_rows<M, 1, false, T>;
  if (!fetches) return &reduce_block_of_rows<M, 4, false, T>;
  if constexpr (!loses_nan<M>)
    if (rows_ahead < 4) return &reduce_block_of_rows<M, 2, true, T>;
  return &reduce_block_of_rows<M, 4, true, T>;
}

// In strips of four registers down 32 rows, whose lines share the ways of L1 where rows are 4 KiB
// apart, sums of [64,1024] in L2 took 10.5 us instead of 4 (EPYC, Zen 3); the elements of what is
// left of a register one by one, those of [20000,10] 55 instead of 28. Where lines are fetched
// ahead, sums go through as many rows side by side as that is, two or four: rows of 4 KiB are pages
// of their own, at whose ends the hardware's prefetchers stop, and few at a time wait for less. In
// turn go rows that are no longer than a block, and nothing is fetched. (In parts those of
// [4096,4096] from memory take 5.3 instead of 2.9 ms: Zen 4.)
template <monoid M, class T>
void column_kernel(std::int64_t rows, std::int64_t columns, const void* x, std::int64_t row_stride,
                   ir::column_walk walk, void* accumulator) {
  const auto* element = static_cast<const T*>(x);
  auto* target = static_cast<accumulator_type<M, T>*>(accumulator);
  if constexpr (Floating<T>) {
    const bool is_narrow = columns <= narrow_registers * lanes<T>;
    const bool in_turn = walk_in_blocks(walk, columns, partial_columns).in_turn;
    for_each_block(rows, columns, is_narrow ? columns : partial_columns,
                   [&](std::int64_t first, std::int64_t width, std::int64_t row, std::int64_t end) {
                     const std::int64_t rows_ahead = walk.ahead / (width * std::int64_t{sizeof(T)});
                     const auto reduce =
                         is_narrow || end - row < 4
                             ? &reduce_narrow_block<M, T>
                             : block_kernel_of_rows<M, T>(in_turn, walk.ahead > 0, rows_ahead);
                     reduce(end - row, width, element + row * row_stride + first, row_stride,
                            std::max<std::int64_t>(2, rows_ahead) * row_stride, target + first);
                   });
  } else {
    for (std::int64_t i = 0; i < rows; ++i, element += row_stride)
      for_each_element(columns,
                       [=](std::int64_t j) { target[j] = combine<M>(target[j], element[j]); });
  }
}

// A block is whole registers; what stands behind its last column is added to by the identity.
template <monoid M, Floating T>
void block_kernel(std::int64_t rows, std::int64_t columns, const void* x, std::int64_t row_stride,
                  void* block) {
  auto* const to = static_cast<T*>(block);
  for_each_four_rows(
      0, rows, [&]<int Rows>(std::int64_t row) __attribute__((always_inline)) {
        for_each_register<Rows>(
            columns, static_cast<const T*>(x) + row * row_stride, row_stride, identity_of<M, T>(),
            [&](std::int64_t j, const simd<T>(&next)[std::size_t{Rows}])
                __attribute__((always_inline)) {
                  simd<T> sum = load<T>(to + j);
#pragma GCC unroll 8
                  for (int r = 0; r < Rows; ++r) sum = combine<M>(sum, next[r]);
                  store<T>(to + j, sum);
                });
      });
}

template <monoid M, class T>
constexpr block_reduce_function block_kernel_of() {
  if constexpr (M == monoid::sum && Floating<T>)
    return &block_kernel<M, T>;
  else
    return nullptr;
}

template <monoid M, class T>
void combine_kernel(std::int64_t n, const void* other, void* accumulator) {
  const auto* const from = static_cast<const T*>(other);
  auto* const to = static_cast<T*>(accumulator);
  if constexpr (Floating<T>)
    accumulate_partials<M, T>(n, from, to);
  else
    for_each_element(n, [=](std::int64_t i) { to[i] = combine<M>(to[i], from[i]); });
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
    return {&argmax_row<T>,
            &argmax_whole_row<T>,
            argmax_whole_rows<T>(),
            &argmax_column<T>,
            nullptr,
            &argmax_combine<T>,
            &argmax_identity<T>,
            &argmax_finish<T>,
            sizeof(argmax_state<T>),
            1};
  else
    return {&row_kernel<M, T>,
            &whole_row_kernel<M, T>,
            whole_rows_kernel<M, T>(),
            &column_kernel<M, T>,
            whole_columns_of<M, T>(),
            &combine_kernel<M, accumulator_type<M, T>>,
            &identity_kernel<M, accumulator_type<M, T>>,
            &finish_kernel<T, accumulator_type<M, T>>,
            sizeof(accumulator_type<M, T>),
            lanes_of<T>(),
            block_kernel_of<M, T>()};
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
