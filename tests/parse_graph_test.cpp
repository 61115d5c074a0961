// SPDX-License-Identifier: MIT
// Graphs from text: what was printed is read back; faults are told with line and column; text that
// is damaged or malicious ends in graph_error, soon.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/random_graph.hpp"
#include <sinter/expr/expr.hpp>
#include <sinter/graph/build.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>

namespace parse_graph_test {

using namespace sinter;
using ir::dim;
using ir::op;
using ir::parse_graph;
using ir::value;

namespace {

// The same graph, node for node; dims may be numbered in another order.
bool same(const ir::graph& a, const ir::graph& b) {
  if (a.size() != b.size() || a.outputs != b.outputs || a.random_streams != b.random_streams ||
      a.argument_names != b.argument_names || a.dims.described() != b.dims.described())
    return false;
  ir::dim_table dims = a.dims;
  std::vector<dim> symbols;
  for (std::int64_t i = 0; i < 64; ++i) symbols.push_back(dims.symbol(i));
  const auto equal = [&](auto x, auto y) {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!(dims.substitute(b.dims, y[i], symbols) == x[i])) return false;
    return true;
  };
  for (int id = 0; id < a.size(); ++id) {
    const ir::node &x = a[id], &y = b[id];
    if (x.code != y.code || x.type != y.type || x.weak != y.weak ||
        !std::ranges::equal(a.inputs(id), b.inputs(id)) ||
        !std::ranges::equal(a.attributes(id), b.attributes(id)) ||
        !equal(a.node_dims(id), b.node_dims(id)) || !equal(x.shape, y.shape))
      return false;
  }
  return true;
}

void check_round_trip(const ir::graph& g) {
  const std::string text = ir::to_text(g);
  CAPTURE(text);
  CHECK(same(g, parse_graph(text)));
}

std::string message_of(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const graph_error& e) {
    return e.what();
  }
  return "no error";
}

const std::string two_arguments =
    "%0 = argument {number: 0} : f32[3, 4]\n%1 = argument {number: 1} : f32[4, 5]\n";

}  // namespace

TEST_CASE("names, ranges, comments and assignments") {
  const ir::graph g = parse_graph(
      "# a layer\n"
      "symbol 0: batch in 1..4096\n"
      "symbol 2: s2 in 4..\n"
      "\n"
      "%10 = argument {number: 0, name: x} : f32[batch, 784]  # pixels\r\n"
      "%11 = argument {number: 1, name: layer1.w} : f32[784, 10]\n"
      "%12=matmul(%10,%11):f32[batch,10]\n"
      "%13 = argument {number: 2, name: rate, weak} : f32[]\n"
      "\t%14 = mul(%12, %13) : f32[batch, 10]\n"
      "%15 = argument {number: 3} : f32[s2, s1]\n"
      "output: %14\n"
      "output: %11 -> argument 1");
  CHECK(ir::to_text(g) ==
        "symbol 0: batch in 1..4096\n"
        "symbol 2: s2 in 4..\n"
        "%0 = argument {number: 0, name: x} : f32[batch, 784]\n"
        "%1 = argument {number: 1, name: layer1.w} : f32[784, 10]\n"
        "%2 = matmul(%0, %1) : f32[batch, 10]\n"
        "%3 = argument {number: 2, name: rate, weak} : f32[]\n"
        "%4 = mul(%2, %3) : f32[batch, 10]\n"
        "%5 = argument {number: 3} : f32[s2, s1]\n"
        "output: %4\n"
        "output: %1 -> argument 1\n");
  CHECK(g[3].weak);
  CHECK(g.dims.symbol_range(0) == ir::extent_range{1, 4096});
  check_round_trip(g);
  CHECK(parse_graph("").size() == 0);
  CHECK(parse_graph("# nothing\n \n").size() == 0);
}

TEST_CASE("every op and attribute is read back") {
  ir::graph g;
  const dim s = g.dims.symbol(0), t = g.dims.symbol(1);
  const value x = ir::argument(g, dtype::f32, 0, {s, 4}), i = ir::argument(g, dtype::i64, 1, {s}),
              b = ir::argument(g, dtype::boolean, 2, {s, 4}),
              n = ir::argument(g, dtype::i32, 3, {t}), r = ir::argument(g, dtype::f64, 4, {}, true);
  for (int code = 0; code < ir::op_count; ++code) {
    const ir::op_info& facts = ir::info(static_cast<op>(code));
    if (!ir::is_elementwise(facts.code) || ir::is_conversion(facts.code) ||
        ir::is_custom(facts.code) || facts.code == op::where)
      continue;
    const value operand = ir::accepts_dtype(facts.accepts, dtype::f32)   ? x
                          : ir::accepts_dtype(facts.accepts, dtype::i64) ? i
                                                                         : b;
    const std::vector<int> in(static_cast<std::size_t>(facts.arity), operand.id);
    ir::append(g, facts.code, in);
  }
  ir::where(b, x, x);
  ir::cast(x, dtype::u8);
  for (op code : {op::reduce_sum, op::reduce_max, op::reduce_min, op::reduce_prod, op::argmax})
    ir::reduce(code, x, 3);
  for (op code : {op::softmax, op::log_softmax}) ir::append(g, code, {x.id}, {2});
  for (op code : {op::layer_norm, op::rms_norm})
    ir::append(g, code, {x.id}, {2, ir::bits_of(1e-5)});
  for (std::int64_t inverse : {0, 1})
    ir::append(g, op::rope, {x.id, i.id}, {ir::bits_of(1e4), 1 - inverse, inverse, 0});
  ir::append(g, op::cross_entropy, {x.id, i.id});
  const std::int64_t order[] = {1, 0};
  ir::permute(x, order);
  ir::reshape(x, {g.dims.mul(s, 2), 2});
  ir::broadcast_to(x, {t, s, 4});
  ir::sum_to(x, {t, 4});
  ir::pad(x, {s, 0}, {0, t}, -0.1f);
  ir::pad(i, {1}, {0}, -7);
  ir::pad(b, {1, 0}, {0, 0}, 1);
  ir::slice(x, {1, 0}, {g.dims.sub(s, 3), 4}, {2, 1});
  ir::flip(x, 3);
  const value parts[] = {x, x, x};
  ir::concat(parts, 0);
  for (const bool whole : {false, true}) ir::reduce(op::reduce_sum, x, whole ? 3 : 1);
  ir::append(g, op::matmul, {x.id, x.id}, {1, 0});
  ir::append(g, op::matmul, {x.id, x.id}, {0, 1});
  ir::gather(x, n, 0);
  ir::scatter_add(ir::gather(x, n, 0), n, 0, {s, 4});
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true}) ir::cumsum(x, 1, exclusive, reverse);
  ir::extent_scalar(g, dtype::i64,
                    g.dims.floor_div(g.dims.mul(s, t), g.dims.mul(t, g.dims.add(s, 1))));
  ir::extent_scalar(g, dtype::f32, g.dims.mod(g.dims.sub(s, 3), g.dims.mul(s, t)));
  ir::extent_scalar(g, dtype::f32, g.dims.sub(g.dims.sub(dim(0), g.dims.mul(s, t)), 2));
  ir::extent_scalar(g, dtype::f32, g.dims.broadcast(s, t));
  ir::iota(g, dtype::u8, {3, t}, 1);
  ir::append(g, op::random_uniform, {ir::constant(g, dtype::i64, 3).id},
             {static_cast<std::int64_t>(dtype::f64), g.random_streams++}, g[x.id].shape);
  ir::append(g, op::gradient, {ir::sum(x, 3, false).id, x.id});
  ir::append(g, op::vjp, {(x * 2.0).id, x.id, x.id});
  ir::append(g, op::jvp, {(x * 2.0).id, x.id, (x * 3.0).id});
  ir::append(g, op::checkpoint, {(x * 2.0).id, x.id});
  ir::append(g, op::recompute, {x.id}, {5});
  for (int type = 0; type < dtype_count; ++type) ir::constant(g, static_cast<dtype>(type), 1);
  ir::bitcast(x, dtype::i32);
  for (std::uint64_t bits : {std::uint64_t{1} << 63, ~std::uint64_t{0}})
    ir::append(g, op::constant, {},
               {static_cast<std::int64_t>(dtype::u64), static_cast<std::int64_t>(bits)});
  ir::constant(g, dtype::i64, -9.2e18);
  for (double d : {0.1, -0.0, 1e300, 5e-324, -1.0 / 0.0}) ir::constant(g, dtype::f64, d);
  for (float f : {0.1f, 1e-45f, 3.4e38f}) ir::constant(g, dtype::f32, static_cast<double>(f));
  x + r;
  g.outputs = {{g.size() - 1, -1}, {x.id, 0}};
  check_round_trip(g);
}

TEST_CASE("random graphs are read back and mean the same") {
  for (const test::extent_kind extents :
       {test::extent_kind::constant, test::extent_kind::traced_symbols})
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      const test::random_graph random = test::make_random_graph(seed, {.extents = extents});
      const ir::graph once = parse_graph(ir::to_text(random.graph));
      CAPTURE(seed);
      // Constants are rounded to their dtype by the first reading.
      CHECK(same(once, parse_graph(ir::to_text(once))));
      CHECK(once.size() <= random.graph.size());
      const auto expected = ir::interpret(random.graph, random.arguments);
      const auto given = ir::interpret(once, random.arguments);
      REQUIRE(given.size() == expected.size());
      for (std::size_t k = 0; k < given.size(); ++k) CHECK(given[k] == expected[k]);
    }
}

TEST_CASE("errors name line, column and what is wrong") {
  CHECK(message_of(two_arguments + "%2 = matmul(%1, %0) : f32[4, 4]") ==
        "parse_graph: line 3, column 1: matmul(f32[4, 5], f32[3, 4]): extents 5 and 3 disagree");
  CHECK(message_of(two_arguments + "%2 = matmul(%0, %1) : f32[3, 4]") ==
        "parse_graph: line 3, column 23: matmul is f32[3, 5] here");
  CHECK(message_of(two_arguments + "%2 = matmul(%0, %1) : f64[3, 5]") ==
        "parse_graph: line 3, column 23: matmul is f32[3, 5] here");
  CHECK(message_of(two_arguments + "%2 = matmul(%0) : f32[3, 5]") ==
        "parse_graph: line 3, column 1: matmul has 1 operands, expected 2");
  CHECK(message_of(two_arguments + "%2 = conv(%0) : f32[3, 5]") ==
        "parse_graph: line 3, column 6: there is no op 'conv' (custom ops must be given to the "
        "parser)");
  CHECK(message_of(two_arguments + "%2 = exp(%3) : f32[3, 4]") ==
        "parse_graph: line 3, column 11: there is no node %3 before this line");
  CHECK(message_of(two_arguments + "%1 = exp(%0) : f32[3, 4]") ==
        "parse_graph: line 3, column 1: there is a node %1 already");
  CHECK(message_of(two_arguments + "%2 = exp(%0) : f8[3, 4]") ==
        "parse_graph: line 3, column 16: there is no dtype 'f8'");
  CHECK(message_of(two_arguments + "%2 = exp(%0) : f32[3, rows]") ==
        "parse_graph: line 3, column 23: there is no symbol 'rows'");
  CHECK(message_of(two_arguments + "%2 = exp(%0) : f32[3, 4] extra") ==
        "parse_graph: line 3, column 26: expected the end of the line");
  CHECK(message_of(two_arguments + "%2 = reduce_sum(%0) : f32[3, 1]") ==
        "parse_graph: line 3, column 21: expected the attribute 'axes'");
  CHECK(message_of(two_arguments + "%2 = exp(%0) {axes: [1]} : f32[3, 4]") ==
        "parse_graph: line 3, column 15: expected '}'");
  CHECK(message_of(two_arguments + "%2 = matmul(%0, %1) {transpose_a, transpose_c} : f32[3, 5]") ==
        "parse_graph: line 3, column 35: there is no such attribute here");
  CHECK(message_of("%0 = constant {value: 256} : u8[]") ==
        "parse_graph: line 1, column 23: the number is no u8");
  CHECK(message_of("%0 = constant {value: -40000} : i16[]") ==
        "parse_graph: line 1, column 23: the number is no i16");
  CHECK(message_of("%0 = constant {value: 1.5} : i64[]") ==
        "parse_graph: line 1, column 24: expected '}'");
  CHECK(message_of("%0 = constant {value: 1 : i64[]") ==
        "parse_graph: line 1, column 23: expected '}'");
  CHECK(message_of("%0 = argument {number: 0, weak} : f32[3]") ==
        "parse_graph: line 1, column 35: a weak argument is a scalar");
  CHECK(message_of("hello") == "parse_graph: line 1, column 1: expected a node, symbol or output");
  CHECK(message_of("output: %0") ==
        "parse_graph: line 1, column 10: there is no node %0 before this line");
  CHECK(message_of(two_arguments + "guard: s0 != 1") ==
        "parse_graph: line 3, column 1: a graph that is bound to a class of shapes cannot be read");
  CHECK(message_of("symbol 0: n in 5..4") ==
        "parse_graph: line 1, column 19: the number is not in 5..9223372036854775807");
  CHECK(message_of("symbol 0: n in 1..2\nsymbol 0: m in 1..2") ==
        "parse_graph: line 2, column 8: symbol 0 is there twice");
  CHECK(message_of("symbol 0: n in 1..2\nsymbol 1: n in 1..2") ==
        "parse_graph: line 2, column 11: the name is taken");
  CHECK(message_of("symbol 0: n in 1..2\n%0 = argument {number: 0} : f32[s0]") ==
        "parse_graph: line 2, column 33: symbol 0 is named 'n'");
  CHECK(message_of(two_arguments + "output: %0 -> argument 7").find("which does not exist") !=
        std::string::npos);
}

TEST_CASE("text that is cut or damaged is an error or a sound graph, never anything else") {
  const test::random_graph random =
      test::make_random_graph(11, {.steps = 40, .extents = test::extent_kind::traced_symbols});
  const std::string text = ir::to_text(random.graph);
  std::size_t readable = 0;
  const auto read = [&](const std::string& damaged) {
    try {
      ir::verify(parse_graph(damaged));
      ++readable;
    } catch (const graph_error&) {
    }
  };
  for (std::size_t length = 0; length < text.size(); length += 3) read(text.substr(0, length));
  std::uint64_t dice = hash_seed;
  const std::string characters = "%0123456789-*/+(){}[],:.#sfxe \n";
  for (int i = 0; i < 4000; ++i) {
    std::string damaged = text;
    for (int changes = 0; changes < 1 + i % 3; ++changes) {
      dice = hash_mix(dice + hash_seed);
      const std::size_t place = dice % damaged.size();
      const char with = characters[(dice >> 32) % characters.size()];
      switch (dice >> 60 & 3) {
        case 0: damaged.erase(place, 1 + (dice >> 40 & 7)); break;
        case 1: damaged.insert(place, 1, with); break;
        default: damaged[place] = with; break;
      }
    }
    read(damaged);
  }
  CHECK(readable > 0);
}

TEST_CASE("hostile text: numbers, nesting and sizes have limits") {
  const auto shaped = [](const std::string& extents) {
    return message_of("%0 = argument {number: 0} : f32[" + extents + "]");
  };
  CHECK(shaped("281474976710656, 2").find("the shape is too large") != std::string::npos);
  CHECK(shaped("9223372036854775807").find("the number is not in") != std::string::npos);
  CHECK(shaped("99999999999999999999999").find("the number is not in") != std::string::npos);
  CHECK(shaped("281474976710656*2").find("the product is too large") != std::string::npos);
  CHECK(shaped("281474976710656+281474976710656+1").find("the extent is too large") !=
        std::string::npos);
  CHECK(shaped("s1024").find("too many symbols") != std::string::npos);
  CHECK(shaped("s99999999999999999999").find("too many symbols") != std::string::npos);
  CHECK(shaped("1, 1, 1, 1, 1, 1, 1, 1, 1").find("more than 8 axes") != std::string::npos);
  CHECK(shaped("s0/0") == "no error");  // of no elements
  CHECK(shaped("-1/2").find("a negative number is divided") != std::string::npos);
  CHECK(shaped(std::string(100'000, '(') + "1").find("nested too deeply") != std::string::npos);
  CHECK(shaped(std::string(100'000, '-') + "1").find("nested too deeply") != std::string::npos);
  std::string powers = "(s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7)";
  for (int i = 0; i < 5; ++i) powers += "*" + powers.substr(0, 39);
  CHECK(shaped(powers).find("the product is too large") != std::string::npos);
  std::string axes = "(s0 + s1 + s2 + s3)";
  CHECK(shaped(axes + "," + axes + "," + axes + "," + axes + "," + axes + "," + axes)
            .find("the shape is too large") != std::string::npos);
  std::string many;
  for (int i = 0; i < 1000; ++i)
    many += "%" + std::to_string(i) + " = argument {number: " + std::to_string(i) + "} : f32[s" +
            std::to_string(i % 32) + "*s" + std::to_string(i % 31) + "*s" + std::to_string(i % 29) +
            " + " + std::to_string(i) + "]\n";
  CHECK(message_of(many).find("too many different extents") != std::string::npos);
  CHECK(message_of("%0 = argument {number: 9999999} : f32[]").find("the number is not in") !=
        std::string::npos);
  CHECK(message_of("%0 = iota {axis: 3} : f32[2]").find("axis 3") != std::string::npos);
  CHECK(message_of("%0 = iota {axis: 0} : bool[2]") != "no error");
  CHECK(message_of(two_arguments + "%2 = reduce_sum(%0) {axes: [7]} : f32[3, 4]") != "no error");
  CHECK(message_of(std::string("%0 = argument\0{number: 0} : f32[]", 33)) != "no error");
}

// In messages, a number that is no extent was once taken for an expression.
TEST_CASE("a negative extent of a bound graph is told as it is") {
  std::string message;
  try {
    ir::parse_bound_graph(
        "%0 = argument {number: 0} : f32[4, 8]\n%1 = argument {number: 1} : f32[-3, 3]\n"
        "%2 = matmul(%0, %1) {transpose_a} : f32[8, 3]\noutput: %2\n");
  } catch (const graph_error& e) {
    message = e.what();
  }
  CAPTURE(message);
  CHECK(message.find("f32[-3, 3]") != std::string::npos);
}

// Inference computes extents, and read behind those that are bound.
TEST_CASE("a symbol without an extent is refused where a node of a bound graph has it") {
  std::string message;
  try {
    ir::parse_bound_graph(
        "%0 = argument {number: 0} : f32[s0]\n%1 = argument {number: 1} : f32[s900, 3]\n"
        "output: %0\nbound: s0 = 4\n");
  } catch (const graph_error& e) {
    message = e.what();
  }
  CAPTURE(message);
  CHECK(message.find("line 2, column 1: a symbol has no extent") != std::string::npos);
}

}  // namespace parse_graph_test
