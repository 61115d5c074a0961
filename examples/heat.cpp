// SPDX-License-Identifier: MIT
// Heat that spreads over a square plate with cold edges: an explicit step (five points) on a grid
// of 257 x 257, again and again in place, beside the solution that is known.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include <sinter/sinter.hpp>

namespace sn = sinter;

namespace {

constexpr std::int64_t points = 257;  // in each direction, edges included
constexpr double pi = 3.14159265358979323846;

void draw(const sn::tensor<double, 2>& plate) {
  constexpr std::int64_t rows = 9, columns = 33;
  const std::string shades = " .:-=+*#%@";
  for (std::int64_t i = 0; i < rows; ++i) {
    std::string line;
    for (std::int64_t j = 0; j < columns; ++j) {
      const double heat =
          plate(i * (points - 1) / (rows - 1), j * (points - 1) / (columns - 1)) * 9.99;
      line += shades[static_cast<std::size_t>(std::clamp(heat, 0.0, 9.0))];
    }
    std::puts(line.c_str());
  }
}

}  // namespace

int main() {
  // The inner points take up what their neighbours have more than they; the edges stay cold. All is
  // read before `plate` is written, so that nothing is stepped twice.
  auto step = sn::fuse([](auto plate, auto factor) {
    const auto part = [&](sn::range rows, sn::range columns) {
      return sn::shrink(plate, {rows, columns});
    };
    const auto inner = part({1, -1}, {1, -1});
    const auto around =
        part({0, -2}, {1, -1}) + part({2}, {1, -1}) + part({1, -1}, {0, -2}) + part({1, -1}, {2});
    const auto next = inner + factor * (around - 4.0 * inner);
    return sn::assign(plate, sn::pad(next, {{1, 1}, {1, 1}}));
  });

  // A wave of the plate, which cools down without changing its shape; in the middle it begins at 1.
  sn::tensor<double, 2> plate(points, points);
  for (std::int64_t i = 0; i < points; ++i)
    for (std::int64_t j = 0; j < points; ++j)
      plate(i, j) = std::sin(pi * static_cast<double>(i) / (points - 1)) *
                    std::sin(pi * static_cast<double>(j) / (points - 1));

  constexpr double factor = 0.24;  // dt / dx^2; above 1/4, steps blow up
  constexpr int steps = 2000;
  draw(plate);
  for (int n = 0; n < steps; ++n) step(plate, factor);
  draw(plate);

  // One step multiplies this wave by the same factor everywhere: 1 - 8 factor sin^2(pi dx / 2).
  const double shrinks = 1 - 8 * factor * std::pow(std::sin(pi / (points - 1) / 2), 2);
  const double expected = std::pow(shrinks, steps);
  const double middle = plate(points / 2, points / 2);
  double edge = 0;
  for (std::int64_t i = 0; i < points; ++i)
    edge = std::max({edge, std::abs(plate(i, 0)), std::abs(plate(points - 1, i))});
  std::printf("the middle behind %d steps: %.12f, expected %.12f\n", steps, middle, expected);
  if (!(std::abs(middle - expected) < 1e-12) || edge > 1e-12) {
    std::puts("heat: not what is known of this wave");
    return 1;
  }
}
