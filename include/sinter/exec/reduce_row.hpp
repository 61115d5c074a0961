// SPDX-License-Identifier: MIT
// Reductions along rows (contiguous elements). The order in which elements combine depends on the
// shape and the instruction set alone. An accumulator starts as the identity and may be fed in
// pieces, in order.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/exec/combine.hpp>
#include <sinter/exec/elementwise.hpp>
#include <sinter/exec/fetch_ahead.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_integers.hpp>
#include <sinter/exec/reduce_lanes.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/widen.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// `count` registers lane by lane, more than a block; block(begin, count) combines at most
// reduce_block of them. Two runs of as many blocks become one, as a counter carries, so that the
// error of a sum grows with the logarithm of its length (pairwise summation). One loop, in a
// function of its own: the hardware's prefetcher goes by the address of a load, and with five
// copies of a block's loop (x - y)^2 summed over 16 M elements took 1.1 times as long. As halves of
// halves, calls in calls, 64 K elements in L2 of a Zen 3 took 1.15 times as long.
template <monoid M, Floating T, class Block>
[[gnu::always_inline]] inline simd<T> reduce_blocks(std::int64_t count, const Block& block) {
  simd<T> run[40];  // 2^k blocks each, where bit k of `blocks` is set
  std::uint64_t blocks = 0;
  for (std::int64_t begin = 0; begin < count; begin += reduce_block, ++blocks) {
    simd<T> all = block(begin, std::min(reduce_block, count - begin));
    const int carries = std::countr_one(blocks);
    for (int k = 0; k < carries; ++k) all = combine<M>(run[k], all);
    run[carries] = all;
  }
  simd<T> all = run[std::countr_zero(blocks)];
  for (blocks &= blocks - 1; blocks != 0; blocks &= blocks - 1)
    all = combine<M>(run[std::countr_zero(blocks)], all);
  return all;
}

// Two blocks need nothing of what a call for more saves. What more of them need are values of that
// function: asked of memory block by block they cost a register's sums each.
inline constexpr std::int64_t few_registers = 2 * reduce_block;

template <monoid M, Floating T, class Block>
[[gnu::always_inline]] inline simd<T> reduce_few_blocks(std::int64_t count, const Block& block) {
  simd<T> all(identity_of<M, T>());
  for (std::int64_t begin = 0; begin < count; begin += reduce_block)
    all = combine<M>(all, block(begin, std::min(reduce_block, count - begin)));
  return all;
}

// The four accumulators of a block: register i goes to accumulator i % 4, what is left of the last
// four to the first. A block of fewer registers needs but that one: the same bits, as the others
// stay the identity.
template <monoid M, Floating T, std::size_t Count = 4>
struct block_accumulators {
  static_assert(Count == 1 || Count == 4);
  simd<T> part[Count];

  // Unrolled: of a loop GCC makes a fill of memory, which takes 12 ns (256 squares: 28 instead of
  // 16 with it).
  [[gnu::always_inline]] block_accumulators() {
#pragma GCC unroll 4
    for (simd<T>& each : part) each = simd<T>(identity_of<M, T>());
  }
  [[gnu::always_inline]] void add(std::size_t i, simd<T> x) { part[i] = combine<M>(part[i], x); }
  [[gnu::always_inline]] simd<T> all() const {
    if constexpr (Count == 1)
      return part[0];
    else
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
    for (int u = 0; u < U; ++u) next[u] = keep<T>(load<T>(x + u * lanes<T>));
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

// visit.operator()<4>(at) for each four of `count` registers from x on, then <1> for each that is
// left. What lies `ahead` bytes further on is fetched meanwhile, if anything is. Compared with
// where the fours end, the sum of four registers has six instructions, with counters GCC makes it
// nine: rows of 300 floats take 0.95 of the time on a Zen 3, maxima of rows of 1024 in L3 0.95.
// Unrolled for the 16 turns that a block has at most, as GCC does without being told, it takes
// twice as long on f64 in L2 (Zen 5).
template <bool Fetches, Floating T, class Visit>
[[gnu::always_inline]] inline void for_each_four(std::int64_t count, const T* x, std::int64_t ahead,
                                                 Visit visit) {
  const T* const end = x + count * lanes<T>;
  const T* const fours = x + count / 4 * 4 * lanes<T>;
#pragma GCC unroll 1
  for (; x != fours; x += 4 * lanes<T>) {
    if constexpr (Fetches) fetch_ahead<4 * sizeof(simd<T>)>(x, ahead);
    visit.template operator()<4>(x);
  }
  for (; x != end; x += lanes<T>) visit.template operator()<1>(x);
}

// A block of `count` registers of which none has NaN, in the order of block_accumulators; false if
// one has.
template <monoid M, bool Fetches, Floating T>
[[gnu::always_inline]] inline bool reduce_numbers(std::int64_t count, const T* x,
                                                  std::int64_t ahead, simd<T>& all) {
  number_accumulators<M, T> found;
  for_each_four<Fetches>(
      count, x,
      ahead, [&]<int U>(const T* at) __attribute__((always_inline)) { found.template add<U>(at); });
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

// A block of `count` registers.
template <monoid M, bool Fetches, Floating T>
[[gnu::always_inline]] inline simd<T> reduce_one_block(std::int64_t count, const T* x,
                                                       std::int64_t ahead) {
  block_accumulators<M, T> sums;
  for_each_four<Fetches>(
      count, x, ahead, [&]<int U>(const T* at) __attribute__((always_inline)) {
#pragma GCC unroll 4
        for (std::size_t u = 0; u < U; ++u)
          sums.add(u, load<T>(at + static_cast<std::int64_t>(u) * lanes<T>));
      });
  return sums.all();
}

// The same as a function of its own, for what seldom comes.
template <monoid M, Floating T>
[[gnu::noinline]] simd<T> reduce_any(std::int64_t count, const T* x) {
  return reduce_one_block<M, false>(count, x, 0);
}

// A block, which may have NaN.
template <monoid M, bool Fetches, Floating T>
[[gnu::always_inline]] inline simd<T> reduce_block_of_row(std::int64_t count, const T* x,
                                                          std::int64_t ahead) {
  if constexpr (loses_nan<M>) {
    if (simd<T> all; reduce_numbers<M, Fetches>(count, x, ahead, all)) [[likely]]
      return all;
    return reduce_any<M, T>(count, x);
  } else {
    return reduce_one_block<M, Fetches>(count, x, ahead);
  }
}

// The blocks of a row. What lies `ahead` bytes further on is fetched meanwhile, if anything is.
template <monoid M, bool Fetches, Floating T>
struct blocks_of_row {
  const T* x;
  std::int64_t ahead;

  [[gnu::always_inline]] simd<T> operator()(std::int64_t begin, std::int64_t count) const {
    return reduce_block_of_row<M, Fetches>(count, x + begin * lanes<T>, ahead);
  }
};
template <monoid M, bool Fetches, Floating T>
[[gnu::noinline]] simd<T> reduce_many_registers(std::int64_t count, const T* x,
                                                std::int64_t ahead) {
  return reduce_blocks<M, T>(count, blocks_of_row<M, Fetches, T>{x, ahead});
}

// A row of floats, lane by lane.
template <monoid M, bool Fetches = false, Floating T>
[[gnu::always_inline]] inline simd<T> reduce_to_register(std::int64_t n, const T* x,
                                                         std::int64_t ahead = 0) {
  const std::int64_t whole = n / lanes<T>, rest = n % lanes<T>;
  simd<T> all = whole > few_registers
                    ? reduce_many_registers<M, Fetches>(whole, x, ahead)
                    : reduce_few_blocks<M, T>(whole, blocks_of_row<M, Fetches, T>{x, ahead});
  if (rest != 0)
    all = combine<M>(all, load_part<T>(x + whole * lanes<T>, rest, identity_of<M, T>()));
  return all;
}

template <monoid M, class T>
T reduce_row(std::int64_t n, const T* x) {
  if constexpr (Floating<T>) {
    return reduce_all<M, T>(rows_gain_from_fetching<T>(n)
                                ? reduce_to_register<M, true>(n, x, row_distance())
                                : reduce_to_register<M>(n, x));
  } else {
    return reduce_integers<M>(n, x);
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

// One row after the other.
template <whole_row_function Kernel>
void rows_one_by_one(std::int64_t rows, std::int64_t n, const void* x, std::int64_t row_step,
                     void* results, std::int64_t result_step) {
  for (std::int64_t row = 0; row < rows; ++row)
    Kernel(n, static_cast<const std::byte*>(x) + row * row_step,
           static_cast<std::byte*>(results) + row * result_step);
}

// As many rows as a register has lanes.
template <Floating T>
class rows_of_register {
 public:
  static constexpr int count = lanes<T>;
  // Rows of so many elements and more have several accumulators each.
  static constexpr std::int64_t several_accumulators = 4 * lanes<T>;

  [[gnu::always_inline]] rows_of_register(std::int64_t n, const std::byte* x, std::int64_t step)
      : n_(n), x_(x), step_(step) {}

  [[gnu::always_inline]] const T* operator[](int i) const {
    return reinterpret_cast<const T*>(x_ + i * step_);
  }

  // Each of the rows, which have one accumulator, register by register with f, into that register
  // of `to` which reduce_each wants it in. Up to zeros' signs the bits of reduce_to_register, which
  // makes three more accumulators ready, and waits for its additions row by row.
  template <class F>
  [[gnu::always_inline]] void reduce(simd<T>* to, T identity, F f) const {
    each(0, identity, [&](int i, simd<T> x) { to[i] = x; });
    for (std::int64_t j = lanes<T>; j < n_; j += lanes<T>)
      each(j, identity, [&](int i, simd<T> x) { to[i] = f(to[i], x); });
  }

  // The same of rows that have several: one accumulator of all rows after the other, in the order
  // of block_accumulators.
  template <class F>
  [[gnu::always_inline]] void reduce_by_fours(simd<T>* to, T identity, F f) const {
    simd<T> second[std::size_t{count}], third[std::size_t{count}];
    const auto add = [&](simd<T> * all, const simd<T>* other) __attribute__((always_inline)) {
#pragma GCC unroll 16
      for (int i = 0; i < count; ++i) all[i] = f(all[i], other[i]);
    };
    const std::int64_t fours = n_ / several_accumulators * several_accumulators;
    accumulate(0, fours, to, f);
    for (std::int64_t j = fours; j + lanes<T> <= n_; j += lanes<T>)
      whole(j, [&](int i, simd<T> x) { to[i] = f(to[i], x); });
    accumulate(1, fours, second, f);
    add(to, second);
    accumulate(2, fours, third, f);
    accumulate(3, fours, second, f);
    add(third, second);
    add(to, third);
    if (n_ % lanes<T> != 0)
      rest(n_ / lanes<T> * lanes<T>, identity, [&](int i, simd<T> x) { to[i] = f(to[i], x); });
  }

 private:
  // Accumulator k: every fourth register in front of element `end`.
  template <class F>
  [[gnu::always_inline]] void accumulate(int k, std::int64_t end, simd<T>* to, F f) const {
    whole(k * lanes<T>, [&](int i, simd<T> x) { to[i] = x; });
    for (std::int64_t j = (4 + k) * lanes<T>; j < end; j += several_accumulators)
      whole(j, [&](int i, simd<T> x) { to[i] = f(to[i], x); });
  }

  // f(place_of_lane, register) for the registers of all rows from element j on, whole ones or not.
  template <class F>
  [[gnu::always_inline]] void each(std::int64_t j, T identity, F f) const {
    if (j + lanes<T> <= n_)
      whole(j, f);
    else
      rest(j, identity, f);
  }
  template <class F>
  [[gnu::always_inline]] void whole(std::int64_t j, F f) const {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) f(place_of_lane<T>(i), load<T>((*this)[i] + j));
  }
  template <class F>
  [[gnu::always_inline]] void rest(std::int64_t j, T identity, F f) const {
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i)
      f(place_of_lane<T>(i), load_part<T>((*this)[i] + j, n_ - j, identity));
  }

  std::int64_t n_;
  const std::byte* x_;
  std::int64_t step_;
};

// Rows of fewer registers are reduced side by side. (A Zen 3, f32 in L1, ns per row, one after the
// other and side by side: sums of 32 elements 4.2 and 2.7, of 49 5.9 and 3.6, of 100 6.4 and 4.4,
// of 160 6.9 and 4.9, of 256 as long; maxima 5.3 and 3.3, 7.1 and 4.9, 8.1 and 6.9, of 127 as long.
// With AVX-512 on a Xeon sums of 64 to 127 take 0.75 to 0.86 of the time, maxima 1.0 to 1.2.)
template <monoid M>
inline constexpr std::int64_t most_side_by_side =
    register_count < 32 ? (loses_nan<M> ? 16 : 24) : (loses_nan<M> ? 4 : 8);
static_assert(most_side_by_side<monoid::sum> <= reduce_block, "a row is one block");

// reduce(f), where f combines two registers: as numbers, and if there was NaN among them once more,
// so that it stays.
template <monoid M, Floating T, class Reduce>
[[gnu::always_inline]] inline void reduce_looking_for_nan(Reduce reduce) {
  if constexpr (loses_nan<M>) {
    simd_mask<T> numbers = are_numbers<T>(simd<T>(T(0)), simd<T>(T(0)));
    reduce([&](simd<T> a, simd<T> b) {
      numbers = numbers & are_numbers<T>(a, b);
      return combine_numbers<M, T>(a, b);
    });
    if (xsimd::all(numbers)) [[likely]]
      return;
  }
  reduce([](simd<T> a, simd<T> b) { return combine<M>(a, b); });
}

// Such rows, of four registers and more, in a function of its own, as the one above.
template <monoid M, Floating T>
[[gnu::noinline]] void reduce_rows_by_fours(const rows_of_register<T>& rows, simd<T>* to) {
  reduce_looking_for_nan<M, T>([&](auto f) __attribute__((always_inline)) {
    rows.reduce_by_fours(to, identity_of<M, T>(), f);
  });
}

// Their lanes are combined together.
template <monoid M, Floating T>
void reduce_rows_of_register(std::int64_t n, const std::byte* x, std::int64_t row_step,
                             std::byte* results, std::int64_t result_step) {
  const rows_of_register<T> rows(n, x, row_step);
  const auto add = [](simd<T> a, simd<T> b) { return combine<M>(a, b); };
  const auto add_numbers = [](simd<T> a, simd<T> b) { return combine_numbers<M, T>(a, b); };
  simd<T> row[std::size_t{rows.count}];
  if (n >= rows.several_accumulators) {
    if (n < most_side_by_side<M> * lanes<T>)
      reduce_rows_by_fours<M>(rows, row);
    else
      for (int i = 0; i < rows.count; ++i)
        row[place_of_lane<T>(i)] = reduce_to_register<M>(n, rows[i]);
  } else {
    reduce_looking_for_nan<M, T>([&](auto f) __attribute__((always_inline)) {
      rows.reduce(row, identity_of<M, T>(), f);
    });
  }
  const auto reduced = [&] {
    if constexpr (loses_nan<M>) {
      simd_mask<T> numbers = are_numbers<T>(row[0], row[1]);
#pragma GCC unroll 16
      for (int i = 2; i < rows.count; ++i) numbers = numbers & are_numbers<T>(row[i], row[i]);
      if (xsimd::all(numbers)) return reduce_each<T>(row, add_numbers);
    }
    return reduce_each<T>(row, add);
  };
  const simd<T> all = combine<M>(simd<T>(identity_of<M, T>()), reduced());
  if (result_step == sizeof(T)) return store<T>(reinterpret_cast<T*>(results), all);
  alignas(64) T each[std::size_t{rows.count}];
  store<T>(each, all);
  for (int i = 0; i < rows.count; ++i) *reinterpret_cast<T*>(results + i * result_step) = each[i];
}

// Rows of so many elements, so many bytes apart, of which lines are fetched: as far ahead as
// streams, into the next row or the one behind it, unless that is far away. One after the other, so
// that nothing stands between their ends and beginnings: 16 rows of 1024 floats, whose lanes are
// combined together, take 1.03 times as long (L3 of a Zen 4).
template <monoid M, Floating T>
void fetched_rows(std::int64_t rows, std::int64_t n, const void* x, std::int64_t row_step,
                  void* results, std::int64_t result_step) {
  const auto* from = static_cast<const std::byte*>(x);
  auto* to = static_cast<std::byte*>(results);
  const auto bytes = n * static_cast<std::int64_t>(sizeof(T));
  std::int64_t ahead = row_distance();
  if (bytes < 2 * ahead) ahead = row_step * std::max<std::int64_t>(1, (ahead + bytes / 2) / bytes);
  const auto each = [&](auto reduce) __attribute__((always_inline)) {
    for (std::int64_t row = 0; row < rows; ++row, from += row_step, to += result_step)
      *reinterpret_cast<T*>(to) =
          result_of_row<M, T>(reduce_all<M, T>(reduce(reinterpret_cast<const T*>(from))));
  };
  const std::int64_t registers = n / lanes<T>;
  if (registers <= reduce_block && n % lanes<T> == 0)
    each([&](const T* row) __attribute__((always_inline)) {
      return reduce_block_of_row<M, true>(registers, row, ahead);
    });
  else
    each([&](const T* row)
             __attribute__((always_inline)) { return reduce_to_register<M, true>(n, row, ahead); });
}

// Rows by Several for as many as a register has lanes, the others by One.
template <int Lanes, auto Several, whole_row_function One>
void rows_by_registers(std::int64_t rows, std::int64_t n, const void* x, std::int64_t row_step,
                       void* results, std::int64_t result_step) {
  const auto* from = static_cast<const std::byte*>(x);
  auto* to = static_cast<std::byte*>(results);
  for (; rows >= Lanes; rows -= Lanes, from += Lanes * row_step, to += Lanes * result_step)
    Several(n, from, row_step, to, result_step);
  rows_one_by_one<One>(rows, n, from, row_step, to, result_step);
}

template <monoid M, Floating T>
void whole_rows_of_floats(std::int64_t rows, std::int64_t n, const void* x, std::int64_t row_step,
                          void* results, std::int64_t result_step) {
  const std::int64_t together = rows_fetch_near_lines() ? rows : lanes<T>;
  const bool fetches = n >= std::max<std::int64_t>(8, most_side_by_side<M>) * lanes<T> &&
                       rows_gain_from_fetching<T>(together * n);
  const whole_rows_function run =
      fetches
          ? &fetched_rows<M, T>
          : &rows_by_registers<lanes<T>, &reduce_rows_of_register<M, T>, &whole_row_kernel<M, T>>;
  run(rows, n, x, row_step, results, result_step);
}

// Of short rows most of the time is the combining of lanes, and the wait for it.
template <monoid M, class T>
constexpr whole_rows_function whole_rows_kernel() {
  if constexpr (Floating<T>)
    return &whole_rows_of_floats<M, T>;
  else
    return &rows_one_by_one<&whole_row_kernel<M, T>>;
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI::exec
