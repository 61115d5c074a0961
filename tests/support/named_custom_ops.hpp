// SPDX-License-Identifier: MIT
// Custom ops of the graphs in named_nests.hpp: element by element, on rows, on whole arrays, and
// one without a kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <sinter/function/custom.hpp>

namespace test_support {

// x / (|x| + slope)
struct squash {
  static constexpr std::string_view name = "squash";
  static constexpr int arity = 2;
  static constexpr double work = 6;
  static constexpr auto element = [](auto x, auto slope) {
    using std::abs;
    return x / (abs(x) + slope);
  };
};

// Sums along the last axis, times a number.
struct scaled_sums {
  static constexpr std::string_view name = "scaled_sums";
  static constexpr int arity = 1;
  static constexpr double work = 12;
  static constexpr std::array<std::string_view, 1> attributes{"scale"};
  static constexpr auto accepts = sinter::ir::accepts::numeric;
  static constexpr int core_axes = 1;
  template <class T>
  static void kernel(std::span<const sinter::custom_input> in, const sinter::custom_output& out,
                     std::span<const double> values) {
    const auto x = in[0].as<T>();
    const auto y = out.as<T>();
    const auto width = static_cast<std::size_t>(out.extent(1));
    T sum{};
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i % width == 0) sum = T{};
      sum = static_cast<T>(sum + x[i]);
      y[i] = static_cast<T>(static_cast<double>(sum) * values[0]);
    }
  }
};

// Rows of x added up by segment: operands of two dtypes, a shape of its own.
struct segment_total {
  static constexpr std::string_view name = "segment_total";
  static constexpr int arity = 2;
  static constexpr std::array<std::string_view, 1> attributes{"segments"};
  static constexpr sinter::ir::symbolic_shape shape(sinter::custom_shapes& s) {
    if (!s.check_rank(0, 2) || !s.check_rank(1, 1) || !s.check_least(s.attribute(0), 1)) return {};
    s.check_agree(s.extent(0, 0), s.extent(1, 0));
    return {sinter::ir::dim(static_cast<std::int64_t>(s.attribute(0))), s.extent(0, 1)};
  }
  template <class T>
  static void kernel(std::span<const sinter::custom_input> in, const sinter::custom_output& out,
                     std::span<const double>) {
    const auto x = in[0].as<T>();
    const auto segment = in[1].as<std::int32_t>();
    const auto y = out.as<T>();
    std::fill(y.begin(), y.end(), T{});
    const auto width = static_cast<std::size_t>(out.extent(1));
    for (std::size_t row = 0; row < segment.size(); ++row)
      for (std::size_t i = 0; i < width; ++i) {
        T& sum = y[static_cast<std::size_t>(segment[row]) * width + i];
        sum = static_cast<T>(sum + x[row * width + i]);
      }
  }
};

// The rows of the last axis backwards; of rank 1 there is one.
struct mirrored {
  static constexpr std::string_view name = "mirrored";
  static constexpr int arity = 1;
  static constexpr int core_axes = 1;
  static void interpret(std::span<const sinter::custom_input> in, const sinter::custom_output& out,
                        std::span<const double>) {
    const auto x = in[0].as<double>();
    const auto y = out.as<double>();
    const std::int64_t n = out.extent(1);
    for (std::int64_t row = 0; row < out.extent(0); ++row)
      std::reverse_copy(x.begin() + row * n, x.begin() + (row + 1) * n, y.begin() + row * n);
  }
};

inline constexpr auto& named_custom_ops =
    sinter::custom_ops<squash, scaled_sums, segment_total, mirrored>;

}  // namespace test_support
