// SPDX-License-Identifier: MIT
// Which regions of a traced graph get a fused kernel, and that equal structures are equal however
// they were written.
#include <algorithm>
#include <initializer_list>
#include <string>

#include <doctest/doctest.h>

#include <sinter/autodiff/expand.hpp>
#include <sinter/graph/build.hpp>
#include <sinter/graph/regions.hpp>

namespace regions_test {

using namespace sinter;
using namespace sinter::ir;

namespace {

// "(mul (silu (add (mul 0 1s) 2s)) 3)": leaves by number, "s" for scalars.
std::string text(const region& r, int operand) {
  if (operand < r.leaf_count) return std::to_string(operand) + (r.is_scalar(operand) ? "s" : "");
  const int node = operand - r.leaf_count;
  std::string out = "(" + std::string(ir::name(r.code(node)));
  for (int k = 0; k < info(r.code(node)).arity; ++k) out += " " + text(r, r.operand(node, k));
  return out + ")";
}
std::string text(const region& r) { return text(r, r.leaf_count + r.node_count - 1); }

bool has(const region_list& list, const std::string& wanted) {
  return std::any_of(list.begin(), list.end(), [&](const region& r) { return text(r) == wanted; });
}

constexpr value tensor_of(graph& g, int number, const symbolic_shape& shape,
                          dtype type = dtype::f32) {
  return argument(g, type, number, shape);
}
constexpr void set_outputs(graph& g, std::initializer_list<value> values) {
  for (value v : values) g.outputs.push_back({v.id, -1});
}

constexpr graph gated(bool mirrored) {
  graph g;
  const symbolic_shape shape{dim(8), dim(16)};
  const value x = tensor_of(g, 0, shape), y = tensor_of(g, 1, shape);
  const value inner = mirrored ? constant(g, dtype::f32, 0.5) + 2.0 * x : x * 2.0 + 0.5;
  const value gate = unary(op::silu, inner);
  set_outputs(g, {mirrored ? y * gate : gate * y});
  return g;
}

constexpr region_list gated_regions = find_regions(gated(false));
static_assert(gated_regions.size() == 1);
static_assert(gated_regions[0].node_count == 4 && gated_regions[0].leaf_count == 3);  // x + x
static_assert(gated_regions == find_regions(gated(true)));

constexpr graph black_scholes(bool scalar_market) {
  graph g;
  const symbolic_shape shape{g.dims.symbol(0)};
  const auto market = [&](int number) {
    return tensor_of(g, number, scalar_market ? symbolic_shape{} : shape, dtype::f64);
  };
  const value price = tensor_of(g, 0, shape, dtype::f64),
              strike = tensor_of(g, 1, shape, dtype::f64);
  const value time = tensor_of(g, 2, shape, dtype::f64), volatility = market(3), rate = market(4);
  const auto normal = [](value x) { return (unary(op::erf, x / 1.4142135623730951) + 1.0) * 0.5; };
  const value spread = volatility * unary(op::sqrt, time);
  const value d1 =
      (unary(op::log, price / strike) + (rate + volatility * volatility * 0.5) * time) / spread;
  const value d2 = d1 - spread;
  const value discounted = strike * unary(op::exp, -rate * time);
  set_outputs(g, {price * normal(d1) - discounted * normal(d2),
                  discounted * normal(-d2) - price * normal(-d1)});
  return g;
}

// The whole of Black-Scholes and its region search fit in the default limits of constant
// evaluation.
constexpr region_list black_scholes_regions = find_regions(black_scholes(false));

constexpr graph training_step(op activation, bool dynamic) {
  graph g;
  const dim batch = dynamic ? g.dims.symbol(0) : dim(32);
  const value x = tensor_of(g, 0, {batch, dim(64)}), label = tensor_of(g, 1, {batch}, dtype::i64);
  const value w1 = tensor_of(g, 2, {dim(64), dim(48)}), b1 = tensor_of(g, 3, {dim(48)});
  const value w2 = tensor_of(g, 4, {dim(48), dim(10)}), b2 = tensor_of(g, 5, {dim(10)});
  const value rate = argument(g, dtype::f32, 6, {}, true);
  const value logits = matmul(unary(activation, matmul(x, w1) + b1), w2) + b2;
  const value loss = mean({&g, append(g, op::cross_entropy, {logits.id, label.id})}, 1, false);
  set_outputs(g, {loss});
  int number = 2;
  for (value parameter : {w1, b1, w2, b2}) {
    const value slope{&g, append(g, op::gradient, {loss.id, parameter.id})};
    g.outputs.push_back({(parameter - rate * slope).id, number++});
  }
  return expand_gradients(g);
}

constexpr region_list training_regions = find_regions(training_step(op::gelu, true));
static_assert(!training_regions.empty());

}  // namespace

TEST_CASE("a chain is one region, whatever the order of operands") {
  CHECK(text(gated_regions[0]) == "(mul (silu (add (add 0 0) 1s)) 2)");
}

TEST_CASE("kernels double by adding, steps multiply") {
  const auto runners = [](graph& g) {
    const auto text_for = [&](region_runner runner) {
      const region_list found = find_regions(
          g, [](op) { return true; }, runner);
      REQUIRE(found.size() == 1);
      return text(found[0]);
    };
    return std::pair{text_for(region_runner::kernel), text_for(region_runner::steps)};
  };
  const symbolic_shape shape{dim(64)};
  for (dtype type : {dtype::f32, dtype::f64}) {
    graph twice;
    const value x = tensor_of(twice, 0, shape, type);
    set_outputs(twice, {2.0 * unary(op::sqrt, x)});
    CHECK(runners(twice) ==
          std::pair<std::string, std::string>{"(add (sqrt 0) (sqrt 0))", "(mul (sqrt 0) 1s)"});
    graph half;
    const value y = tensor_of(half, 0, shape, type);
    set_outputs(half, {unary(op::sqrt, y) * 0.5});
    CHECK(runners(half).first == "(mul (sqrt 0) 1s)");
  }
}

TEST_CASE("canonical order tells leaves apart by their uses") {
  const auto region_of = [](int variant) {
    graph g;
    const symbolic_shape shape{dim(32)};
    const value x = tensor_of(g, 0, shape), y = tensor_of(g, 1, shape), z = tensor_of(g, 2, shape);
    switch (variant) {
      case 0: set_outputs(g, {x * y + x * z}); break;
      case 1: set_outputs(g, {z * x + y * x}); break;
      case 2: set_outputs(g, {y * x + y * z}); break;  // y has the part of x
      case 3: set_outputs(g, {x * y + z * z}); break;
      case 4: set_outputs(g, {(x - y) * unary(op::exp, y)}); break;
      case 5: set_outputs(g, {unary(op::exp, z) * (x - z)}); break;
      default: set_outputs(g, {unary(op::exp, z) * (z - x)}); break;
    }
    const region_list found = find_regions(g);
    REQUIRE(found.size() == 1);
    return found[0];
  };
  CHECK(region_of(0) == region_of(1));
  CHECK(region_of(0) == region_of(2));
  CHECK_FALSE(region_of(0) == region_of(3));
  CHECK(region_of(4) == region_of(5));
  CHECK_FALSE(region_of(4) == region_of(6));
}

TEST_CASE("canonical() is idempotent and drops what the result does not need") {
  for (const region& r : black_scholes_regions) CHECK(canonical(r) == r);
  region r;
  r.type = dtype::f32;
  const int unused = r.add_leaf(true), b = r.add_leaf(true), x = r.add_leaf(false);
  r.add_node(op::exp, unused);
  r.add_node(op::add, b, r.add_node(op::mul, x, x));
  CHECK(text(canonical(r)) == "(add (mul 0 0) 1s)");
  CHECK(canonical(r).leaf_count == 2);
  CHECK(canonical(r).node_count == 2);
}

TEST_CASE("a training step of a multi-layer perceptron") {
  const std::string bias_gelu = "(gelu (add 0 1))", update = "(sub 0 (mul 1 2s))";
  CHECK(has(training_regions, bias_gelu));
  CHECK(has(training_regions, update));
  // The derivative of gelu, from the two operands of the sum that the forward pass stores anyway.
  CHECK(std::any_of(training_regions.begin(), training_regions.end(),
                    [](const region& r) { return r.node_count == 12; }));
  CHECK(training_regions.size() <= 5);
  for (const region& r : training_regions) CHECK(r.type == dtype::f32);

  // The same structures whether the batch is static or not.
  const region_list fixed = find_regions(training_step(op::gelu, false));
  CHECK(fixed.size() == training_regions.size());
  for (const region& r : fixed) CHECK(has(training_regions, text(r)));
}

TEST_CASE("an expensive value that is stored anyway is read as well as recomputed") {
  const region_list found = find_regions(training_step(op::tanh, false));
  CHECK(has(found, "(tanh (add 0 1))"));
  CHECK(std::any_of(found.begin(), found.end(), [](const region& r) {
    return r.node_count == 5 && text(r).find("tanh") != std::string::npos;
  }));
  CHECK(std::any_of(found.begin(), found.end(), [](const region& r) {
    return r.node_count == 3 && text(r).find("(sub 0s (mul") != std::string::npos;
  }));
}

TEST_CASE("Black-Scholes fits in two regions, one per price") {
  REQUIRE(black_scholes_regions.size() >= 2);
  const region &put = black_scholes_regions[0], &call = black_scholes_regions[1];
  CHECK(call.node_count == 26);
  CHECK(put.node_count == 28);
  CHECK(call.leaf_count == 8);
  // d1 is needed by both: besides being part of each it has a region of its own.
  CHECK(
      std::any_of(black_scholes_regions.begin(), black_scholes_regions.end(), [](const region& r) {
        return text(r).starts_with("(div (add") && text(r).find("erf") == std::string::npos;
      }));
  // With scalar rate and volatility, what depends on nothing else is computed once, outside of the
  // regions.
  const region_list scalar = find_regions(black_scholes(true));
  CHECK(scalar[1].node_count < call.node_count);
  CHECK(std::any_of(scalar.begin(), scalar.end(),
                    [](const region& r) { return r.scalar_leaves != 0; }));
}

TEST_CASE("row values and scalars are scalar leaves, vectors along rows are not") {
  graph g;
  const dim rows = g.dims.symbol(0), columns = g.dims.symbol(1);
  const value x = tensor_of(g, 0, {rows, columns}), scale = tensor_of(g, 1, {columns});
  const value centred = x - mean(x, 2);
  set_outputs(g, {unary(op::exp, centred) * scale});
  const region_list found = find_regions(g);
  REQUIRE(found.size() == 1);
  CHECK(text(found[0]) == "(mul (exp (sub 0 1s)) 2)");
}

TEST_CASE("dynamic extents: a broadcast that may be none is looked through") {
  graph g;
  const dim a = g.dims.symbol(0), b = g.dims.symbol(1);
  const value x = tensor_of(g, 0, {a}), y = tensor_of(g, 1, {b});
  const value z = unary(op::exp, x) + y;
  REQUIRE(g[g.input(z.id, 0)].code == op::broadcast_to);
  set_outputs(g, {unary(op::tanh, z)});
  const region_list found = find_regions(g);
  REQUIRE(found.size() == 1);
  CHECK(text(found[0]) == "(tanh (add (exp 0) 1))");

  // One that certainly repeats its operand is a leaf: the operand is smaller, and computed once.
  graph repeated;
  const value m = tensor_of(repeated, 0, {a, dim(16)}), v = tensor_of(repeated, 1, {dim(16)});
  set_outputs(repeated, {unary(op::tanh, m + unary(op::exp, v))});
  const region_list decided = find_regions(repeated);
  REQUIRE(decided.size() == 1);
  CHECK(text(decided[0]) == "(tanh (add 0 1))");
}

TEST_CASE("truth values stay inside, other dtypes are boundaries") {
  graph g;
  const symbolic_shape shape{dim(64)};
  const value x = tensor_of(g, 0, shape), y = tensor_of(g, 1, shape),
              mask = tensor_of(g, 2, shape, dtype::boolean);
  const value both = elementwise(
      op::bit_and,
      {elementwise(op::less, {x, y}), unary(op::logical_not, elementwise(op::equal, {x, y}))});
  const value picked = where(both, unary(op::sqrt, x), y);
  const value masked =
      where(mask, x * y + 1.0, y);  // the mask is no float: only what feeds it is a region
  const value wide = unary(op::exp, cast(picked, dtype::f64) * 2.5);
  set_outputs(g,
              {wide, unary(op::tanh, masked), unary(op::exp, unary(op::stop_gradient, y) * 3.0)});
  const region_list found = find_regions(g);
  CHECK(found.size() == 4);
  for (const region& r : found) {
    const std::string is = text(r);
    CAPTURE(is);
    if (r.type == dtype::f64)
      CHECK(is == "(exp (mul 0 1s))");
    else if (r.code(r.node_count - 1) == op::where)
      CHECK(r.node_count == 6);
    else
      CHECK((is == "(add (mul 0 1) 2s)" || is == "(exp (mul 0 1s))"));
  }
}

TEST_CASE("a truth value may become a number of the dtype that it was computed from") {
  graph g;
  const symbolic_shape shape{dim(64)};
  const value x = tensor_of(g, 0, shape), y = tensor_of(g, 1, shape),
              mask = tensor_of(g, 2, shape, dtype::boolean);
  const value less = elementwise(op::less, {x, y});
  set_outputs(g,
              {sum(cast(less, dtype::f32), 1), y * cast(elementwise(op::equal, {x, y}), dtype::f32),
               unary(op::exp, cast(less, dtype::f64)), x * cast(mask, dtype::f32)});
  const region_list found = find_regions(g);
  CHECK(found.size() == 2);
  CHECK(has(found, "(cast (less 0 1))"));
  CHECK(has(found, "(mul (cast (equal 0 1)) 0)"));
  for (const traced_region& r : found) CHECK(r.summed == (r.code(r.node_count - 1) == op::cast));
}

TEST_CASE("composites, single nodes, scalars and dead nodes give no regions") {
  graph g;
  const value x = tensor_of(g, 0, {dim(8), dim(8)}), s = tensor_of(g, 1, {});
  const value dead = unary(op::exp, x + 1.0);
  CHECK(dead.id > 0);
  set_outputs(g, {{&g, append(g, op::softmax, {unary(op::exp, x).id}, {2})},
                  unary(op::exp, s + 1.0) * 2.0});
  CHECK(find_regions(g).empty());
}

TEST_CASE("a graph beyond the limits is cut, and nothing exceeds them") {
  graph g;
  const symbolic_shape shape{g.dims.symbol(0)};
  value x = tensor_of(g, 0, shape), y = tensor_of(g, 1, shape);
  for (int i = 0; i < 60; ++i) {  // a leap-frog integrator: one cone of 300 nodes
    x = x + y * unary(op::sin, x);
    y = y - x * 0.5;
  }
  set_outputs(g, {x, y});
  const region_list found = find_regions(g);
  CHECK(found.size() >= 2);
  CHECK(found.size() <= 10);  // the parts repeat
  for (const region& r : found) CHECK(r.node_count > 1);

  graph wide;
  value sum = tensor_of(wide, 0, shape);
  for (int i = 1; i < 40; ++i)
    sum = sum + tensor_of(wide, i, shape) * tensor_of(wide, 40 + i, shape);
  set_outputs(wide, {sum});
  const region_list parts = find_regions(wide);
  CHECK(!parts.empty());
  for (const region& r : parts) {
    CHECK(r.leaf_count <= region::max_leaves);
    CHECK(r.node_count >= 5);
  }
}

TEST_CASE("at most max_regions, those with the most work") {
  graph g;
  for (int i = 0; i < 40; ++i) {
    value x = tensor_of(g, i, {dim(i == 39 ? 100000 : 100)});
    // A different chain each time: the bits of i choose the ops.
    for (int bit = 0; bit < 6; ++bit) x = unary((i >> bit & 1) != 0 ? op::sqrt : op::floor, x);
    set_outputs(g, {x});
  }
  const region_list found = find_regions(g);
  CHECK(found.size() == max_regions);
  CHECK(text(found[0]) == "(sqrt (floor (floor (sqrt (sqrt (sqrt 0))))))");  // 39 = 0b100111
}

TEST_CASE("a region knows which reductions take its result") {
  graph g;
  const dim rows = g.dims.symbol(0), columns = g.dims.symbol(1);
  const value x = tensor_of(g, 0, {rows, columns}), y = tensor_of(g, 1, {rows, columns});
  const std::int64_t last = 1 << 1;
  set_outputs(g, {reduce(op::reduce_sum, (x - y) * (x - y), last),
                  reduce(op::reduce_max, unary(op::exp, x) * y, last), unary(op::tanh, x) * 2.0});
  const region_list found = find_regions(g);
  REQUIRE(found.size() == 3);
  for (const auto& r : found) {
    CHECK(r.summed == (text(r) == "(mul (sub 0 1) (sub 0 1))"));
    CHECK(r.maximized == (text(r) == "(mul (exp 0) 1)"));
  }
}

TEST_CASE("single nodes are regions where they are summed or the largest is looked for") {
  graph g;
  const dim rows = g.dims.symbol(0), columns = g.dims.symbol(1);
  const value x = tensor_of(g, 0, {rows, columns}), y = tensor_of(g, 1, {rows, columns});
  const std::int64_t first = 1 << 0, last = 1 << 1;
  set_outputs(
      g, {reduce(op::reduce_sum, x * y, first), reduce(op::reduce_max, unary(op::abs, x), last),
          reduce(op::reduce_min, unary(op::exp, x), last), unary(op::sqrt, x), x - y});
  const region_list found = find_regions(g);
  REQUIRE(found.size() == 2);
  for (const auto& r : found) {
    CHECK(r.column_summed == (text(r) == "(mul 0 1)"));
    CHECK(r.maximized == (text(r) == "(abs 0)"));
    CHECK_FALSE(r.summed);
  }
  CHECK(find_regions(
            g, [](op) { return true; }, region_runner::steps)
            .size() == 0);  // nobody reduces there
}

TEST_CASE("a region knows whether it is reduced along rows or down columns") {
  const auto first_region = [](std::int64_t axes) {
    graph g;
    const dim a = g.dims.symbol(0), b = g.dims.symbol(1), c = g.dims.symbol(2);
    const value x = tensor_of(g, 0, {a, b, c}), y = tensor_of(g, 1, {a, b, c});
    set_outputs(g, {reduce(op::reduce_sum, (x - y) * (x - y), axes)});
    return find_regions(g)[0];
  };
  for (std::int64_t columns : {0b001, 0b010, 0b011}) {
    CHECK(first_region(columns).column_summed);
    CHECK_FALSE(first_region(columns).summed);
    CHECK_FALSE(first_region(columns).column_maximized);
  }
  for (std::int64_t rows : {0b100, 0b101, 0b110, 0b111}) {
    CHECK(first_region(rows).summed);
    CHECK_FALSE(first_region(rows).column_summed);
  }
}

}  // namespace regions_test
