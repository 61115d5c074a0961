// SPDX-License-Identifier: MIT
// Products with one left factor, derived from graphs that know nothing of it: the projections of an
// attention, the gate of a SwiGLU and what it gates, the gradients of several weights. One nest,
// the interpreter's results, and the bits that the products have alone.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <omp.h>

#include "support/close.hpp"
#include "support/run_graph.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/plan/machine.hpp>
#include <sinter/plan/print.hpp>

namespace grouped_test {

namespace sn = sinter;
namespace ir = sinter::ir;
using ir::dim;
using ir::op;
using ir::value;
using sn::dtype;
using sn::shape_vector;
using sn::planning::nest_kind;
using test_support::reference_tensor;

namespace {

enum class epilogue { none, bias, bias_gelu, residual };

struct projection {
  std::int64_t columns;
  bool transposed = false;
  epilogue behind = epilogue::none;
};

struct layer {
  shape_vector batch;
  std::int64_t rows, depth;
  std::vector<projection> parts;
  dtype type = dtype::f32;
  bool symbolic = false;    // the extents of batch and rows
  bool transposed = false;  // the left factor
};

struct built {
  ir::graph g;
  std::vector<reference_tensor> arguments;
};

class graph_builder {
 public:
  explicit graph_builder(const layer& l) : l_(l) { made.g.symbol_values = {0}; }

  value argument(const shape_vector& extents, std::size_t symbols = 0) {
    ir::symbolic_shape shape;
    for (std::size_t i = 0; i < extents.size(); ++i)
      shape.push_back(l_.symbolic && i < symbols ? made.g.dims.symbol(static_cast<int>(i))
                                                 : dim(extents[i]));
    reference_tensor values = ir::filled(l_.type, extents, 0);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& x : values.data)
      x = sn::is_floating(l_.type) ? static_cast<double>(static_cast<float>(uniform(random_)))
                                   : static_cast<double>(random_() % 5);
    made.arguments.push_back(std::move(values));
    return ir::argument(made.g, l_.type, number_++, shape);
  }

  value left() {
    shape_vector extents = l_.batch;
    extents.push_back(l_.transposed ? l_.depth : l_.rows);
    extents.push_back(l_.transposed ? l_.rows : l_.depth);
    return argument(extents, extents.size() - (l_.transposed ? 2 : 1));
  }
  value project(value x, const projection& p) {
    const value w = argument(p.transposed ? shape_vector{p.columns, l_.depth}
                                          : shape_vector{l_.depth, p.columns});
    const value y = ir::matmul(x, ir::with_leading_ones(w, x.rank()), l_.transposed, p.transposed);
    if (p.behind == epilogue::none) return y;
    if (p.behind == epilogue::residual) {
      shape_vector extents = l_.batch;
      extents.push_back(l_.rows);
      extents.push_back(p.columns);
      return y + argument(extents, extents.size() - 1);
    }
    const value z = y + argument({p.columns});
    return p.behind == epilogue::bias ? z : ir::unary(op::gelu, z);
  }
  void output(value v) { made.g.outputs.push_back({v.id, -1}); }

  built made;

 private:
  layer l_;
  std::mt19937_64 random_{11};
  int number_ = 0;
};

// All projections, or (for one >= 0) that one alone, of the same arguments.
built graph_of(const layer& l, int one = -1) {
  graph_builder b(l);
  const value x = b.left();
  for (int i = 0; i < static_cast<int>(l.parts.size()); ++i) {
    const value y = b.project(x, l.parts[static_cast<std::size_t>(i)]);
    if (one < 0 || one == i) b.output(y);
  }
  return std::move(b.made);
}

sn::planning::plan plan_of(const built& b, std::vector<std::string>* text = nullptr) {
  sn::program p(b.g, sn::detail::all_code(), {});
  std::vector<sn::detail::argument_memory> memory;
  std::vector<shape_vector> shapes;
  for (const reference_tensor& x : b.arguments) {
    memory.push_back({nullptr, x.shape, sn::row_major_strides(x.shape), 0});
    shapes.push_back(x.shape);
  }
  const sn::planning::plan made = p.prepare(memory, ir::symbol_values(p.traced(), shapes)).plan();
  // Instructions that the text names live as long as the program.
  if (text != nullptr)
    for (std::size_t i = 0; i < made.nests.size(); ++i)
      text->push_back(sn::planning::plan_printer(made).nest_text(i));
  return made;
}

int count(const sn::planning::plan& p, nest_kind kind) {
  return static_cast<int>(
      std::ranges::count(p.nests, kind, [](const sn::planning::nest& n) { return n.kind; }));
}

std::size_t parts(const sn::planning::plan& p) {
  std::size_t most = 0;
  for (const sn::planning::nest& n : p.nests) most = std::max(most, n.parts.size());
  return most;
}

void check_close(const reference_tensor& got, const reference_tensor& expected) {
  REQUIRE(got.shape == expected.shape);
  const double tolerance = expected.type == dtype::f32 ? 2e-4 : 1e-11;
  for (std::size_t i = 0; i < got.data.size(); ++i)
    if (!test_support::close(got.data[i], expected.data[i], tolerance, tolerance))
      FAIL("element " << i << ": " << got.data[i] << " instead of " << expected.data[i]);
}

// One nest, close to the interpreter, and the bits of the products alone on 1, 2 and 3 threads.
void check(const layer& l, bool expect_grouped = true) {
  CAPTURE(sn::to_string(l.batch));
  CAPTURE(l.rows);
  CAPTURE(l.depth);
  CAPTURE(l.parts.front().columns);
  const built all = graph_of(l);
  if (expect_grouped) {
    std::vector<std::string> text;
    const sn::planning::plan p = plan_of(all, &text);
    CAPTURE(text.back());
    CHECK(static_cast<int>(p.nests.size()) == 1 + count(p, nest_kind::alias));
    CHECK(count(p, nest_kind::grouped) == 1);
    CHECK(parts(p) == l.parts.size());
    CHECK(p.cost_bound <= p.cost);
  }
  const auto expected = ir::interpret(all.g, all.arguments);
  const int before = omp_get_max_threads();
  std::vector<reference_tensor> alone;
  omp_set_num_threads(2);
  for (int i = 0; i < static_cast<int>(l.parts.size()); ++i) {
    const built one = graph_of(l, i);
    alone.push_back(test_support::run(one.g, one.arguments)[0]);
  }
  for (int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    const auto got = test_support::run(all.g, all.arguments);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      check_close(got[i], expected[i]);
      CHECK(got[i].data == alone[i].data);
    }
  }
  omp_set_num_threads(before);
}

}  // namespace

TEST_CASE("the projections of one input are one nest") {
  check({{}, 64, 48, {{48}, {48}, {48}}});
  check({{}, 33, 37, {{41}, {41}}});
  check({{2}, 19, 24, {{24}, {24}, {24}}});
  check({{2, 3}, 5, 8, {{16}, {16}, {16}, {16}}});
}

TEST_CASE("several blocks of rows and columns, packed rows kept and too large to be kept") {
  check({{}, 517, 130, {{261}, {261}, {261}}});
  check({{}, 300, 1100, {{150}, {150}}});
  check({{}, 1030, 70, {{64}, {64}}});
  check({{3}, 90, 200, {{200}, {200}, {200}}, dtype::f64});
}

TEST_CASE("different numbers of columns") {
  check({{}, 512, 128, {{512}, {128}, {128}}});  // queries, and fewer keys and values
  check({{}, 700, 96, {{33}, {400}, {1}}});
  check({{}, 257, 64, {{1}, {259}}});
  check({{}, 8193, 10, {{14}, {2}}});  // blocks of 264 rows leave 9
  check({{4}, 65, 40, {{10}, {300}, {57}}});
}

TEST_CASE("biases, activations, residuals, a transposed weight, a transposed input") {
  using enum epilogue;
  check({{}, 64, 48, {{48, false, bias}, {48, false, bias}, {48, false, bias}}});
  check({{}, 70, 50, {{30, false, bias_gelu}, {40, true, none}, {50, true, residual}}});
  check({{2}, 150, 64, {{260, true, residual}, {260, false, bias}}});
  layer transposed{{}, 150, 64, {{260}, {90, true}, {20, false, bias}}};
  transposed.transposed = true;
  check(transposed);
}

TEST_CASE("operands without unit strides are copied, each to a place of its own") {
  graph_builder b({{}, 40, 60, {}});
  const auto every_other = [&](const shape_vector& extents) {
    const value w = b.argument({2 * extents[0], 2 * extents[1]});
    return ir::slice(w, {dim(0), dim(0)}, {dim(2 * extents[0]), dim(2 * extents[1])},
                     sn::inline_vector<std::int64_t, sn::max_rank>{2, 2});
  };
  const value x = every_other({40, 60});
  for (int i = 0; i < 4; ++i) b.output(ir::matmul(x, every_other({60, 30 + i})));
  CHECK(parts(plan_of(b.made)) == 4);
  const auto got = test_support::run(b.made.g, b.made.arguments);
  const auto expected = ir::interpret(b.made.g, b.made.arguments);
  for (std::size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i]);
}

TEST_CASE("what grouping saves: a launch each, and packing while packed rows are kept") {
  const auto saved = [](std::int64_t rows, std::int64_t depth) {
    const layer l{{}, rows, depth, {{192}, {192}, {192}}};
    double alone = 0;
    for (int i = 0; i < 3; ++i) alone += plan_of(graph_of(l, i)).cost;
    return alone - plan_of(graph_of(l)).cost;
  };
  CHECK(saved(4, 8) > 2 * sn::planning::nominal_machine.launch);
  CHECK(saved(4, 8) < 3 * sn::planning::nominal_machine.launch);
  CHECK(saved(512, 512) > 50'000);
  CHECK(saved(256, 2048) > 50'000);
  CHECK(saved(256, 16384) < 1'000);
}

TEST_CASE("one row: products with a vector") {
  check({{}, 1, 768, {{96}, {96}, {40}}});
  check({{}, 1, 64, {{96}, {1}}}, false);
}

TEST_CASE("integers") { check({{}, 40, 30, {{20}, {25}}, dtype::i32}); }

TEST_CASE("extents of 0 and 1") {
  for (std::int64_t e : {0, 1}) {
    check({{}, e, 9, {{4}, {5}}}, false);
    check({{}, 7, e, {{4}, {5}}}, false);
    check({{}, 7, 9, {{e}, {5}}}, false);
    check({{e}, 7, 9, {{4}, {5}}}, false);
    check({{e}, e, e, {{e}, {e}}}, false);
  }
}

TEST_CASE("dynamic shapes: one plan for all rows of a bucket") {
  layer l{{}, 100, 48, {{48, false, epilogue::bias}, {48}, {20}}};
  l.symbolic = true;
  const built b = graph_of(l);
  CHECK(parts(plan_of(b)) == 3);
  sn::program p(b.g, sn::detail::all_code(), {});
  for (std::int64_t rows : {100, 65, 128, 77, 1, 1000}) {
    l.rows = rows;
    const built at = graph_of(l);
    const auto got = test_support::run(p, at.arguments);
    ir::graph bound = at.g;
    bound.symbol_values = {rows};
    const auto expected = ir::interpret(bound, at.arguments);
    for (std::size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i]);
  }
}

namespace {

struct swiglu {
  std::int64_t rows, depth, columns;
  bool biases = false, down = false, relu = false;
  dtype type = dtype::f32;
};

value gate_of(value x, bool relu) { return ir::unary(relu ? op::relu : op::silu, x); }

// outputs: 0 the whole, 1 only the gate's product, 2 only the other.
built swiglu_graph(const swiglu& s, int output = 0) {
  graph_builder b({{}, s.rows, s.depth, {}, s.type});
  const epilogue behind = s.biases ? epilogue::bias : epilogue::none;
  const value x = b.left(), gate = b.project(x, {s.columns, false, behind}),
              up = b.project(x, {s.columns, true, behind});
  const value gated = gate_of(gate, s.relu) * up;
  if (output != 0)
    b.output(output == 1 ? gate : up);
  else
    b.output(s.down ? ir::matmul(gated, b.argument({s.columns, s.depth})) : gated);
  return std::move(b.made);
}

std::size_t products(const sn::planning::nest& n) {
  std::size_t found = 0;
  for (const auto& s : n.body) found += s.kind == sn::planning::step_kind::product ? 1 : 0;
  return found;
}

void check_swiglu(const swiglu& s, bool expect_one_nest = true) {
  CAPTURE(s.rows);
  CAPTURE(s.depth);
  CAPTURE(s.columns);
  const built b = swiglu_graph(s);
  if (expect_one_nest) {
    std::vector<std::string> text;
    const sn::planning::plan p = plan_of(b, &text);
    CAPTURE(text.front());
    REQUIRE(p.nests.size() == (s.down ? 2 : 1));
    CHECK(p.nests[0].kind == nest_kind::matmul);
    CHECK(products(p.nests[0]) == 2);
    CHECK(text[0].find("    and with argument ") != std::string::npos);
    // The one value between the nests is what the second of them reads.
    const auto bytes = static_cast<std::size_t>(s.rows * s.columns) * sn::size_of(s.type);
    CHECK(p.arena_bytes == (s.down ? (bytes + 63) / 64 * 64 : 0));
  }
  const auto expected = ir::interpret(b.g, b.arguments);
  const int before = omp_get_max_threads();
  std::vector<reference_tensor> results;
  for (int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    results.push_back(test_support::run(b.g, b.arguments)[0]);
    check_close(results.back(), expected[0]);
    CHECK(results.back().data == results.front().data);
  }
  omp_set_num_threads(before);
  if (s.down) return;
  // The products alone, and what is behind them on stored values.
  std::vector<reference_tensor> stored;
  for (int i : {1, 2}) {
    const built one = swiglu_graph(s, i);
    stored.push_back(test_support::run(one.g, one.arguments)[0]);
  }
  ir::graph rest;
  rest.symbol_values = {0};
  const value gate = ir::argument(rest, s.type, 0, {s.rows, s.columns}),
              up = ir::argument(rest, s.type, 1, {s.rows, s.columns});
  rest.outputs.push_back({(gate_of(gate, s.relu) * up).id, -1});
  CHECK(test_support::run(rest, stored)[0].data == results[0].data);
}

}  // namespace

TEST_CASE("a gate and what it gates are one nest that stores neither") {
  check_swiglu({64, 48, 96});
  check_swiglu({33, 37, 41});
  check_swiglu({300, 130, 530});
  check_swiglu({517, 64, 70, true});
  check_swiglu({64, 48, 96, true, true});
  check_swiglu({70, 30, 50, false, false, true, dtype::f64});
  check_swiglu({2, 100, 200});
  check_swiglu({1, 100, 200});
}

TEST_CASE("a gate with extents of 0 and 1") {
  for (std::int64_t e : {0, 1}) {
    check_swiglu({e, 9, 5}, false);
    check_swiglu({7, e, 5}, false);
    check_swiglu({7, 9, e}, false);
    check_swiglu({e, e, e}, false);
  }
}

TEST_CASE("a gate that is wanted itself is stored by the same nest") {
  graph_builder b({{}, 60, 40, {}});
  const value x = b.left(), gate = b.project(x, {50}), up = b.project(x, {50});
  b.output(ir::unary(op::silu, gate) * up);
  b.output(gate);
  const sn::planning::plan p = plan_of(b.made);
  CHECK(p.nests.size() == 1);
  const auto got = test_support::run(b.made.g, b.made.arguments);
  const auto expected = ir::interpret(b.made.g, b.made.arguments);
  for (std::size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i]);
}

TEST_CASE("a gate and another product of its input are one nest") {
  graph_builder b({{}, 200, 64, {}});
  const value x = b.left(), gate = b.project(x, {160}), up = b.project(x, {160}),
              other = b.project(x, {70});
  b.output(ir::unary(op::silu, gate) * up);
  b.output(other);
  const sn::planning::plan p = plan_of(b.made);
  REQUIRE(p.nests.size() == 1);
  CHECK(p.nests[0].parts.size() == 2);
  const auto got = test_support::run(b.made.g, b.made.arguments);
  const auto expected = ir::interpret(b.made.g, b.made.arguments);
  for (std::size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i]);
}

TEST_CASE("attention with heads from its input: grouped projections, one streamed nest") {
  graph_builder b({{}, 64, 32, {}});
  const value x = b.left();
  const auto heads = [&](value y) {
    const std::int64_t axes[] = {1, 0, 2};
    return ir::permute(ir::reshape(y, {64, 4, 8}), axes);
  };
  const projection dense{32, false, epilogue::bias};
  const value q = heads(b.project(x, dense)), k = heads(b.project(x, dense)),
              v = heads(b.project(x, dense));
  const value scores = ir::matmul(q, k, false, true) * (1 / std::sqrt(8.0));
  b.output(
      ir::matmul(value{scores.owner, ir::append(*scores.owner, op::softmax, {scores.id}, {4})}, v));
  const sn::planning::plan p = plan_of(b.made);
  CHECK(count(p, nest_kind::grouped) == 1);
  CHECK(parts(p) == 3);
  CHECK(count(p, nest_kind::streamed) == 1);
  CHECK(count(p, nest_kind::matmul) == 0);
  check_close(test_support::run(b.made.g, b.made.arguments)[0],
              ir::interpret(b.made.g, b.made.arguments)[0]);
}

TEST_CASE("a product that needs another one is not in its group") {
  graph_builder b({{}, 40, 40, {}});
  const value x = b.left(), first = b.project(x, {40}), second = b.project(x, {40});
  // x times what was made of x times a weight.
  b.output(first);
  b.output(second);
  b.output(ir::matmul(x, ir::unary(op::tanh, second)));
  const sn::planning::plan p = plan_of(b.made);
  CHECK(parts(p) == 2);
  const auto got = test_support::run(b.made.g, b.made.arguments);
  const auto expected = ir::interpret(b.made.g, b.made.arguments);
  for (std::size_t i = 0; i < got.size(); ++i) check_close(got[i], expected[i]);
}

TEST_CASE("a weight of several batches is multiplied as alone, whatever its partner is") {
  const auto graph = [](int which) {
    graph_builder b({{2, 3}, 1, 500, {}});
    const value x = b.left(),
                common = ir::broadcast_to(b.argument({2, 1, 500, 60}), {2, 3, 500, 60}),
                own = b.argument({2, 3, 500, 60});
    const value first = ir::matmul(x, common), second = ir::matmul(x, own);
    if (which != 1) b.output(first);
    if (which != 0) b.output(second);
    if (which == 3) b.output(ir::unary(op::silu, first) * second);
    return std::move(b.made);
  };
  // Left alone, rules fold such batches in the graph already.
  sn::program_options options;
  options.disabled_rules = {"collapse-batch", "product-of-repeated"};
  const auto results = [&](int which) {
    const built b = graph(which);
    sn::program p(b.g, sn::detail::all_code(), options);
    return test_support::run(p, b.arguments);
  };
  for (int together : {2, 3}) {
    const auto got = results(together);
    for (int which : {0, 1})
      CHECK(got[static_cast<std::size_t>(which)].data == results(which)[0].data);
  }
}

TEST_CASE("weights are updated in place by the nest of their gradients") {
  graph_builder b({{}, 96, 48, {}});
  const value x = b.left();
  std::vector<value> weights;
  value loss{};
  for (int i = 0; i < 3; ++i) {
    weights.push_back(b.argument({48, 32}));
    const value y = ir::unary(op::tanh, ir::matmul(x, weights.back()));
    const value part = ir::sum(y * y, 3, false);
    loss = i == 0 ? part : loss + part;
  }
  ir::graph& g = b.made.g;
  for (int i = 0; i < 3; ++i) {
    const value w = weights[static_cast<std::size_t>(i)];
    const value slope{&g, ir::append(g, op::gradient, {loss.id, w.id})};
    g.outputs.push_back({(w - 0.01 * slope).id, i + 1});
  }
  g = ir::expand_gradients(g);
  const sn::planning::plan p = plan_of(b.made);
  bool updates = false;
  for (const sn::planning::nest& n : p.nests)
    if (n.kind == nest_kind::grouped) {
      bool outputs = true;
      for (const auto& s : n.stores)
        outputs = outputs && p.buffers[static_cast<std::size_t>(s.buffer)].place ==
                                 sn::planning::place::output;
      updates = updates || (outputs && n.parts.size() == 3);
    }
  CHECK(updates);
  const auto expected = ir::interpret(g, b.made.arguments);
  // The results over the arguments, as `assign` has them.
  sn::program program(g, sn::detail::all_code(), {});
  std::vector<test_support::raw_tensor> in;
  std::vector<sn::detail::argument_memory> memory;
  for (const reference_tensor& a : b.made.arguments)
    in.push_back(test_support::raw_tensor::from(a));
  for (auto& a : in)
    memory.push_back({a.bytes.data(), a.shape, sn::row_major_strides(a.shape), a.bytes.size()});
  sn::program::prepared_call call = program.prepare(memory, std::vector<std::int64_t>{0});
  std::vector<sn::detail::output_memory> results;
  for (std::size_t i = 1; i <= 3; ++i) results.push_back({in[i].bytes.data(), in[i].bytes.size()});
  program.run(call, memory, results);
  for (std::size_t i = 0; i < 3; ++i) check_close(in[i + 1].to(dtype::f32), expected[i]);
}

}  // namespace grouped_test
