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
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

/// Rows of elements in runs, of which each begins `step` behind the one before; a row that lies in
/// one piece is one run, or several whose step is their length. From row to row it is `stride`
/// elements, or rows are the positions from `first` on through `axes`.
template <Floating T>
struct stored_rows {
  const T* from;
  std::int64_t count, stride, step = 0;
  std::span<const matrix_axis> axes = {};
  std::int64_t first = 0;

  /// The same from element p of a run on.
  stored_rows part(std::int64_t run, std::int64_t p) const {
    stored_rows out = *this;
    out.from += run * step + p;
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
/// there, of so many runs of `length` elements; there is room for whole registers. All are added up
/// in one order: register by register, then the halves of what came of it, the quarters, ...
template <int Few, int Many, Floating T>
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
#pragma GCC unroll 8
  for (int j = 0; j < Many; ++j) right[j] = many[j];
  const auto add = [&](auto load_from) {
    simd<T> x[std::size_t{Few}];
#pragma GCC unroll 4
    for (int i = 0; i < Few; ++i) x[i] = keep<T>(load_from(left[i]));
#pragma GCC unroll 8
    for (int j = 0; j < Many; ++j) {
      const simd<T> y = keep<T>(load_from(right[j]));
#pragma GCC unroll 4
      for (int i = 0; i < Few; ++i) sum[i * Many + j] = fma<T>(x[i], y, sum[i * Many + j]);
    }
  };
  for (;;) {
    std::int64_t p = 0;
    for (; p + lanes<T> <= length; p += lanes<T>)
      add([&](const T* row) { return load<T>(row + p); });
    if (p < length) add([&](const T* row) { return load_part<T>(row + p, length - p, T(0)); });
    if (--runs == 0) break;
#pragma GCC unroll 4
    for (int i = 0; i < Few; ++i) left[i] += few_step;
#pragma GCC unroll 8
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

/// Of so many runs. Few rows at a time pass the others, of which so many stay in L1 meanwhile.
template <int Few, Floating T>
void add_dots(std::int64_t runs, std::int64_t length, const stored_rows<T>& few,
              const stored_rows<T>& many, const dot_target<T>& c) {
  constexpr int beside = rows_beside_few(Few);
  T sums[std::size_t{planning::whole_units(Few * beside, lanes<T>)}];
  const T* left[std::size_t{planning::most_few_rows}];
  const T* right[std::size_t{beside}];
  for (std::int64_t first = 0; first < few.count; first += planning::most_few_rows) {
    const std::int64_t rows = std::min(planning::most_few_rows, few.count - first);
    few.place(first, planning::whole_units(rows, Few), left);
    for (std::int64_t j = 0; j < many.count; j += beside) {
      many.place(j, beside, right);
      const std::int64_t columns = std::min<std::int64_t>(beside, many.count - j);
      for (std::int64_t i = 0; i < rows; i += Few) {
        dot_tile<Few, beside, T>(runs, length, left + i, few.step, right, many.step, sums);
        write_dots<beside>(std::min<std::int64_t>(Few, rows - i), columns, sums, c,
                           c.to + (first + i) * c.few + j * c.many);
      }
    }
  }
}

}  // namespace detail

/// All dot products of rows of either side, of so many runs of `length` elements. Reads the larger
/// side once. How one is added up depends on these two alone: in blocks of 1024 elements, or of as
/// many runs as have no more.
template <Floating T>
void multiply_by_dots(std::int64_t runs, std::int64_t length, detail::stored_rows<T> few,
                      detail::stored_rows<T> many, detail::dot_target<T> c) {
  if (few.count > many.count) {
    std::swap(few, many);
    std::swap(c.few, c.many);
  }
  const std::int64_t at_once = std::max<std::int64_t>(1, detail::dot_depth / length);
  for (std::int64_t run = 0; run < runs; run += at_once)
    for (std::int64_t p = 0; p < length; p += detail::dot_depth) {
      const auto add = [&]<int Few>() {
        detail::add_dots<Few, T>(std::min(at_once, runs - run),
                                 std::min(detail::dot_depth, length - p), few.part(run, p),
                                 many.part(run, p), c);
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
