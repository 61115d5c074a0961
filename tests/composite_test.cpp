// SPDX-License-Identifier: MIT
// The expansions of composites and of element-wise ops agree with the interpreter's direct
// formulas, over random shapes, axes and values, in traced and in bound graphs; and they work in
// constant evaluation.
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <sinter/graph/composite.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/graph/verify.hpp>

namespace composite_test {

using namespace sinter;
using ir::dim;
using ir::op;
using ir::reference_tensor;
using ir::value;

namespace {

// How many nodes the expansions of all composites take, or -1 if one of them is wrong.
constexpr int expand_everything() {
  ir::graph g;
  const dim s = g.dims.symbol(0);
  const value x = ir::argument(g, dtype::f32, 0, {s, 10}),
              labels = ir::argument(g, dtype::u8, 1, {s});
  const int before = g.size();
  for (op code : {op::softmax, op::log_softmax, op::layer_norm, op::rms_norm, op::cross_entropy}) {
    const bool loss = code == op::cross_entropy,
               norm = code == op::layer_norm || code == op::rms_norm;
    const int in[] = {x.id, labels.id};
    const std::int64_t attributes[] = {2, ir::bits_of(1e-5)};
    const value v = ir::expand(g, code, std::span<const int>(in, loss ? 2 : 1),
                               std::span<const std::int64_t>(attributes, loss   ? 0
                                                                         : norm ? 2
                                                                                : 1));
    if (v.id < 0 || v.type() != dtype::f32 || v.rank() != (loss ? 1 : 2)) return -1;
  }
  return g.failed() ? -1 : g.size() - before;
}
// An expansion of rope, traced: its last extent may be a symbol.
constexpr bool expand_rope() {
  ir::graph g;
  const dim s = g.dims.symbol(0), d = g.dims.symbol(1);
  for (const dim depth : {d, dim(6)})
    for (std::int64_t neighbours : {0, 1}) {
      const value x = ir::argument(g, dtype::f32, 0, {s, depth}),
                  p = ir::iota(g, dtype::i64, {s}, 0);
      const int in[] = {x.id, p.id};
      const std::int64_t attributes[] = {ir::bits_of(100), neighbours, 0, 0};
      const value v = ir::expand(g, op::rope, in, attributes);
      if (v.id < 0 || !(v.shape() == x.shape())) return false;
    }
  return !g.failed();
}
static_assert(expand_rope(), "rope expands in constant evaluation");

static_assert(expand_everything() > 20, "composites expand in constant evaluation");

bool close(const reference_tensor& a, const reference_tensor& b, double tolerance) {
  if (a.type != b.type || a.shape != b.shape) return false;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (std::isnan(a.data[i]) && std::isnan(b.data[i])) continue;
    if (a.data[i] == b.data[i]) continue;
    if (!(std::fabs(a.data[i] - b.data[i]) <= tolerance * std::fmax(1.0, std::fabs(b.data[i]))))
      return false;
  }
  return true;
}

struct random_case {
  explicit random_case(std::uint64_t seed) : random(seed) {
    const int rank = static_cast<int>(draw(1, 3));
    for (int i = 0; i < rank; ++i)
      shape.push_back(std::vector<std::int64_t>{
          0, 1, 2, 3, 5, 7, 8, 17}[static_cast<std::size_t>(draw(i == 0 ? 0 : 1, 7))]);
    axes = draw(1, (std::int64_t{1} << rank) - 1);
    traced = draw(0, 1) == 0;
  }
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  }

  // An argument whose extents are symbols of a traced graph, or constants.
  value argument(dtype type, int number, const shape_vector& extents) {
    ir::symbolic_shape symbolic;
    for (std::size_t i = 0; i < extents.size(); ++i)
      symbolic.push_back(traced ? g.dims.symbol(static_cast<std::int64_t>(i)) : dim(extents[i]));
    return ir::argument(g, type, number, symbolic);
  }
  reference_tensor floats(const shape_vector& extents, double scale) {
    reference_tensor out = ir::filled(dtype::f32, extents, 0);
    for (double& x : out.data)
      x = static_cast<double>(
          static_cast<float>(std::uniform_real_distribution<double>(-scale, scale)(random)));
    return out;
  }

  std::mt19937_64 random;
  shape_vector shape;
  std::int64_t axes = 1;
  bool traced = false;
  ir::graph g;
};

}  // namespace

TEST_CASE(
    "expansions of softmax, log_softmax, layer_norm and rms_norm agree with the direct formulas") {
  for (op code : {op::softmax, op::log_softmax, op::layer_norm, op::rms_norm})
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      random_case c(seed);
      const value x = c.argument(dtype::f32, 0, c.shape);
      const bool norm = code == op::layer_norm || code == op::rms_norm;
      const std::int64_t attributes[] = {c.axes, ir::bits_of(seed % 2 == 0 ? 1e-5 : 0.1)};
      const int in[] = {x.id};
      const int whole =
          ir::append(c.g, code, in, std::span<const std::int64_t>(attributes, norm ? 2 : 1));
      const value expanded = ir::expand(c.g, code, c.g.inputs(whole), c.g.attributes(whole));
      c.g.outputs = {{whole, -1}, {expanded.id, -1}};
      INFO(std::string(ir::name(code)) << " seed " << seed << "\n" << ir::to_text(c.g));
      REQUIRE_NOTHROW(ir::verify(c.g));
      const reference_tensor given[] = {c.floats(c.shape, seed % 3 == 0 ? 300 : 3)};
      const auto made = ir::interpret(c.g, given);
      // eps is an f32 constant of the expansion and a double in the direct formula.
      CHECK(close(made[1], made[0], 1e-6));
    }
}

TEST_CASE(
    "the expansion of cross_entropy agrees with the direct formula, labels outside of the classes "
    "included") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    random_case c(seed);
    shape_vector rows = c.shape;
    rows.pop_back();
    const dtype type = seed % 3 == 0 ? dtype::u8 : seed % 3 == 1 ? dtype::i32 : dtype::i64;
    const value x = c.argument(dtype::f32, 0, c.shape), labels = c.argument(type, 1, rows);
    const int whole = ir::append(c.g, op::cross_entropy, {x.id, labels.id});
    const value expanded =
        ir::expand(c.g, op::cross_entropy, c.g.inputs(whole), c.g.attributes(whole));
    c.g.outputs = {{whole, -1}, {expanded.id, -1}};
    INFO("seed " << seed << "\n" << ir::to_text(c.g));
    REQUIRE_NOTHROW(ir::verify(c.g));
    reference_tensor given[] = {c.floats(c.shape, 20), ir::filled(type, rows, 0)};
    for (double& label : given[1].data)
      label = static_cast<double>(c.draw(type == dtype::u8 ? 0 : -1, c.shape.back()));
    const auto made = ir::interpret(c.g, given);
    CHECK(close(made[1], made[0], 1e-12));
  }
}

TEST_CASE("u8 labels of 300 classes: the counter does not wrap") {
  ir::graph g;
  const value x = ir::argument(g, dtype::f32, 0, {2, 300}),
              labels = ir::argument(g, dtype::u8, 1, {2});
  const int in[] = {x.id, labels.id};
  g.outputs = {{ir::expand(g, op::cross_entropy, in, {}).id, -1}};
  reference_tensor given[] = {ir::filled(dtype::f32, {2, 300}, 0), {dtype::u8, {2}, {3, 255}}};
  given[0].data[3] = 1;  // 3 and 259 are one u8
  given[0].data[259] = 5;
  const double total = 298 + std::exp(1.0) + std::exp(5.0);
  const auto made = ir::interpret(g, given);
  CHECK(made[0].data[0] == doctest::Approx(std::log(total) - 1));
  CHECK(made[0].data[1] == doctest::Approx(std::log(300.0)));
}

TEST_CASE("expansions of element-wise ops agree with the ops, special values included") {
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> data{0.25, 1,   2.5,  0,        -0.5,      -3, 20,
                                 -20,  700, -700, infinity, -infinity, nan};
  int count = 0;
  for (int i = 0; i < ir::op_count; ++i) {
    const op code = static_cast<op>(i);
    if (!ir::is_elementwise(code) || ir::info(code).arity != 1 || code == op::cast ||
        code == op::logical_not)
      continue;
    ir::graph g;
    const value x = ir::argument(g, dtype::f64, 0, {static_cast<std::int64_t>(data.size())});
    const int in[] = {x.id};
    const int before = g.size();
    const value expanded = ir::expand_elementwise(g, code, in);
    if (expanded.id < 0) {
      CHECK(g.size() == before);
      continue;
    }
    ++count;
    g.outputs = {{ir::unary(code, x).id, -1}, {expanded.id, -1}};
    INFO(std::string(ir::name(code)));
    REQUIRE_NOTHROW(ir::verify(g));
    const reference_tensor given[] = {
        {dtype::f64,
         x.shape().empty() ? shape_vector{} : shape_vector{static_cast<std::int64_t>(data.size())},
         data}};
    const auto made = ir::interpret(g, given);
    for (std::size_t k = 0; k < data.size(); ++k) {
      INFO("x = " << data[k] << ": " << made[1].data[k] << " and " << made[0].data[k]);
      CHECK(close({dtype::f64, {}, {made[1].data[k]}}, {dtype::f64, {}, {made[0].data[k]}}, 1e-12));
    }
  }
  CHECK(count == 8);
}

TEST_CASE("an op that is no composite has no expansion and writes nothing") {
  ir::graph g;
  const value x = ir::argument(g, dtype::f32, 0, {3}), y = ir::argument(g, dtype::f32, 1, {3});
  const int in[] = {x.id, y.id};
  const int before = g.size();
  CHECK(ir::expand(g, op::add, in, {}).id == -1);
  CHECK(ir::expand_elementwise(g, op::add, in).id == -1);
  CHECK(g.size() == before);
}

namespace {

// The rotation by its definition, one pair at a time.
std::vector<double> rotated(const reference_tensor& x, std::span<const double> positions,
                            std::size_t axis, double theta, bool neighbours) {
  const auto depth = static_cast<std::size_t>(x.shape.back());
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i + 1 < x.shape.size(); ++i)
    inner *= static_cast<std::size_t>(x.shape[i]);
  std::vector<double> out = x.data;
  for (std::size_t row = 0; row * depth < out.size(); ++row)
    for (std::size_t i = 0; i < depth / 2; ++i) {
      const double angle =
          positions[row / inner % positions.size()] *
          std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(depth));
      const std::size_t a = row * depth + (neighbours ? 2 * i : i),
                        b = row * depth + (neighbours ? 2 * i + 1 : i + depth / 2);
      out[a] = x.data[a] * std::cos(angle) - x.data[b] * std::sin(angle);
      out[b] = x.data[a] * std::sin(angle) + x.data[b] * std::cos(angle);
    }
  return out;
}

}  // namespace

TEST_CASE("rope turns pairs by its definition, as an op and expanded, traced and bound") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    random_case c(seed);
    const std::int64_t depth = 2 * c.draw(1, 9), places = c.draw(0, 7);
    const std::int64_t axis = c.draw(0, 2);
    shape_vector shape{c.draw(1, 3), c.draw(1, 3), c.draw(1, 3), depth};
    shape[axis] = places;
    const bool neighbours = seed % 2 == 0;
    const value x = c.argument(dtype::f32, 0, shape);
    const value p = ir::argument(c.g, dtype::i32, 1, {x.extent(static_cast<int>(axis))});
    const int in[] = {x.id, p.id};
    const std::int64_t attributes[] = {ir::bits_of(50), neighbours ? 1 : 0, 0, axis};
    const int whole = ir::append(c.g, op::rope, in, attributes);
    const value expanded = ir::expand(c.g, op::rope, in, attributes);
    const int back[] = {whole, p.id};
    const std::int64_t inverse[] = {ir::bits_of(50), neighbours ? 1 : 0, 1, axis};
    c.g.outputs = {{whole, -1}, {expanded.id, -1}, {ir::append(c.g, op::rope, back, inverse), -1}};
    INFO("seed " << seed << "\n" << ir::to_text(c.g));
    REQUIRE_NOTHROW(ir::verify(c.g));
    reference_tensor given[] = {c.floats(shape, 3), ir::filled(dtype::i32, {places}, 0)};
    for (double& at : given[1].data) at = static_cast<double>(c.draw(-20, 20));
    const auto made = ir::interpret(c.g, given);
    const reference_tensor expected{
        dtype::f32, shape,
        rotated(given[0], given[1].data, static_cast<std::size_t>(axis), 50, neighbours)};
    CHECK(close(made[0], expected, 1e-12));
    CHECK(close(made[1], made[0], 3e-5));  // the expansion's angles are f32
    CHECK(close(made[2], given[0], 1e-12));
  }
}

TEST_CASE("what rope does not take") {
  const auto fails = [](const ir::symbolic_shape& x, const ir::symbolic_shape& p, dtype type,
                        std::int64_t axis, bool neighbours) {
    ir::graph g;
    g.symbol_values = {7};
    const value a = ir::argument(g, type, 0, x), b = ir::argument(g, dtype::i64, 1, p);
    ir::append(g, op::rope, {a.id, b.id}, {ir::bits_of(10), neighbours ? 1 : 0, 0, axis});
  };
  using sinter::dtype;
  CHECK_NOTHROW(fails({3, 4}, {3}, dtype::f64, 0, true));
  CHECK_NOTHROW(fails({3, 0}, {3}, dtype::f64, 0, false));
  CHECK_THROWS_AS(fails({3, 5}, {3}, dtype::f32, 0, false), shape_error);
  CHECK_THROWS_AS(fails({3, 4}, {2}, dtype::f32, 0, false), shape_error);
  CHECK_THROWS_AS(fails({3, 4}, {3, 1}, dtype::f32, 0, false), shape_error);
  CHECK_THROWS_AS(fails({4}, {4}, dtype::f32, 0, false), shape_error);
  CHECK_THROWS_AS(fails({3, 4}, {4}, dtype::f32, 1, false), axis_error);
  CHECK_THROWS_AS(fails({3, 4}, {3}, dtype::i64, 0, false), dtype_error);
  CHECK_THROWS_AS(fails({1, 1, 1, 1, 1, 1, 3, 2}, {3}, dtype::f32, 6, true), shape_error);
}

}  // namespace composite_test
