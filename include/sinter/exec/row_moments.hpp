// SPDX-License-Identifier: MIT
// Squared distances from the mean of a row, and the sum that the mean is made of, from one sweep:
// sums of distances from a shift near the mean and of their squares (Chan, Golub and LeVeque 1983;
// see column_pair.hpp). In two sweeps, the second of which waits for the first's last addition,
// layer norm of rows of 768 in L2 takes 150 ns per row of an EPYC (Zen 4), in one 130.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_row.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Into row i of the results.
template <Floating T>
[[gnu::always_inline]] inline void write_moments(const moments_state& all, std::int64_t i,
                                                 const pair_results& to) {
  const auto write = [i](void* first, std::int64_t step, double value) {
    *reinterpret_cast<T*>(static_cast<std::byte*>(first) + i * step) = static_cast<T>(value);
  };
  write(to.deviations, to.deviations_step, all.deviations);
  write(to.sums, to.sums_step, all.whole_sum());
}

// Squared distances from the mean of n elements whose distances from a shift, and the squares of
// these, sum up so, lane by lane and unchecked; `share` is 1/n, which does not have to wait.
template <Floating T>
[[gnu::always_inline]] inline simd<T> deviations_about(T share, simd<T> sum, simd<T> squares) {
  return fma<T>(mul<T>(sum, -share), sum, squares);
}

template <Floating T>
[[gnu::always_inline]] inline moments_state moments_about(std::int64_t n, T shift, T deviations,
                                                          T sum, T squares) {
  return {static_cast<double>(n), static_cast<double>(shift), static_cast<double>(sum),
          static_cast<double>(checked_deviations(deviations, sum, squares))};
}

// What the shift of n elements, at most a block, is computed from: the first ones of many, or all.
template <Floating T>
inline constexpr std::int64_t most_sampled = moments_sample * lanes<T>;
template <Floating T>
[[gnu::always_inline]] inline simd<T> sampled_sum(std::int64_t n, const T* x) {
  if (n < most_sampled<T>) return reduce_to_register<monoid::sum>(n, x);
  block_accumulators<monoid::sum, T> sums;
#pragma GCC unroll 4
  for (std::size_t u = 0; u < moments_sample; ++u)
    sums.add(u, load<T>(x + static_cast<std::int64_t>(u) * lanes<T>));
  return sums.all();
}

// The mean of these, or 0: see largest_shift.
template <Floating T>
[[gnu::always_inline]] inline simd<T> shift_of_sample(std::int64_t n, simd<T> sum) {
  const simd<T> mean = n < most_sampled<T> ? sum / simd<T>(static_cast<T>(n))
                                           : mul<T>(sum, T(1) / static_cast<T>(most_sampled<T>));
  const simd<T> largest(static_cast<T>(largest_shift(dtype_of<T>, moments_block)));
  return select<T>(xsimd::abs(mean) <= largest, mean, simd<T>(T(0)));
}

// Moments of at least one element and at most a block. Sums are added up as reduce_row adds up a
// block; a square is not rounded before it is added, where the hardware can.
template <Floating T, std::size_t Accumulators = 4>
class moments_block {
 public:
  [[gnu::always_inline]] moments_block(std::int64_t n, const T* x, simd<T> shift)
      : n_(n), x_(x), from_(shift), share_(T(1) / static_cast<T>(n)) {}
  [[gnu::always_inline]] moments_block(std::int64_t n, const T* x)
      : moments_block(
            n, x,
            shift_of_sample<T>(n, simd<T>(reduce_all<monoid::sum, T>(sampled_sum<T>(n, x))))) {}

  // U registers from element i on: four at once, then those that are left one by one.
  template <int U>
  [[gnu::always_inline]] void add(std::int64_t i) {
#pragma GCC unroll 4
    for (std::size_t u = 0; u < U; ++u)
      add(u, load<T>(x_ + i + static_cast<std::int64_t>(u) * lanes<T>));
  }
  [[gnu::always_inline]] void add_whole_registers() {
    std::int64_t i = 0;
    if constexpr (Accumulators == 4)
      for (; i + 4 * lanes<T> <= n_; i += 4 * lanes<T>) add<4>(i);
    for (; i + lanes<T> <= n_; i += lanes<T>) add<1>(i);
  }

  // With the elements behind the last whole register.
  [[gnu::always_inline]] void all(simd<T>& sum, simd<T>& squares) const {
    const std::int64_t rest = n_ % lanes<T>;
    sum = sums_.all(), squares = squares_.all();
    if (rest != 0) {
      const simd<T> distance = load_part<T>(x_ + n_ - rest, rest, from_.get(0)) - from_;
      sum = sum + distance;
      squares = fma<T>(distance, distance, squares);
    }
  }
  [[gnu::always_inline]] moments_state all() const {
    simd<T> sums, squares;
    all(sums, squares);
    const T sum = reduce_all<monoid::sum, T>(sums), square = reduce_all<monoid::sum, T>(squares);
    const T deviations = deviations_about<T>(share_, simd<T>(sum), simd<T>(square)).get(0);
    return moments_about<T>(n_, from_.get(0), deviations, sum, square);
  }

 private:
  // Every other difference goes through the units of multiplications, which have less to do: the
  // same bits. (Layer norm over 768 in L2: 129 instead of 131 ns per row, EPYC, Zen 4.)
  [[gnu::always_inline]] void add(std::size_t to, simd<T> each) {
    const bool multiplies = has_fused_multiply_add && to % 2 == 1;
    const simd<T> distance = multiplies ? fma<T>(each, simd<T>(1), -from_) : each - from_;
    sums_.add(to, distance);
    squares_.part[to] = fma<T>(distance, distance, squares_.part[to]);
  }

  std::int64_t n_;
  const T* x_;
  simd<T> from_;
  T share_;
  block_accumulators<monoid::sum, T, Accumulators> sums_, squares_;
};

template <Floating T>
moments_state block_moments(std::int64_t n, const T* x) {
  moments_block<T> block(n, x);
  block.add_whole_registers();
  return block.all();
}

// Blocks of as many rows as a register has lanes, which are combined together: what waits for them
// is most of the time of short rows. The same bits.
template <Floating T>
void moments_of_register(std::int64_t n, const std::byte* x, std::int64_t row_step,
                         const pair_results& results) {
  const rows_of_register<T> rows(n, x, row_step);
  constexpr auto count = std::size_t{rows.count};
  const auto add = [](simd<T> a, simd<T> b) { return combine<monoid::sum>(a, b); };
  const auto together = [&](const simd<T>* row) __attribute__((always_inline)) {
    return reduce_each<T>(row, add);
  };
  simd<T> sum[count], squares[count];
  const bool are_short = n < rows.several_accumulators;
  if (are_short)
    rows.reduce(sum, T(0), add);
  else
    for (int i = 0; i < rows.count; ++i) sum[place_of_lane<T>(i)] = sampled_sum<T>(n, rows[i]);
  alignas(64) T shift[count], each_sum[count], each_squares[count], deviations[count];
  store<T>(shift, shift_of_sample<T>(n, together(sum)));
  const auto add_up = [&](int i, auto block) __attribute__((always_inline)) {
    const auto place = static_cast<std::size_t>(place_of_lane<T>(i));
    block.add_whole_registers();
    block.all(sum[place], squares[place]);
  };
  for (int i = 0; i < rows.count; ++i) {
    const simd<T> from(shift[i]);
    if (are_short)
      add_up(i, moments_block<T, 1>(n, rows[i], from));
    else
      add_up(i, moments_block<T>(n, rows[i], from));
  }
  const simd<T> all_sums = together(sum), all_squares = together(squares);
  store<T>(each_sum, all_sums);
  store<T>(each_squares, all_squares);
  store<T>(deviations, deviations_about<T>(T(1) / static_cast<T>(n), all_sums, all_squares));
  for (int i = 0; i < rows.count; ++i) {
    const moments_state state =
        moments_about<T>(n, shift[i], deviations[i], each_sum[i], each_squares[i]);
    write_moments<T>(state, i, results);
  }
}

template <Floating T>
void moments_row(std::int64_t n, const void* x, void* accumulator) {
  constexpr std::int64_t block = reduce_block * lanes<T>;
  for (std::int64_t i = 0; i < n; i += block) {
    merge_moments(block_moments(std::min(block, n - i), static_cast<const T*>(x) + i),
                  *static_cast<moments_state*>(accumulator));
  }
}

// Most rows are one block, whose values are the result.
template <Floating T>
void moments_whole_rows_pair(std::int64_t rows, std::int64_t n, const void* x,
                             std::int64_t row_step, const pair_results& results) {
  const auto* from = static_cast<const std::byte*>(x);
  const bool are_blocks = n > 0 && n <= reduce_block * lanes<T>;
  std::int64_t row = 0;
  for (; are_blocks && row + lanes<T> <= rows; row += lanes<T>)
    moments_of_register<T>(n, from + row * row_step, row_step, results.from_row(row));
  for (; row < rows; ++row) {
    const std::byte* const here = from + row * row_step;
    moments_state all;
    if (are_blocks)
      all = block_moments(n, reinterpret_cast<const T*>(here));
    else
      moments_row<T>(n, here, &all);
    write_moments<T>(all, row, results);
  }
}

// Deviations alone.
template <Floating T>
void moments_whole_rows(std::int64_t rows, std::int64_t n, const void* x, std::int64_t row_step,
                        void* deviations, std::int64_t step) {
  T sum;
  moments_whole_rows_pair<T>(rows, n, x, row_step, {deviations, step, &sum, 0});
}
template <Floating T>
void moments_whole_row(std::int64_t n, const void* x, void* deviations) {
  moments_whole_rows<T>(1, n, x, 0, deviations, 0);
}

inline void moments_combine(std::int64_t n, const void* other, void* accumulator) {
  for (std::int64_t j = 0; j < n; ++j)
    merge_moments(static_cast<const moments_state*>(other)[j],
                  static_cast<moments_state*>(accumulator)[j]);
}

inline void moments_identity(std::int64_t n, void* accumulator) {
  std::fill_n(static_cast<moments_state*>(accumulator), n, moments_state{});
}

template <Floating T>
void moments_finish(std::int64_t n, const void* accumulator, void* deviations) {
  const auto* const state = static_cast<const moments_state*>(accumulator);
  for (std::int64_t j = 0; j < n; ++j)
    static_cast<T*>(deviations)[j] = static_cast<T>(state[j].deviations);
}
template <Floating T>
void moments_finish_sum(std::int64_t n, const void* accumulator, void* sums) {
  const auto* const state = static_cast<const moments_state*>(accumulator);
  for (std::int64_t j = 0; j < n; ++j)
    static_cast<T*>(sums)[j] = static_cast<T>(state[j].whole_sum());
}

}  // namespace detail

/// The kernels of deviations; none down columns, for which there are those of column_pair.hpp.
template <Floating T>
constexpr reduction_kernels deviations_of() {
  return {&detail::moments_row<T>,
          &detail::moments_whole_row<T>,
          &detail::moments_whole_rows<T>,
          nullptr,
          nullptr,
          &detail::moments_combine,
          &detail::moments_identity,
          &detail::moments_finish<T>,
          sizeof(moments_state),
          lanes<T>,
          nullptr,
          &detail::moments_finish_sum<T>,
          &detail::moments_whole_rows_pair<T>,
          has_fused_multiply_add};
}

}  // namespace sinter::inline SINTER_ABI::exec
