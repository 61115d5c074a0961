// SPDX-License-Identifier: MIT
// Sum and squared distances from the mean of columns, from one sweep: what is summed up are
// distances from a shift near the mean and their squares (Chan, Golub and LeVeque 1983, "shifted
// data"). Both sums are plain sums, so that groups of rows combine by adding.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <sinter/exec/reduction.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// What x[i][j] - shifts[j] and its square sum up to over all rows i is added to sums[j] and
/// squares[j], in f64; row_stride counts elements, shifts have the dtype of x. Rows are combined in
/// blocks of column_block_rows.
using moments_function = void (*)(std::int64_t rows, std::int64_t columns, const void* x,
                                  std::int64_t row_stride, const void* shifts, double* sums,
                                  double* squares);
/// The shifts for data of which `count` rows sum up to sums: see shift_of.
using shift_function = void (*)(std::int64_t columns, std::int64_t count, const double* sums,
                                void* shifts);
/// The results of `count` rows: sums[j] and deviations[j] in the dtype of x, from what distances
/// sum up to.
using moments_finish_function = void (*)(std::int64_t columns, std::int64_t count,
                                         const void* shifts, const double* sums,
                                         const double* squares, void* results, void* deviations);

/// Of one dtype, f32 or f64; nullptr of others.
struct moments_kernels {
  moments_function add = nullptr;
  shift_function shift = nullptr;
  moments_finish_function finish = nullptr;
};

/// Where they work: shifts and squares of all columns.
struct moments_memory {
  const moments_kernels* kernels = nullptr;
  std::byte* shifts = nullptr;
  double* squares = nullptr;
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

/// The shift for data of which `count` elements sum up to this; 0 where the mean is no number, or
/// where distances of a block might leave the dtype though its elements do not.
inline double shift_of(std::int64_t count, double sum, dtype type) {
  const double largest = type == dtype::f32 ? static_cast<double>(std::numeric_limits<float>::max())
                                            : std::numeric_limits<double>::max();
  const double mean = sum / static_cast<double>(count);
  return std::abs(mean) <= largest / (2 * column_block_rows) ? mean : 0;
}

}  // namespace sinter::inline SINTER_ABI::exec
