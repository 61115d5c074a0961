// SPDX-License-Identifier: MIT
// Symbols that were declared with a range of one and more: being one makes no class of shapes of
// its own, unless broadcasting depends on it.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/close.hpp"
#include "support/random_graph.hpp"
#include "support/run_graph.hpp"
#include <sinter/function/graph_builder.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/sinter.hpp>

namespace open_extents_test {

namespace {

namespace sn = sinter;
namespace ir = sinter::ir;
using sn::dtype;
using sn::graph_builder;
using sn::sym;

sn::tensor<float, 2> filled(std::int64_t rows, std::int64_t columns) {
  sn::tensor<float, 2> x(rows, columns);
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.data()[i] = 0.25f * static_cast<float>((i * 7) % 11) - 1.25f;
  return x;
}

ir::reference_tensor reference(const sn::any_tensor& x) {
  test_support::raw_tensor raw{x.shape(), {}};
  const auto* bytes = static_cast<const std::byte*>(x.data());
  raw.bytes.assign(bytes, bytes + static_cast<std::size_t>(x.size()) * sn::size_of(x.type()));
  return raw.to(x.type());
}

// The results of f are those of the reference interpreter. Bound arguments come behind the others.
void check(const sn::graph_function& f, const std::vector<sn::any_tensor>& arguments,
           const std::vector<sn::any_tensor>& bound = {}) {
  std::vector<ir::reference_tensor> values;
  for (const auto* list : {&arguments, &bound})
    for (const sn::any_tensor& x : *list) values.push_back(reference(x));
  const std::vector<sn::graph_argument> passed(arguments.begin(), arguments.end());
  const auto expected = ir::interpret(f.traced(), values);
  const auto got = f(passed);
  REQUIRE(got.size() == expected.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    const ir::reference_tensor y = reference(got[k]);
    REQUIRE(y.shape == expected[k].shape);
    for (std::size_t i = 0; i < y.data.size(); ++i)
      REQUIRE(test_support::close(y.data[i], expected[k].data[i], 1e-5, 1e-5));
  }
}

}  // namespace

TEST_CASE("batches of 1, 2 and 32 share a saturation, whichever comes first") {
  for (const std::int64_t first : {1, 2, 32}) {
    graph_builder g;
    const auto x = g.argument("x", dtype::f32, {sym("batch", 1, 64), 24});
    const auto w = g.bound("w", filled(24, 10)), row = g.bound("row", filled(1, 10)),
               last = g.bound("last", filled(10, 5));
    const auto y = sn::relu(sn::matmul(x, w) + row);
    const auto f = g.compile({sn::softmax(sn::matmul(y, last)), sn::mean(y, {0}), sn::max(x)});
    for (const std::int64_t rows : {first, std::int64_t{1}, std::int64_t{2}, std::int64_t{32},
                                    std::int64_t{33}, std::int64_t{1}})
      check(f, {filled(rows, 24)}, {filled(24, 10), filled(1, 10), filled(10, 5)});
    CHECK(f.statistics().saturations == 1);
    CHECK(f.statistics().extractions == 4);  // 1, 2, 32, 64
  }
}

TEST_CASE("a symbol without a range is one in a class of its own") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("batch"), 4});
  const auto f = g.compile({x * 2.0f});
  check(f, {filled(1, 4)});
  check(f, {filled(2, 4)});
  CHECK(f.statistics().saturations == 2);
}

TEST_CASE("what is one in every call is broadcast along a symbol, also where that is one") {
  graph_builder g;
  const sym batch("batch", 1, 9);
  const auto x = g.argument("x", dtype::f32, {batch, 4}), row = g.argument("r", dtype::f32, {1, 4}),
             column = g.argument("c", dtype::f32, {batch, 1}),
             one = g.argument("o", dtype::f32, {1, 1});
  const auto y = x * row + column * one - row;
  const auto [by_row, by_column, by_one] = sn::gradients(sn::sum(y * y), row, column, one);
  const auto f = g.compile({y, sn::sum(y * y, {0}), by_row, by_column, by_one});
  for (const std::int64_t rows : {1, 3, 1, 9})
    check(f, {filled(rows, 4), filled(1, 4), filled(rows, 1), filled(1, 1)});
  CHECK(f.statistics().saturations == 1);
}

TEST_CASE("two symbols that meet: equal ones share a class, one of one has its own") {
  for (const std::int64_t first : {1, 3}) {
    graph_builder g;
    const auto x = g.argument("x", dtype::f32, {sym("a", 1, 9), 4}),
               y = g.argument("y", dtype::f32, {sym("b", 1, 9), 4});
    const auto z = x * y + 1.0f;
    const auto [by_x, by_y] = sn::gradients(sn::sum(z * z), x, y);
    const auto f = g.compile({z, by_x, by_y});
    const auto call = [&](std::int64_t a, std::int64_t b) {
      check(f, {filled(a, 4), filled(b, 4)});
    };
    call(first, first);
    call(1, 1);
    call(3, 3);
    CHECK(f.statistics().saturations == 1);
    call(1, 3);
    call(1, 5);
    CHECK(f.statistics().saturations == 2);
    call(3, 1);
    call(5, 1);
    CHECK(f.statistics().saturations == 3);
    CHECK_THROWS_WITH_AS(f({filled(2, 4), filled(3, 4)}),
                         doctest::Contains("mul(f32[2, 4], f32[3, 4])"), sn::shape_error);
  }
}

TEST_CASE("a symbol that meets a number, and one that must be one") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("n", 1, 9), 4}),
             y = g.argument("y", dtype::f32, {3, 4});
  const auto f = g.compile({x + y});
  check(f, {filled(3, 4), filled(3, 4)});
  check(f, {filled(1, 4), filled(3, 4)});
  CHECK(f.statistics().saturations == 2);
  CHECK_THROWS_AS(f({filled(2, 4), filled(3, 4)}), sn::shape_error);

  const auto only_one = g.compile({sn::reshape(x, 4)});
  check(only_one, {filled(1, 4), filled(3, 4)});
  CHECK_THROWS_AS(only_one({filled(2, 4), filled(3, 4)}), sn::shape_error);
}

TEST_CASE("extents that are computed from open ones") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("rows", 1, 8), sym("places", 1, 8)});
  const auto flat = sn::reshape(x, sn::extent(x, 0) * sn::extent(x, 1), 1);
  const auto both = sn::concat(0, x, x);
  const auto f = g.compile({flat * 2.0f, sn::sum(both, {0}), sn::matmul(sn::transpose(x), x)});
  for (const auto& [rows, places] : {std::pair{1, 1}, {1, 8}, {8, 1}, {3, 5}, {1, 1}, {2, 2}})
    check(f, {filled(rows, places)});
  CHECK(f.statistics().saturations == 1);

  // Half of the rows is one row of two and of three: that is a class.
  graph_builder other;
  const auto rows = other.argument("x", dtype::f32, {sym("rows", 2, 8), 4});
  const auto half = other.compile({sn::slice(rows, 0, 0, sn::extent(rows, 0) / 2) * 2.0f});
  for (const std::int64_t count : {2, 6, 3, 8}) check(half, {filled(count, 4)});
  CHECK(half.statistics().saturations == 2);
}

TEST_CASE("one row of a frozen product is read as it is, a batch packed, in one class") {
  graph_builder g;
  const auto x = g.argument("x", dtype::f32, {sym("batch", 1, 128), 64});
  const auto f = g.compile({sn::matmul(x, g.bound("w", filled(64, 144)))});
  check(f, {filled(96, 64)}, {filled(64, 144)});
  CHECK(f.explain({filled(96, 64)}).find("packed prepared") != std::string::npos);
  check(f, {filled(1, 64)}, {filled(64, 144)});
  CHECK(f.explain({filled(1, 64)}).find("packed prepared") == std::string::npos);
  CHECK(f.statistics().saturations == 1);
}

TEST_CASE("random graphs: a class that other extents made is right for those of the sample") {
  const sn::program_code code = sn::detail::all_code();
  int shared = 0, compared = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    auto sample = sn::test::make_random_graph(
        seed, {static_cast<int>(4 + seed % 12), sn::test::extent_kind::traced_symbols, false});
    CAPTURE(seed);
    std::int64_t symbols = 0;
    for (std::size_t i = 0; i < sample.graph.dims.size(); ++i)
      if (const ir::dim d = ir::dim::expression(i);
          sample.graph.dims.kind(d) == ir::dim_kind::symbol)
        symbols = std::max(symbols, sample.graph.dims.operands(d)[0] + 1);
    for (std::int64_t s = 0; s < symbols; ++s)
      sample.graph.dims.describe(s, {"n" + std::to_string(s), {0, 64}});

    // Equal extents stay equal, but what was one is not, or the other way round.
    std::vector<ir::reference_tensor> others;
    const auto other = [&](std::int64_t extent) {
      return extent == 1 ? 1 + static_cast<std::int64_t>(seed % 3) : seed % 2 == 0 ? 1 : extent;
    };
    for (std::size_t a = 0; a < sample.arguments.size(); ++a) {
      const ir::reference_tensor& x = sample.arguments[a];
      sn::shape_vector shape = x.shape;
      for (int id = 0; id < sample.graph.size(); ++id)
        if (sample.graph[id].code == ir::op::argument &&
            sample.graph.attributes(id)[1] == static_cast<std::int64_t>(a))
          for (std::size_t axis = 0; axis < shape.size(); ++axis)
            if (!sample.graph[id].shape[axis].is_constant()) shape[axis] = other(shape[axis]);
      others.push_back(ir::filled(x.type, shape, 1));
      for (std::size_t i = 0; i < others.back().data.size() && !x.data.empty(); ++i)
        others.back().data[i] = x.data[i % x.data.size()];
    }

    sn::program p(sample.graph, code);
    try {
      test_support::run(p, others);
    } catch (const sn::error&) {  // what the sample does needs extents like its own
    }
    const auto before = p.statistics().saturations;
    const auto expected = ir::interpret(sample.graph, sample.arguments);
    const auto got = test_support::run(p, sample.arguments);
    ++compared;
    shared += before == 1 && p.statistics().saturations == 1 ? 1 : 0;
    for (std::size_t k = 0; k < got.size(); ++k) {
      REQUIRE(got[k].shape == expected[k].shape);
      double scale = 1;
      for (double e : expected[k].data)
        if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
      const double tolerance = sn::is_floating(got[k].type) ? sn::test::random_graph_tolerance : 0;
      std::size_t flipped = 0;
      for (std::size_t i = 0; i < got[k].data.size(); ++i) {
        if (test_support::close(got[k].data[i], expected[k].data[i], tolerance, tolerance * scale))
          continue;
        // A comparison of two values that differ by rounding may fall either way.
        if (got[k].type == dtype::boolean && ++flipped * 20 <= got[k].data.size()) continue;
        FAIL("seed " << seed << ", output " << k << ", element " << i << ": " << got[k].data[i]
                     << " instead of " << expected[k].data[i] << "\n"
                     << ir::to_text(sample.graph));
      }
    }
  }
  CHECK(compared == 150);
  CHECK(shared > 20);
}

}  // namespace open_extents_test
