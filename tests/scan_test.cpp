// SPDX-License-Identifier: MIT
// Running sums of every length, along every axis and of every view, beside the reference
// interpreter; what they promise of bits and of errors.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/run_graph.hpp"
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/scan.hpp>
#include <sinter/sinter.hpp>

namespace scan_test {

namespace sn = sinter;
namespace ir = sn::ir;
using ir::reference_tensor;
using sn::dtype;
using sn::shape_vector;
using test_support::run;

namespace {

// Whole numbers in [-4, 4], or [0, 8] of unsigned ones.
reference_tensor small_numbers(dtype type, const shape_vector& shape) {
  reference_tensor out = ir::filled(type, shape, 0);
  std::uint32_t state = 7;
  for (double& x : out.data) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<double>(state >> 24) / 255 * 8;
    x = std::round(x) - (type == dtype::u8 ? 0 : 4);
  }
  return out;
}

// The same sums as the interpreter's of whatever `view` makes of x. Sums of whole numbers are exact
// in any order.
template <class View>
void check_sums(dtype type, const shape_vector& shape, View view) {
  const reference_tensor x = small_numbers(type, shape);
  ir::graph g;
  ir::symbolic_shape extents;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    extents.push_back(g.dims.symbol(static_cast<std::int64_t>(axis)));
  const ir::value seen = view(ir::argument(g, type, 0, extents));
  for (int axis = 0; axis < seen.rank(); ++axis)
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        g.outputs.push_back({ir::cumsum(seen, axis, exclusive, reverse).id, -1});
  const std::vector<reference_tensor> expected = ir::interpret(g, std::array{x}),
                                      got = run(g, std::array{x});
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CAPTURE(sn::to_string(shape));
    CHECK(got[i] == expected[i]);
  }
}

ir::value as_it_is(ir::value x) { return x; }

}  // namespace

TEST_CASE("running sums of every length and width") {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::i32, dtype::u8, dtype::i64})
    for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 31, 63, 255, 256, 257, 600}) {
      CAPTURE(n);
      check_sums(type, {n}, as_it_is);
      check_sums(type, {3, n}, as_it_is);
      check_sums(type, {n, 5}, as_it_is);
      if (n < 100) check_sums(type, {2, n, 33}, as_it_is);
    }
  check_sums(dtype::f32, {300, 300}, as_it_is);
  check_sums(dtype::f32, {3, 2, 1, 40, 3}, as_it_is);
}

TEST_CASE("running sums of views") {
  for (const std::int64_t n : {1, 7, 40, 520}) {
    CAPTURE(n);
    check_sums(dtype::f32, {3, 5, n}, [](ir::value x) { return ir::transpose(x); });
    check_sums(dtype::f32, {n, 4, 3}, [](ir::value x) {
      return ir::permute(x, std::array<std::int64_t, 3>{2, 0, 1});
    });
    check_sums(dtype::f32, {4, n}, [](ir::value x) { return ir::flip(x, 3); });
    check_sums(dtype::i32, {n, 6}, [](ir::value x) {
      return ir::slice(x, {0, 1}, {x.extent(0), 6}, {1, 2});
    });
    check_sums(dtype::f32, {n, 1}, [](ir::value x) {
      return ir::broadcast_to(x, {x.extent(0), 9});
    });
    check_sums(dtype::f64, {n, 6}, [](ir::value x) {
      return ir::pad(ir::reshape(x, {x.extent(0), 2, 3}), {1, 0, 2}, {0, 1, 0});
    });
  }
}

TEST_CASE("what is not finite spoils the sums that it is in, and no others") {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const double special : {infinity, -infinity, nan})
    for (const shape_vector& shape : {shape_vector{40, 1}, shape_vector{40, 20}})
      for (const bool reverse : {false, true}) {
        reference_tensor x = ir::filled(dtype::f32, shape, 1);
        const std::size_t columns = static_cast<std::size_t>(shape[1]);
        x.data[21 * columns] = special;
        ir::graph g;
        const ir::value a = ir::argument(g, dtype::f32, 0, {shape[0], shape[1]});
        g.outputs = {{ir::cumsum(a, 0, false, reverse).id, -1}};
        const reference_tensor got = run(g, std::array{x})[0];
        for (std::size_t i = 0; i < 40; ++i) {
          const double sum = got.data[i * columns];
          const bool spoiled = reverse ? i <= 21 : i >= 21;
          CAPTURE(i);
          if (!spoiled)
            CHECK(sum == (reverse ? 40.0 - static_cast<double>(i) : static_cast<double>(i) + 1));
          else
            CHECK((sum == special || (sum != sum && special != special)));
          if (columns > 1)
            CHECK(got.data[i * columns + 1] ==
                  (reverse ? 40.0 - static_cast<double>(i) : static_cast<double>(i) + 1));
        }
      }
}

TEST_CASE_TEMPLATE("from the end on sums have the bits of sums of what is turned round", T, float,
                   double) {
  for (const std::int64_t n : {1, 5, 16, 40, 256, 1000}) {
    CAPTURE(n);
    const auto count = static_cast<std::size_t>(n);
    std::vector<T> x(count), turned(count), ahead(count), back(count);
    for (std::size_t i = 0; i < count; ++i) x[i] = std::sin(static_cast<T>(i) * T(1.7)) + T(0.3);
    std::reverse_copy(x.begin(), x.end(), turned.begin());
    sn::exec::scan_line<T, false>(n, turned.data(), 1, ahead.data());
    sn::exec::scan_line<T, true>(n, x.data(), 1, back.data());
    std::ranges::reverse(back);
    CHECK(back == ahead);
  }
}

TEST_CASE("errors of running sums grow with blocks") {
  // One by one, sums of so many numbers of one sign are off by some 2^-9 of themselves.
  constexpr std::int64_t n = 1 << 20;
  sn::tensor<float, 2> x(n, 1), wide(n, 2);
  double total = 0;
  float one_by_one = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float each = 0.1f + 0.01f * static_cast<float>(i % 7);
    x(i, 0) = wide(i, 0) = wide(i, 1) = each;
    total += each;
    one_by_one += each;
  }
  auto down = sn::fuse([](auto a) { return sn::cumsum(a, 0); });
  const sn::tensor<float, 2> line = down(x), columns = down(wide);
  const double bound = (256 + n / 256) * 0x1p-24 * total;
  CHECK(std::fabs(line(n - 1, 0) - total) <= bound);
  CHECK(std::fabs(columns(n - 1, 1) - total) <= bound);
  CHECK(std::fabs(line(n - 1, 0) - total) * 20 < std::fabs(one_by_one - total));
  CHECK(std::fabs(columns(n - 1, 1) - total) * 20 < std::fabs(one_by_one - total));
}

TEST_CASE("running sums have the same bits for every number of threads") {
  auto sums = sn::fuse([](auto x) {
    return sn::outputs(sn::cumsum(x, 0), sn::cumsum(x, 1, {.exclusive = true}),
                       sn::cumsum(x, 2, {.reverse = true}));
  });
  sn::tensor<float, 3> x(6, 300, 250);
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data()[i] = std::sin(static_cast<float>(i)) * 0.7f + 0.1f;
  const auto with = [&](int threads) {
    const sn::exec::loop_threads most(threads);
    return sums(x);
  };
  const auto [a, b, c] = with(1);
  for (const int threads : {2, 3, 4}) {
    CAPTURE(threads);
    const auto [d, e, f] = with(threads);
    CHECK(std::equal(a.data(), a.data() + a.size(), d.data()));
    CHECK(std::equal(b.data(), b.data() + b.size(), e.data()));
    CHECK(std::equal(c.data(), c.data() + c.size(), f.data()));
  }
}

TEST_CASE("turned round sums are sums from the other end, and of two sums one is enough") {
  const auto scans = [](const std::string& explained) {
    int found = 0;
    for (std::size_t at = 0; (at = explained.find(": scan over", at)) != std::string::npos; ++at)
      ++found;
    return found;
  };
  auto turned = sn::fuse([](auto x) { return sn::flip(sn::cumsum(sn::flip(x, 1), 1), 1); });
  auto both = sn::fuse([](auto x, auto y) { return sn::cumsum(x, 0) - sn::cumsum(y, 0); });
  const sn::tensor<float, 2> x(40, 50);
  const std::string alone = turned.explain(x);
  CHECK(alone.find("plan: 1 nests") != std::string::npos);
  CHECK(scans(alone) == 1);
  CHECK(scans(both.explain(x, x)) == 1);
}

}  // namespace scan_test
