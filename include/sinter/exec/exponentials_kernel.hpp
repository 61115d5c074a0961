// SPDX-License-Identifier: MIT
// The exponentials of column_pair.hpp for f32 and f64.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/exponential.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_row.hpp>
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

// What sums of a register of columns were taken from, whose largest elements were `before` and are
// `largest` now: from the same where nothing was summed.
template <Floating T>
[[gnu::always_inline]] inline simd<T> exponents_before(simd<T> before, simd<T> largest) {
  const simd<T> nothing(-std::numeric_limits<T>::infinity());
  return select<T>((before == largest) | (before == nothing), exponents_from<T>(largest),
                   exponents_from<T>(before));
}

// What a span of rows comes to, for so many columns. What a register of them needs lies side by
// side: arrays of 4 KiB would lie where rows of as much do, modulo 4 KiB, and each load of a row
// would wait for the last store into one (4.0 ns per register instead of 3.5, Zen 4).
template <Floating T>
class exponential_span {
 public:
  static constexpr std::int64_t columns = 1024;

  exponential_span(std::int64_t width, const T* x, std::int64_t row_stride, T* largest,
                   double* sums)
      : width_(width), row_stride_(row_stride), x_(x), largest_(largest), sums_(sums) {}

  // Rows [begin, end), walked twice, the second time in L2.
  void add(std::int64_t begin, std::int64_t end) {
    find_shifts(begin, end);
    for_each_four_rows(begin, end, [&]<int Rows>(std::int64_t row) { add_rows<Rows>(row); });
    for (std::int64_t j = 0; j < width_; j += lanes<T>) finish(j);
  }

 private:
  static constexpr T nothing = -std::numeric_limits<T>::infinity();

  struct column_register {
    simd<T> largest, shift, part;
  };

  // Without NaN: see `finish`.
  void find_shifts(std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = 0; j < width_; j += lanes<T>)
      at(j).largest = load_part<T>(largest_ + j, width_ - j, nothing);
    if constexpr (register_count >= 32)
      for (std::int64_t row = begin; row < end; ++row) find_largest<1>(row_at(row));
    else
      for_each_four_rows(begin, end,
                         [&]<int Rows>(std::int64_t row) { find_largest<Rows>(row_at(row)); });
    for (std::int64_t j = 0; j < width_; j += lanes<T>) {
      at(j).shift = exponents_from<T>(at(j).largest);
      at(j).part = simd<T>(T(0));
    }
  }

  // Four registers at once. With registers of 64 bytes rows come one behind the other, as L2 gives
  // them fastest: down [64,1024] this walk and the next take 1.8 ns per register on a Zen 5, 1.9
  // with four rows side by side (on a Xeon this one takes 0.65 instead of 0.60 ns). With AVX2,
  // which loads and stores twice as often, they take 1.04 of the time so.
  template <int Rows>
  void find_largest(const T* x) {
    constexpr int beside = 4 / Rows;
    const auto take = [&](std::int64_t j, auto load_register) __attribute__((always_inline)) {
      simd<T> all = at(j).largest;
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r)
        all = max_or_second<T>(load_register(x + r * row_stride_ + j), all);
      at(j).largest = all;
    };
    std::int64_t j = 0;
    for (; j + beside * lanes<T> <= width_; j += beside * lanes<T>)
#pragma GCC unroll 4
      for (int u = 0; u < beside; ++u)
        take(j + u * lanes<T>, [](const T* from) { return load<T>(from); });
    for (; j < width_; j += lanes<T>)
      take(j, [&](const T* from) { return load_part<T>(from, width_ - j, nothing); });
  }

  // The rows of the next span come into L2 meanwhile: this is arithmetic, and its first walk would
  // wait for them.
  template <int Rows>
  void add_rows(std::int64_t row) {
    constexpr int read = 0, into_second_level = 2;
    const T* const x = row_at(row);
    const T* const next = row_at(row + exponentials_span_rows);
    for_each_register<Rows>(
        width_, x, row_stride_, nothing, [&](std::int64_t j, const simd<T>(&rows)[Rows]) {
#pragma GCC unroll 4
          for (int r = 0; r < Rows; ++r)
            __builtin_prefetch(next + r * row_stride_ + j, read, into_second_level);
          column_register& c = at(j);
          const auto e = [&](int r) { return exp<T>(rows[r] - c.shift); };
          if constexpr (Rows == 1)
            c.part = c.part + e(0);
          else
            c.part = c.part + ((e(0) + e(1)) + (e(2) + e(3)));
        });
  }

  // A column with NaN has a sum that is NaN, and no other has. Sums are scaled in f64: a largest
  // element that grows with every span would add up the errors of the factors.
  void finish(std::int64_t j) {
    const simd<T> now = at(j).largest, part = at(j).part,
                  before = load_part<T>(largest_ + j, width_ - j, nothing);
    store_part<T>(largest_ + j, width_ - j, select<T>(part == part, now, part));
    const simd<T> from = exponents_before<T>(before, now);
    const bool scaled = xsimd::any(from != at(j).shift);
    const wide_registers<T> own = widen(from), shift = widen(at(j).shift), more = widen(part);
    std::int64_t i = j;
    for (std::size_t k = 0; k < more.size() && i < width_; ++k, i += lanes<double>) {
      simd<double> sum = load_part<double>(sums_ + i, width_ - i, 0);
      if (scaled) sum = mul<double>(sum, exp<double>(own[k] - shift[k]));
      store_part<double>(sums_ + i, width_ - i, sum + more[k]);
    }
  }

  column_register& at(std::int64_t j) { return registers_[static_cast<std::size_t>(j / lanes<T>)]; }
  const T* row_at(std::int64_t row) const { return x_ + row * row_stride_; }

  std::int64_t width_, row_stride_;
  const T* x_;
  T* largest_;
  double* sums_;
  std::array<column_register, static_cast<std::size_t>(columns / lanes<T>)> registers_;
};

template <Floating T>
void exponentials_kernel(std::int64_t rows, std::int64_t columns, const void* x,
                         std::int64_t row_stride, ir::column_walk, const void*, void* largest,
                         double* sums) {
  using span = exponential_span<T>;
  for (std::int64_t first = 0; first < columns; first += span::columns) {
    span all(std::min(span::columns, columns - first), static_cast<const T*>(x) + first, row_stride,
             static_cast<T*>(largest) + first, sums + first);
    for (std::int64_t row = 0; row < rows; row += exponentials_span_rows)
      all.add(row, std::min(rows, row + exponentials_span_rows));
  }
}

// Each sum is scaled once, so that factors may be rounded to T.
template <Floating T>
void combine_exponentials(std::int64_t columns, const pair_groups& groups, void* first,
                          double* second) {
  const auto largest_of = [&](std::int64_t g, std::int64_t j) {
    return load_part<T>(groups.first_of<T>(first, g) + j, columns - j, T(0));
  };
  for (std::int64_t j = 0; j < columns; j += lanes<T>) {
    simd<T> all = largest_of(0, j);
    for (std::int64_t g = 1; g < groups.count; ++g)
      all = combine<monoid::max>(all, largest_of(g, j));
    wide_registers<T> sums{};
    for (std::int64_t g = 0; g < groups.count; ++g) {
      const simd<T> from = exponents_before<T>(largest_of(g, j), all);
      const wide_registers<T> factors = widen(exp<T>(from - exponents_from<T>(all)));
      const double* const own = groups.second_of(second, g);
      std::int64_t i = j;
      for (std::size_t k = 0; k < sums.size() && i < columns; ++k, i += lanes<double>)
        sums[k] = sums[k] + mul<double>(factors[k], load_part<double>(own + i, columns - i, 0));
    }
    store_part<T>(static_cast<T*>(first) + j, columns - j, all);
    std::int64_t i = j;
    for (std::size_t k = 0; k < sums.size() && i < columns; ++k, i += lanes<double>)
      store_part<double>(second + i, columns - i, sums[k]);
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
