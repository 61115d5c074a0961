// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/exec/copy.hpp>
#include <sinter/exec/copy_rows.hpp>
#include <sinter/exec/transpose.hpp>

namespace copy_test {

namespace exec = sinter::exec;

TEST_CASE_TEMPLATE("strided loads and stores", T, std::uint8_t, std::uint16_t, float, double) {
  std::vector<T> from(400);
  std::iota(from.begin(), from.end(), T(0));
  for (const std::int64_t n : {0, 1, 7, 30, 49})
    for (const std::int64_t stride : {-2, -1, 0, 1, 2, 3, 4, 5}) {
      std::vector<T> to(static_cast<std::size_t>(n) + 1, T(99));
      const T* first = from.data() + 100;
      exec::strided_load(n, first, stride, sizeof(T), to.data());
      for (std::int64_t i = 0; i < n; ++i)
        CHECK(to[static_cast<std::size_t>(i)] == first[i * stride]);
      CHECK(to.back() == T(99));
      if (stride <= 0) continue;
      std::vector<T> spread(250, T(99));
      exec::strided_store(n, from.data(), sizeof(T), spread.data(), stride);
      for (std::int64_t i = 0; i < 250; ++i) {
        const bool written = i % stride == 0 && i / stride < n;
        CHECK(spread[static_cast<std::size_t>(i)] ==
              (written ? from[static_cast<std::size_t>(i / stride)] : T(99)));
      }
    }
}

TEST_CASE_TEMPLATE("rows of every other element", T, std::uint8_t, std::uint16_t, float, double) {
  std::vector<T> from(600);
  std::iota(from.begin(), from.end(), T(0));
  for (const std::int64_t rows : {0, 1, 3, 5})
    for (const std::int64_t columns : {0, 1, 2, 7, 8, 28, 33}) {
      const std::int64_t from_row = 2 * columns + 1, to_row = columns + 2;
      std::vector<T> to(static_cast<std::size_t>(rows * to_row + 1), T(99));
      exec::copy_every_other(
          rows, columns, sizeof(T), reinterpret_cast<const std::byte*>(from.data()),
          from_row * static_cast<std::int64_t>(sizeof(T)), reinterpret_cast<std::byte*>(to.data()),
          to_row * static_cast<std::int64_t>(sizeof(T)));
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(to.size()); ++i) {
        const bool written = i < rows * to_row && i % to_row < columns;
        const std::int64_t at = i / to_row * from_row + 2 * (i % to_row);
        CHECK(to[static_cast<std::size_t>(i)] ==
              (written ? from[static_cast<std::size_t>(at)] : T(99)));
      }
    }
}

TEST_CASE_TEMPLATE("a value per row becomes one per element", T, std::uint8_t, std::uint16_t, float,
                   double) {
  std::vector<T> from(200);
  std::iota(from.begin(), from.end(), T(0));
  for (const std::int64_t rows : {0, 1, 2, 3, 17, 40})
    for (const std::int64_t width : {0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 64, 65})
      for (const std::int64_t step : {1, 3}) {
        std::vector<T> to(static_cast<std::size_t>(rows * width) + 64, T(99)), want = to;
        for (std::int64_t i = 0; i < rows * width; ++i)
          want[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(i / width * step)];
        exec::spread(rows, width, from.data(), step * std::int64_t{sizeof(T)}, sizeof(T),
                     to.data());
        CHECK(to == want);
      }
}

TEST_CASE_TEMPLATE("fill repeats one value", T, std::uint8_t, std::uint16_t, float, double) {
  const T value = T(3);
  std::vector<T> to(10, T(0));
  exec::fill(9, &value, sizeof(T), to.data());
  for (std::size_t i = 0; i < 9; ++i) CHECK(to[i] == value);
  CHECK(to[9] == T(0));
}

template <class T>
void check_transposes(std::int64_t from_gap, std::int64_t to_gap,
                      std::int64_t least_from_stride = 0, std::int64_t least_to_stride = 0) {
  for (const std::int64_t rows : {0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 33, 67})
    for (const std::int64_t columns : {0, 1, 2, 3, 4, 5, 8, 15, 16, 24, 31, 70}) {
      const std::int64_t from_stride = std::max(columns + from_gap, least_from_stride);
      const std::int64_t to_stride = std::max(rows + to_gap, least_to_stride);
      std::vector<T> from(static_cast<std::size_t>(rows * from_stride + 1));
      for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i % 251);
      std::vector<T> to(static_cast<std::size_t>(columns * to_stride + 1), T(255));
      exec::transpose_copy(rows, columns, from.data(), from_stride, sizeof(T), to.data(),
                           to_stride);
      std::int64_t wrong = 0;
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = 0; i < to_stride; ++i) {
          const T want = i < rows ? from[static_cast<std::size_t>(i * from_stride + j)] : T(255);
          wrong += to[static_cast<std::size_t>(j * to_stride + i)] != want ? 1 : 0;
        }
      CHECK(wrong == 0);
      CHECK(to.back() == T(255));
    }
}

TEST_CASE_TEMPLATE("transposes of every ragged shape", T, std::uint8_t, std::uint16_t, float,
                   double) {
  check_transposes<T>(0, 0);  // rows one behind the other, of which few are shuffled
  check_transposes<T>(3, 2);
}

TEST_CASE_TEMPLATE("transposes of rows that share places in L1", T, std::uint8_t, std::uint16_t,
                   float, double) {
  constexpr std::int64_t page = 4096 / std::int64_t{sizeof(T)};
  check_transposes<T>(0, 1, page, 0);
  check_transposes<T>(1, 0, 0, page);
  check_transposes<T>(0, 0, page, page);
}

TEST_CASE("rows of every length are copied, and nothing beside them") {
  std::vector<std::byte> from(6000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 % 251);
  for (const std::int64_t rows : {0, 1, 2, 5})
    for (std::int64_t bytes = 0; bytes < 1100; bytes += bytes < 140 ? 1 : 97) {
      const std::int64_t from_step = bytes + 3, to_step = bytes + 5;
      std::vector<std::byte> to(static_cast<std::size_t>(rows * to_step) + 80, std::byte{255}),
          want = to;
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = 0; i < bytes; ++i)
          want[static_cast<std::size_t>(row * to_step + i)] =
              from[static_cast<std::size_t>(row * from_step + i)];
      exec::copy_rows(rows, bytes, from.data(), from_step, to.data(), to_step);
      CHECK(to == want);
    }
}

TEST_CASE("bytes are copied wherever they begin in a page") {
  constexpr std::size_t page = 4096;
  std::vector<std::byte> from(6000), memory(3 * page);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7 % 251);
  std::byte* const same = &memory[(reinterpret_cast<std::uintptr_t>(from.data()) -
                                   reinterpret_cast<std::uintptr_t>(memory.data())) %
                                  page];
  for (const std::size_t ahead : {0, 1, 4, 31, 32, 100})
    for (const std::size_t bytes : {0, 1, 2047, 2048, 2049, 4096, 4097, 6000}) {
      std::fill(memory.begin(), memory.end(), std::byte{255});
      std::byte* const to = same + ahead;
      exec::copy_bytes(to, from.data(), bytes);
      CHECK(std::equal(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(bytes), to));
      CHECK(std::count(memory.begin(), memory.end(), std::byte{255}) ==
            static_cast<std::ptrdiff_t>(memory.size() - bytes));
    }
}

TEST_CASE("a pattern fills exactly its bytes, or rows and at most 15 behind each") {
  exec::fill_pattern pattern;
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>(i % 4 + 1);
  for (std::int64_t bytes = 0; bytes < 200; bytes += 4) {
    std::vector<std::byte> to(260, std::byte{0}), want = to;
    for (std::int64_t i = 0; i < bytes; ++i)
      want[static_cast<std::size_t>(i)] = static_cast<std::byte>(i % 4 + 1);
    exec::fill_bytes(bytes, pattern, to.data());
    CHECK(to == want);
    const std::int64_t step = bytes + 15;
    std::vector<std::byte> several(static_cast<std::size_t>(3 * step) + 1, std::byte{0});
    exec::fill_rows(3, bytes, pattern, several.data(), step);
    CHECK(several.back() == std::byte{0});
    int wrong = 0;
    for (std::int64_t row = 0; row < 3; ++row)
      for (std::int64_t i = 0; i < bytes; ++i)
        wrong +=
            several[static_cast<std::size_t>(row * step + i)] != static_cast<std::byte>(i % 4 + 1);
    CHECK(wrong == 0);
  }
}

}  // namespace copy_test
