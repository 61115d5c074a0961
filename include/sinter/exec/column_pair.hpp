// SPDX-License-Identifier: MIT
// Two values of columns from one sweep. Moments: the sum, and the squared distances from the mean,
// which come from sums of distances from a shift near the mean and of their squares (Chan, Golub
// and LeVeque 1983, "shifted data"). Exponentials: the largest element, and the sum of e^(x -
// largest), which is scaled down when a block of rows has a larger one (Milakov and Gimelshein
// 2018). Both combine from groups of rows.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <sinter/exec/reduction.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// Rows of x into the accumulators of columns: `first` are those of the reduction, `second` what is
/// found beside it. row_stride counts elements; shifts, of moments, have the dtype of x;
/// exponentials have a walk of their own. Rows are combined in blocks of column_block_rows.
using pair_function = void (*)(std::int64_t rows, std::int64_t columns, const void* x,
                               std::int64_t row_stride, ir::column_walk walk, const void* shifts,
                               void* first, double* second);
/// Where groups of rows have their accumulators: so far apart.
struct pair_groups {
  std::int64_t count = 1;
  std::size_t first_bytes = 0, second_count = 0;

  template <class T>
  T* first_of(void* first, std::int64_t group) const {
    return reinterpret_cast<T*>(static_cast<std::byte*>(first) +
                                static_cast<std::size_t>(group) * first_bytes);
  }
  double* second_of(double* second, std::int64_t group) const {
    return second + static_cast<std::size_t>(group) * second_count;
  }
};
/// The accumulators of all groups of rows into those of the first one.
using pair_combine_function = void (*)(std::int64_t columns, const pair_groups& groups, void* first,
                                       double* second);
/// The shifts for data of which `count` rows sum up to `first`: see shift_of.
using shift_function = void (*)(std::int64_t columns, std::int64_t count, const void* first,
                                void* shifts);
/// The results of `count` rows in the dtype of x, of both; `guarded` as a step of exponentials has
/// it.
using pair_finish_function = void (*)(std::int64_t columns, std::int64_t count, bool guarded,
                                      const void* shifts, const void* first, const double* second,
                                      void* results, void* second_results);

/// Of one dtype, f32 or f64; nullptr of others.
struct pair_kernels {
  pair_function add = nullptr;
  pair_combine_function combine = nullptr;
  pair_finish_function finish = nullptr;
  shift_function shift = nullptr;  // there are none: exponentials
};

/// Where they work: shifts and second values of all columns.
struct pair_memory {
  const pair_kernels* kernels = nullptr;
  std::byte* shifts = nullptr;
  double* second = nullptr;
};

struct moments_result {
  double sum = 0, deviations = 0;
};

/// Of one column. Never inlined, so that compilers contract its products everywhere alike.
[[gnu::noinline]] inline moments_result moments_of(std::int64_t count, double shift, double sum,
                                                   double squares) {
  if (count == 0) return {};
  const auto n = static_cast<double>(count);
  const double deviations = squares - sum * (sum / n);
  // Rounding may leave less than nothing of equal elements.
  return {shift * n + sum, deviations < 0 ? 0 : deviations};
}

/// What `more` elements come to with those before them, after Chan, Golub and LeVeque (1979),
/// "Updating formulae and a pairwise algorithm for computing sample variances". Never inlined, as
/// above.
[[gnu::noinline]] inline void merge_moments(const moments_state& more, moments_state& all) {
  if (all.count == 0) {
    all = more;
    return;
  }
  if (more.count == 0) return;
  const double count = all.count + more.count, moved = more.origin - all.origin;
  const double apart = moved + more.sum / more.count - all.sum / all.count;
  all.deviations += more.deviations + apart * apart * (all.count * more.count / count);
  all.sum += more.sum + moved * more.count;
  all.count = count;
}

/// From a larger shift, `summed` distances might leave the dtype though their elements do not.
constexpr double largest_shift(dtype type, std::int64_t summed) {
  const double largest = type == dtype::f32 ? static_cast<double>(std::numeric_limits<float>::max())
                                            : std::numeric_limits<double>::max();
  return largest / (2 * static_cast<double>(summed));
}

/// The shift for columns of which `count` elements sum up to this: their mean, or 0 where that is
/// no number or too large.
inline double shift_of(std::int64_t count, double sum, dtype type) {
  const double mean = sum / static_cast<double>(count);
  return std::abs(mean) <= largest_shift(type, column_block_rows) ? mean : 0;
}

/// Of a block of a row, 64 registers, the shift is the mean of so many. The squared distances from
/// the mean of a k-th of some elements are at most k times those from the mean of all: four bits
/// are lost at worst.
inline constexpr std::int64_t moments_sample = 4;
/// The elements of a block of the widest registers: 64 times 16.
inline constexpr std::int64_t moments_block = 1024;

/// What of `deviations` holds, computed from distances that sum up to `sum`, and their squares to
/// `squares`. Rounding may leave less than nothing of equal elements, and what is taken off squares
/// that overflow may overflow as well, where it is rounded before.
template <class T>
T checked_deviations(T deviations, T sum, T squares) {
  if (std::isinf(squares) && std::isfinite(sum)) return squares;
  return deviations < 0 ? T(0) : deviations;
}

/// Exponentials are taken from the largest element so far, or from 0 where that is infinite.
inline double exponentials_from(double largest) { return std::isinf(largest) ? 0 : largest; }

/// Rows of one call come in spans of so many: the largest element is found first, then the sum of
/// exponentials from it, of four rows at a time. In spans of 32 both take 0.05 to 0.1 ns more per
/// register (Zen 4).
inline constexpr std::int64_t exponentials_span_rows = 64;

/// The sum of exponentials of a column: where the largest is infinite, and 0 does not stand for it,
/// the difference of two infinities.
inline double exponentials_result(std::int64_t count, bool guarded, double largest, double sum) {
  if (count != 0 && !guarded && std::isinf(largest))
    return std::numeric_limits<double>::quiet_NaN();
  return sum;
}

}  // namespace sinter::inline SINTER_ABI::exec
