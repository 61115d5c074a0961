// SPDX-License-Identifier: MIT
// Named symbols and their ranges: interval arithmetic against enumeration, and what graphs conclude
// from ranges.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/graph/bind.hpp>
#include <sinter/graph/print.hpp>

namespace extent_range_test {

using namespace sinter;
using ir::dim;
using ir::extent_range;
using ir::guard;
using ir::truth;

namespace {

ir::dim_table described(const std::vector<extent_range>& ranges) {
  ir::dim_table dims;
  for (std::size_t i = 0; i < ranges.size(); ++i)
    dims.describe(static_cast<std::int64_t>(i), {"", ranges[i]});
  return dims;
}

std::size_t count(const ir::graph& g, guard::fact fact) {
  return static_cast<std::size_t>(
      std::ranges::count_if(g.guards, [&](const guard& each) { return each.holds == fact; }));
}

}  // namespace

TEST_CASE(
    "the range of an expression holds every value it takes, and no more where symbols occur once") {
  ir::dim_table dims = described({{1, 5}, {0, 4}, {2, 3}});
  const dim a = dims.symbol(0), b = dims.symbol(1), c = dims.symbol(2);
  struct expectation {
    dim expression;
    bool exact;
  };
  const expectation expressions[] = {
      {dims.add(a, b), true},
      {dims.sub(a, dim(3)), true},
      {dims.sub(a, b), true},
      {dims.add(dims.mul(dim(3), a), dim(2)), true},
      {dims.mul(a, c), true},
      {dims.mul(dims.add(a, b), c), false},
      {dims.floor_div(dims.add(a, b), c), false},
      {dims.floor_div(a, dim(2)), true},
      {dims.mod(a, dim(3)), true},
      {dims.floor_div(dim(12), c), true},
      {dims.sub(dims.mul(a, a), a), false},
      {dims.floor_div(dims.sub(a, dim(3)), c), false},
      {dims.mod(b, dims.sub(a, dim(1))), false},
      {dims.broadcast(a, c), false},
  };
  for (const expectation& each : expressions) {
    std::int64_t low = extent_range::highest, high = extent_range::lowest;
    for (std::int64_t x = 1; x <= 5; ++x)
      for (std::int64_t y = 0; y <= 4; ++y)
        for (std::int64_t z = 2; z <= 3; ++z) {
          const std::int64_t value =
              dims.evaluate(each.expression, std::vector<std::int64_t>{x, y, z});
          low = std::min(low, value);
          high = std::max(high, value);
        }
    const extent_range range = dims.range(each.expression);
    CAPTURE(dims.to_string(each.expression));
    CHECK(range.low <= low);
    CHECK(range.high >= high);
    if (each.exact) CHECK(range == extent_range{low, high});
  }
}

TEST_CASE("ranges without bounds and ends beyond 64 bits stay sound") {
  ir::dim_table dims = described({{2, extent_range::highest}, {0, extent_range::highest / 2}});
  const dim a = dims.symbol(0), b = dims.symbol(1), plain = dims.symbol(7);
  CHECK(dims.range(plain) == extent_range{});
  CHECK(dims.range(dims.mul(a, b)) == extent_range{0, extent_range::highest});
  CHECK(dims.range(dims.mul(dims.mul(b, b), b)).high == extent_range::highest);
  CHECK(dims.range(dims.sub(dim(1), a)) == extent_range{extent_range::lowest, -1});
  CHECK(dims.range(dims.sub(a, plain)) ==
        extent_range{extent_range::lowest, extent_range::highest});
  CHECK(dims.range(dims.floor_div(a, dim(2))) == extent_range{1, extent_range::highest});
  CHECK(dims.range(dims.floor_div(dim(100), a)) == extent_range{0, 50});
}

TEST_CASE("equality and order are decided where ranges decide them") {
  ir::dim_table dims = described({{2, 10}, {11, 20}});
  const dim a = dims.symbol(0), b = dims.symbol(1), plain = dims.symbol(2);
  CHECK(dims.equal(a, b) == truth::no);
  CHECK(dims.equal(a, dim(1)) == truth::no);
  CHECK(dims.equal(a, dim(2)) == truth::unknown);
  CHECK(dims.equal(dims.add(a, dim(10)), b) == truth::unknown);
  CHECK(dims.at_most(a, b) == truth::yes);
  CHECK(dims.at_most(b, a) == truth::no);
  CHECK(dims.at_most(a, dim(5)) == truth::unknown);
  CHECK(dims.at_most(dim(0), plain) == truth::yes);
  CHECK(dims.at_most(plain, a) == truth::unknown);
}

TEST_CASE("a graph that is being built rejects at once what no extent in range can make right") {
  ir::graph g;
  g.dims.describe(0, {"batch", {2, 64}});
  g.dims.describe(1, {"classes", {100, 1000}});
  const ir::value x = ir::argument(g, dtype::f32, 0, {g.dims.symbol(0), 10});
  const ir::value y = ir::argument(g, dtype::f32, 1, {g.dims.symbol(1), 10});
  std::string message;
  try {
    x + y;
  } catch (const shape_error& e) {
    message = e.what();
  }
  CHECK(message ==
        "add(f32[batch, 10], f32[classes, 10]): extents cannot agree (batch in 2..64, classes in "
        "100..1000)");
  CHECK_THROWS_WITH_AS(ir::slice(x, {0, 0}, {65, 10}, {1, 1}),
                       doctest::Contains("bound 65 is outside of the extent (batch in 2..64)"),
                       shape_error);
  CHECK(ir::slice(x, {0, 0}, {64, 10}, {1, 1}).shape()[0] == dim(64));
  // Neither extent is 1: no broadcast is left to binding.
  CHECK(x.owner->is_one(x.extent(0)) == truth::no);
}

TEST_CASE("binding needs no guards for what ranges say") {
  const auto bound_with = [](extent_range range) {
    ir::graph g;
    if (!(range == extent_range{})) g.dims.describe(0, {"n", range});
    const ir::value x = ir::argument(g, dtype::f32, 0, {g.dims.symbol(0)});
    g.outputs = {{ir::slice(x, {0}, {4}, {1}).id, -1}};
    return ir::bind(g, std::vector<shape_vector>{{8}});
  };
  const ir::graph plain = bound_with({}), ranged = bound_with({4, 100}),
                  short_ones = bound_with({2, 100});
  CHECK(count(plain, guard::fact::differ) == 1);
  CHECK(count(plain, guard::fact::at_most) == 1);  // 4 <= n
  CHECK(ranged.guards.empty());
  CHECK(count(short_ones, guard::fact::at_most) == 1);
  CHECK(ir::holds(ranged, std::vector<std::int64_t>{5}));
  CHECK(ir::to_text(ranged).find("bound: n = 8") != std::string::npos);
}

TEST_CASE("binding checks ranges, and that a symbol has one value") {
  ir::graph g;
  g.argument_names = {"x", ""};
  g.dims.describe(0, {"batch", {1, 64}});
  const dim batch = g.dims.symbol(0);
  const ir::value x = ir::argument(g, dtype::f32, 0, {batch, 3}),
                  y = ir::argument(g, dtype::f32, 1, {batch, 3});
  g.outputs = {{(x + y).id, -1}};
  const auto bind_to = [&](std::int64_t a, std::int64_t b) {
    return ir::bind(g, std::vector<shape_vector>{{a, 3}, {b, 3}});
  };
  CHECK(bind_to(64, 64).size() == 3);
  CHECK_THROWS_WITH_AS(bind_to(65, 65),
                       "argument 0 (x): extent 65 of axis 0 where batch is in 1..64", shape_error);
  CHECK_THROWS_WITH_AS(bind_to(0, 0), "argument 0 (x): extent 0 of axis 0 where batch is in 1..64",
                       shape_error);
  CHECK_THROWS_WITH_AS(bind_to(5, 6), "argument 1: extent 6 of axis 0 where batch is 5",
                       shape_error);
}

}  // namespace extent_range_test
