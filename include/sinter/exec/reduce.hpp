// SPDX-License-Identifier: MIT
// Reductions over rows (contiguous elements) and over columns (one accumulator per column). The
// order in which elements combine depends on the shape and the instruction set alone. An
// accumulator starts as the identity and may be fed in pieces, in order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <sinter/exec/elementwise.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_lanes.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/widen.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

template <monoid M, class T>
constexpr T identity_of() {
  using limits = std::numeric_limits<T>;
  if constexpr (M == monoid::sum)
    return T(0);
  else if constexpr (M == monoid::prod)
    return T(1);
  else if constexpr (M == monoid::max)
    return limits::has_infinity ? -limits::infinity() : limits::lowest();
  else
    return limits::has_infinity ? limits::infinity() : limits::max();
}

// Two registers, two integers.
template <monoid M, class V>
[[gnu::always_inline]] inline V combine(V a, V b) {
  if constexpr (M == monoid::sum)
    return apply<ir::op::add>(a, b);
  else if constexpr (M == monoid::prod)
    return apply<ir::op::mul>(a, b);
  else if constexpr (M == monoid::max)
    return apply<ir::op::maximum>(a, b);
  else
    return apply<ir::op::minimum>(a, b);
}

// Must somebody look for NaN, which an instruction for the larger of two loses?
template <monoid M>
inline constexpr bool loses_nan = M == monoid::max || M == monoid::min;

// Two registers without NaN: the same result, and one instruction.
template <monoid M, Floating T>
[[gnu::always_inline]] inline simd<T> combine_numbers(simd<T> a, simd<T> b) {
  if constexpr (M == monoid::max)
    return max_or_second<T>(a, b);
  else if constexpr (M == monoid::min)
    return min_or_second<T>(a, b);
  else
    return combine<M>(a, b);
}

// Two single values: of floats the same results as a lane of `combine` without a detour through
// registers.
template <monoid M, class T>
T combine_single(T a, T b) {
  if constexpr (!Floating<T>)
    return combine<M>(a, b);
  else if constexpr (M == monoid::sum)
    return a + b;
  else if constexpr (M == monoid::prod)
    return a * b;
  else if constexpr (M == monoid::max)
    return a > b || a != a ? a : b;
  else
    return a < b || a != a ? a : b;
}

// Registers [begin, begin + count) lane by lane; block(begin, count) combines at most reduce_block
// of them. Long runs are halved recursively, so that the error of a sum grows with the logarithm of
// its length (pairwise summation). Not inlined into itself: the hardware's prefetcher goes by the
// address of a load, and with five copies of a block's loop (x - y)^2 summed over 16 M elements
// took 1.1 times as long.
template <monoid M, Floating T, class Block>
[[gnu::noinline]] simd<T> reduce_halves(std::int64_t begin, std::int64_t count, Block& block) {
  if (count <= reduce_block) return block(begin, count);
  const std::int64_t half = (count / 2 + reduce_block - 1) / reduce_block * reduce_block;
  const simd<T> front = reduce_halves<M, T>(begin, half, block);
  return combine<M>(front, reduce_halves<M, T>(begin + half, count - half, block));
}

// All registers of a row. One block needs nothing of what a call that halves saves.
template <monoid M, Floating T, class Block>
[[gnu::always_inline]] inline simd<T> reduce_registers(std::int64_t count, Block& block) {
  return count <= reduce_block ? block(0, count) : reduce_halves<M, T>(0, count, block);
}

// The four accumulators of a block: register i goes to accumulator i % 4, what is left of the last
// four to the first.
template <monoid M, Floating T>
struct block_accumulators {
  simd<T> part[4] = {simd<T>(identity_of<M, T>()), simd<T>(identity_of<M, T>()),
                     simd<T>(identity_of<M, T>()), simd<T>(identity_of<M, T>())};

  [[gnu::always_inline]] void add(std::size_t i, simd<T> x) { part[i] = combine<M>(part[i], x); }
  [[gnu::always_inline]] simd<T> all() const {
    return combine<M>(combine<M>(part[0], part[1]), combine<M>(part[2], part[3]));
  }
};

// The same of registers of which none has NaN. Looking for NaN beside the maxima, and not between
// them, 1024 floats take 12 ns instead of 31.
template <monoid M, Floating T>
struct number_accumulators {
  simd<T> part[4] = {identity(), identity(), identity(), identity()};
  simd_mask<T> numbers = are_numbers<T>(identity(), identity());

  // U registers: four at once, then those that are left one by one.
  template <int U>
  [[gnu::always_inline]] void add(const T* x) {
    simd<T> next[std::size_t{U}];
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) next[u] = load<T>(x + u * lanes<T>);
    if constexpr (U == 4)
      numbers = numbers & (are_numbers<T>(next[0], next[1]) & are_numbers<T>(next[2], next[3]));
    else
      numbers = numbers & are_numbers<T>(next[0], next[0]);
#pragma GCC unroll 4
    for (int u = 0; u < U; ++u) part[u] = combine_numbers<M, T>(part[u], next[u]);
  }
  // Nothing if there was NaN.
  [[gnu::always_inline]] simd<T> all() const {
    return combine_numbers<M, T>(combine_numbers<M, T>(part[0], part[1]),
                                 combine_numbers<M, T>(part[2], part[3]));
  }

 private:
  static simd<T> identity() { return simd<T>(identity_of<M, T>()); }
};

// A block of `count` registers of which none has NaN, in the order of block_accumulators; false if
// one has.
template <monoid M, Floating T>
[[gnu::always_inline]] inline bool reduce_numbers(std::int64_t count, const T* x, simd<T>& all) {
  number_accumulators<M, T> found;
  std::int64_t i = 0;
  for (; i + 4 <= count; i += 4) found.template add<4>(x + i * lanes<T>);
  for (; i < count; ++i) found.template add<1>(x + i * lanes<T>);
  all = found.all();
  return xsimd::all(found.numbers);
}

template <monoid M, Floating T>
[[gnu::always_inline]] inline T reduce_all(simd<T> x) {
  if constexpr (loses_nan<M>)
    if (xsimd::all(are_numbers<T>(x, x)))
      return reduce_lanes<T>(x, [](simd<T> a, simd<T> b) { return combine_numbers<M, T>(a, b); });
  return reduce_lanes<T>(x, [](simd<T> a, simd<T> b) { return combine<M>(a, b); });
}

template <monoid M, class T>
T reduce_row(std::int64_t n, const T* x) {
  if constexpr (Floating<T>) {
    const auto block = [&](std::int64_t begin, std::int64_t count) {
      const T* at = x + begin * lanes<T>;
      if constexpr (loses_nan<M>)
        if (simd<T> all; reduce_numbers<M, T>(count, at, all)) return all;
      block_accumulators<M, T> sums;
      std::int64_t i = 0;
      for (; i + 4 <= count; i += 4, at += 4 * lanes<T>)
        for (std::size_t u = 0; u < 4; ++u)
          sums.add(u, load<T>(at + static_cast<std::int64_t>(u) * lanes<T>));
      for (; i < count; ++i, at += lanes<T>) sums.add(0, load<T>(at));
      return sums.all();
    };
    const std::int64_t whole = n / lanes<T>, rest = n % lanes<T>;
    simd<T> all = reduce_registers<M, T>(whole, block);
    if (rest != 0)
      all = combine<M>(all, load_part<T>(x + whole * lanes<T>, rest, identity_of<M, T>()));
    return reduce_all<M, T>(all);
  } else {
    T all = identity_of<M, T>();
    for (std::int64_t i = 0; i < n; ++i) all = combine<M>(all, x[i]);
    return all;
  }
}

// What a row, or a part of it, was reduced to, into an accumulator.
template <monoid M, class T>
void add_row(T row, void* accumulator) {
  using total = accumulator_type<M, T>;
  auto& target = *static_cast<total*>(accumulator);
  target = combine_single<M>(target, static_cast<total>(row));
}

// The same as the identity, a row and the end of an accumulator, each of which waits for what the
// one before it has stored: layer norm of rows of 768 in L2 took 165 ns so, and takes 150.
template <monoid M, class T>
T result_of_row(T row) {
  return combine_single<M>(identity_of<M, T>(), row);
}

template <monoid M, class T>
void row_kernel(std::int64_t n, const void* x, void* accumulator) {
  add_row<M, T>(reduce_row<M>(n, static_cast<const T*>(x)), accumulator);
}

template <monoid M, class T>
void whole_row_kernel(std::int64_t n, const void* x, void* result) {
  *static_cast<T*>(result) = result_of_row<M, T>(reduce_row<M>(n, static_cast<const T*>(x)));
}

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
bool is_larger(T x, T best) {
  if constexpr (Floating<T>)
    return x > best || (x != x && best == best);
  else
    return x > best;
}

// The largest value is found at full speed, then its first position; both run over data that is in
// the cache.
template <class T>
void argmax_row(std::int64_t n, const void* x, void* accumulator) {
  const auto* element = static_cast<const T*>(x);
  auto& state = *static_cast<argmax_state<T>*>(accumulator);
  if (n <= 0) return;
  const T largest = reduce_row<monoid::max>(n, element);
  if (state.count == 0 || is_larger(largest, state.value)) {
    std::int64_t i = 0;
    if constexpr (Floating<T>) {
      const simd<T> wanted(largest);
      const bool wants_nan = largest != largest;
      for (; i + lanes<T> <= n; i += lanes<T>) {
        const simd<T> here = load<T>(element + i);
        if (xsimd::any(wants_nan ? is_nan<T>(here) : here == wanted)) break;
      }
    }
    while (is_larger(largest, element[i])) ++i;
    state.value = largest;
    state.index = state.count + i;
  }
  state.count += n;
}

template <class T>
void argmax_whole_row(std::int64_t n, const void* x, void* result) {
  argmax_state<T> state{};
  argmax_row<T>(n, x, &state);
  *static_cast<std::int64_t*>(result) = state.index;
}

template <class T>
void argmax_column(std::int64_t rows, std::int64_t columns, const void* x, std::int64_t row_stride,
                   void* accumulator) {
  const auto* element = static_cast<const T*>(x);
  auto* state = static_cast<argmax_state<T>*>(accumulator);
  for (std::int64_t i = 0; i < rows; ++i, element += row_stride)
    for (std::int64_t j = 0; j < columns; ++j) {
      const bool better = state[j].count == 0 || is_larger(element[j], state[j].value);
      state[j] = {better ? element[j] : state[j].value, better ? state[j].count : state[j].index,
                  state[j].count + 1};
    }
}

template <class T>
void argmax_combine(std::int64_t n, const void* other, void* accumulator) {
  const auto* behind = static_cast<const argmax_state<T>*>(other);
  auto* state = static_cast<argmax_state<T>*>(accumulator);
  for (std::int64_t j = 0; j < n; ++j) {
    if (behind[j].count == 0) continue;
    if (state[j].count == 0 || is_larger(behind[j].value, state[j].value)) {
      state[j].value = behind[j].value;
      state[j].index = state[j].count + behind[j].index;
    }
    state[j].count += behind[j].count;
  }
}

template <class T>
void argmax_identity(std::int64_t n, void* accumulator) {
  std::fill_n(static_cast<argmax_state<T>*>(accumulator), n, argmax_state<T>{});
}

template <class T>
void argmax_finish(std::int64_t n, const void* accumulator, void* result) {
  const auto* state = static_cast<const argmax_state<T>*>(accumulator);
  auto* index = static_cast<std::int64_t*>(result);
  for (std::int64_t j = 0; j < n; ++j) index[j] = state[j].index;
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
    return {&argmax_row<T>,      &argmax_whole_row<T>, &argmax_column<T>,       &argmax_combine<T>,
            &argmax_identity<T>, &argmax_finish<T>,    sizeof(argmax_state<T>), 1};
  else
    return {&row_kernel<M, T>,
            &whole_row_kernel<M, T>,
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
