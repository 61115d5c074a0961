// SPDX-License-Identifier: MIT
// The moments of column_pair.hpp for f32 and f64.
#pragma once

#include <algorithm>
#include <cstdint>

#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/each_element.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce.hpp>
#include <sinter/exec/row_blocks.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// What a block of rows sums up to, for so many columns: 8 KiB of floats beside their shifts.
template <Floating T>
struct moment_partials {
  static constexpr std::int64_t columns = 1024;
  alignas(64) T sum[static_cast<std::size_t>(columns)];
  alignas(64) T square[static_cast<std::size_t>(columns)];

  void clear(std::int64_t width) {
    const std::int64_t padded = planning::whole_units(width, lanes<T>);
    std::fill_n(sum, padded, T(0));
    std::fill_n(square, padded, T(0));
  }

  // One register of `Rows` rows into the partial sums.
  template <int Rows>
  [[gnu::always_inline]] void add(std::int64_t j, const simd<T> (&x)[std::size_t{Rows}],
                                  simd<T> shift) {
    simd<T> s = load<T>(sum + j), q = load<T>(square + j);
#pragma GCC unroll 4
    for (const simd<T>& each : x) {
      const simd<T> distance = apply<ir::op::sub>(each, shift);
      s = apply<ir::op::add>(s, distance);
      q = apply<ir::op::add>(q, apply<ir::op::mul>(distance, distance));
    }
    store<T>(sum + j, s);
    store<T>(square + j, q);
  }

  // Rows from x on, of `width` columns; what lies `ahead` elements behind is fetched, line by line,
  // unless that is 0. What stands behind the last one up to the end of its register is overwritten.
  template <int Rows>
  void add_rows(std::int64_t width, const T* x, std::int64_t row_stride, std::int64_t ahead,
                const T* shifts) {
    constexpr std::int64_t line = ir::run_mode::line / std::int64_t{sizeof(T)};
    for_each_register<Rows>(
        width, x, row_stride, T(0),
        [&](std::int64_t j, const simd<T>(&rows)[std::size_t{Rows}])
            __attribute__((always_inline)) {
              if (ahead != 0 && j % line == 0)
#pragma GCC unroll 4
                for (int r = 0; r < Rows; ++r) __builtin_prefetch(x + j + r * row_stride + ahead);
              add<Rows>(j, rows,
                        j + lanes<T> <= width ? load<T>(shifts + j)
                                              : load_part<T>(shifts + j, width - j, T(0)));
            });
  }

  void add_to(std::int64_t width, double* sums, double* squares) const {
    std::int64_t j = 0;
    for (; j + lanes<T> <= width; j += lanes<T>) {
      accumulate<monoid::sum, T>(load<T>(sum + j), sums + j);
      accumulate<monoid::sum, T>(load<T>(square + j), squares + j);
    }
    for (; j < width; ++j) {
      sums[j] += static_cast<double>(sum[j]);
      squares[j] += static_cast<double>(square[j]);
    }
  }
};

template <Floating T>
void moments_kernel(std::int64_t rows, std::int64_t columns, const void* x, std::int64_t row_stride,
                    ir::column_walk walk, const void* shifts, void* sums, double* squares) {
  constexpr std::int64_t size{sizeof(T)};
  moment_partials<T> partials;
  const auto* const from = static_cast<const T*>(x);
  const auto* const shift = static_cast<const T*>(shifts);
  walk = walk_in_blocks(walk, columns, partials.columns);
  for_each_block(rows, columns, partials.columns,
                 [&](std::int64_t first, std::int64_t width, std::int64_t block, std::int64_t end) {
                   partials.clear(width);
                   const std::int64_t ahead =
                       bytes_ahead(walk, width * size, row_stride * size) / size;
                   const auto add = [&]<int Rows>(std::int64_t row) {
                     partials.template add_rows<Rows>(width, from + row * row_stride + first,
                                                      row_stride, ahead, shift + first);
                   };
                   if (walk.in_turn)
                     for (std::int64_t row = block; row < end; ++row)
                       add.template operator()<1>(row);
                   else
                     for_each_four_rows(block, end, add);
                   partials.add_to(width, static_cast<double*>(sums) + first, squares + first);
                 });
}

inline void combine_moments(std::int64_t columns, const pair_groups& groups, void* first,
                            double* second) {
  auto* const sums = static_cast<double*>(first);
  for (std::int64_t g = 1; g < groups.count; ++g) {
    const double* const more_sums = groups.first_of<double>(first, g);
    const double* const more_second = groups.second_of(second, g);
    for_each_element(columns, [=](std::int64_t j) {
      sums[j] += more_sums[j];
      second[j] += more_second[j];
    });
  }
}

template <Floating T>
void shift_kernel(std::int64_t columns, std::int64_t count, const void* sums, void* shifts) {
  for (std::int64_t j = 0; j < columns; ++j)
    static_cast<T*>(shifts)[j] =
        static_cast<T>(shift_of(count, static_cast<const double*>(sums)[j], dtype_of<T>));
}

template <Floating T>
void moments_finish_kernel(std::int64_t columns, std::int64_t count, bool, const void* shifts,
                           const void* sums, const double* squares, void* results,
                           void* deviations) {
  for (std::int64_t j = 0; j < columns; ++j) {
    const double shift = static_cast<double>(static_cast<const T*>(shifts)[j]);
    const moments_result of =
        moments_of(count, shift, static_cast<const double*>(sums)[j], squares[j]);
    static_cast<T*>(results)[j] = static_cast<T>(of.sum);
    static_cast<T*>(deviations)[j] = static_cast<T>(of.deviations);
  }
}

}  // namespace detail

template <Element T>
constexpr pair_kernels moments_of_dtype() {
  if constexpr (Floating<T>)
    return {&detail::moments_kernel<T>, &detail::combine_moments, &detail::moments_finish_kernel<T>,
            &detail::shift_kernel<T>};
  else
    return {};
}

}  // namespace sinter::inline SINTER_ABI::exec
