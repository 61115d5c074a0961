// SPDX-License-Identifier: MIT
// Graphs, as text, whose plans have every kind of nest, with extents that are worth threads,
// prefetches and partial sums where that is quick to interpret.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "convolution_graphs.hpp"
#include "named_custom_ops.hpp"
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>

namespace test_support {

struct named_graph {
  std::string name, text;
  std::vector<bool> frozen = {};
};

inline const std::vector<named_graph>& named_graphs() {
  static const std::vector<named_graph> all = [] {
    std::vector<named_graph> out{
        {"map", R"(%0 = argument {number: 0} : f32[100, 600]
%1 = tanh(%0) : f32[100, 600]
%2 = add(%1, %0) : f32[100, 600]
output: %2
)"},
        {"transposed operand", R"(%0 = argument {number: 0} : f32[3, 200, 100]
%1 = argument {number: 1} : f32[3, 100, 200]
%2 = permute(%1) {axes: [0, 2, 1]} : f32[3, 200, 100]
%3 = add(%0, %2) : f32[3, 200, 100]
output: %3
)"},
        {"rows", R"(%0 = argument {number: 0} : f32[200, 1000]
%1 = softmax(%0) {axes: [1]} : f32[200, 1000]
output: %1
)"},
        {"rows that are summed up", R"(%0 = argument {number: 0} : f32[700, 70]
%1 = argument {number: 1} : f32[700, 70]
%2 = reduce_max(%0) {axes: [1]} : f32[700, 1]
%3 = broadcast_to(%2) : f32[700, 70]
%4 = sub(%0, %3) : f32[700, 70]
%5 = mul(%4, %1) : f32[700, 70]
%6 = reduce_sum(%5) {axes: [0]} : f32[1, 70]
%7 = reduce_sum(%4) {axes: [0]} : f32[1, 70]
output: %5
output: %6
output: %7
)"},
        {"a long row", R"(%0 = argument {number: 0} : f32[1, 100000]
%1 = exp(%0) : f32[1, 100000]
%2 = reduce_sum(%1) {axes: [0, 1]} : f32[1, 1]
%3 = argmax(%0) {axes: [1]} : i64[1, 1]
output: %2
output: %3
)"},
        {"columns", R"(%0 = argument {number: 0} : f32[1000, 150]
%1 = mul(%0, %0) : f32[1000, 150]
%2 = reduce_sum(%1) {axes: [0]} : f32[1, 150]
output: %2
)"},
        {"mean and variance of columns", R"(%0 = argument {number: 0} : f32[1000, 70]
%1 = reduce_sum(%0) {axes: [0]} : f32[1, 70]
%2 = constant {value: 1000} : f32[]
%3 = div(%1, %2) : f32[1, 70]
%4 = broadcast_to(%3) : f32[1000, 70]
%5 = sub(%0, %4) : f32[1000, 70]
%6 = mul(%5, %5) : f32[1000, 70]
%7 = reduce_sum(%6) {axes: [0]} : f32[1, 70]
output: %3
output: %7
)"},
        {"exponentials of columns", R"(%0 = argument {number: 0} : f32[1000, 70]
%1 = reduce_max(%0) {axes: [0]} : f32[1, 70]
%2 = broadcast_to(%1) : f32[1000, 70]
%3 = sub(%0, %2) : f32[1000, 70]
%4 = exp(%3) : f32[1000, 70]
%5 = reduce_sum(%4) {axes: [0]} : f32[1, 70]
output: %1
output: %5
)"},
        {"guarded exponentials of columns", R"(%0 = argument {number: 0} : f32[1000, 70]
%1 = reduce_max(%0) {axes: [0]} : f32[1, 70]
%2 = abs(%1) : f32[1, 70]
%3 = constant {value: inf} : f32[]
%13 = reshape(%3) : f32[1, 1]
%4 = broadcast_to(%13) : f32[1, 70]
%5 = equal(%2, %4) : bool[1, 70]
%6 = constant {value: 0} : f32[]
%14 = reshape(%6) : f32[1, 1]
%7 = broadcast_to(%14) : f32[1, 70]
%8 = where(%5, %7, %1) : f32[1, 70]
%9 = broadcast_to(%8) : f32[1000, 70]
%10 = sub(%0, %9) : f32[1000, 70]
%11 = exp(%10) : f32[1000, 70]
%12 = reduce_sum(%11) {axes: [0]} : f32[1, 70]
output: %12
)"},
        {"batches of columns", R"(%0 = argument {number: 0} : i32[20, 30, 15]
%1 = reduce_max(%0) {axes: [1]} : i32[20, 1, 15]
output: %1
)"},
        {"product with epilogue", R"(%0 = argument {number: 0} : f32[136, 48]
%1 = argument {number: 1} : f32[48, 160]
%2 = argument {number: 2} : f32[160]
%3 = matmul(%0, %1) : f32[136, 160]
%7 = reshape(%2) : f32[1, 160]
%4 = broadcast_to(%7) : f32[136, 160]
%5 = add(%3, %4) : f32[136, 160]
%6 = relu(%5) : f32[136, 160]
output: %6
)"},
        {"two products and a gate", R"(%0 = argument {number: 0} : f32[2, 20, 48]
%1 = argument {number: 1} : f32[48, 64]
%2 = argument {number: 2} : f32[48, 64]
%9 = reshape(%1) : f32[1, 48, 64]
%10 = reshape(%2) : f32[1, 48, 64]
%3 = broadcast_to(%9) : f32[2, 48, 64]
%4 = broadcast_to(%10) : f32[2, 48, 64]
%5 = matmul(%0, %3) : f32[2, 20, 64]
%6 = matmul(%0, %4) : f32[2, 20, 64]
%7 = silu(%5) : f32[2, 20, 64]
%8 = mul(%7, %6) : f32[2, 20, 64]
output: %8
)"},
        {"products with one left side, packed",
         R"(%0 = argument {number: 0} : f32[80, 64]
%1 = argument {number: 1} : f32[64, 148]
%2 = argument {number: 2} : f32[64, 170]
%3 = argument {number: 3} : f32[64, 133]
%4 = matmul(%0, %1) : f32[80, 148]
%5 = matmul(%0, %2) : f32[80, 170]
%6 = matmul(%0, %3) : f32[80, 133]
%7 = relu(%6) : f32[80, 133]
output: %4
output: %5
output: %7
)",
         {false, true, true, true}},
        {"attention with a causal mask", R"(%0 = argument {number: 0} : f32[2, 140, 16]
%1 = argument {number: 1} : f32[2, 140, 16]
%2 = argument {number: 2} : f32[2, 140, 16]
%3 = matmul(%0, %1) {transpose_b} : f32[2, 140, 140]
%4 = constant {value: 0.25} : f32[]
%5 = mul(%3, %4) : f32[2, 140, 140]
%6 = iota {axis: 1} : i32[2, 140, 140]
%7 = iota {axis: 2} : i32[2, 140, 140]
%8 = less_equal(%7, %6) : bool[2, 140, 140]
%9 = constant {value: -inf} : f32[]
%10 = where(%8, %5, %9) : f32[2, 140, 140]
%11 = softmax(%10) {axes: [2]} : f32[2, 140, 140]
%12 = matmul(%11, %2) : f32[2, 140, 16]
output: %12
)"},
        {"attention with rope", R"(%0 = argument {number: 0} : f32[2, 130, 16]
%1 = argument {number: 1} : f32[2, 130, 16]
%2 = argument {number: 2} : f32[2, 130, 24]
%3 = iota {axis: 0} : i32[130]
%4 = rope(%0, %3) {theta: 10000, halves, axis: 1} : f32[2, 130, 16]
%5 = rope(%1, %3) {theta: 10000, halves, axis: 1} : f32[2, 130, 16]
%6 = matmul(%4, %5) {transpose_b} : f32[2, 130, 130]
%7 = softmax(%6) {axes: [2]} : f32[2, 130, 130]
%8 = matmul(%7, %2) : f32[2, 130, 24]
output: %8
)"},
        {"assembled", R"(%0 = argument {number: 0} : f32[20, 300]
%1 = argument {number: 1} : f32[30, 300]
%2 = concat(%0, %1) {axis: 0} : f32[50, 300]
%3 = pad(%2) {before: [1, 0], after: [2, 5], fill: 3} : f32[53, 305]
output: %2
output: %3
)"},
        {"computed pieces", R"(%0 = argument {number: 0} : f32[20, 300]
%1 = argument {number: 1} : f32[30, 300]
%2 = exp(%0) : f32[20, 300]
%3 = add(%2, %0) : f32[20, 300]
%4 = concat(%3, %1) {axis: 0} : f32[50, 300]
%5 = relu(%1) : f32[30, 300]
%6 = concat(%5, %1) {axis: 1} : f32[30, 600]
output: %4
output: %6
)"},
        {"indexed", R"(%0 = argument {number: 0} : f32[30, 12]
%1 = iota {axis: 0} : i64[40]
%2 = constant {value: 30} : i64[]
%3 = mod(%1, %2) : i64[40]
%4 = gather(%0, %3) {axis: 0} : f32[40, 12]
%5 = scatter_add(%4, %3) {axis: 0} : f32[30, 12]
output: %4
output: %5
)"},
        {"running sums", R"(%0 = argument {number: 0} : f32[30, 300]
%1 = cumsum(%0) {axis: 1} : f32[30, 300]
%2 = cumsum(%0) {axis: 0, exclusive, reverse} : f32[30, 300]
output: %1
output: %2
)"},
        {"a step of training", R"(%0 = argument {number: 0} : f32[40, 30]
%1 = argument {number: 1} : f32[30, 20]
%2 = argument {number: 2, weak} : f32[]
%3 = matmul(%0, %1) : f32[40, 20]
%4 = tanh(%3) : f32[40, 20]
%5 = matmul(%0, %4) {transpose_a} : f32[30, 20]
%6 = mul(%5, %2) : f32[30, 20]
%7 = sub(%1, %6) : f32[30, 20]
%8 = reduce_sum(%4) {axes: [0, 1]} : f32[1, 1]
output: %7 -> argument 1
output: %8
)"},
        {"a custom op among others", R"(%0 = argument {number: 0} : f32[100, 600]
%1 = argument {number: 1} : f32[600]
%2 = exp(%1) : f32[600]
%3 = reshape(%2) : f32[1, 600]
%4 = broadcast_to(%3) : f32[100, 600]
%5 = squash(%0, %4) : f32[100, 600]
%6 = add(%5, %0) : f32[100, 600]
%7 = reduce_max(%6) {axes: [1]} : f32[100, 1]
output: %6
output: %7
)"},
        {"rows of a custom op", R"(%0 = argument {number: 0} : f32[40, 15, 100]
%1 = tanh(%0) : f32[40, 15, 100]
%2 = scaled_sums(%1) {scale: 0.5} : f32[40, 15, 100]
%3 = mirrored(%2) : f32[40, 15, 100]
%4 = relu(%3) : f32[40, 15, 100]
output: %4
)"},
        {"custom ops on arrays", R"(%0 = argument {number: 0} : f64[12, 9]
%1 = iota {axis: 0} : i32[12]
%2 = constant {value: 5} : i32[]
%3 = mod(%1, %2) : i32[12]
%4 = segment_total(%0, %3) {segments: 5} : f64[5, 9]
%5 = scaled_sums(%3) {scale: -3} : i32[12]
%6 = argument {number: 1} : f32[0, 4]
%7 = mirrored(%6) : f32[0, 4]
output: %4
output: %5
output: %7
)"},
        {"another shape of an argument", R"(%0 = argument {number: 0} : f32[6, 20]
%1 = reshape(%0) : f32[120]
output: %1
)"},
    };
    for (const convolution_graph& each : convolution_graphs())
      out.push_back({each.name, sinter::ir::to_text(each.graph)});
    return out;
  }();
  return all;
}

inline sinter::ir::graph graph_of(const named_graph& each) {
  return sinter::ir::parse_graph(each.text, named_custom_ops);
}

// Values in [-1, 1) of the arguments, the same on every machine.
inline std::vector<sinter::ir::reference_tensor> arguments_of(const sinter::ir::graph& g) {
  std::vector<sinter::ir::reference_tensor> out;
  for (int id = 0; id < g.size(); ++id) {
    if (g[id].code != sinter::ir::op::argument) continue;
    const auto number = static_cast<std::size_t>(g.attributes(id)[1]);
    if (out.size() <= number) out.resize(number + 1);
    sinter::shape_vector shape;
    for (sinter::ir::dim d : g[id].shape) shape.push_back(d.constant());
    out[number] = sinter::ir::filled(g[id].type, shape, 0);
    double x = 0.37 + static_cast<double>(number);
    for (double& each : out[number].data) {
      x = std::fmod(x * 1.61803398875 + 0.71, 2.0);
      each = sinter::is_floating(g[id].type) ? static_cast<double>(static_cast<float>(x - 1))
                                             : std::floor(100 * x);
    }
  }
  return out;
}

}  // namespace test_support
