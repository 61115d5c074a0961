// SPDX-License-Identifier: MIT
// Nests that copy rows: pads, concats, slices and permutations of every width, dtype and number of
// threads, beside loops over elements.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>
#include <omp.h>

#include <sinter/sinter.hpp>

namespace copy_nest_test {

namespace sn = sinter;

namespace {

template <class T>
sn::tensor<T, 3> counted(std::int64_t n, std::int64_t h, std::int64_t w) {
  sn::tensor<T, 3> out(n, h, w);
  for (std::int64_t i = 0; i < out.size(); ++i) out.data()[i] = static_cast<T>(i % 120 + 1);
  return out;
}

// The result of f(x), into memory that held something else.
template <class T, class F, class... A>
sn::tensor<T, 3> result_of(F& f, const sn::shape_vector& shape, const A&... x) {
  sn::tensor<T, 3> out(shape[0], shape[1], shape[2]);
  std::fill_n(out.data(), out.size(), T(99));
  f.into(out)(x...);
  return out;
}

struct around {
  std::int64_t before, after;
};

template <class T, class F>
void check_pad(F& f, const sn::tensor<T, 3>& x, around n, around h, around w, T value) {
  const auto from = x.shape();
  const auto out = result_of<T>(
      f, {from[0] + n.before + n.after, from[1] + h.before + h.after, from[2] + w.before + w.after},
      x);
  int wrong = 0;
  for (std::int64_t i = 0; i < out.shape()[0]; ++i)
    for (std::int64_t j = 0; j < out.shape()[1]; ++j)
      for (std::int64_t k = 0; k < out.shape()[2]; ++k) {
        const std::int64_t a = i - n.before, b = j - h.before, c = k - w.before;
        const bool inside = a >= 0 && a < from[0] && b >= 0 && b < from[1] && c >= 0 && c < from[2];
        wrong += out(i, j, k) != (inside ? x(a, b, c) : value) ? 1 : 0;
      }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE_TEMPLATE("pads of every width", T, float, double, std::int32_t, bool) {
  auto around_all = sn::fuse([](auto x) { return sn::pad(x, {{1, 2}, {2, 1}, {1, 3}}, 1); });
  auto images = sn::fuse([](auto x) { return sn::pad(x, {{0, 0}, {1, 1}, {1, 1}}); });
  auto behind = sn::fuse([](auto x) { return sn::pad(x, {{0, 0}, {0, 3}, {0, 0}}); });
  auto before = sn::fuse([](auto x) { return sn::pad(x, {{0, 0}, {0, 0}, {40, 0}}); });
  auto permuted = sn::fuse([](auto x) {
    return sn::pad(sn::permute(x, {1, 0, 2}), {{0, 0}, {1, 0}, {2, 2}});
  });
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    for (const std::int64_t w : {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 28, 33, 300, 9000})
      for (const auto& size : {std::array<std::int64_t, 2>{1, 1}, {0, 4}, {3, 5}, {70, 9}}) {
        const std::int64_t n = size[0], h = size[1];
        if (n * h * w > 100'000) continue;
        CAPTURE(n);
        CAPTURE(h);
        CAPTURE(w);
        const auto x = counted<T>(n, h, w);
        check_pad<T>(around_all, x, {1, 2}, {2, 1}, {1, 3}, T(1));
        check_pad<T>(images, x, {0, 0}, {1, 1}, {1, 1}, T(0));
        check_pad<T>(behind, x, {0, 0}, {0, 3}, {0, 0}, T(0));
        check_pad<T>(before, x, {0, 0}, {0, 0}, {40, 0}, T(0));
        const auto out = result_of<T>(permuted, {h, n + 1, w + 4}, x);
        int wrong = 0;
        for (std::int64_t i = 0; i < h; ++i)
          for (std::int64_t j = 0; j < n + 1; ++j)
            for (std::int64_t k = 0; k < w + 4; ++k)
              wrong += out(i, j, k) != (j > 0 && k >= 2 && k < w + 2 ? x(j - 1, i, k - 2) : T(0));
        CHECK(wrong == 0);
      }
  }
}

TEST_CASE_TEMPLATE("permutations, concats and slices of rows", T, float, double, std::int32_t) {
  auto permuted = sn::fuse([](auto x) { return sn::permute(x, {1, 0, 2}); });
  auto joined = sn::fuse([](auto x, auto y) { return sn::concat(2, x, y); });
  auto stacked = sn::fuse([](auto x, auto y) { return sn::concat(1, x, y); });
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    for (const std::int64_t w : {1, 2, 3, 5, 8, 16, 19, 31, 70, 600})
      for (const auto& size : {std::array<std::int64_t, 2>{1, 1}, {4, 3}, {65, 8}}) {
        const std::int64_t n = size[0], h = size[1];
        CAPTURE(n);
        CAPTURE(h);
        CAPTURE(w);
        const auto x = counted<T>(n, h, w), y = counted<T>(n, h, 2 * w), z = counted<T>(n, 2, w);
        const auto turned = result_of<T>(permuted, {h, n, w}, x);
        const auto wide = result_of<T>(joined, {n, h, 3 * w}, x, y);
        const auto high = result_of<T>(stacked, {n, h + 2, w}, x, z);
        int wrong = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t j = 0; j < h; ++j) {
            for (std::int64_t k = 0; k < w; ++k) wrong += turned(j, i, k) != x(i, j, k);
            for (std::int64_t k = 0; k < 3 * w; ++k)
              wrong += wide(i, j, k) != (k < w ? x(i, j, k) : y(i, j, k - w));
          }
          for (std::int64_t j = 0; j < h + 2; ++j)
            for (std::int64_t k = 0; k < w; ++k)
              wrong += high(i, j, k) != (j < h ? x(i, j, k) : z(i, j - h, k));
        }
        CHECK(wrong == 0);
      }
  }
}

TEST_CASE_TEMPLATE("every other column, and zeros around it", T, float, double, std::int16_t,
                   bool) {
  auto first = sn::fuse([](auto x) { return sn::slice(x, 2, 0, sn::until_end, 2); });
  auto both = sn::fuse([](auto x) {
    return sn::slice(sn::slice(x, 1, 1, sn::until_end, 2), 2, 1, sn::until_end, 2);
  });
  auto padded = sn::fuse([](auto x) {
    return sn::pad(sn::slice(x, 2, 1, sn::until_end, 2), {{0, 0}, {1, 1}, {1, 2}});
  });
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    for (const std::int64_t w : {2, 3, 14, 15, 16, 31, 64, 131, 9000})
      for (const auto& size : {std::array<std::int64_t, 2>{1, 2}, {4, 3}, {65, 8}}) {
        const std::int64_t n = size[0], h = size[1];
        CAPTURE(n);
        CAPTURE(h);
        CAPTURE(w);
        const auto x = counted<T>(n, h, w);
        const auto even = result_of<T>(first, {n, h, (w + 1) / 2}, x);
        const auto odd = result_of<T>(both, {n, h / 2, w / 2}, x);
        const auto out = result_of<T>(padded, {n, h + 2, w / 2 + 3}, x);
        int wrong = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          for (std::int64_t j = 0; j < h; ++j)
            for (std::int64_t k = 0; k < (w + 1) / 2; ++k) wrong += even(i, j, k) != x(i, j, 2 * k);
          for (std::int64_t j = 0; j < h / 2; ++j)
            for (std::int64_t k = 0; k < w / 2; ++k)
              wrong += odd(i, j, k) != x(i, 2 * j + 1, 2 * k + 1);
          for (std::int64_t j = 0; j < h + 2; ++j)
            for (std::int64_t k = 0; k < w / 2 + 3; ++k) {
              const bool inside = j > 0 && j <= h && k > 0 && k <= w / 2;
              wrong += out(i, j, k) != (inside ? x(i, j - 1, 2 * k - 1) : T(0));
            }
        }
        CHECK(wrong == 0);
      }
  }
}

TEST_CASE_TEMPLATE("columns side by side, and some that are filled", T, float, double, std::int16_t,
                   bool) {
  auto two = sn::fuse([](auto x, auto y) { return sn::concat(2, x, y); });
  auto three = sn::fuse([](auto x, auto y, auto z) { return sn::concat(2, x, y, z); });
  auto four = sn::fuse([](auto x, auto y, auto z) { return sn::concat(2, z, y, x, y); });
  auto turned = sn::fuse([](auto x, auto y) {
    return sn::concat(2, sn::permute(x, {1, 0, 2}), sn::permute(y, {1, 0, 2}));
  });
  auto behind = sn::fuse([](auto x) { return sn::pad(x, {{0, 0}, {0, 0}, {0, 1}}); });
  auto before = sn::fuse([](auto x) { return sn::pad(x, {{0, 0}, {0, 0}, {1, 0}}, 1); });
  auto both = sn::fuse([](auto x) { return sn::pad(x, {{0, 0}, {0, 0}, {1, 2}}, 1); });
  auto rows = sn::fuse([](auto x) { return sn::pad(x, {{0, 0}, {1, 0}, {0, 1}}, 1); });
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    for (const auto& size : {std::array<std::int64_t, 2>{1, 1},
                             {0, 4},
                             {3, 5},
                             {1, 255},
                             {16, 16},
                             {257, 1},
                             {70, 99},
                             {300, 401}}) {
      const std::int64_t n = size[0], h = size[1];
      CAPTURE(n);
      CAPTURE(h);
      sn::tensor<T, 3> x = counted<T>(n, h, 1), y = x, z = x;
      for (std::int64_t i = 0; i < x.size(); ++i) {
        y.data()[i] = static_cast<T>(i % 2);
        z.data()[i] = static_cast<T>(i % 101);
      }
      const auto a = result_of<T>(two, {n, h, 2}, x, y), d = result_of<T>(turned, {h, n, 2}, x, y);
      const auto b = result_of<T>(three, {n, h, 3}, x, y, z),
                 c = result_of<T>(four, {n, h, 4}, x, y, z);
      int wrong = 0;
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < h; ++j) {
          const T first = x(i, j, 0), second = y(i, j, 0), third = z(i, j, 0);
          wrong += a(i, j, 0) != first || a(i, j, 1) != second ? 1 : 0;
          wrong += d(j, i, 0) != first || d(j, i, 1) != second ? 1 : 0;
          wrong += b(i, j, 0) != first || b(i, j, 1) != second || b(i, j, 2) != third ? 1 : 0;
          wrong += c(i, j, 0) != third || c(i, j, 1) != second || c(i, j, 2) != first ||
                           c(i, j, 3) != second
                       ? 1
                       : 0;
        }
      CHECK(wrong == 0);
      check_pad<T>(behind, x, {0, 0}, {0, 0}, {0, 1}, T(0));
      check_pad<T>(before, x, {0, 0}, {0, 0}, {1, 0}, T(1));
      check_pad<T>(both, x, {0, 0}, {0, 0}, {1, 2}, T(1));
      check_pad<T>(rows, x, {0, 0}, {1, 0}, {0, 1}, T(1));
    }
  }
}

TEST_CASE("the gradient of means is one value for several elements") {
  const auto slope = sn::fuse([](auto x, auto g) { return sn::vjp(sn::avg_pool2d(x, 2), g, x); });
  for (const std::int64_t width : {1, 2, 5, 17, 300}) {
    CAPTURE(width);
    sn::tensor<float, 4> x(2, 3, 6, 2 * width), g(2, 3, 3, width);
    for (std::int64_t i = 0; i < g.size(); ++i) g.data()[i] = static_cast<float>(i % 97);
    const sn::tensor<float, 4> out = slope(x, g);
    int wrong = 0;
    for (std::int64_t i = 0; i < out.size(); ++i) {
      const std::int64_t column = i % (2 * width), row = i / (2 * width);  // of all images
      wrong += out.data()[i] != g.data()[row / 2 * width + column / 2] / 4 ? 1 : 0;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE_TEMPLATE("every element several times", T, float, double, std::int32_t, std::uint8_t,
                   bool) {
  auto twice = sn::fuse([](auto x) { return sn::upsample_nearest(x, 2); });
  auto thrice = sn::fuse([](auto x) { return sn::upsample_nearest(x, {1, 3}); });
  auto often = sn::fuse([](auto x) { return sn::upsample_nearest(x, {3, 20}); });
  auto padded = sn::fuse([](auto x) {
    return sn::pad(sn::upsample_nearest(x, {1, 2}), {{0, 0}, {1, 1}, {1, 2}});
  });
  auto joined = sn::fuse([](auto x, auto y) {
    return sn::concat(2, sn::upsample_nearest(x, {1, 2}), y);
  });
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    for (const std::int64_t w : {0, 1, 2, 5, 8, 17, 28, 150})
      for (const auto& size : {std::array<std::int64_t, 2>{1, 1}, {0, 4}, {3, 5}, {70, 9}}) {
        const std::int64_t n = size[0], h = size[1];
        CAPTURE(n);
        CAPTURE(h);
        CAPTURE(w);
        const auto x = counted<T>(n, h, w), y = counted<T>(n, h, 3);
        int wrong = 0;
        const auto check = [&](auto& f, std::int64_t down, std::int64_t across) {
          const auto out = result_of<T>(f, {n, down * h, across * w}, x);
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < down * h; ++j)
              for (std::int64_t k = 0; k < across * w; ++k)
                wrong += out(i, j, k) != x(i, j / down, k / across) ? 1 : 0;
        };
        check(twice, 2, 2);
        check(thrice, 1, 3);
        check(often, 3, 20);
        const auto inside = result_of<T>(padded, {n, h + 2, 2 * w + 3}, x);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < h + 2; ++j)
            for (std::int64_t k = 0; k < 2 * w + 3; ++k) {
              const bool is_inside = j >= 1 && j <= h && k >= 1 && k <= 2 * w;
              wrong += inside(i, j, k) != (is_inside ? x(i, j - 1, (k - 1) / 2) : T(0)) ? 1 : 0;
            }
        const auto beside = result_of<T>(joined, {n, h, 2 * w + 3}, x, y);
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < h; ++j)
            for (std::int64_t k = 0; k < 2 * w + 3; ++k)
              wrong += beside(i, j, k) != (k < 2 * w ? x(i, j, k / 2) : y(i, j, k - 2 * w)) ? 1 : 0;
        CHECK(wrong == 0);
      }
  }
}

TEST_CASE("what is written several times is computed once") {
  const auto f = sn::fuse([](auto x) { return sn::relu(sn::upsample_nearest(x, 2)) + 1.0f; });
  const std::string plan = f.explain(counted<float>(8, 40, 40));
  INFO(plan);
  CHECK(plan.find("tiles over [s0, s1, s2]") != std::string::npos);
  CHECK(plan.find("tiles over [s0, s1, 2, s2, 2]") != std::string::npos);
}

}  // namespace copy_nest_test
