// SPDX-License-Identifier: MIT
// Tiles of whole rows: a row's result has the same bits whatever rows come beside it, however many
// of them share a tile and where the last tile ends.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

#include <sinter/sinter.hpp>

namespace {

using matrix = sinter::tensor<float, 2>;

constexpr auto row_functions = [](auto check) {
  check([](auto x) { return sinter::softmax(x); });
  check([](auto x) { return sinter::rms_norm(x); });
  check([](auto x) {
    return (x - sinter::mean(x, 1, true)) * sinter::rsqrt(sinter::var(x, 1, true));
  });
  check([](auto x) { return sinter::logsumexp(x, 1, true) * 0.5f; });
  check([](auto x) {
    return sinter::sqrt(sinter::sum(sinter::abs(x), 1, true)) + sinter::max(x, 1, true);
  });
};

matrix filled(std::int64_t rows, std::int64_t columns) {
  matrix x(rows, columns);
  std::int64_t i = 0;
  for (float& e : x) e = static_cast<float>((i++ * 7919) % 1009) / 300.0f - 1.5f;
  return x;
}

void check_rows(const auto& f, std::int64_t rows, std::int64_t columns) {
  CAPTURE(rows);
  CAPTURE(columns);
  const matrix x = filled(rows, columns);
  auto all = sinter::fuse(f);
  auto one = sinter::fuse(f);
  const matrix together = all(x);
  for (std::int64_t r = 0; r < rows; ++r) {
    matrix row(1, columns);
    for (std::int64_t c = 0; c < columns; ++c) row(0, c) = x(r, c);
    const matrix alone = one(row);
    REQUIRE(alone.extent(1) == together.extent(1));
    int different = 0;
    for (std::int64_t c = 0; c < alone.extent(1); ++c)
      if (std::bit_cast<std::uint32_t>(alone(0, c)) != std::bit_cast<std::uint32_t>(together(r, c)))
        ++different;
    CHECK(different == 0);
  }
}

}  // namespace

TEST_CASE("a row has the same bits whatever rows come beside it") {
  row_functions([](auto f) {
    for (const std::int64_t columns : {3, 64, 129, 300, 511, 512, 767, 768, 1030})
      for (const std::int64_t rows : {2, 4, 9, 17, 35}) check_rows(f, rows, columns);
  });
}

// What is one kernel takes more rows than a tile has.
TEST_CASE("a row that one kernel reduces has the same bits among many rows") {
  const auto check_shapes = [](auto f) {
    for (const std::int64_t columns : {1, 16, 100, 256, 700, 1024, 1100})
      for (const std::int64_t rows : {70, 300}) check_rows(f, rows, columns);
  };
  check_shapes([](auto x) { return sinter::sum(x, 1, true); });
  check_shapes([](auto x) { return sinter::max(x, 1, true); });
  check_shapes([](auto x) { return sinter::mean(x, 1, true); });
  check_shapes([](auto x) { return sinter::mean(x, 1, true) * 2.0f + 1.0f; });
  check_shapes([](auto x) { return sinter::mean(sinter::relu(x), 1, true); });
  check_shapes([](auto x) { return sinter::sqrt(sinter::sum(x * x, 1, true)); });
  check_shapes([](auto x) { return sinter::var(x, 1, true); });
}

// Where only some rows lie equally far apart, tiles end there.
TEST_CASE("rows of several outer axes") {
  auto f = sinter::fuse([](auto x, auto b) { return sinter::softmax(x + b); });
  for (const std::int64_t inner : {1, 3, 4, 5, 9}) {
    CAPTURE(inner);
    sinter::tensor<float, 3> x(7, inner, 700);
    sinter::tensor<float, 2> b(inner, 700);
    std::int64_t i = 0;
    for (float& e : x) e = static_cast<float>((i++ * 7919) % 1009) / 300.0f;
    for (float& e : b) e = static_cast<float>((i++ * 104729) % 1013) / 500.0f;
    const sinter::tensor<float, 3> y = f(x, b);
    for (std::int64_t n = 0; n < 7; ++n)
      for (std::int64_t k = 0; k < inner; ++k) {
        matrix row(1, 700);
        for (std::int64_t c = 0; c < 700; ++c) row(0, c) = x(n, k, c) + b(k, c);
        const matrix alone = sinter::softmax(row);
        int different = 0;
        for (std::int64_t c = 0; c < 700; ++c)
          if (std::bit_cast<std::uint32_t>(alone(0, c)) != std::bit_cast<std::uint32_t>(y(n, k, c)))
            ++different;
        CHECK(different == 0);
      }
  }
}

// Short rows share tiles across the ends of the axes before them, where an operand begins again.
TEST_CASE("short rows of several outer axes") {
  auto f = sinter::fuse([](auto a, auto b) {
    const auto d = a - b;
    return sinter::outputs(sinter::sum(d * d, -1), sinter::max(d, -1), sinter::argmin(d, -1),
                           sinter::var(d, -1), d * sinter::max(d, -1, true));
  });
  for (const std::int64_t columns : {1, 3, 8, 16, 17, 100, 130})
    for (const std::int64_t inner : {1, 3, 64, 200}) {
      CAPTURE(columns);
      CAPTURE(inner);
      const matrix a = filled(37, columns), b = filled(inner, columns);
      sinter::tensor<float, 3> points(37, 1, columns), others(1, inner, columns);
      std::copy_n(a.data(), a.size(), points.data());
      std::copy_n(b.data(), b.size(), others.data());
      const auto [squares, largest, place, variance, products] = f(points, others);
      int wrong = 0;
      for (std::int64_t i = 0; i < a.extent(0); ++i)
        for (std::int64_t k = 0; k < inner; ++k) {
          double sum = 0, square = 0;
          std::int64_t first = 0, last = 0;
          for (std::int64_t c = 0; c < columns; ++c) {
            const float d = a(i, c) - b(k, c);
            sum += double{d};
            square += double{d} * double{d};
            if (d < a(i, first) - b(k, first)) first = c;
            if (d > a(i, last) - b(k, last)) last = c;
          }
          const float most = a(i, last) - b(k, last);
          const double mean = sum / double(columns);
          const auto differs = [](float got, double expected) {
            return std::abs(double{got} - expected) > 1e-5 * (1 + std::abs(expected));
          };
          if (differs(squares(i, k), square) || largest(i, k) != most || place(i, k) != first ||
              differs(variance(i, k), square / double(columns) - mean * mean))
            ++wrong;
          for (std::int64_t c = 0; c < columns; ++c)
            if (products(i, k, c) != (a(i, c) - b(k, c)) * most) ++wrong;
        }
      CHECK(wrong == 0);
    }
}
