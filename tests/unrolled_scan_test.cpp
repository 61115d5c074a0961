// SPDX-License-Identifier: MIT
// Running sums of short lines and of few columns, which are unrolled: the bits of sums one after
// the other.
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "support/same_bits.hpp"
#include <sinter/exec/scan.hpp>

namespace unrolled_scan_test {

namespace exec = sinter::exec;
using test_support::same_bits;

namespace {

template <class T>
std::vector<T> some_elements(std::int64_t count) {
  std::vector<T> x;
  for (std::int64_t i = 0; i < count; ++i)
    x.push_back(static_cast<T>(i * 7919 % 101 - 50) / static_cast<T>(3));
  if (count > 2) x[1] = static_cast<T>(-0.0);
  return x;
}

// Down one column, block by block, as the kernel's comment has it.
template <class T>
void sum_down(std::int64_t n, const T* from, std::int64_t row_step, T* to, std::int64_t to_step) {
  T before(0), own(0);
  for (std::int64_t row = 0; row < n; ++row) {
    if (row > 0 && row % exec::scanned_block == 0) {
      before = exec::sum_of(before, own);
      own = T(0);
    }
    own = exec::sum_of(own, from[row * row_step]);
    to[row * to_step] = exec::sum_of(before, own);
  }
}

template <class T, bool Reverse>
void check_short_lines() {
  for (std::int64_t n = 0; n < 12; ++n)
    for (const std::int64_t lines : {0, 1, 2, 13}) {
      CAPTURE(n);
      const std::int64_t step = n + 2, to_step = n + 1;
      const std::vector<T> x = some_elements<T>(lines * step);
      const auto sums = static_cast<std::size_t>(lines * to_step);
      std::vector<T> got(sums, T(99)), want(sums, T(99));
      if (!exec::scan_short_lines<T, Reverse>(lines, n, x.data(), step, got.data(), to_step)) {
        CHECK(got == want);
        continue;
      }
      for (std::int64_t i = 0; i < lines; ++i)
        exec::scan_line<T, Reverse>(n, x.data() + i * step, 1, want.data() + i * to_step);
      CHECK(same_bits(got, want));
    }
}

}  // namespace

TEST_CASE_TEMPLATE("short lines have the bits of lines by themselves", T, float, double,
                   std::uint8_t, std::uint32_t, std::uint64_t) {
  check_short_lines<T, false>();
  check_short_lines<T, true>();
  std::vector<T> x = some_elements<T>(6), sums(6);
  const bool are_registers = exec::scanned_lanes(sinter::dtype_of<T>) == 2;
  CHECK(exec::scan_short_lines<T, false>(3, 2, x.data(), 2, sums.data(), 2) == !are_registers);
}

TEST_CASE_TEMPLATE("columns are summed one by one, however few there are", T, float, double,
                   std::uint8_t, std::uint32_t, std::uint64_t) {
  for (const std::int64_t columns : {1, 2, 3, 4, 5, 6, 7, 8, 9, 300})
    for (const std::int64_t n : {0, 1, 2, 255, 256, 257, 513, 700})
      for (const std::int64_t step : {1, 3}) {
        CAPTURE(columns);
        CAPTURE(n);
        const std::int64_t row_step = columns * step;
        const std::vector<T> x = some_elements<T>(n * row_step);
        std::vector<T> got(static_cast<std::size_t>(n * columns)), want(got.size());
        exec::scan_columns<T>(n, columns, x.data(), row_step, step, got.data(), columns);
        for (std::int64_t j = 0; j < columns; ++j)
          sum_down<T>(n, x.data() + j * step, row_step, want.data() + j, columns);
        CHECK(same_bits(got, want));
        if (n == 0) continue;
        // And from the last row on.
        const std::int64_t last = n - 1;
        exec::scan_columns<T>(n, columns, x.data() + last * row_step, -row_step, step,
                              got.data() + last * columns, -columns);
        for (std::int64_t j = 0; j < columns; ++j)
          sum_down<T>(n, x.data() + last * row_step + j * step, -row_step,
                      want.data() + last * columns + j, -columns);
        CHECK(same_bits(got, want));
      }
}

}  // namespace unrolled_scan_test
