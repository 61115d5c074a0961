// SPDX-License-Identifier: MIT
// Products that gather their operands from the windows of images: the same bits as from a copy, at
// sizes beyond one panel, and plans that make no copy.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <omp.h>

#include <sinter/exec/gemm.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/sinter.hpp>

namespace convolution_test {

namespace sn = sinter;
namespace exec = sinter::exec;

namespace {

template <class T>
std::vector<T> some_values(std::size_t n) {
  std::mt19937 generator(3);
  std::vector<T> x(n);
  for (T& value : x)
    value = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(generator));
  return x;
}

sn::tensor<float, 4> image(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  sn::tensor<float, 4> out(n, c, h, w);
  const auto values = some_values<float>(static_cast<std::size_t>(out.size()));
  std::ranges::copy(values, out.begin());
  return out;
}

using axes = std::vector<exec::matrix_axis>;

std::int64_t extent_of(const axes& of) {
  std::int64_t out = 1;
  for (const auto& each : of) out *= each.extent;
  return out;
}
std::int64_t place_in(const axes& of, std::int64_t at) {
  std::int64_t out = 0;
  for (std::size_t i = of.size(); i-- > 0; at /= of[i].extent)
    out += at % of[i].extent * of[i].stride;
  return out;
}

// A gathered operand, and the same as a matrix.
template <class T>
struct operand {
  axes rows, columns;
  std::vector<T> memory, matrix;
  std::int64_t low = 0, high = 0;

  operand(axes r, axes c) : rows(std::move(r)), columns(std::move(c)) {
    for (const axes& side : {rows, columns})
      for (const auto& each : side)
        (each.stride < 0 ? low : high) += (each.extent - 1) * each.stride;
    memory = some_values<T>(static_cast<std::size_t>(high - low + 1));
    for (std::int64_t i = 0; i < extent_of(rows); ++i)
      for (std::int64_t j = 0; j < extent_of(columns); ++j)
        matrix.push_back(start()[place_in(rows, i) + place_in(columns, j)]);
  }
  const T* start() const { return memory.data() - low; }
  exec::gathered_axes gathered() const { return {rows, columns, 0, 0, low, high}; }
};

template <class T>
void check_gathered(const operand<T>& a, const operand<T>& b) {
  const std::int64_t m = extent_of(a.rows), k = extent_of(a.columns), n = extent_of(b.columns);
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  REQUIRE(extent_of(b.rows) == k);
  std::vector<double> workspace(exec::gemm_workspace_bytes(sn::dtype_of<T>, m, n, k) / 8 + 16),
      tables(exec::gemm_table_bytes / 8 + 8);
  const auto aligned = [](std::vector<double>& v) {
    const auto address = reinterpret_cast<std::uintptr_t>(v.data());
    return reinterpret_cast<void*>((address + 63) / 64 * 64);
  };
  exec::matrix_product product;
  product.m = m, product.n = n, product.k = k;
  product.ldc = n;
  product.workspace = aligned(workspace);
  product.tables = aligned(tables);
  const auto run = [&](bool gather_a, bool gather_b) {
    std::vector<T> c(static_cast<std::size_t>(m * n), T(7));
    product.c = c.data();
    product.a = gather_a ? a.start() : a.matrix.data();
    product.lda = k;
    product.gathered_a = gather_a ? a.gathered() : exec::gathered_axes{};
    product.b = gather_b ? b.start() : b.matrix.data();
    product.ldb = n;
    product.gathered_b = gather_b ? b.gathered() : exec::gathered_axes{};
    exec::gemm<T>(product);
    return c;
  };
  const std::vector<T> wanted = run(false, false);
  CHECK(run(true, false) == wanted);
  CHECK(run(false, true) == wanted);
  CHECK(run(true, true) == wanted);
}

// Rows of `left` by columns [first, first + count) of a right side that is gathered and not packed;
// what is not computed is 3.
template <class T>
std::vector<T> multiply_unpacked(std::int64_t m, const std::vector<T>& left, const operand<T>& b,
                                 std::int64_t first, std::int64_t count, bool accumulate,
                                 sn::planning::product_reading reading) {
  const std::int64_t k = extent_of(b.rows), n = extent_of(b.columns);
  std::vector<std::int64_t> tables(exec::gemm_table_bytes / 8);
  std::vector<T> c(static_cast<std::size_t>(m * n), T(3));
  exec::matrix_product product;
  product.m = m, product.n = count, product.k = k;
  product.a = left.data(), product.lda = k;
  product.b = b.start();
  product.gathered_b = b.gathered();
  product.gathered_b.first_column = first;
  product.c = c.data() + first, product.ldc = n;
  product.accumulate = accumulate;
  product.tables = tables.data();
  product.reading = reading;
  exec::gemm<T>(product);
  return c;
}

// All columns and some of them, against sums in long doubles.
template <class T>
void check_unpacked(std::int64_t m, const operand<T>& b, sn::planning::product_reading reading) {
  const std::int64_t k = extent_of(b.rows), n = extent_of(b.columns);
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  const std::vector<T> a = some_values<T>(static_cast<std::size_t>(m * k));
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, n}, {n / 3, n / 2}})
    for (const bool accumulate : {false, true}) {
      const std::vector<T> c = multiply_unpacked(m, a, b, first, count, accumulate, reading);
      int wrong = 0;
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          const bool inside = j >= first && j < first + count;
          long double sum = accumulate || !inside ? 3 : 0;
          for (std::int64_t p = 0; inside && p < k; ++p)
            sum += static_cast<long double>(a[static_cast<std::size_t>(i * k + p)]) *
                   static_cast<long double>(b.matrix[static_cast<std::size_t>(p * n + j)]);
          const double bound = static_cast<double>(std::numeric_limits<T>::epsilon()) *
                               static_cast<double>(k + 8) / 2;
          const auto apart =
              static_cast<double>(std::abs(c[static_cast<std::size_t>(i * n + j)] - sum));
          wrong += apart > (inside ? bound : 0) ? 1 : 0;
        }
      CHECK(wrong == 0);
    }
}

template <class T>
void check_all_unpacked() {
  using sn::planning::product_reading;
  const axes window{{5, 256}, {3, 16}, {3, 1}}, deep{{31, 256}, {3, 16}, {3, 1}};
  for (const axes& places : {axes{{14, 16}, {14, 1}}, axes{{3, 64}, {35, 1}}, axes{{77, 1}},
                             axes{{9, -16}, {8, 1}}, axes{{5, 200}, {1, 7}, {160, 1}}})
    for (std::int64_t m : {1, 2, 3, 7, 8, 13}) {
      check_unpacked<T>(m, {window, places}, product_reading::in_place);
      check_unpacked<T>(m, {deep, places}, product_reading::in_place);
      check_unpacked<T>(m, {places, window}, product_reading::dots);
    }
  // Depths of which every other element counts, by one window and by several; 40 rows are more than
  // there are windows.
  for (const axes& places :
       {axes{{14, 32}, {14, 2}}, axes{{5, 96}, {35, 2}}, axes{{9, -16}, {8, 2}}, axes{{77, 2}}})
    for (const axes& filter : {axes{{3, 16}, {3, 1}}, window})
      for (std::int64_t m : {1, 2, 3, 7, 40})
        check_unpacked<T>(m, {places, filter}, product_reading::dots);
  // Runs that are longer than a block of a dot product, and as many as several blocks.
  check_unpacked<T>(5, {{{2, 2500}, {2300, 1}}, {{3, 1}, {3, 7}}}, product_reading::dots);
  check_unpacked<T>(5, {{{300, 12}, {9, 1}}, {{3, 1}, {3, 7}}}, product_reading::dots);
}

template <class T>
void check_all() {
  // Windows of 3x3 over 14-wide rows, in both roles and both directions; rows of 7, which take
  // three runs for a register; columns with a stride; everything backwards.
  const axes window{{5, 256}, {3, 16}, {3, 1}}, places{{14, 16}, {14, 1}};
  const axes plain{{45, 1}}, filters{{6, 45}}, narrow{{9, 16}, {7, 1}};
  const axes spread{{4, 32}, {7, 2}}, backwards{{5, -256}, {3, -16}, {3, -1}};
  check_gathered<T>({filters, plain}, {window, places});
  check_gathered<T>({filters, backwards}, {window, narrow});
  check_gathered<T>({{{17, 7}}, {{14, 50}, {14, 1}}}, {places, window});
  check_gathered<T>({{{2, 400}, {5, 3}}, {{14, 50}, {14, 1}}}, {places, spread});
  // Every other column, every third, and backwards, in rows of less and more than a register.
  for (const std::int64_t stride : {2, 3, -2})
    for (const std::int64_t width : {4, 9, 28, 70})
      check_gathered<T>({filters, plain}, {window, {{8, 400}, {width, stride}}});
  check_gathered<T>({{{3, 500}, {11, 1}}, {{45, 11}}}, {backwards, {{2, 60}, {49, 1}}});
  // A depth of places, next to each other or every other one, in rows that tiles fill and do not,
  // and that blocks of the depth (192, 384) cut up.
  for (const std::int64_t stride : {1, 2})
    for (const std::int64_t width : {7, 8, 9, 14, 28, 61})
      for (const axes& columns : {window, axes{{17, 500}, {3, 130}, {3, 1}}}) {
        const axes rows{{14, 130}, {width, stride}};
        check_gathered<T>({filters, {{14 * width, 1}}}, {rows, columns});
      }
  // More than a panel of columns (192), of depth (192) and a slab of rows (1024).
  check_gathered<T>({{{3, 400}, {350, 1}}, {{401, 1200}}}, {{{401, 3}}, {{20, 21}, {20, 1}}});
}

}  // namespace

TEST_CASE("gathered operands give the bits of copied ones") {
  check_all<float>();
  check_all<double>();
}

TEST_CASE("gathered operands that are read where they are") {
  check_all_unpacked<float>();
  check_all_unpacked<double>();
}

TEST_CASE_TEMPLATE("windows of every size, and images of every height", T, float, double) {
  using sn::planning::product_reading;
  // The last ones do not overlap from row to row, or are longer than a block.
  const std::vector<axes> windows{
      {{3, 40}, {3, 1}},           {{4, 900}, {3, 40}, {3, 1}}, {{2, 900}, {6, 40}, {3, 1}},
      {{30, 7}, {3, 40}, {3, 1}},  {{2, 40}, {2, 1}},           {{3, 900}, {5, 40}, {5, 1}},
      {{4, 40}, {3, 1}},           {{3, 40}, {3, 2}},           {{7, 40}},
      {{2, 40}, {2, 300}, {3, 1}}, {{3, 80}, {3, 1}},           {{9, 1}},
      {{14, 40}, {14, 1}}};
  for (const axes& window : windows)
    for (const std::int64_t height : {1, 2, 3, 4, 5, 7, 8, 9, 14, 15, 31})
      for (const std::int64_t width : {4, 7, 8, 21, 33}) {
        const operand<T> b{window, {{height, 40}, {width, 1}}};
        for (const std::int64_t m : {1, 3}) check_unpacked<T>(m, b, product_reading::in_place);
      }
}

TEST_CASE_TEMPLATE("windows at every other place", T, float, double) {
  for (const axes& window : {axes{{3, 90}, {3, 1}}, axes{{5, 900}, {3, 90}, {3, 1}}, axes{{7, 2}},
                             axes{{25, 900}, {3, 90}, {3, 1}}, axes{{1, 1}}})
    for (const std::int64_t height : {1, 2, 5, 8})
      for (const std::int64_t width : {1, 2, 4, 7, 8, 9, 15, 16, 17, 32, 45}) {
        const operand<T> b{window, {{height, 180}, {width, 2}}};
        for (const std::int64_t m : {1, 2, 3, 8, 13})
          check_unpacked<T>(m, b, sn::planning::product_reading::in_place);
      }
  check_unpacked<T>(3, {{{3, 16}, {3, 1}}, {{5, -40}, {9, 2}}},
                    sn::planning::product_reading::in_place);
}

TEST_CASE_TEMPLATE("by windows a result has the same bits whatever is computed beside it", T, float,
                   double) {
  const auto in_place = sn::planning::product_reading::in_place;
  for (const axes& window : {axes{{3, 40}, {3, 1}}, axes{{25, 700}, {3, 40}, {3, 1}},
                             axes{{9, 700}, {5, 40}, {5, 1}}, axes{{11, 700}, {3, 80}, {3, 1}}})
    for (const std::int64_t spacing : {1, 2}) {
      const operand<T> b{window, {{14, 40 * spacing}, {19, spacing}}};
      const std::int64_t k = extent_of(b.rows), n = extent_of(b.columns);
      const std::vector<T> left = some_values<T>(static_cast<std::size_t>(9 * k));
      const std::vector<T> all = multiply_unpacked(9, left, b, 0, n, false, in_place);
      for (std::int64_t m = 1; m < 9; ++m)
        for (const auto& [first, count] :
             {std::pair<std::int64_t, std::int64_t>{0, n}, {5, 20}, {19, 38}, {30, 150}}) {
          CAPTURE(m);
          const std::int64_t column = first;
          CAPTURE(column);
          std::vector<T> some = multiply_unpacked(m, left, b, first, count, false, in_place);
          for (std::int64_t i = 0; i < m; ++i) {
            const auto row = some.begin() + i * n + first;
            CHECK(std::equal(row, row + count, all.begin() + i * n + first));
          }
        }
    }
}

TEST_CASE("convolutions of groups make no copy of windows either") {
  const auto x = image(2, 6, 19, 18), w = image(6, 1, 3, 3), v = image(4, 3, 3, 3);
  auto depthwise =
      sn::fuse([](auto a, auto k) { return sn::conv2d(a, k, {.padding = 1, .groups = 6}); });
  auto halves =
      sn::fuse([](auto a, auto k) { return sn::conv2d(a, k, {.padding = 1, .groups = 2}); });
  for (const std::string& plan : {depthwise.explain(x, w), halves.explain(x, v)}) {
    INFO(plan);
    CHECK(plan.find("| reshape [s0, ") != std::string::npos);  // of windows that the product reads
    CHECK(plan.find("tiles over") == std::string::npos);
  }
  const auto y = depthwise(x, w), z = halves(x, v);
  const auto at = [&](std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) {
    return i < 0 || i >= 19 || j < 0 || j >= 18 ? 0.0 : double{x(n, c, i, j)};
  };
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t i = 0; i < 19; ++i)
      for (std::int64_t j = 0; j < 18; ++j)
        for (std::int64_t c = 0; c < 6; ++c) {
          double one = 0, three = 0;
          for (std::int64_t p = 0; p < 9; ++p) {
            one += at(n, c, i + p / 3 - 1, j + p % 3 - 1) * double{w(c, 0, p / 3, p % 3)};
            for (std::int64_t d = 0; c < 4 && d < 3; ++d)
              three += at(n, c / 2 * 3 + d, i + p / 3 - 1, j + p % 3 - 1) *
                       double{v(c, d, p / 3, p % 3)};
          }
          CHECK(std::abs(double{y(n, c, i, j)} - one) < 1e-5);
          if (c < 4) CHECK(std::abs(double{z(n, c, i, j)} - three) < 1e-5);
        }
}

TEST_CASE("bias and limits behind a convolution of groups are its epilogue") {
  auto bare = sn::fuse(
      [](auto a, auto k, auto b) { return sn::conv2d(a, k, b, {.padding = 1, .groups = 48}); });
  auto limited = sn::fuse([](auto a, auto k, auto b) {
    return sn::clamp(sn::conv2d(a, k, b, {.padding = 1, .groups = 48}), 0.0f, 1.0f);
  });
  const auto w = image(48, 1, 3, 3);
  sn::tensor<float, 1> bias(48);
  std::ranges::copy(some_values<float>(48), bias.begin());
  for (const std::int64_t side : {7, 14, 56}) {
    const auto x = image(1, 48, side, side);
    const std::string plan = limited.explain(x, w, bias);
    INFO(plan);
    CHECK(plan.find("tiles over") == std::string::npos);
    const auto y = bare(x, w, bias), z = limited(x, w, bias);
    for (std::int64_t i = 0; i < y.size(); ++i)
      CHECK(z.data()[i] == std::min(std::max(y.data()[i], 0.0f), 1.0f));
  }
}

TEST_CASE("an argument is reshaped without a copy, unless a result may be its memory") {
  const auto depthwise = sn::fuse([](auto a, auto k) { return sn::conv2d(a, k, {.groups = 6}); });
  const std::string plan = depthwise.explain(image(2, 6, 19, 18), image(6, 1, 3, 3));
  INFO(plan);
  CHECK(plan.find("alias over") != std::string::npos);
  CHECK(plan.find("iteration copy") == std::string::npos);

  auto mixed = sn::fuse([](auto a, auto k) { return sn::conv2d(a, k); });
  auto x = image(2, 6, 5, 4);
  const auto w = image(6, 6, 1, 1);
  const sn::tensor<float, 4> y = mixed(x, w);
  mixed.into(x)(x, w);
  CHECK(x == y);
}

TEST_CASE("many groups at a time, of images of every width, on one thread and several") {
  auto depthwise =
      sn::fuse([](auto a, auto k) { return sn::relu(sn::conv2d(a, k, {.groups = 70})); });
  for (const std::int64_t filters : {1, 2, 5})
    for (const auto& size :
         {std::array<std::int64_t, 2>{3, 3}, {4, 6}, {9, 9}, {7, 12}, {6, 18}, {20, 33}, {5, 70}}) {
      const std::int64_t h = size[0], w = size[1];
      CAPTURE(filters);
      CAPTURE(h);
      CAPTURE(w);
      const auto x = image(3, 70, h, w), k = image(70 * filters, 1, 3, 3);
      omp_set_num_threads(1);
      const sn::tensor<float, 4> y = depthwise(x, k);
      omp_set_num_threads(3);
      CHECK(depthwise(x, k) == y);
      int wrong = 0;
      for (std::int64_t n = 0; n < 3; ++n)
        for (std::int64_t f = 0; f < 70 * filters; ++f)
          for (std::int64_t i = 0; i < h - 2; ++i)
            for (std::int64_t j = 0; j < w - 2; ++j) {
              double sum = 0;
              for (std::int64_t p = 0; p < 9; ++p)
                sum +=
                    double{x(n, f / filters, i + p / 3, j + p % 3)} * double{k(f, 0, p / 3, p % 3)};
              wrong += std::abs(double{y(n, f, i, j)} - std::max(0.0, sum)) > 2e-6 ? 1 : 0;
            }
      CHECK(wrong == 0);
    }
}

TEST_CASE("products behind each other by windows of no channel are zeros") {
  const axes window{{0, 256}, {3, 16}, {3, 1}}, places{{2, 16}, {14, 1}};
  const std::vector<float> images(300, 1.0f);
  std::vector<float> c(3 * 2 * 28, 7.0f);
  std::vector<std::int64_t> tables(exec::gemm_table_bytes / 8);
  exec::matrix_product product{.m = 2, .n = 28, .k = 0, .a = images.data(), .b = images.data()};
  product.gathered_b.rows = window;
  product.gathered_b.columns = places;
  product.c = c.data();
  product.ldc = 28;
  product.tables = tables.data();
  product.reading = sn::planning::product_reading::in_place;
  product.count = 3;
  product.c_step = 2 * 28;
  exec::gemm<float>(product);
  CHECK(std::ranges::all_of(c, [](float each) { return each == 0; }));
}

TEST_CASE("several images without a channel give zeros") {
  auto f = sn::fuse([](auto a, auto k) { return sn::conv2d(a, k); });
  const auto x = image(5, 0, 9, 12), k = image(3, 0, 3, 3);
  sn::tensor<float, 4> y(5, 3, 7, 10);
  y.fill(7);
  f.into(y)(x, k);
  CHECK(std::ranges::all_of(y, [](float each) { return each == 0; }));
}

TEST_CASE("convolutions and their gradients make no copy of windows") {
  const auto x = image(3, 5, 19, 18), w = image(7, 5, 3, 3), d = image(3, 7, 19, 18);
  auto forward = sn::fuse([](auto a, auto k) { return sn::conv2d(a, k, {.padding = 1}); });
  auto backward = sn::fuse([](auto a, auto k, auto seed) {
    const auto [da, dk] = sn::gradients(sn::sum(sn::conv2d(a, k, {.padding = 1}) * seed), a, k);
    return sn::outputs(da, dk);
  });
  const auto copies_windows = [](const std::string& plan) {
    return plan.find(": f32  -> ") != std::string::npos &&
           plan.find("windows [s0, s1, 3, s2, 3, s3] | permute [s0, s1, 3, 3, s2, s3] : f32") !=
               std::string::npos;
  };
  CHECK_FALSE(copies_windows(forward.explain(x, w)));
  const std::string plan = backward.explain(x, w, d);
  INFO(plan);
  CHECK_FALSE(copies_windows(plan));
  CHECK(plan.find("rule transposed-convolution: applied") != std::string::npos);
  CHECK(plan.find("(9*s5), s3*s2]  (predicted") == std::string::npos);  // a column per window
}

namespace {

struct strided_case {
  std::int64_t height, width, window, groups, padding, down, right;
};

// Compares the gradient of such an image, 4 channels and 6 filters, with sums in double.
template <class F>
void check_image_gradient(const F& f, const strided_case& c) {
  CAPTURE(c.height);
  CAPTURE(c.width);
  const std::int64_t inputs = 4 / c.groups, outputs = 6 / c.groups;
  const auto x = image(2, 4, c.height, c.width), w = image(6, inputs, c.window, c.window),
             g = image(2, 6, (c.height + 2 * c.padding - c.window) / c.down + 1,
                       (c.width + 2 * c.padding - c.window) / c.right + 1);
  const auto got = f(x, w, g);
  int wrong = 0;
  for (std::int64_t i = 0; i < got.size(); ++i) {
    const std::int64_t q = i % c.width, p = i / c.width % c.height,
                       channel = i / c.width / c.height % 4, n = i / c.width / c.height / 4;
    double sum = 0;
    for (std::int64_t k = 0; k < outputs; ++k)
      for (std::int64_t a = 0; a < c.window; ++a)
        for (std::int64_t b = 0; b < c.window; ++b) {
          const std::int64_t row = p + c.padding - a, column = q + c.padding - b,
                             filter = channel / inputs * outputs + k;
          if (row < 0 || column < 0 || row % c.down != 0 || column % c.right != 0 ||
              row / c.down >= g.shape()[2] || column / c.right >= g.shape()[3])
            continue;
          sum += double{g(n, filter, row / c.down, column / c.right)} *
                 double{w(filter, channel % inputs, a, b)};
        }
    wrong += std::abs(got.data()[i] - sum) > 1e-5 ? 1 : 0;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("the image gradient of strided windows is one convolution, or one for each phase") {
  const auto halved = [](auto x, auto w, auto g) {
    return sn::vjp(sn::conv2d(x, w, {.stride = 2, .padding = 1}), g, x);
  };
  const auto of_groups = [](auto x, auto w, auto g) {
    return sn::vjp(sn::conv2d(x, w, {.stride = {2, 3}, .groups = 2}), g, x);
  };
  const auto whole = [](auto x, auto w, auto g) {
    return sn::vjp(sn::conv2d(x, w, {.stride = 2}), g, x);
  };
  const auto wide = [](auto x, auto w, auto g) {
    return sn::vjp(sn::conv2d(x, w, {.stride = {1, 2}, .padding = 2, .groups = 2}), g, x);
  };
  const auto narrow = [](auto x, auto w, auto g) {
    return sn::vjp(sn::conv2d(x, w, {.stride = {4, 1}, .padding = 1}), g, x);
  };
  // As is cheaper, and with what the other rule finds.
  for (const char* without : {"none", "transposed-convolution", "convolution-in-phases"}) {
    CAPTURE(without);
    sn::program_options options;
    options.disabled_rules = {without};
    const auto f = sn::fuse(halved, options);
    const auto in_groups = sn::fuse(of_groups, options);
    const auto unpadded = sn::fuse(whole, options);
    const auto across = sn::fuse(wide, options);
    const auto down = sn::fuse(narrow, options);
    for (const std::int64_t height : {5, 6, 7, 8})
      for (const std::int64_t width : {5, 9, 10, 11, 40}) {
        check_image_gradient(f, {height, width, 3, 1, 1, 2, 2});
        check_image_gradient(f, {height, width, 4, 1, 1, 2, 2});
        check_image_gradient(in_groups, {height, width, 3, 2, 0, 2, 3});
        // Of windows of one element most places see nothing.
        for (const std::int64_t window : {1, 2, 3, 5})
          check_image_gradient(unpadded, {height, width, window, 1, 0, 2, 2});
        check_image_gradient(across, {height, width, 5, 2, 2, 1, 2});
        for (const std::int64_t window : {2, 3, 6})
          check_image_gradient(down, {height, width, window, 1, 1, 4, 1});
      }
  }
  const auto f = sn::fuse(halved);
  const auto x = image(4, 16, 28, 28), w = image(16, 16, 3, 3), g = image(4, 16, 14, 14);
  const std::string plan = f.explain(x, w, g);
  INFO(plan);
  CHECK(plan.find("rule transposed-convolution: applied") != std::string::npos);
  CHECK(plan.find("found by: convolution-in-phases") != std::string::npos);
}

TEST_CASE("what is first met inside of a cycle of views keeps its other forms") {
  // With the gradient, which is seen under five shapes, those of all phases would be lost.
  sn::program_options options;
  options.disabled_rules = {"transposed-convolution"};
  const auto depthwise = sn::fuse(
      [](auto x, auto w, auto g) {
        return sn::vjp(sn::conv2d(x, w, {.stride = 2, .padding = 1, .groups = 16}), g, x);
      },
      options);
  const auto x = image(4, 16, 28, 28), w = image(16, 1, 3, 3), g = image(4, 16, 14, 14);
  const std::string plan = depthwise.explain(x, w, g);
  INFO(plan);
  CHECK(plan.find("found by: convolution-in-phases") != std::string::npos);
}

TEST_CASE("how the gradient of an image is read is chosen by what both ways take") {
  // The inner image is masked by its activation, and its gradient read there, and summed.
  const auto inner = [](auto a, auto k, auto l, auto seed) {
    const auto y = sn::relu(sn::conv2d(a, k, {.padding = 1}));
    const auto [dk, dl] = sn::gradients(sn::sum(sn::conv2d(y, l, {.padding = 1}) * seed), k, l);
    return sn::outputs(dk, dl);
  };
  const auto x = image(4, 3, 15, 14), k = image(40, 3, 3, 3), l = image(12, 40, 3, 3),
             seed = image(4, 12, 15, 14);
  const auto sums_windows = [](const std::string& plan) {
    return plan.find("slice [s0, s4, s2, s3]") != std::string::npos;
  };
  auto nominal = sn::fuse(inner);
  // On a machine where products pack so slowly, and rows are so expensive, that products read no
  // windows, gathered or copied.
  sn::program_options slow;
  slow.machine.packed_element *= 300;
  slow.machine.row *= 300;
  auto adds_rows = sn::fuse(inner, slow);
  // Without these rules the gradient is no sum of slices, but a slice of a sum alone.
  slow.disabled_rules = {"sum-few-windows", "reduce-few"};
  auto packs_slowly = sn::fuse(inner, slow);
  sn::program_options small = slow;
  small.memory_budget = 1;
  auto in_little_memory = sn::fuse(inner, small);
  CHECK_FALSE(sums_windows(nominal.explain(x, k, l, seed)));
  const std::string plan = packs_slowly.explain(x, k, l, seed);
  INFO(plan);
  CHECK(sums_windows(plan));
  CHECK(plan.find("the least of these nests") != std::string::npos);
  sn::tensor<float, 4> dk(k), dl(l), other_dk(k), other_dl(l);
  nominal.into(dk, dl)(x, k, l, seed);
  const auto close = [](const sn::tensor<float, 4>& a, const sn::tensor<float, 4>& b) {
    double largest = 0, apart = 0;
    for (auto p = a.begin(), q = b.begin(); p != a.end(); ++p, ++q) {
      largest = std::max(largest, std::abs(static_cast<double>(*p)));
      apart = std::max(apart, std::abs(static_cast<double>(*p - *q)));
    }
    return apart <= 1e-5 * largest;
  };
  for (auto* f : {&adds_rows, &packs_slowly, &in_little_memory}) {
    f->into(other_dk, other_dl)(x, k, l, seed);
    CHECK(close(other_dk, dk));
    CHECK(close(other_dl, dl));
  }
}

TEST_CASE("convolutions give the same bits on any number of threads, also of strided images") {
  const auto x = image(3, 18, 31, 40), w = image(34, 9, 3, 3);
  auto f = sn::fuse([](auto a, auto k) {
    return sn::conv2d(a, k, {.stride = {1, 2}, .padding = 1, .groups = 2});
  });
  // Every other column, from the last row up.
  const sn::view<const float, 4> strided(x.data() + 30 * 40, {3, 18, 31, 20},
                                         {18 * 31 * 40, 31 * 40, -40, 2});
  const sn::tensor<float, 4> copy(strided);
  const sn::tensor<float, 4> once = f(copy, w), of_view = f(strided, w);
  CHECK(once == of_view);
  CHECK(f(image(0, 18, 31, 40), w).shape() == sn::shape_vector{0, 34, 31, 20});
  const sn::tensor<float, 4> none = f(image(2, 0, 31, 40), image(34, 0, 3, 3));
  CHECK(none.shape() == sn::shape_vector{2, 34, 31, 20});
  CHECK(std::ranges::all_of(none, [](float each) { return each == 0; }));
  for (int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    CHECK(f(copy, w) == once);
  }
}

}  // namespace convolution_test
