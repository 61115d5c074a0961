// SPDX-License-Identifier: MIT
// Instruction selection: regions are found in an e-graph in whatever form rewriting left them, and
// what a match computes is what its class means.
#include <array>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/graph/bind.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/regions.hpp>
#include <sinter/plan/instructions.hpp>

namespace instructions_test {

using namespace sinter;
using namespace sinter::ir;
using eqsat::class_id;
using planning::instruction_match;
using rules::tensor_egraph;

namespace {

constexpr dtype f64 = dtype::f64;
const symbolic_shape matrix{dim(4), dim(6)};

graph bound_graph() {
  graph g;
  g.symbol_values.push_back(0);
  return g;
}

value tensor_of(graph& g, int number, const symbolic_shape& shape) {
  return argument(g, f64, number, shape);
}

struct loaded {
  tensor_egraph egraph;
  std::vector<class_id> outputs;
};

loaded load(graph& g, std::initializer_list<value> outputs) {
  loaded out;
  out.egraph.language().terms() = g;
  for (value v : outputs) out.outputs.push_back(out.egraph.language().add(out.egraph, v.id));
  out.egraph.rebuild();
  return out;
}

// Writes a term into the language's graph and unites it with a class, as a rule would.
template <class Write>
void rewrite(loaded& l, class_id root, Write write) {
  auto& language = l.egraph.language();
  const class_id added = language.add(l.egraph, write(language.terms()));
  REQUIRE(l.egraph.unite(root, added));
  l.egraph.rebuild();
}

std::vector<instruction> as_instructions(const region_list& regions) {
  std::vector<instruction> out;
  for (const region& r : regions) out.push_back({r, nullptr});
  return out;
}

// ---- meaning: of terms by the reference interpreter, of regions node by node

// The values of all terms, for arguments that are positive (log and sqrt are defined) and
// irregular.
std::vector<reference_tensor> term_values(const graph& g) {
  std::vector<reference_tensor> arguments;
  for (int id = 0; id < g.size(); ++id) {
    if (g[id].code != op::argument) continue;
    const auto number = static_cast<std::size_t>(g.attributes(id)[1]);
    shape_vector shape;
    for (dim d : g[id].shape) shape.push_back(g.dims.evaluate(d, g.symbol_values));
    reference_tensor x = filled(g[id].type, shape, 0);
    for (std::size_t i = 0; i < x.data.size(); ++i)
      x.data[i] = 1.1 + std::sin(7.0 * static_cast<double>(number) + 1.3 * static_cast<double>(i));
    if (arguments.size() <= number) arguments.resize(number + 1);
    arguments[number] = std::move(x);
  }
  return interpret_all(g, arguments);
}

double evaluate(const region& r, const std::vector<double>& leaves) {
  std::vector<double> values = leaves;
  for (int i = 0; i < r.node_count; ++i) {
    double in[3] = {};
    for (int k = 0; k < info(r.code(i)).arity; ++k)
      in[k] = values[static_cast<std::size_t>(r.operand(i, k))];
    const bool truth = info(r.code(i)).accepts == accepts::integral_or_bool;
    values.push_back(
        evaluate_scalar(r.code(i), truth ? dtype::boolean : r.type, in[0], in[1], in[2]));
  }
  return values.back();
}

// Every fused e-node computes what its class means, with scalar leaves that are one value per row.
int check_meaning(const tensor_egraph& egraph, const std::vector<instruction>& instructions) {
  const std::vector<reference_tensor> values = term_values(egraph.language().terms());
  const auto value_of = [&](class_id id) -> const reference_tensor& {
    return values[static_cast<std::size_t>(egraph.data(id).term)];
  };
  int seen = 0;
  for (eqsat::node_id id : egraph.nodes_by_operator(rules::fused_operator)) {
    if (egraph.record(id).dead()) continue;
    const auto n = egraph.node(id);
    const region& r = instructions[n.payload].structure;
    REQUIRE(n.children.size() == r.leaf_count);
    const reference_tensor& expected = value_of(egraph.class_of(id));
    const std::size_t columns = static_cast<std::size_t>(expected.shape.back());
    ++seen;
    for (std::size_t i = 0; i < expected.data.size(); ++i) {
      std::vector<double> leaves;
      for (int k = 0; k < r.leaf_count; ++k) {
        const reference_tensor& leaf = value_of(n.children[static_cast<std::size_t>(k)]);
        if (!r.is_scalar(k)) REQUIRE(leaf.shape == expected.shape);
        const std::size_t first_of_row = i / columns * columns;
        leaves.push_back(leaf.data[leaf.shape.empty() ? 0 : r.is_scalar(k) ? first_of_row : i]);
      }
      CHECK(evaluate(r, leaves) == doctest::Approx(expected.data[i]).epsilon(1e-12));
    }
  }
  return seen;
}

// The fused e-nodes of a class: instruction and operands.
std::vector<instruction_match> fused_nodes(const tensor_egraph& egraph, class_id id) {
  std::vector<instruction_match> out;
  for (const auto& n : egraph.nodes(id))
    if (n.op == rules::fused_operator)
      out.push_back({egraph.find(id), n.payload, {n.children.begin(), n.children.end()}});
  return out;
}

class_id class_of(loaded& l, value v) { return l.egraph.language().add(l.egraph, v.id); }

}  // namespace

TEST_CASE("a traced region is found again, whatever the order of operands") {
  graph pattern = bound_graph();
  {
    const value x = tensor_of(pattern, 0, matrix), y = tensor_of(pattern, 1, matrix);
    pattern.outputs.push_back({(unary(op::silu, x * 1.5 + 0.5) * y).id, -1});
  }
  const auto instructions = as_instructions(find_regions(pattern));
  REQUIRE(instructions.size() == 1);

  graph g = bound_graph();
  const value y = tensor_of(g, 0, matrix), x = tensor_of(g, 1, matrix);
  const value root =
      y * unary(op::silu, (tensor_of(g, 2, {}) + 0.25) + 3.0 * x);  // a rank-0 sum is a scalar leaf
  auto l = load(g, {root});
  // A match names an e-node for each node of its region.
  const auto matches = planning::match_instructions(l.egraph, instructions);
  REQUIRE(matches.size() == 1);
  const ir::region& region = instructions[0].structure;
  REQUIRE(matches[0].nodes.size() == static_cast<std::size_t>(region.node_count));
  for (int k = 0; k < region.node_count; ++k)
    CHECK(l.egraph.node(matches[0].nodes[static_cast<std::size_t>(k)]).op ==
          static_cast<std::uint16_t>(region.code(k)));
  CHECK(l.egraph.class_of(matches[0].nodes.back()) == l.outputs[0]);
  CHECK(planning::add_instructions(l.egraph, instructions) == 1);
  CHECK(l.egraph.clean());
  CHECK(l.egraph.refused_unions() == 0);
  const auto found = fused_nodes(l.egraph, l.outputs[0]);
  REQUIRE(found.size() == 1);
  CHECK(found[0].leaves[0] == class_of(l, x));
  CHECK(found[0].leaves[3] == class_of(l, y));
  CHECK(check_meaning(l.egraph, instructions) == 1);
  CHECK(planning::add_instructions(l.egraph, instructions) == 0);  // nothing is added twice
}

TEST_CASE("a repeated leaf must be the same class twice") {
  graph pattern = bound_graph();
  const value p = tensor_of(pattern, 0, matrix);
  pattern.outputs.push_back({unary(op::sqrt, p * p).id, -1});
  const auto instructions = as_instructions(find_regions(pattern));

  graph g = bound_graph();
  const value x = tensor_of(g, 0, matrix), y = tensor_of(g, 1, matrix), z = tensor_of(g, 2, matrix);
  const value square = unary(op::sqrt, x * x), product = unary(op::sqrt, x * y),
              hidden = unary(op::sqrt, y * z);
  auto l = load(g, {square, product, hidden});
  CHECK(planning::add_instructions(l.egraph, instructions) == 1);
  CHECK(fused_nodes(l.egraph, l.outputs[0]).size() == 1);
  CHECK(fused_nodes(l.egraph, l.outputs[1]).empty());

  // Once somebody proves y = z, sqrt(y z) is one too.
  REQUIRE(l.egraph.unite(class_of(l, y), class_of(l, z)));
  CHECK(planning::add_instructions(l.egraph, instructions) == 1);
  CHECK(fused_nodes(l.egraph, l.outputs[2]).size() == 1);
}

TEST_CASE("a match may use any form of the classes below its root") {
  region r;
  r.type = f64;
  const int a = r.add_leaf(false), b = r.add_leaf(false);
  r.add_node(op::mul, r.add_node(op::silu, a), b);
  const std::vector<instruction> instructions{{r, nullptr}};

  graph g = bound_graph();
  const value x = tensor_of(g, 0, matrix), y = tensor_of(g, 1, matrix);
  const value gate = x * unary(op::sigmoid, x);
  auto l = load(g, {gate * y});
  CHECK(planning::add_instructions(l.egraph, instructions) == 0);
  rewrite(l, class_of(l, gate), [&](graph& terms) { return unary(op::silu, {&terms, x.id}); });
  CHECK(planning::add_instructions(l.egraph, instructions) == 1);
  CHECK(check_meaning(l.egraph, instructions) == 1);
}

TEST_CASE("of several matches the one with the fewest operands still to compute") {
  region r;  // x * y + z
  r.type = f64;
  const int x = r.add_leaf(false), y = r.add_leaf(false), z = r.add_leaf(false);
  r.add_node(op::add, r.add_node(op::mul, x, y), z);
  const std::vector<instruction> instructions{{r, nullptr}};

  for (bool exchanged : {false, true}) {
    graph g = bound_graph();
    const value a = tensor_of(g, 0, matrix), b = tensor_of(g, 1, matrix),
                c = tensor_of(g, 2, matrix);
    const value plain = a * b, computed = unary(op::exp, a) * unary(op::log, c);
    const value root = exchanged ? computed + plain : plain + computed;
    auto l = load(g, {root});
    planning::add_instructions(l.egraph, instructions);
    const auto found = fused_nodes(l.egraph, l.outputs[0]);
    REQUIRE(found.size() == 1);
    CHECK(found[0].leaves[2] == class_of(l, computed));
    CHECK(check_meaning(l.egraph, instructions) == 1);
  }
}

TEST_CASE("scalar leaves take scalars, constants and row values, nothing else") {
  graph pattern = bound_graph();
  const value p = tensor_of(pattern, 0, matrix), s = tensor_of(pattern, 1, {});
  pattern.outputs.push_back({unary(op::exp, p - s).id, -1});
  const auto instructions = as_instructions(find_regions(pattern));
  REQUIRE(instructions.size() == 1);

  graph g = bound_graph();
  const value x = tensor_of(g, 0, matrix), scalar = tensor_of(g, 1, {});
  const value column = tensor_of(g, 2, {dim(4), dim(1)}), row = tensor_of(g, 3, {dim(6)}),
              full = tensor_of(g, 4, matrix);
  const auto shifted = [&](value by) { return unary(op::exp, x - by); };
  auto l =
      load(g, {shifted(scalar), shifted(constant(g, f64, 3)), shifted(column),
               shifted(reduce(op::reduce_max, x, 2)),
               shifted(broadcast_to(constant(g, f64, 2), matrix)), shifted(row), shifted(full)});
  CHECK(planning::add_instructions(l.egraph, instructions) == 5);
  for (std::size_t i = 0; i < l.outputs.size(); ++i) {
    CAPTURE(i);
    CHECK(fused_nodes(l.egraph, l.outputs[i]).size() == (i < 5 ? 1u : 0u));
  }
  CHECK(check_meaning(l.egraph, instructions) == 5);
  // The operand is the full-shape class of the broadcast: the planner finds the row value below it.
  const class_id leaf = fused_nodes(l.egraph, l.outputs[2])[0].leaves[1];
  CHECK(rules::node_of(l.egraph, leaf).code == op::broadcast_to);
}

TEST_CASE(
    "what is repeated along the last axis is a row value, whatever else it is repeated along") {
  const ir::symbolic_shape images{dim(3), dim(2), dim(5)};
  graph pattern = bound_graph();
  const value p = tensor_of(pattern, 0, images), s = tensor_of(pattern, 1, {});
  pattern.outputs.push_back({unary(op::exp, p - s).id, -1});
  const auto instructions = as_instructions(find_regions(pattern));
  REQUIRE(instructions.size() == 1);

  graph g = bound_graph();
  const value x = tensor_of(g, 0, images);
  int number = 1;
  const auto shifted = [&](const ir::symbolic_shape& by) {
    return unary(op::exp, x - tensor_of(g, number++, by));
  };
  auto l = load(g, {shifted({dim(1), dim(2), dim(1)}), shifted({dim(3), dim(1), dim(1)}),
                    shifted({dim(2), dim(1)}), shifted({dim(1), dim(2), dim(5)}),
                    shifted({dim(3), dim(1), dim(5)})});
  CHECK(planning::add_instructions(l.egraph, instructions) == 3);
  for (std::size_t i = 0; i < l.outputs.size(); ++i) {
    CAPTURE(i);
    CHECK(fused_nodes(l.egraph, l.outputs[i]).size() == (i < 3 ? 1u : 0u));
  }
  CHECK(check_meaning(l.egraph, instructions) == 3);
}

TEST_CASE("dtype, rank and cycles") {
  region r;  // x + s twice
  r.type = f64;
  const int x = r.add_leaf(false), s = r.add_leaf(true);
  r.add_node(op::add, r.add_node(op::add, x, s), s);
  const std::vector<instruction> instructions{{r, nullptr}};

  graph g = bound_graph();
  const value single = argument(g, dtype::f32, 0, matrix), rank_0 = tensor_of(g, 1, {}),
              full = tensor_of(g, 2, matrix);
  auto l = load(g, {(single + 1.0) + 1.0, (rank_0 + 1.0) + 1.0, full + 0.0});
  CHECK(planning::add_instructions(l.egraph, instructions) == 0);
  // x = x + 0 makes a class that contains itself; a value is never computed from itself.
  REQUIRE(l.egraph.unite(l.outputs[2], class_of(l, full)));
  CHECK(planning::add_instructions(l.egraph, instructions) == 0);
}

TEST_CASE("truth values: inside a region and as its result") {
  graph pattern = bound_graph();
  const value x = tensor_of(pattern, 0, matrix), y = tensor_of(pattern, 1, matrix);
  const value inside = where(elementwise(op::less, {x * 3.0, y}), unary(op::sqrt, x), y);
  const value result = elementwise(
      op::bit_and, {elementwise(op::less, {x, y}), elementwise(op::less, {y, x * 3.0})});
  pattern.outputs = {{inside.id, -1}, {result.id, -1}};
  const auto instructions = as_instructions(find_regions(pattern));
  REQUIRE(instructions.size() == 2);
  auto l = load(pattern, {inside, result});
  CHECK(planning::add_instructions(l.egraph, instructions) == 2);
  CHECK(check_meaning(l.egraph, instructions) == 2);
}

TEST_CASE("a region of one op matches where its kernel reduces the result") {
  graph g = bound_graph();
  const value x = tensor_of(g, 0, matrix), y = tensor_of(g, 1, matrix);
  const value summed = x * y, largest = x * x, stored = y * y;
  graph pattern = bound_graph();
  pattern.outputs.push_back(
      {reduce(op::reduce_sum, tensor_of(pattern, 0, matrix) * tensor_of(pattern, 1, matrix), 2).id,
       -1});
  auto instructions = as_instructions(find_regions(pattern));
  REQUIRE(instructions.size() == 1);
  auto l = load(g, {reduce(op::reduce_sum, summed, 2), reduce(op::reduce_max, largest, 2), stored});
  CHECK(planning::add_instructions(l.egraph, instructions) == 0);  // it has no kernel for a sum
  instructions[0].sum = [](const map_run&, const void* const*, void*, const row_results&) {};
  CHECK(planning::add_instructions(l.egraph, instructions) == 1);
  CHECK(fused_nodes(l.egraph, class_of(l, summed)).size() == 1);
  CHECK(check_meaning(l.egraph, instructions) == 1);
}

TEST_CASE("regions of a traced function with dynamic extents are found after binding") {
  graph traced;
  const dim rows = traced.dims.symbol(0), columns = traced.dims.symbol(1),
            other = traced.dims.symbol(2);
  const value x = argument(traced, f64, 0, {rows, columns}),
              scale = argument(traced, f64, 1, {other});
  const value centred = x - mean(x, 2);
  const value spread = mean(centred * centred, 2);
  const value out = centred * unary(op::rsqrt, spread + 1e-5) * scale;
  traced.outputs.push_back({out.id, -1});
  const auto instructions = as_instructions(find_regions(traced));
  REQUIRE(!instructions.empty());

  // Row by row; one column, where the row values are no broadcasts; one scale for all columns.
  for (const auto& [shape, width] :
       {std::pair{shape_vector{4, 6}, 6}, {shape_vector{4, 1}, 1}, {shape_vector{4, 6}, 1}}) {
    const std::array shapes{shape, shape_vector{width}};
    graph bound = ir::bind(traced, shapes);
    loaded l;
    l.egraph.language().terms() = bound;
    l.outputs.push_back(l.egraph.language().add(l.egraph, bound.outputs[0].node));
    l.egraph.rebuild();
    const int added = planning::add_instructions(l.egraph, instructions);
    if (width == 6) CHECK(!fused_nodes(l.egraph, l.outputs[0]).empty());
    CHECK(check_meaning(l.egraph, instructions) == added);
  }
}

TEST_CASE("a large graph takes milliseconds") {
  graph g = bound_graph();
  std::vector<value> values;
  for (int i = 0; i < 50; ++i) values.push_back(tensor_of(g, i, {dim(64), dim(64)}));
  // 700 nodes of mixed ops over earlier values, the kind of soup saturation makes.
  for (std::size_t i = 0; g.size() < 750; ++i) {
    const value a = values[values.size() - 1 - i * 7 % 40],
                b = values[values.size() - 1 - i * 13 % 45];
    values.push_back(i % 3 == 0   ? a + b
                     : i % 3 == 1 ? a * b
                                  : unary(i % 2 == 0 ? op::exp : op::tanh, a));
  }
  for (std::size_t i = values.size() - 60; i < values.size(); ++i)
    g.outputs.push_back({values[i].id, -1});
  const region_list regions = find_regions(g);
  std::vector<instruction> instructions = as_instructions(regions);
  for (std::size_t i = 0; instructions.size() < 40; ++i) instructions.push_back(instructions[i]);
  loaded l;
  l.egraph.language().terms() = g;
  for (int id = 0; id < g.size(); ++id) l.egraph.language().add(l.egraph, id);
  l.egraph.rebuild();
  const auto started = std::chrono::steady_clock::now();
  const int added = planning::add_instructions(l.egraph, instructions);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
  MESSAGE(l.egraph.node_count() << " e-nodes, " << instructions.size() << " instructions, " << added
                                << " matches: " << took.count() << " ms");
  CHECK(added >= static_cast<int>(regions.size()));
  CHECK(took.count() <
        500);  // some 0.5 ms at -O2; the bound allows for sanitizers and busy machines
}

}  // namespace instructions_test
