// SPDX-License-Identifier: MIT
// Custom ops of every kind: element-wise, on rows, on whole arrays of two dtypes, without a kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <sinter/sinter.hpp>

namespace test_support {

struct bend {
  static constexpr std::string_view name = "bend";
  static constexpr int arity = 1;
  static constexpr auto element = [](auto x) {
    using std::abs;
    return x / (abs(x) + 1);
  };
};

struct leak {
  static constexpr std::string_view name = "leak";
  static constexpr int arity = 2;
  static constexpr auto element = [](auto x, auto slope) {
    using sinter::select;
    return select(x > 0, x, x * slope);
  };
};

// Sums of the elements before and at each, or, from the end, behind and at it.
struct running_sum {
  static constexpr std::string_view name = "running_sum";
  static constexpr int arity = 1;
  static constexpr std::array<std::string_view, 1> attributes{"from_end"};
  static constexpr int core_axes = 1;
  template <class T>
  static void kernel(std::span<const sinter::custom_input> in, const sinter::custom_output& out,
                     std::span<const double> values) {
    const auto x = in[0].as<T>();
    const auto y = out.as<T>();
    const std::int64_t n = out.extent(1);
    for (std::int64_t row = 0; row < out.extent(0); ++row) {
      T sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(row * n + (values[0] != 0 ? n - 1 - i : i));
        y[at] = sum += x[at];
      }
    }
  }
};

// A value per row: the result has fewer axes than the operand.
struct last_of_row {
  static constexpr std::string_view name = "last_of_row";
  static constexpr int arity = 1;
  static constexpr int core_axes = 1;
  static constexpr sinter::ir::symbolic_shape shape(sinter::custom_shapes& s) {
    if (!s.check_rank(0, 3)) return {};
    return {s.extent(0, 0), s.extent(0, 1)};
  }
  template <class T>
  static void kernel(std::span<const sinter::custom_input> in, const sinter::custom_output& out,
                     std::span<const double>) {
    const auto x = in[0].as<T>();
    const auto y = out.as<T>();
    const std::int64_t n = in[0].extent(1);
    for (std::int64_t row = 0; row < out.extent(0); ++row)
      y[static_cast<std::size_t>(row)] = x[static_cast<std::size_t>((row + 1) * n - 1)];
  }
};

// Whole arrays: x[order[0]], x[order[1]]... where order holds i64.
struct reordered {
  static constexpr std::string_view name = "reordered";
  static constexpr int arity = 2;
  template <class T>
  static void kernel(std::span<const sinter::custom_input> in, const sinter::custom_output& out,
                     std::span<const double>) {
    const auto x = in[0].as<T>();
    const auto order = in[1].as<std::int64_t>();
    const auto y = out.as<T>();
    const auto width = static_cast<std::size_t>(out.extent(1));
    for (std::size_t row = 0; row < order.size(); ++row)
      std::copy_n(x.data() + static_cast<std::size_t>(order[row]) * width, width,
                  y.data() + row * width);
  }
};

// The interpreter's function is all there is.
struct sorted {
  static constexpr std::string_view name = "sorted";
  static constexpr int arity = 1;
  static constexpr int core_axes = 1;
  static void interpret(std::span<const sinter::custom_input> in, const sinter::custom_output& out,
                        std::span<const double>) {
    const auto x = in[0].as<double>();
    const auto y = out.as<double>();
    std::copy(x.begin(), x.end(), y.begin());
    const std::int64_t n = out.extent(1);
    for (std::int64_t row = 0; row < out.extent(0); ++row)
      std::sort(y.begin() + row * n, y.begin() + (row + 1) * n);
  }
};

}  // namespace test_support
