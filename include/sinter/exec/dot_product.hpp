// SPDX-License-Identifier: MIT
// Products of rows by rows, each element a dot product: a right side that is stored transposed, as
// layers of other libraries store their weights, is read where it is. Packing [768,768] of them for
// 2 rows took 40 of 61 µs (Zen 5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/reduce_lanes.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/exec/window_segments.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

/// Rows of elements in runs, of which each begins `step` behind the one before; a row that lies in
/// one piece is one run, or several whose step is their length. Elements of a run are `spacing`
/// apart, 1 or 2. From row to row it is `stride` elements, or rows are the positions from `first`
/// on through `axes`.
template <Floating T>
struct stored_rows {
  const T* from;
  std::int64_t count, stride, step = 0, spacing = 1;
  std::span<const matrix_axis> axes = {};
  std::int64_t first = 0;

  /// The same from element p of a run on.
  stored_rows part(std::int64_t run, std::int64_t p) const {
    stored_rows out = *this;
    out.from += run * step + p * spacing;
    return out;
  }
  /// Where rows from row i on begin; behind the last one it comes again.
  void place(std::int64_t i, std::int64_t rows, const T** out) const {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t row = std::min(i + r, count - 1);
      out[r] = from + (axes.empty() ? row * stride : place_of(axes, first + row));
    }
  }
};

/// What rows i of the one side and j of the other make is to[i * few + j * many].
template <Floating T>
struct dot_target {
  T* to;
  std::int64_t few, many;
  bool add;
};

/// Dot products that are added up side by side: as many as hide how long a multiply-add takes, and
/// a register of either side is loaded for several of them.
inline constexpr int dot_sums = register_count / 2;

/// Rows of one side that pass `few` rows of the other at once.
constexpr int rows_beside_few(int few) { return std::min(8, dot_sums / few); }

/// Elements of a row that are added up before the result is written: of 4 rows of either side they
/// stay in L1. (With 512, 8 rows by [768,768] take 1.1 times as long.)
inline constexpr std::int64_t dot_depth = 1024;

/// `sums[i * Many + j]` becomes the dot product of row i of `few` and row j of `many`, which begin
/// there, of so many runs of `length` elements, those of `many` `Spacing` apart; there is room for
/// whole registers. All are added up in one order: register by register, then the halves of what
/// came of it, the quarters, ...
template <int Few, int Many, int Spacing, Floating T>
[[gnu::noinline]] void dot_tile(std::int64_t runs, std::int64_t length, const T* const* few,
                                std::int64_t few_step, const T* const* many, std::int64_t many_step,
                                T* sums) {
  constexpr int registers = planning::whole_units(Few * Many, lanes<T>);
  simd<T> sum[std::size_t{registers}];
#pragma GCC unroll 16
  for (int i = 0; i < registers; ++i) sum[i] = simd<T>(T(0));
  const T* left[std::size_t{Few}];
  const T* right[std::size_t{Many}];
#pragma GCC unroll 4
  for (int i = 0; i < Few; ++i) left[i] = few[i];
#pragma GCC unroll 16
  for (int j = 0; j < Many; ++j) right[j] = many[j];
  const auto add = [&]<bool Whole>(std::int64_t p, std::bool_constant<Whole>)
      __attribute__((always_inline)) {
    const std::int64_t count = length - p;
    simd<T> x[std::size_t{Few}];
#pragma GCC unroll 4
    for (int i = 0; i < Few; ++i)
      x[i] = keep<T>(in_segment_order<Spacing, T>(load_segment<1, Whole>(left[i] + p, count)));
#pragma GCC unroll 16
    for (int j = 0; j < Many; ++j) {
      const simd<T> y = keep<T>(load_segment<Spacing, Whole>(right[j] + p * Spacing, count));
#pragma GCC unroll 4
      for (int i = 0; i < Few; ++i) sum[i * Many + j] = fma<T>(x[i], y, sum[i * Many + j]);
    }
  };
  for (;;) {
    std::int64_t p = 0;
    for (; p + lanes<T> <= length; p += lanes<T>) add(p, std::true_type{});
    if (p < length) add(p, std::false_type{});
    if (--runs == 0) break;
#pragma GCC unroll 4
    for (int i = 0; i < Few; ++i) left[i] += few_step;
#pragma GCC unroll 16
    for (int j = 0; j < Many; ++j) right[j] += many_step;
  }
#pragma GCC unroll 8
  for (int i = 0; i < registers; i += lanes<T>) {
    simd<T> each[std::size_t{lanes<T>}];
#pragma GCC unroll 16
    for (int lane = 0; lane < lanes<T>; ++lane) each[place_of_lane<T>(lane)] = sum[i + lane];
    store<T>(sums + i, reduce_each<T>(each, [](simd<T> a, simd<T> b) { return a + b; }));
  }
}

/// The first rows and columns of a tile, to where they belong; `sums` as dot_tile leaves them.
template <int Many, Floating T>
void write_dots(std::int64_t rows, std::int64_t columns, const T* sums, const dot_target<T>& c,
                T* to) {
  const bool copies = c.many == 1 && !c.add && columns == Many;
  for (std::int64_t i = 0; i < rows; ++i, to += c.few, sums += Many) {
    if (copies) {
      std::memcpy(to, sums, std::size_t{Many} * sizeof(T));
      continue;
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      T& at = to[j * c.many];
      at = c.add ? at + sums[j] : sums[j];
    }
  }
}

/// `rows` of the few, which begin at `left`, by `Many` rows from row j of the others on.
template <int Few, int Many, int Spacing, Floating T>
void add_dots_beside(std::int64_t runs, std::int64_t length, std::int64_t rows,
                     const T* const* left, std::int64_t left_step, const stored_rows<T>& many,
                     std::int64_t j, const dot_target<T>& c) {
  T sums[std::size_t{planning::whole_units(Few * Many, lanes<T>)}];
  const T* right[std::size_t{Many}];
  many.place(j, Many, right);
  const std::int64_t columns = std::min<std::int64_t>(Many, many.count - j);
  for (std::int64_t i = 0; i < rows; i += Few) {
    dot_tile<Few, Many, Spacing, T>(runs, length, left + i, left_step, right, many.step, sums);
    write_dots<Many>(std::min<std::int64_t>(Few, rows - i), columns, sums, c,
                     c.to + i * c.few + j * c.many);
  }
}

/// Of so many runs. Few rows at a time pass the others, of which so many stay in L1 meanwhile. The
/// last nine come together where a row is alone: windows are 3 x 3, 5 x 5 and 7 x 7.
template <int Few, int Spacing, Floating T>
void add_dots(std::int64_t runs, std::int64_t length, const stored_rows<T>& few,
              const stored_rows<T>& many, dot_target<T> c) {
  constexpr int beside = rows_beside_few(Few), last = Few == 1 ? 9 : beside;
  const T* left[std::size_t{planning::most_few_rows}];
  for (std::int64_t first = 0; first < few.count; first += planning::most_few_rows) {
    const std::int64_t rows = std::min(planning::most_few_rows, few.count - first);
    few.place(first, planning::whole_units(rows, Few), left);
    std::int64_t j = 0;
    for (; j < many.count && many.count - j != last; j += beside)
      add_dots_beside<Few, beside, Spacing>(runs, length, rows, left, few.step, many, j, c);
    if (j < many.count)
      add_dots_beside<Few, last, Spacing>(runs, length, rows, left, few.step, many, j, c);
    c.to += planning::most_few_rows * c.few;
  }
}

}  // namespace detail

/// All dot products of rows of either side, of so many runs of `length` elements, those of `few`
/// neighbours. Reads the larger side once, or that whose elements are apart. How one is added up
/// depends on these two alone: in blocks of 1024 elements, or of as many runs as have no more.
template <Floating T>
void multiply_by_dots(std::int64_t runs, std::int64_t length, detail::stored_rows<T> few,
                      detail::stored_rows<T> many, detail::dot_target<T> c) {
  if (few.count > many.count && many.spacing == 1) {
    std::swap(few, many);
    std::swap(c.few, c.many);
  }
  const std::int64_t at_once = std::max<std::int64_t>(1, detail::dot_depth / length);
  for (std::int64_t run = 0; run < runs; run += at_once)
    for (std::int64_t p = 0; p < length; p += detail::dot_depth) {
      const auto add = [&]<int Few>() {
        const auto each =
            many.spacing == 2 ? detail::add_dots<Few, 2, T> : detail::add_dots<Few, 1, T>;
        each(std::min(at_once, runs - run), std::min(detail::dot_depth, length - p),
             few.part(run, p), many.part(run, p), c);
      };
      if (few.count == 1)
        add.template operator()<1>();
      else if (few.count == 2)
        add.template operator()<2>();
      else
        add.template operator()<4>();
      c.add = true;
    }
}

}  // namespace sinter::inline SINTER_ABI::exec
