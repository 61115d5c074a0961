// SPDX-License-Identifier: MIT
// Graphs as text and as Graphviz input.
#include <string>

#include <doctest/doctest.h>

#include <sinter/graph/build.hpp>
#include <sinter/graph/dot.hpp>
#include <sinter/graph/print.hpp>

namespace print_test {

using namespace sinter;
using ir::dim;
using ir::op;
using ir::value;

TEST_CASE("one line per node, attributes by name, outputs at the end") {
  ir::graph g;
  const dim s = g.dims.symbol(0);
  const value x = ir::argument(g, dtype::f32, 0, {s, 10});
  const value rate = ir::argument(g, dtype::f32, 1, {}, true);
  const value y = ir::sum(x * rate + 0.1, 2);
  g.outputs = {{y.id, -1}, {x.id, 0}};
  CHECK(ir::to_text(g) ==
        "%0 = argument {number: 0} : f32[s0, 10]\n"
        "%1 = argument {number: 1, weak} : f32[]\n"
        "%2 = mul(%0, %1) : f32[s0, 10]\n"
        "%3 = constant {value: 0.1} : f32[]\n"
        "%4 = add(%2, %3) : f32[s0, 10]\n"
        "%5 = reduce_sum(%4) {axes: [1]} : f32[s0, 1]\n"
        "output: %5\n"
        "output: %0 -> argument 0\n");
}

TEST_CASE("every kind of attribute has a readable form") {
  ir::graph g;
  const value x = ir::argument(g, dtype::f32, 0, {6, 4}), i = ir::argument(g, dtype::i64, 1, {6});
  const value key = ir::constant(g, dtype::i64, 42);
  const std::int64_t axes[] = {1, 0};
  const auto text = [&](value v) { return ir::node_text(g, v.id); };
  const value parts[] = {x, x};
  const std::int64_t f32 = static_cast<std::int64_t>(dtype::f32);
  const dim three[] = {dim(3)};
  const int key_input[] = {key.id};
  const std::int64_t stream[] = {f32, 7};

  CHECK(text(key) == "%2 = constant {value: 42} : i64[]");
  CHECK(text(ir::permute(x, axes)).find("permute(%0) {axes: [1, 0]} : f32[4, 6]") !=
        std::string::npos);
  CHECK(text(ir::pad(x, {1, 0}, {0, 2}, 0.5))
            .find("{before: [1, 0], after: [0, 2], fill: 0.5} : f32[7, 6]") != std::string::npos);
  CHECK(text(ir::slice(x, {1, 0}, {5, 4}, {2, 1}))
            .find("{start: [1, 0], stop: [5, 4], step: [2, 1]} : f32[2, 4]") != std::string::npos);
  CHECK(text(ir::concat(parts, 1)).find("concat(%0, %0) {axis: 1}") != std::string::npos);
  CHECK(text(ir::flip(x, 3)).find("{axes: [0, 1]}") != std::string::npos);
  CHECK(text(ir::windows(x, 1, 2, 3)).find("{axis: 1, size: 2, stride: 3, dilation: 1}") !=
        std::string::npos);
  CHECK(text(ir::sum_windows(x, 0, 9))
            .find("{axis: 0, extent: 9, stride: 1, dilation: 1} : f32[9]") != std::string::npos);
  CHECK(text(ir::matmul(x, x, true)).find("matmul(%0, %0) {transpose_a} : f32[4, 4]") !=
        std::string::npos);
  CHECK(text(ir::gather(x, i, 0)).find("gather(%0, %1) {axis: 0} : f32[6, 4]") !=
        std::string::npos);
  CHECK(text({&g, ir::append(g, op::layer_norm, {x.id}, {2, ir::bits_of(1e-5)})})
            .find("{axes: [1], eps: 1e-05}") != std::string::npos);
  CHECK(text({&g, ir::append(g, op::random_uniform, key_input, stream, three)})
            .find("random_uniform(%2) {stream: 7} : f32[3]") != std::string::npos);
  CHECK(text(ir::iota(g, dtype::i32, {3}, 0)).find("iota {axis: 0} : i32[3]") != std::string::npos);
  CHECK(text(ir::cast(x, dtype::u8)).find("cast(%0) : u8[6, 4]") != std::string::npos);
}

TEST_CASE("numbers are as short as their dtype allows") {
  CHECK(ir::number_text(dtype::f32, static_cast<double>(0.1f)) == "0.1");
  CHECK(ir::number_text(dtype::f64, 0.1) == "0.1");
  CHECK(ir::number_text(dtype::f32, 3.0) == "3");
  CHECK(ir::number_text(dtype::boolean, 1.0) == "true");
  CHECK(ir::number_text(dtype::f32, -1.0 / 0.0) == "-inf");
}

TEST_CASE("bound extents and guards are printed") {
  ir::graph g;
  g.symbol_values = {4, 4};
  const value x = ir::argument(g, dtype::f32, 0, {g.dims.symbol(0)}),
              y = ir::argument(g, dtype::f32, 1, {g.dims.symbol(1)});
  g.outputs = {{(x + y).id, -1}};
  const std::string text = ir::to_text(g);
  CHECK(text.find("bound: s0 = 4\nbound: s1 = 4\n") != std::string::npos);
  CHECK((text.find("guard: s0 == s1\n") != std::string::npos ||
         text.find("guard: s1 == s0\n") != std::string::npos));
}

TEST_CASE("Graphviz: edges follow data, constants stand inside their users") {
  ir::graph g;
  const value x = ir::argument(g, dtype::f32, 0, {3});
  const value y = ir::unary(op::exp, x) * 2.0;
  g.outputs = {{y.id, -1}};
  CHECK(ir::to_dot(g) ==
        "digraph sinter {\n"
        "  node [fontname=\"monospace\"];\n"
        "  n0 [label=\"argument\\nnumber: 0\\nf32[3]\", shape=box];\n"
        "  n1 [label=\"exp\\nf32[3]\"];\n"
        "  n0 -> n1;\n"
        "  n3 [label=\"mul(_, 2)\\nf32[3]\"];\n"
        "  n1 -> n3;\n"
        "  out0 [label=\"output\", shape=doublecircle];\n"
        "  n3 -> out0;\n"
        "}\n");
}

}  // namespace print_test
