// SPDX-License-Identifier: MIT
// Convolutions of 3x3 windows by tiles: the numbers of the plain product but for rounding, at every
// kind of size, on any number of threads, chosen by cost and only where sums may be reordered.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <omp.h>

#include "support/occurrences.hpp"
#include <sinter/exec/winograd_kernel.hpp>
#include <sinter/sinter.hpp>

namespace winograd_test {

namespace sn = sinter;
namespace exec = sinter::exec;
namespace planning = sinter::planning;

namespace {

template <class T>
void fill(T* to, std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> one(-1, 1);
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(one(random));
}

template <class T>
sn::tensor<T, 4> noise(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                       unsigned seed = 1) {
  sn::tensor<T, 4> out(n, c, h, w);
  fill(out.data(), out.size(), seed);
  return out;
}

// Memory that begins at a line, as kernels ask for.
template <class T>
struct lines {
  explicit lines(std::size_t bytes) : memory(bytes + 64) {}
  T* at() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return reinterpret_cast<T*>((address + 63) / 64 * 64);
  }
  std::vector<std::byte> memory;
};

// How an image lies: elements from column to column (1 or more, or backwards).
struct layout {
  std::int64_t column_stride = 1;
};

template <class T>
void check_kernel(const planning::winograd_extents& of, layout lies, double tolerance) {
  CAPTURE(of.images);
  CAPTURE(of.channels);
  CAPTURE(of.filters);
  CAPTURE(of.height);
  CAPTURE(of.width);
  const std::int64_t height = of.height + 2, width = of.width + 2,
                     step = std::abs(lies.column_stride), row = width * step, plane = height * row;
  std::vector<T> images(static_cast<std::size_t>(of.images * of.channels * plane)),
      filters(static_cast<std::size_t>(of.filters * of.channels * 9)),
      results(static_cast<std::size_t>(of.images * of.filters * of.height * of.width), T(7));
  fill(images.data(), static_cast<std::int64_t>(images.size()), 1);
  fill(filters.data(), static_cast<std::int64_t>(filters.size()), 2);
  const T* const first = images.data() + (lies.column_stride < 0 ? row - 1 : 0);

  constexpr exec::winograd_kernels kernels = exec::winograd_of<T>();
  const planning::winograd_blocks blocks = planning::divide_winograd(of, sizeof(T), kernels.units);
  const std::int64_t elements = 9 * of.channels;
  std::vector<T> columns(filters.size());
  for (std::int64_t f = 0; f < of.filters; ++f)
    for (std::int64_t e = 0; e < elements; ++e)
      columns[static_cast<std::size_t>(e * of.filters + f)] =
          filters[static_cast<std::size_t>(f * elements + e)];
  const std::int64_t size = exec::winograd_filter_elements(of, blocks);
  lines<T> workspace(exec::winograd_workspace_bytes(of, blocks, kernels.units, sizeof(T))),
      transformed(static_cast<std::size_t>(size) * sizeof(T)),
      from_columns(static_cast<std::size_t>(size) * sizeof(T));
  for (std::int64_t f = 0; f < of.filters; f += blocks.filters) {
    const std::int64_t last = std::min(of.filters, f + blocks.filters);
    kernels.filters(
        {of, blocks, {filters.data(), elements, false}, f, last, transformed.at(), workspace.at()});
    kernels.filters({of,
                     blocks,
                     {columns.data(), of.filters, true},
                     f,
                     last,
                     from_columns.at(),
                     workspace.at()});
  }
  CHECK(std::equal(transformed.at(), transformed.at() + size, from_columns.at()));
  // By so many rows of tiles at a time.
  const auto convolve = [&](const void* ready, std::int64_t tile_rows, std::vector<T>& out) {
    for (std::int64_t image = 0; image < of.images; image += blocks.images)
      for (std::int64_t y = 0; y < of.height; y += 2 * tile_rows) {
        // The first block of filters by itself.
        const std::int64_t parts[] = {0, std::min(blocks.filters, of.filters), of.filters};
        for (std::size_t part = 0; part < 2; ++part) {
          std::vector<const void*> from;
          std::vector<void*> to;
          for (std::int64_t i = image; i < std::min(of.images, image + blocks.images); ++i) {
            from.push_back(first + i * of.channels * plane);
            to.push_back(out.data() + ((i * of.filters + parts[part]) * of.height + y) * of.width);
          }
          kernels.block({of,
                         blocks,
                         from,
                         to,
                         plane,
                         row,
                         lies.column_stride,
                         of.height * of.width,
                         y,
                         std::min(2 * tile_rows, of.height - y),
                         parts[part],
                         parts[part + 1],
                         ready,
                         {filters.data(), elements, false},
                         workspace.at()});
        }
      }
  };
  convolve(transformed.at(), blocks.tile_rows, results);
  if (planning::has_few_winograd_tasks(of, blocks)) {
    std::vector<T> on_the_way(results.size(), T(7));
    convolve(nullptr, blocks.tile_rows, on_the_way);
    CHECK(on_the_way == results);
  }
  // As threads have them that would have nothing to do otherwise.
  if (blocks.images == 1)
    for (std::int64_t rows = 1; rows < blocks.tile_rows; ++rows) {
      std::vector<T> in_pieces(results.size(), T(7));
      convolve(transformed.at(), rows, in_pieces);
      CHECK(in_pieces == results);
    }

  double most = 0;
  std::size_t place = 0;
  for (std::int64_t i = 0; i < of.images; ++i)
    for (std::int64_t f = 0; f < of.filters; ++f)
      for (std::int64_t y = 0; y < of.height; ++y)
        for (std::int64_t x = 0; x < of.width; ++x) {
          double sum = 0;
          for (std::int64_t c = 0; c < of.channels; ++c)
            for (std::int64_t e = 0; e < 9; ++e)
              sum += static_cast<double>(first[(i * of.channels + c) * plane + (y + e / 3) * row +
                                               (x + e % 3) * lies.column_stride]) *
                     static_cast<double>(
                         filters[static_cast<std::size_t>((f * of.channels + c) * 9 + e)]);
          most = std::max(most, std::abs(sum - static_cast<double>(results[place++])));
        }
  CHECK(most <=
        tolerance * std::sqrt(9.0 * static_cast<double>(std::max<std::int64_t>(1, of.channels))));
}

// The largest difference, by the largest number.
template <class T>
double distance(const sn::tensor<T, 4>& a, const sn::tensor<T, 4>& b) {
  REQUIRE(a.shape() == b.shape());
  double most = 0, largest = 0;
  for (auto p = a.begin(), q = b.begin(); p != a.end(); ++p, ++q) {
    largest = std::max(largest, std::abs(static_cast<double>(*q)));
    most = std::max(most, std::abs(static_cast<double>(*p) - static_cast<double>(*q)));
  }
  return largest == 0 ? most : most / largest;
}

int tiled_nests(const std::string& plan) {
  return test_support::occurrences(plan, "by tiles (Winograd)");
}

// Transforms are for nothing on this machine.
sn::program_options eager() {
  sn::program_options out;
  out.machine.packed_element = 1e-6;
  return out;
}
sn::program_options direct() {
  sn::program_options out;
  out.nests.winograd = false;
  return out;
}

}  // namespace

TEST_CASE("kernels: every size of image, channels and filters, several images and slabs") {
  const auto check_both = [](const planning::winograd_extents& of, layout lies = {}) {
    check_kernel<float>(of, lies, 2e-6);
    check_kernel<double>(of, lies, 4e-15);
  };
  for (const std::int64_t height : {1, 2, 3, 7})
    for (const std::int64_t width : {1, 2, 3, 15, 32, 33, 70}) check_both({1, 3, 5, height, width});
  for (const std::int64_t channels : {0, 1, 17, 300}) check_both({2, channels, 4, 5, 6});
  check_both({40, 2, 3, 4, 4});     // several images at a time
  check_both({3, 64, 70, 14, 61});  // rows of tiles at a time, blocks of filters
  check_both({1, 300, 37, 7, 7});   // one block of tiles, several of filters and slabs
  check_both({2, 4, 3, 6, 40}, {2});
  check_both({2, 4, 3, 6, 41}, {-1});
}

TEST_CASE("the plan of one size serves others, and one thread gives the bits of many") {
  const auto f = [](auto x, auto w) { return sn::relu(sn::conv2d(x, w, {.padding = 1})); };
  auto tiled = sn::fuse(f, eager());
  auto plain = sn::fuse(f, direct());
  const auto filters = noise<float>(37, 19, 3, 3, 2);
  CHECK(tiled_nests(tiled.explain(noise<float>(16, 19, 16, 32), filters)) == 1);
  for (const auto [n, h, w] :
       {std::array<std::int64_t, 3>{16, 16, 32}, {9, 9, 17}, {10, 11, 31}, {13, 16, 18}}) {
    const auto x = noise<float>(n, 19, h, w);
    omp_set_num_threads(1);
    const sn::tensor<float, 4> once = tiled(x, filters);
    CHECK(distance<float>(once, plain(x, filters)) < 3e-6);
    for (int threads : {2, 3}) {
      omp_set_num_threads(threads);
      CHECK(tiled(x, filters) == once);
    }
  }
  CHECK(tiled(noise<float>(0, 19, 16, 32), filters).shape() == sn::shape_vector{0, 37, 16, 32});
}

TEST_CASE("threads share the filters of few images; the bits are those of one thread") {
  const auto checked = [](const auto& f, const auto&... x) {
    auto tiled = sn::fuse(f, eager());
    omp_set_num_threads(1);
    const auto once = tiled(x...);
    CHECK(tiled_nests(tiled.explain(x...)) == 1);
    CHECK(distance<float>(once, sn::fuse(f, direct())(x...)) < 4e-6);
    for (const int threads : {2, 3, 8, 16}) {
      omp_set_num_threads(threads);
      CHECK(tiled(x...) == once);
    }
    omp_set_num_threads(1);
  };
  const auto bias = noise<float>(200, 1, 1, 1, 3);
  for (const auto [images, channels, height, width] :
       {std::array<std::int64_t, 4>{1, 64, 15, 14}, {3, 64, 15, 14}, {1, 24, 61, 58}}) {
    const auto x = noise<float>(images, channels, height, width);
    const auto w = noise<float>(200, channels, 3, 3, 2),
               y = noise<float>(images, 200, height, width, 4);
    checked([](auto a, auto b) { return sn::conv2d(a, b, {.padding = 1}); }, x, w);
    checked(
        [](auto a, auto b, auto c, auto d) {
          return sn::relu(sn::conv2d(a, b, {.padding = 1}) + sn::reshape(c, 200, 1, 1) + d);
        },
        x, w, bias, y);
  }
}

TEST_CASE("padding, channels, strided images, doubles and biases") {
  const auto check = [](auto f, const auto& x, const auto& w, double tolerance) {
    auto tiled = sn::fuse(f, eager());
    auto plain = sn::fuse(f, direct());
    CHECK(tiled_nests(tiled.explain(x, w)) == 1);
    CHECK(tiled_nests(plain.explain(x, w)) == 0);
    sn::tensor<typename std::decay_t<decltype(w)>::value_type, 4> a = tiled(x, w), b = plain(x, w);
    CHECK(distance(a, b) <= tolerance);
  };
  const auto padded = [](auto x, auto w) { return sn::conv2d(x, w, {.padding = 2}) * 0.5f; };
  const auto plain = [](auto x, auto w) { return sn::conv2d(x, w); };
  for (const std::int64_t channels : {1, 3, 17}) {
    const auto x = noise<float>(2, channels, 16, 16), w = noise<float>(24, channels, 3, 3, 2);
    check(plain, x, w, 3e-6);
    check(padded, x, w, 3e-6);
  }
  check(plain, noise<double>(2, 3, 30, 40), noise<double>(7, 3, 3, 3, 2), 1e-14);
  const auto x = noise<float>(2, 5, 18, 80);
  const sn::view<const float, 4> strided(x.data() + 17 * 80, {2, 5, 18, 40},
                                         {5 * 18 * 80, 18 * 80, -80, 2});
  check(plain, strided, noise<float>(24, 5, 3, 3, 2), 3e-6);
  // The filters lie in another order, and are copied first.
  check(
      [](auto a, auto k) {
        return sn::conv2d(a, sn::permute(k, {1, 0, 2, 3}));
      },
      noise<float>(2, 5, 18, 20), noise<float>(5, 24, 3, 3, 2), 3e-6);
}

TEST_CASE("results that are stored as another dtype, and twice") {
  const auto f = [](auto x, auto w) {
    const auto y = sn::conv2d(x, w, {.padding = 1});
    return sn::outputs(sn::cast<double>(y), sn::tanh(y));
  };
  const auto x = noise<float>(40, 6, 7, 7), w = noise<float>(24, 6, 3, 3, 2);
  auto tiled = sn::fuse(f, eager());
  auto plain = sn::fuse(f, direct());
  CHECK(tiled_nests(tiled.explain(x, w)) == 1);
  const auto [a, b] = tiled(x, w);
  const auto [c, d] = plain(x, w);
  CHECK(distance<double>(a, c) < 3e-6);
  CHECK(distance<float>(b, d) < 3e-6);
}

TEST_CASE("tiles are chosen where they pay, and where sums may be reordered") {
  const auto f = [](auto x, auto w) { return sn::conv2d(x, w, {.padding = 1}); };
  const auto image = noise<float>(2, 32, 28, 28), filters = noise<float>(32, 32, 3, 3);
  CHECK(tiled_nests(sn::fuse(f).explain(image, filters)) == 1);
  CHECK(tiled_nests(sn::fuse(f, {.reassociate = false}).explain(image, filters)) == 0);
  // One channel: transforms would take longer than products.
  CHECK(tiled_nests(sn::fuse(f).explain(noise<float>(2, 1, 28, 28), noise<float>(16, 1, 3, 3))) ==
        0);
  const auto other = [&](auto g) {
    return tiled_nests(sn::fuse(g, eager()).explain(image, filters));
  };
  CHECK(other([](auto x, auto w) { return sn::conv2d(x, w, {.stride = 2}); }) == 0);
  CHECK(other([](auto x, auto w) { return sn::conv2d(x, w, {.stride = {1, 2}}); }) == 0);
  CHECK(other([](auto x, auto w) { return sn::conv2d(x, w, {.dilation = 2}); }) == 0);
  CHECK(tiled_nests(sn::fuse(f, eager()).explain(image, noise<float>(32, 32, 3, 5))) == 0);
}

TEST_CASE("one image whose batch is a number: products without its axis") {
  const auto f = [](auto x, auto a, auto b, auto c) {
    const auto narrow = sn::relu(sn::conv2d(sn::reshape(x, 1, 40, 14, 14), a));
    return sn::relu(sn::conv2d(sn::relu(sn::conv2d(narrow, b, {.padding = 1})), c));
  };
  const auto x = noise<float>(1, 40, 14, 14), a = noise<float>(20, 40, 1, 1, 2),
             b = noise<float>(24, 20, 3, 3, 3), c = noise<float>(40, 24, 1, 1, 4);
  auto tiled = sn::fuse(f, eager());
  auto plain = sn::fuse(f, direct());
  CHECK(tiled_nests(tiled.explain(x, a, b, c)) == 1);
  CHECK(tiled.explain(x, a, b, c).find("over [s8, 196]") != std::string::npos);
  omp_set_num_threads(1);
  const sn::tensor<float, 4> once = tiled(x, a, b, c);
  CHECK(distance<float>(once, plain(x, a, b, c)) < 4e-6);
  omp_set_num_threads(3);
  CHECK(tiled(x, a, b, c) == once);
}

TEST_CASE("pieces of an image are equal where that is no more work") {
  constexpr planning::winograd_units units{16, 48, 16};
  const auto of = [&](std::int64_t channels, std::int64_t extent) {
    return planning::divide_winograd({1, channels, channels, extent, extent}, sizeof(float), units);
  };
  CHECK(of(256, 14).tile_rows == 4);
  CHECK(of(256, 14).filters == 32);
  CHECK(of(128, 28).tile_rows == 5);
  CHECK(of(64, 56).tile_rows == 4);
  // One task, which transforms filters on the way.
  CHECK(of(512, 7).tile_rows == 4);
  CHECK(of(512, 7).filters == 16);
}

TEST_CASE("the gradient of an image is a convolution by tiles, too") {
  const auto f = [](auto x, auto w, auto seed) {
    return sn::gradients(sn::sum(sn::conv2d(x, w, {.padding = 1}) * seed), x);
  };
  const auto x = noise<float>(2, 16, 20, 20), w = noise<float>(24, 16, 3, 3, 2),
             seed = noise<float>(2, 24, 20, 20, 3);
  auto tiled = sn::fuse(f, eager());
  auto plain = sn::fuse(f, direct());
  CHECK(tiled_nests(tiled.explain(x, w, seed)) == 1);
  const sn::tensor<float, 4> a = tiled(x, w, seed), b = plain(x, w, seed);
  CHECK(distance<float>(a, b) < 3e-6);
}

}  // namespace winograd_test
