// SPDX-License-Identifier: MIT
// The exponentials of column_pair.hpp for f32 and f64.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/exponential.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce.hpp>
#include <sinter/exec/row_blocks.hpp>
#include <sinter/exec/widen.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// exponentials_from of a register.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exponents_from(simd<T> largest) {
  const simd<T> infinity(std::numeric_limits<T>::infinity());
  return select<T>(xsimd::abs(largest) == infinity, simd<T>(T(0)), largest);
}

// By what the sums of a register of columns, whose largest elements were `before`, are multiplied
// to be taken from those that are largest now: see change_of_exponent.
template <Floating T>
[[gnu::always_inline]] inline wide_registers<T> rescaling(simd<T> before, simd<T> largest) {
  const simd<T> nothing(-std::numeric_limits<T>::infinity()), to = exponents_from<T>(largest);
  const simd_mask<T> stays = (before == largest) | (before == nothing);
  const wide_registers<T> from = widen(select<T>(stays, to, exponents_from<T>(before))),
                          until = widen(to);
  wide_registers<T> out;
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = exp<double>(from[k] - until[k]);
  return out;
}

// What a block of rows comes to, for so many columns, and their accumulators: 28 KiB of floats.
// Padded to whole registers with columns of -infinity.
template <Floating T>
struct exponential_partials {
  static constexpr std::int64_t columns = 1024;
  static constexpr T nothing = -std::numeric_limits<T>::infinity();
  alignas(64) T before[static_cast<std::size_t>(columns)];
  alignas(64) T largest[static_cast<std::size_t>(columns)];
  alignas(64) T shift[static_cast<std::size_t>(columns)];
  alignas(64) T part[static_cast<std::size_t>(columns)];
  alignas(64) double sum[static_cast<std::size_t>(columns)];

  void begin(std::int64_t width, const T* first, const double* second) {
    const std::int64_t padded = planning::whole_units(width, lanes<T>);
    std::copy_n(first, width, before);
    std::fill(before + width, before + padded, nothing);
    std::copy_n(before, padded, largest);
    std::copy_n(second, width, sum);
    std::fill(sum + width, sum + padded, 0.0);
    std::fill_n(part, padded, T(0));
  }

  // Without NaN: see `end`.
  template <int Rows>
  void find_largest(std::int64_t width, const T* x, std::int64_t row_stride) {
    for_each_register<Rows>(width, x, row_stride, nothing,
                            [&](std::int64_t j, const simd<T>(&rows)[Rows]) {
                              simd<T> all = load<T>(largest + j);
                              for (const simd<T>& each : rows) all = max_or_second<T>(each, all);
                              store<T>(largest + j, all);
                            });
  }

  void rescale(std::int64_t width) {
    for (std::int64_t j = 0; j < width; j += lanes<T>) {
      const simd<T> was = load<T>(before + j), now = load<T>(largest + j);
      store<T>(shift + j, exponents_from<T>(now));
      if (xsimd::all((was == now) | (was == simd<T>(nothing)))) continue;
      double* to = sum + j;
      for (const simd<double>& factor : rescaling<T>(was, now)) {
        store<double>(to, mul<double>(load<double>(to), factor));
        to += lanes<double>;
      }
    }
  }

  // The rows of the next block come into L2 meanwhile: this is arithmetic, and its first sweep
  // would wait for them.
  template <int Rows>
  void add_rows(std::int64_t width, const T* x, std::int64_t row_stride) {
    constexpr int read = 0, into_second_level = 2;
    const T* const next = x + column_block_rows * row_stride;
    for_each_register<Rows>(
        width, x, row_stride, nothing, [&](std::int64_t j, const simd<T>(&rows)[Rows]) {
          const simd<T> from = load<T>(shift + j);
          simd<T> all = load<T>(part + j);
          for (int r = 0; r < Rows; ++r) {
            __builtin_prefetch(next + r * row_stride + j, read, into_second_level);
            all = all + exp<T>(rows[r] - from);
          }
          store<T>(part + j, all);
        });
  }

  // A column with NaN has a sum that is NaN, and no other has.
  void end(std::int64_t width, T* first, double* second) const {
    for (std::int64_t j = 0; j < width; ++j) {
      first[j] = part[j] == part[j] ? largest[j] : part[j];
      second[j] = sum[j] + static_cast<double>(part[j]);
    }
  }
};

// A block of rows is walked twice, the second time in L2: as the columns of [1024,1024] are in all,
// from L3, they took 0.46 ms in two sweeps and take 0.34 (a Xeon).
template <Floating T>
void exponentials_kernel(std::int64_t rows, std::int64_t columns, const void* x,
                         std::int64_t row_stride, const void*, void* largest, double* sums) {
  exponential_partials<T> partials;
  for_each_block(rows, columns, partials.columns,
                 [&](std::int64_t first, std::int64_t width, std::int64_t block, std::int64_t end) {
                   T* const own_largest = static_cast<T*>(largest) + first;
                   const T* const from = static_cast<const T*>(x) + first;
                   partials.begin(width, own_largest, sums + first);
                   for_each_four_rows(block, end, [&]<int Rows>(std::int64_t row) {
                     partials.template find_largest<Rows>(width, from + row * row_stride,
                                                          row_stride);
                   });
                   partials.rescale(width);
                   for_each_four_rows(block, end, [&]<int Rows>(std::int64_t row) {
                     partials.template add_rows<Rows>(width, from + row * row_stride, row_stride);
                   });
                   partials.end(width, own_largest, sums + first);
                 });
}

template <Floating T>
void combine_exponentials(std::int64_t columns, const void* from_largest, const double* from_sums,
                          void* largest, double* sums) {
  auto* const to = static_cast<T*>(largest);
  const auto* const from = static_cast<const T*>(from_largest);
  for (std::int64_t j = 0; j < columns; j += lanes<T>) {
    const simd<T> before = load_part<T>(to + j, columns - j, T(0)),
                  other = load_part<T>(from + j, columns - j, T(0));
    const simd<T> after = combine<monoid::max>(before, other);
    store_part<T>(to + j, columns - j, after);
    const wide_registers<T> own = rescaling<T>(before, after), others = rescaling<T>(other, after);
    std::int64_t i = j;
    for (std::size_t k = 0; k < own.size() && i < columns; ++k, i += lanes<double>)
      store_part<double>(
          sums + i, columns - i,
          mul<double>(load_part<double>(sums + i, columns - i, 0), own[k]) +
              mul<double>(load_part<double>(from_sums + i, columns - i, 0), others[k]));
  }
}

template <Floating T>
void exponentials_finish_kernel(std::int64_t columns, std::int64_t count, bool guarded, const void*,
                                const void* largest, const double* sums, void* results,
                                void* second_results) {
  for (std::int64_t j = 0; j < columns; ++j) {
    const T first = static_cast<const T*>(largest)[j];
    static_cast<T*>(results)[j] = first;
    static_cast<T*>(second_results)[j] =
        static_cast<T>(exponentials_result(count, guarded, static_cast<double>(first), sums[j]));
  }
}

}  // namespace detail

template <Element T>
constexpr pair_kernels exponentials_of_dtype() {
  if constexpr (Floating<T>)
    return {&detail::exponentials_kernel<T>, &detail::combine_exponentials<T>,
            &detail::exponentials_finish_kernel<T>};
  else
    return {};
}

}  // namespace sinter::inline SINTER_ABI::exec
