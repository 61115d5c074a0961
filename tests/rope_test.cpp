// SPDX-License-Identifier: MIT
// Attention with rotary embeddings: written by hand in several ways and as the composite, it is one
// streamed nest that turns queries and keys on its way, and agrees with the reference interpreter.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <omp.h>

#include "support/close.hpp"
#include "support/run_graph.hpp"
#include <sinter/plan/print.hpp>
#include <sinter/sinter.hpp>

namespace rope_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using ir::dim;
using ir::op;
using ir::reference_tensor;
using ir::value;
using sn::dtype;
using sn::shape_vector;
using sn::planning::nest_kind;

namespace {

enum class spelling {
  composite_halves,
  composite_neighbours,
  rotate_half,   // x cos + concat(-x2, x1) sin
  two_halves,    // concat(x1 cos - x2 sin, x2 cos + x1 sin)
  pairs,         // reshaped to pairs, turned and put side by side again
  every_second,  // the same by strided slices
  part_of_depth  // only the first features turn
};
constexpr spelling spellings[] = {spelling::composite_halves,
                                  spelling::composite_neighbours,
                                  spelling::rotate_half,
                                  spelling::two_halves,
                                  spelling::pairs,
                                  spelling::every_second,
                                  spelling::part_of_depth};

struct attention {
  shape_vector batch;  // of the queries: {batch, heads, group} where keys are grouped
  std::int64_t rows, columns, depth, width;
  spelling how = spelling::composite_halves;
  bool causal = false, grouped = false;
  dtype type = dtype::f32;
};

value sliced(value x, std::int64_t start, std::int64_t stop, std::int64_t step = 1) {
  const auto rank = static_cast<std::size_t>(x.rank());
  ir::symbolic_shape from = ir::symbolic_shape::filled(rank, dim(0)), to = x.shape();
  auto steps = sn::inline_vector<std::int64_t, sn::max_rank>::filled(rank, 1);
  from.back() = dim(start);
  to.back() = dim(stop);
  steps.back() = step;
  return ir::slice(x, from, to, steps);
}
value side_by_side(std::initializer_list<value> parts) {
  return ir::concat(std::span(parts.begin(), parts.size()), parts.begin()->rank() - 1);
}

// cos and sin [places, pairs] are arguments of the graph.
value turned(value x, value cos, value sin, spelling how) {
  ir::graph& g = *x.owner;
  const std::int64_t d = x.shape().back().constant(), h = d / 2;
  ir::symbolic_shape pairs = x.shape(), halves = x.shape(), singles = x.shape();
  pairs.back() = singles.back() = halves.back() = dim(h);
  pairs.push_back(dim(2));
  singles.push_back(dim(1));
  switch (how) {
    case spelling::composite_halves:
    case spelling::composite_neighbours: {
      const value p = ir::iota(g, dtype::i64, {x.extent(x.rank() - 2)}, 0);
      return {&g, ir::append(g, op::rope, {x.id, p.id},
                             {ir::bits_of(100), how == spelling::composite_neighbours ? 1 : 0, 0,
                              x.rank() - 2})};
    }
    case spelling::rotate_half:
      return x * side_by_side({cos, cos}) +
             side_by_side({-sliced(x, h, d), sliced(x, 0, h)}) * side_by_side({sin, sin});
    case spelling::part_of_depth: {
      const std::int64_t r = h / 2 * 2;
      const value c = sliced(cos, 0, r / 2), s = sliced(sin, 0, r / 2);
      const value a = sliced(x, 0, r / 2), b = sliced(x, r / 2, r);
      return side_by_side({a * c - b * s, a * s + b * c, sliced(x, r, d)});
    }
    case spelling::two_halves: {
      const value a = sliced(x, 0, h), b = sliced(x, h, d);
      return side_by_side({a * cos - b * sin, b * cos + a * sin});
    }
    case spelling::pairs: {
      const value both = ir::reshape(x, pairs);
      const value a = ir::reshape(sliced(both, 0, 1), halves),
                  b = ir::reshape(sliced(both, 1, 2), halves);
      return ir::reshape(side_by_side({ir::reshape(a * cos - b * sin, singles),
                                       ir::reshape(a * sin + b * cos, singles)}),
                         x.shape());
    }
    case spelling::every_second: {
      const value a = sliced(x, 0, d, 2), b = sliced(x, 1, d, 2);
      return ir::reshape(side_by_side({ir::reshape(a * cos - b * sin, singles),
                                       ir::reshape(a * sin + b * cos, singles)}),
                         x.shape());
    }
  }
  return x;
}

ir::symbolic_shape shape_of(const shape_vector& batch, std::int64_t rows, std::int64_t columns) {
  ir::symbolic_shape out;
  for (std::int64_t e : batch) out.push_back(dim(e));
  out.push_back(dim(rows));
  out.push_back(dim(columns));
  return out;
}

shape_vector key_batch(const attention& a) {
  shape_vector out = a.batch;
  if (a.grouped) out.back() = 1;
  return out;
}

ir::graph graph_of(const attention& a) {
  ir::graph g;
  g.symbol_values = {0};
  const std::int64_t h = a.depth / 2;
  value q = ir::argument(g, a.type, 0, shape_of(a.batch, a.rows, a.depth));
  value k = ir::argument(g, a.type, 1, shape_of(key_batch(a), a.columns, a.depth));
  const value v = ir::argument(g, a.type, 2, shape_of(key_batch(a), a.columns, a.width));
  const bool tables =
      a.how != spelling::composite_halves && a.how != spelling::composite_neighbours;
  const value c = tables ? ir::argument(g, a.type, 3, {std::max(a.rows, a.columns), h}) : q;
  const value s = tables ? ir::argument(g, a.type, 4, {std::max(a.rows, a.columns), h}) : q;
  const auto places = [&](value table, std::int64_t count) {
    if (!tables) return table;
    return ir::slice(table, {dim(0), dim(0)}, {dim(count), dim(h)},
                     sn::inline_vector<std::int64_t, sn::max_rank>{1, 1});
  };
  q = turned(q, places(c, a.rows), places(s, a.rows), a.how);
  k = turned(k, places(c, a.columns), places(s, a.columns), a.how);
  value scores = ir::matmul(q, k, false, true) * (1 / std::sqrt(static_cast<double>(a.depth)));
  const int last = scores.rank() - 1;
  if (a.causal)
    scores = ir::where(
        ir::elementwise(op::less_equal, {ir::iota(g, dtype::i64, scores.shape(), last),
                                         ir::iota(g, dtype::i64, scores.shape(), last - 1)}),
        scores, ir::constant_like(scores, -1e30));
  const value weights{&g, ir::append(g, op::softmax, {scores.id}, {std::int64_t{1} << last})};
  g.outputs.push_back({ir::matmul(weights, v).id, -1});
  return g;
}

reference_tensor filled(dtype type, shape_vector shape, std::int64_t rows, std::int64_t columns,
                        unsigned seed) {
  shape.push_back(rows);
  shape.push_back(columns);
  reference_tensor out = ir::filled(type, shape, 0);
  unsigned state = seed * 7919 + 17;
  for (double& x : out.data) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<double>(static_cast<float>(static_cast<double>(state >> 8) / 8388608.0 - 1));
  }
  return out;
}

std::vector<reference_tensor> arguments_of(const attention& a) {
  std::vector<reference_tensor> out{filled(a.type, a.batch, a.rows, a.depth, 1),
                                    filled(a.type, key_batch(a), a.columns, a.depth, 2),
                                    filled(a.type, key_batch(a), a.columns, a.width, 3)};
  if (a.how == spelling::composite_halves || a.how == spelling::composite_neighbours) return out;
  const std::int64_t places = std::max(a.rows, a.columns), h = a.depth / 2;
  out.push_back(ir::filled(a.type, {places, h}, 0));
  out.push_back(out.back());
  for (std::int64_t p = 0; p < places; ++p)
    for (std::int64_t i = 0; i < h; ++i) {
      const double angle =
          static_cast<double>(p) *
          std::pow(100.0, -2.0 * static_cast<double>(i) / static_cast<double>(a.depth));
      out[3].data[static_cast<std::size_t>(p * h + i)] = static_cast<float>(std::cos(angle));
      out[4].data[static_cast<std::size_t>(p * h + i)] = static_cast<float>(std::sin(angle));
    }
  return out;
}

sn::planning::plan plan_of(const ir::graph& g, const std::vector<reference_tensor>& arguments) {
  sn::program p(g, sn::detail::all_code());
  std::vector<sn::detail::argument_memory> memory;
  std::vector<shape_vector> shapes;
  for (const reference_tensor& x : arguments) {
    memory.push_back({nullptr, x.shape, sn::row_major_strides(x.shape), 0});
    shapes.push_back(x.shape);
  }
  return p.prepare(memory, ir::symbol_values(p.traced(), shapes)).plan();
}

std::string text_of(const sn::planning::plan& p) {
  std::string out;
  for (std::size_t i = 0; i < p.nests.size(); ++i)
    out += sn::planning::plan_printer(p).nest_text(i);
  return out;
}

bool computes(const sn::planning::nest& n, std::size_t operand) {
  for (const sn::planning::operand_part& part : n.prologues[operand])
    for (const sn::planning::step& s : part.body)
      if (s.kind == sn::planning::step_kind::map) return true;
  return false;
}

// Does one nest turn queries and keys and attend?
bool turns_inside(const sn::planning::plan& p) {
  int found = 0;
  for (const sn::planning::nest& n : p.nests)
    if (n.kind == nest_kind::streamed) found += computes(n, 0) && computes(n, 1) ? 1 : 100;
  return found == 1;
}

void check(const attention& a, bool expect_inside = true) {
  CAPTURE(static_cast<int>(a.how));
  CAPTURE(a.rows);
  CAPTURE(a.depth);
  CAPTURE(a.causal);
  CAPTURE(a.grouped);
  const ir::graph g = graph_of(a);
  const auto arguments = arguments_of(a);
  if (expect_inside) {
    const sn::planning::plan p = plan_of(g, arguments);
    CAPTURE(text_of(p));
    CHECK(turns_inside(p));
  }
  const auto expected = ir::interpret(g, arguments), got = test_support::run(g, arguments);
  REQUIRE(got[0].shape == expected[0].shape);
  const double tolerance = a.type == dtype::f32 ? 3e-5 : 1e-12;
  for (std::size_t i = 0; i < got[0].data.size(); ++i)
    if (!test_support::close(got[0].data[i], expected[0].data[i], tolerance, tolerance))
      FAIL("element " << i << ": " << got[0].data[i] << " instead of " << expected[0].data[i]);
}

}  // namespace

TEST_CASE("attention with rope in many spellings is one streamed nest") {
  for (spelling how : spellings) {
    check({{2}, 40, 50, 8, 24, how});
    check({{2, 3}, 130, 70, 16, 16, how});
    check({{2}, 33, 65, 14, 5, how});
    check({{2}, 200, 1100, 12, 9, how, false, false, dtype::f64});  // more keys than a block
  }
}

TEST_CASE("with a causal mask and with keys that groups of heads share") {
  for (spelling how : spellings) {
    check({{2}, 140, 140, 8, 8, how, true});
    check({{2, 3}, 33, 47, 8, 8, how, false, true});
    check({{2, 3, 4}, 40, 40, 8, 16, how, true, true});
  }
}

TEST_CASE("rope and attention over extents of 0 and 1") {
  for (std::int64_t e : {0, 1}) {
    check({{2}, e, 9, 4, 5}, false);
    check({{2}, 7, e, 4, 5}, false);
    check({{2}, 7, 9, 2, e}, false);
    check({{e, 2}, 7, 9, 4, 5}, false);
  }
  check({{2}, 7, 9, 0, 5}, false);
  check({{2}, 300, 9, 2, 1}, false);
}

TEST_CASE("keys too many to be kept are turned and stored once, queries are turned inside") {
  // 40000 keys of 8 floats are more than a thread keeps, and 300 queries are three blocks of rows.
  const attention a{{}, 300, 40000, 8, 8, spelling::two_halves};
  const ir::graph g = graph_of(a);
  const auto arguments = arguments_of(a);
  const sn::planning::plan p = plan_of(g, arguments);
  CAPTURE(text_of(p));
  for (const sn::planning::nest& n : p.nests) {
    if (n.kind != nest_kind::streamed) continue;
    CHECK(computes(n, 0));
    CHECK_FALSE(computes(n, 1));  // at most put side by side
  }
  // One block of rows turns each key once anyway.
  const attention b{{2}, 100, 40000, 8, 8, spelling::two_halves};
  const sn::planning::plan q = plan_of(graph_of(b), arguments_of(b));
  CAPTURE(text_of(q));
  CHECK(turns_inside(q));
}

TEST_CASE("the same bits on any number of threads") {
  for (const attention& a : {attention{{3}, 300, 700, 16, 8, spelling::rotate_half},
                             attention{{3}, 300, 300, 16, 8, spelling::composite_neighbours, true},
                             attention{{2, 3}, 200, 90, 8, 8, spelling::pairs, false, true}}) {
    const ir::graph g = graph_of(a);
    const auto arguments = arguments_of(a);
    const int before = omp_get_max_threads();
    std::vector<std::vector<double>> results;
    for (int threads : {1, 2, 3}) {
      omp_set_num_threads(threads);
      results.push_back(test_support::run(g, arguments)[0].data);
    }
    omp_set_num_threads(before);
    CHECK(results[1] == results[0]);
    CHECK(results[2] == results[0]);
  }
}

TEST_CASE("an element-wise prologue need not be a rotation") {
  ir::graph g;
  g.symbol_values = {0};
  const value q = ir::argument(g, dtype::f32, 0, {4, 150, 16}),
              k = ir::argument(g, dtype::f32, 1, {4, 90, 16}),
              v = ir::argument(g, dtype::f32, 2, {4, 90, 16}),
              w = ir::argument(g, dtype::f32, 3, {150, 1});
  const value scores =
      ir::matmul(ir::unary(op::relu, q) * q + w, ir::unary(op::abs, k), false, true);
  const value weights{&g, ir::append(g, op::softmax, {scores.id}, {4})};
  g.outputs.push_back({ir::matmul(weights, v).id, -1});
  const std::vector<reference_tensor> arguments{
      filled(dtype::f32, {4}, 150, 16, 1), filled(dtype::f32, {4}, 90, 16, 2),
      filled(dtype::f32, {4}, 90, 16, 3), filled(dtype::f32, {}, 150, 1, 4)};
  const sn::planning::plan p = plan_of(g, arguments);
  CAPTURE(text_of(p));
  CHECK(turns_inside(p));
  const auto expected = ir::interpret(g, arguments), got = test_support::run(g, arguments);
  for (std::size_t i = 0; i < got[0].data.size(); ++i)
    REQUIRE(test_support::close(got[0].data[i], expected[0].data[i], 3e-5, 3e-5));
}

// ---- through the front end

namespace {

template <class T, int Rank>
sn::tensor<T, Rank> counted(auto... extents) {
  sn::tensor<T, Rank> out(extents...);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(out.size()); ++i)
    out.data()[i] = static_cast<T>(std::sin(static_cast<double>(i)));
  return out;
}

// Pair by pair in double; places along axis 1 of [batch, places, depth].
std::vector<double> turned_by_loop(const sn::tensor<float, 3>& x, std::int64_t first, double theta,
                                   bool neighbours) {
  const std::int64_t places = x.extent(1), depth = x.extent(2);
  std::vector<double> out(x.data(), x.data() + x.size());
  for (std::int64_t row = 0; row < x.extent(0) * places; ++row)
    for (std::int64_t i = 0; i < depth / 2; ++i) {
      const double angle =
          static_cast<double>(first + row % places) *
          std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(depth));
      const std::int64_t a = row * depth + (neighbours ? 2 * i : i),
                         b = row * depth + (neighbours ? 2 * i + 1 : i + depth / 2);
      const double u = x.data()[a], v = x.data()[b];
      out[static_cast<std::size_t>(a)] = u * std::cos(angle) - v * std::sin(angle);
      out[static_cast<std::size_t>(b)] = u * std::sin(angle) + v * std::cos(angle);
    }
  return out;
}

void check_turned(const sn::tensor<float, 3>& got, const std::vector<double>& expected) {
  REQUIRE(static_cast<std::size_t>(got.size()) == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    REQUIRE(std::abs(static_cast<double>(got.data()[i]) - expected[i]) < 2e-5);
}

}  // namespace

TEST_CASE("rope of tensors turns pairs by their places") {
  const auto x = counted<float, 3>(2, 37, 10);
  check_turned(sn::tensor<float, 3>(sn::rope(x)), turned_by_loop(x, 0, 10000, false));
  check_turned(sn::tensor<float, 3>(sn::rope(x, {.theta = 50, .pairs = sn::pairing::neighbours})),
               turned_by_loop(x, 0, 50, true));
  sn::tensor<std::int32_t, 1> positions(37);
  for (int i = 0; i < 37; ++i) positions.data()[i] = 100 + i;
  check_turned(sn::tensor<float, 3>(sn::rope(x, positions)), turned_by_loop(x, 100, 10000, false));
  // [batch, places, heads, depth]: another axis, and one trace for several depths.
  auto f = sn::fuse([](auto y) { return sn::rope(y, {.axis = 0}); });
  for (std::int64_t depth : {2, 6, 8}) {
    const auto y = counted<float, 3>(5, 3, depth);
    const sn::tensor<float, 3> got = f(y);
    const sn::tensor<float, 3> back = sn::permute(got, {1, 0, 2}), rows = sn::permute(y, {1, 0, 2});
    check_turned(back, turned_by_loop(rows, 0, 10000, false));
  }
  CHECK_THROWS_AS(f(counted<float, 3>(5, 3, 7)), sn::shape_error);
  CHECK_THROWS_AS((sn::tensor<float, 3>(sn::rope(x, {.theta = -1}))), sn::graph_error);
  CHECK_THROWS_AS((sn::tensor<float, 3>(sn::rope(x, {.axis = -1}))), sn::axis_error);
}

TEST_CASE("heads of a dynamic width are turned: their depth is computed") {
  auto f = sn::fuse([](auto x, auto first) {
    const auto places = sn::iota<std::int64_t>(sn::extent(x, 0)) + sn::cast<std::int64_t>(first);
    const auto heads = sn::split<2>(x, 1);
    return sn::concat(1, sn::rope(heads[0], places), sn::rope(heads[1], places));
  });
  auto one = sn::fuse([](auto x, auto places) { return sn::rope(x, places); });
  for (const std::int64_t width : {8, 4}) {
    sn::tensor<float, 2> x(3, width), left(3, width / 2);
    for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i) * 0.25f - 1;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t k = 0; k < width / 2; ++k) left(i, k) = x(i, k);
    const sn::tensor<float, 2> y = f(x, 5);
    const sn::tensor<float, 2> expected = one(left, sn::tensor<std::int64_t, 1>{5, 6, 7});
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t k = 0; k < width / 2; ++k)
        CHECK(y(i, k) == doctest::Approx(expected(i, k)));
  }
  CHECK(f.statistics().saturations == 2);
  CHECK_THROWS_AS(f(sn::tensor<float, 2>(3, 6), 5), sn::shape_error);
}

TEST_CASE("a rotation's gradient is the inverse rotation") {
  const auto x = counted<float, 3>(2, 5, 6), d = counted<float, 3>(2, 5, 6);
  auto f = sn::fuse([](auto u, auto w) {
    const auto loss = sn::sum(sn::rope(u) * w);
    return sn::gradients(loss, u);
  });
  const sn::tensor<float, 3> g = f(x, d);
  // <rope(u), w> = <u, rope^-1(w)>: turning the gradient again gives w.
  const sn::tensor<float, 3> again = sn::rope(g);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(d.size()); ++i)
    CHECK(std::abs(again.data()[i] - d.data()[i]) < 1e-5f);
}

}  // namespace rope_test
