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

// Of n elements whose distances from a shift, and the squares of these, sum up so; `share` is 1/n,
// which does not have to wait.
template <Floating T>
[[gnu::always_inline]] inline moments_state moments_about(std::int64_t n, T shift, T share, T sum,
                                                          T squares) {
  const simd<T> distances(sum);
  const T deviations = fma<T>(mul<T>(distances, -share), distances, simd<T>(squares)).get(0);
  return {static_cast<double>(n), static_cast<double>(shift), static_cast<double>(sum),
          static_cast<double>(checked_deviations(deviations, sum, squares))};
}

// The mean of the first elements of a block, or 0: see largest_shift.
template <Floating T>
[[gnu::always_inline]] inline T shift_of_block(std::int64_t n, const T* x) {
  constexpr std::int64_t sample = moments_sample * lanes<T>;
  T mean;
  if (n >= sample) {
    block_accumulators<monoid::sum, T> sums;
#pragma GCC unroll 4
    for (std::size_t u = 0; u < moments_sample; ++u)
      sums.add(u, load<T>(x + static_cast<std::int64_t>(u) * lanes<T>));
    mean = reduce_all<monoid::sum, T>(sums.all()) * (T(1) / T(sample));
  } else {
    mean = reduce_row<monoid::sum>(n, x) / static_cast<T>(n);
  }
  constexpr auto largest = static_cast<T>(largest_shift(dtype_of<T>, moments_block));
  return std::abs(mean) <= largest ? mean : T(0);
}

// Moments of at least one element and at most a block. Sums are added up as reduce_row adds up a
// block; a square is not rounded before it is added, where the hardware can.
template <Floating T>
class moments_block {
 public:
  [[gnu::always_inline]] moments_block(std::int64_t n, const T* x)
      : n_(n),
        x_(x),
        shift_(shift_of_block(n, x)),
        share_(T(1) / static_cast<T>(n)),
        from_(shift_) {}

  // U registers from element i on: four at once, then those that are left one by one.
  template <int U>
  [[gnu::always_inline]] void add(std::int64_t i) {
#pragma GCC unroll 4
    for (std::size_t u = 0; u < U; ++u)
      add(u, load<T>(x_ + i + static_cast<std::int64_t>(u) * lanes<T>));
  }

  // With the elements behind the last whole register.
  [[gnu::always_inline]] moments_state all() const {
    const std::int64_t rest = n_ % lanes<T>;
    simd<T> sum = sums_.all(), square = squares_.all();
    if (rest != 0) {
      const simd<T> distance = load_part<T>(x_ + n_ - rest, rest, shift_) - from_;
      sum = sum + distance;
      square = fma<T>(distance, distance, square);
    }
    return moments_about<T>(n_, shift_, share_, reduce_all<monoid::sum, T>(sum),
                            reduce_all<monoid::sum, T>(square));
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
  T shift_, share_;
  simd<T> from_;
  block_accumulators<monoid::sum, T> sums_, squares_;
};

template <Floating T>
moments_state block_moments(std::int64_t n, const T* x) {
  moments_block<T> block(n, x);
  std::int64_t i = 0;
  for (; i + 4 * lanes<T> <= n; i += 4 * lanes<T>) block.template add<4>(i);
  for (; i + lanes<T> <= n; i += lanes<T>) block.template add<1>(i);
  return block.all();
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
void moments_whole_row_pair(std::int64_t n, const void* x, void* deviations, void* sum) {
  moments_state all;
  if (n > 0 && n <= reduce_block * lanes<T>)
    all = block_moments(n, static_cast<const T*>(x));
  else
    moments_row<T>(n, x, &all);
  *static_cast<T*>(deviations) = static_cast<T>(all.deviations);
  *static_cast<T*>(sum) = static_cast<T>(all.whole_sum());
}

template <Floating T>
void moments_whole_row(std::int64_t n, const void* x, void* deviations) {
  T sum;
  moments_whole_row_pair<T>(n, x, deviations, &sum);
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
          &detail::rows_one_by_one<&detail::moments_whole_row<T>>,
          nullptr,
          &detail::moments_combine,
          &detail::moments_identity,
          &detail::moments_finish<T>,
          sizeof(moments_state),
          lanes<T>,
          &detail::moments_finish_sum<T>,
          &detail::moments_whole_row_pair<T>,
          has_fused_multiply_add};
}

}  // namespace sinter::inline SINTER_ABI::exec
