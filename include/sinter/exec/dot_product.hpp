// SPDX-License-Identifier: MIT
// Products of rows by rows, each element a dot product: a right side that is stored transposed, as
// layers of other libraries store their weights, is read where it is. Packing [768,768] of them for
// 2 rows took 40 of 61 µs (Zen 5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sinter/exec/partial.hpp>
#include <sinter/exec/reduce_lanes.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

template <Floating T, int Count>
struct row_pointers {
  const T* row[std::size_t{Count}];
};

/// Rows with `stride` elements from one to the next.
template <Floating T>
struct stored_rows {
  const T* from;
  std::int64_t count, stride;

  stored_rows from_element(std::int64_t p) const { return {from + p, count, stride}; }
  /// Rows from row i on; behind the last one it comes again.
  template <int Count>
  row_pointers<T, Count> pointers(std::int64_t i) const {
    row_pointers<T, Count> out;
    for (int r = 0; r < Count; ++r) out.row[r] = from + std::min(i + r, count - 1) * stride;
    return out;
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

/// `sums[i * Many + j]` becomes the dot product of row i of `few` and row j of `many`; there is
/// room for whole registers. All are added up in one order: register by register, then the halves
/// of what came of it, the quarters, ...
template <int Few, int Many, Floating T>
[[gnu::noinline]] void dot_tile(std::int64_t depth, const row_pointers<T, Few>& few,
                                const row_pointers<T, Many>& many, T* sums) {
  constexpr int registers = planning::whole_units(Few * Many, lanes<T>);
  simd<T> sum[std::size_t{registers}];
#pragma GCC unroll 16
  for (int i = 0; i < registers; ++i) sum[i] = simd<T>(T(0));
  const row_pointers<T, Few> left = few;
  const row_pointers<T, Many> right = many;
  const auto add = [&](auto load_from) {
    simd<T> x[std::size_t{Few}];
#pragma GCC unroll 4
    for (int i = 0; i < Few; ++i) x[i] = keep<T>(load_from(left.row[i]));
#pragma GCC unroll 8
    for (int j = 0; j < Many; ++j) {
      const simd<T> y = keep<T>(load_from(right.row[j]));
#pragma GCC unroll 4
      for (int i = 0; i < Few; ++i) sum[i * Many + j] = fma<T>(x[i], y, sum[i * Many + j]);
    }
  };
  std::int64_t p = 0;
  for (; p + lanes<T> <= depth; p += lanes<T>) add([&](const T* row) { return load<T>(row + p); });
  if (p < depth) add([&](const T* row) { return load_part<T>(row + p, depth - p, T(0)); });
#pragma GCC unroll 8
  for (int i = 0; i < registers; i += lanes<T>) {
    simd<T> each[std::size_t{lanes<T>}];
#pragma GCC unroll 16
    for (int lane = 0; lane < lanes<T>; ++lane) each[place_of_lane<T>(lane)] = sum[i + lane];
    store<T>(sums + i, reduce_each<T>(each, [](simd<T> a, simd<T> b) { return a + b; }));
  }
}

/// Few rows at a time pass the others, of which so many stay in L1 meanwhile.
template <int Few, Floating T>
void add_dots(std::int64_t depth, stored_rows<T> few, stored_rows<T> many, dot_target<T> c) {
  constexpr int beside = rows_beside_few(Few);
  T sums[std::size_t{planning::whole_units(Few * beside, lanes<T>)}];
  for (std::int64_t j = 0; j < many.count; j += beside) {
    const auto passing = many.template pointers<beside>(j);
    const std::int64_t columns = std::min<std::int64_t>(beside, many.count - j);
    for (std::int64_t i = 0; i < few.count; i += Few) {
      dot_tile<Few, beside, T>(depth, few.template pointers<Few>(i), passing, sums);
      T* const to = c.to + i * c.few + j * c.many;
      const std::int64_t rows = std::min<std::int64_t>(Few, few.count - i);
      const bool copies = c.many == 1 && !c.add && columns == beside;
      for (std::int64_t r = 0; r < rows; ++r) {
        T* const row = to + r * c.few;
        const T* const from = sums + r * beside;
        if (copies) {
          std::memcpy(row, from, std::size_t{beside} * sizeof(T));
          continue;
        }
        for (std::int64_t q = 0; q < columns; ++q) {
          T& at = row[q * c.many];
          at = c.add ? at + from[q] : from[q];
        }
      }
    }
  }
}

}  // namespace detail

/// All dot products of rows of k elements of either side. Reads the larger side once. How one is
/// added up depends on k alone: in blocks of 1024 elements.
template <Floating T>
void multiply_by_dots(std::int64_t k, detail::stored_rows<T> few, detail::stored_rows<T> many,
                      detail::dot_target<T> c) {
  if (few.count > many.count) {
    std::swap(few, many);
    std::swap(c.few, c.many);
  }
  for (std::int64_t p = 0; p < k; p += detail::dot_depth) {
    const std::int64_t depth = std::min(detail::dot_depth, k - p);
    const auto add = [&]<int Few>() {
      detail::add_dots<Few, T>(depth, few.from_element(p), many.from_element(p), c);
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
