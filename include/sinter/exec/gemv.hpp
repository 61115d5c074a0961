// SPDX-License-Identifier: MIT
// Matrix times vector. Both forms read the matrix once and are bound by that; Eigen's block-panel
// kernel would pack it first. The order of summation depends on the shape and the instruction set
// alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_lanes.hpp>
#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// The dot products of R rows with x, side by side so that x is loaded once. Two accumulators per
// row hide the latency of the multiply-add.
template <int R, Floating T>
void dot_rows(std::int64_t k, const T* matrix, std::int64_t stride, const T* x, T* sums) {
  simd<T> even[std::size_t{R}];
  simd<T> odd[std::size_t{R}];
  for (int r = 0; r < R; ++r) even[r] = odd[r] = simd<T>(T(0));
  std::int64_t p = 0;
  for (; p + 2 * lanes<T> <= k; p += 2 * lanes<T>) {
    const simd<T> x0 = load<T>(x + p);
    const simd<T> x1 = load<T>(x + p + lanes<T>);
    for (int r = 0; r < R; ++r) {
      even[r] = fma<T>(load<T>(matrix + r * stride + p), x0, even[r]);
      odd[r] = fma<T>(load<T>(matrix + r * stride + p + lanes<T>), x1, odd[r]);
    }
  }
  // The rest, one register at a time, the last one padded with zeros.
  for (; p < k; p += lanes<T>) {
    const simd<T> here = load_part<T>(x + p, k - p, T(0));
    for (int r = 0; r < R; ++r)
      even[r] = fma<T>(load_part<T>(matrix + r * stride + p, k - p, T(0)), here, even[r]);
  }
  for (int r = 0; r < R; ++r)
    sums[r] = reduce_lanes<T>(even[r] + odd[r], [](simd<T> a, simd<T> b) { return a + b; });
}

// y += x[0] row 0 + x[1] row 1 + ... for R rows, in this order.
template <int R, Floating T>
void add_rows(std::int64_t columns, const T* matrix, std::int64_t stride, const T* x, T* y) {
  simd<T> factor[std::size_t{R}];
  for (int r = 0; r < R; ++r) factor[r] = simd<T>(x[r]);
  std::int64_t j = 0;
  for (; j + lanes<T> <= columns; j += lanes<T>) {
    simd<T> sum = load<T>(y + j);
    for (int r = 0; r < R; ++r) sum = fma<T>(load<T>(matrix + r * stride + j), factor[r], sum);
    store<T>(y + j, sum);
  }
  if (const std::int64_t rest = columns - j; rest > 0) {
    simd<T> sum = load_part<T>(y + j, rest, T(0));
    for (int r = 0; r < R; ++r)
      sum = fma<T>(load_part<T>(matrix + r * stride + j, rest, T(0)), factor[r], sum);
    store_part<T>(y + j, rest, sum);
  }
}

}  // namespace detail

/// y[i * y_stride] = or += sum over p of matrix[i][p] x[p], for `rows` rows of k elements.
template <Floating T>
void row_vector_product(std::int64_t rows, std::int64_t k, const T* matrix, std::int64_t stride,
                        const T* x, T* y, std::int64_t y_stride, bool accumulate) {
  T sums[4];
  std::int64_t i = 0;
  const auto write = [&](int count) {
    for (int r = 0; r < count; ++r) {
      T& target = y[(i + r) * y_stride];
      target = accumulate ? target + sums[r] : sums[r];
    }
  };
  for (; i + 4 <= rows; i += 4) {
    detail::dot_rows<4, T>(k, matrix + i * stride, stride, x, sums);
    write(4);
  }
  for (; i < rows; ++i) {
    detail::dot_rows<1, T>(k, matrix + i * stride, stride, x, sums);
    write(1);
  }
}

/// y[j] += sum over p of x[p] matrix[p][j], for k rows of `columns` elements. Four rows at a time:
/// so many streams the hardware follows, and y, of which as much as stays in L1 is worked on, is
/// read and written a fourth of the times. (Of [1024,1024] 46 µs, of [4096,4096] 2.3 ms on a Zen 4;
/// by strips of four registers down 32 rows, two of which were asked for ahead, 69 µs and 5.6 ms.)
template <Floating T>
void column_vector_product(std::int64_t columns, std::int64_t k, const T* matrix,
                           std::int64_t stride, const T* x, T* y) {
  constexpr std::int64_t block = 16384 / sizeof(T);
  for (std::int64_t j = 0; j < columns; j += block) {
    const std::int64_t count = std::min(block, columns - j);
    std::int64_t p = 0;
    for (; p + 4 <= k; p += 4)
      detail::add_rows<4, T>(count, matrix + p * stride + j, stride, x + p, y + j);
    for (; p < k; ++p) detail::add_rows<1, T>(count, matrix + p * stride + j, stride, x + p, y + j);
  }
}

}  // namespace sinter::inline SINTER_ABI::exec
