// SPDX-License-Identifier: MIT
// The table of cases.
#include <utility>

#include "case.hpp"

namespace bench {

namespace {

constexpr double f32 = 4;
constexpr double million = 1 << 20;

// Weights whose products stay near one.
operand weights(std::vector<std::int64_t> shape) { return {std::move(shape), -0.05f, 0.05f}; }

description silu(std::string name, std::int64_t n) {
  return {.name = std::move(name),
          .what = "silu(2x + 1/2) y",
          .operands = {{{n}}, {{n}}},
          .bytes = 3 * f32 * static_cast<double>(n)};
}

description attention(std::string name, std::string what, std::int64_t heads, std::int64_t length,
                      int products) {
  const std::int64_t depth = 64;
  return {
      .name = std::move(name),
      .what = std::move(what),
      .operands = {{{heads, length, depth}}, {{heads, length, depth}}, {{heads, length, depth}}},
      .bytes = 4 * f32 * static_cast<double>(heads * length * depth),
      .products = {{length, depth, length, products}, {length, length, depth, products}}};
}

// Cosines and sines for each place and half of the depth; any numbers do.
description with_tables(description of) {
  for (int i = 0; i < 2; ++i) of.operands.push_back({{512, 32}});
  return of;
}

description projections(std::string name, std::int64_t rows) {
  const std::int64_t width = 768;
  return {.name = std::move(name),
          .what = "X W for three W",
          .operands = {{{rows, width}},
                       weights({width, width}),
                       weights({width, width}),
                       weights({width, width})},
          .bytes = f32 * static_cast<double>(4 * rows * width + 3 * width * width),
          .products = {{rows, width, width, 3}}};
}

description swiglu(std::string name, std::int64_t rows) {
  const std::int64_t width = 768, gate = 2048;
  return {.name = std::move(name),
          .what = "silu(X W) (X V)",
          .operands = {{{rows, width}}, weights({width, gate}), weights({width, gate})},
          .bytes = f32 * static_cast<double>(rows * width + 2 * width * gate + rows * gate),
          .products = {{rows, width, gate, 2}}};
}

}  // namespace

const std::vector<description>& all_cases() {
  static const std::vector<description> cases{
      silu("ew_4k", 4096),
      silu("ew_128k", 131'072),
      silu("ew_16m", 1 << 24),
      {.name = "bias_relu",
       .what = "relu(X + b), [2048,1024]",
       .operands = {{{2048, 1024}}, {{1024}}},
       .bytes = 4 * f32 * million},
      {.name = "softmax",
       .what = "rows of [4096,1024]",
       .operands = {{{4096, 1024}, -4, 4}},
       .bytes = 8 * f32 * million},
      {.name = "layernorm",
       .what = "rows of [4096,768], scale and shift",
       .operands = {{{4096, 768}}, {{768}}, {{768}}},
       .bytes = 6 * f32 * million},
      {.name = "mse_16m",
       .what = "mean((x - y)^2)",
       .operands = {{{1 << 24}}, {{1 << 24}, 0, 2}},
       .bytes = 32 * f32 * million,
       // Eigen's sum of so many terms is 1.5e-4 off.
       .tolerance = 1e-3},
      {.name = "dot_1m",
       .what = "sum(x y), 2^20",
       .operands = {{{1 << 20}}, {{1 << 20}, 0, 2}},
       .bytes = 2 * f32 * million,
       .tolerance = 1e-3},
      {.name = "sum_axis0",
       .what = "[1024,1024]",
       .operands = {{{1024, 1024}}},
       .bytes = f32 * million},
      {.name = "sum_axis1",
       .what = "[1024,1024]",
       .operands = {{{1024, 1024}}},
       .bytes = f32 * million},
      {.name = "max_axis1",
       .what = "[1024,1024]",
       .operands = {{{1024, 1024}}},
       .bytes = f32 * million},
      {.name = "softmax_16",
       .what = "rows of [65536,16]",
       .operands = {{{65'536, 16}, -4, 4}},
       .bytes = 2 * f32 * million},
      {.name = "layernorm_1000",
       .what = "rows of [4194,1000], scale and shift",
       .operands = {{{4194, 1000}}, {{1000}}, {{1000}}},
       .bytes = 8 * f32 * million},
      {.name = "batchnorm",
       .what = "[8192,512] normalised over axis 0",
       .operands = {{{8192, 512}}},
       .bytes = 8 * f32 * million},
      {.name = "blackscholes",
       .what = "2^20 options",
       .operands = {{{1 << 20}, 10, 100}, {{1 << 20}, 10, 100}, {{1 << 20}, 0.1f, 2}},
       .bytes = 4 * f32 * million},
      {.name = "logsumexp_axis0",
       .what = "[1024,1024]",
       .operands = {{{1024, 1024}}},
       .bytes = f32 * million},
      {.name = "logsumexp_axis1",
       .what = "[1024,1024]",
       .operands = {{{1024, 1024}}},
       .bytes = f32 * million},
      {.name = "transpose_add",
       .what = "X^T + Y, [1024,1024]",
       .operands = {{{1024, 1024}}, {{1024, 1024}}},
       .bytes = 3 * f32 * million},
      {.name = "broadcast",
       .what = "(X + row) column, [1024,1024]",
       .operands = {{{1024, 1024}}, {{1024}}, {{1024, 1}}},
       .bytes = 2 * f32 * million},
      {.name = "linear_gelu",
       .what = "gelu_tanh(X[512,768] W[768,3072] + b)",
       .operands = {{{512, 768}}, weights({768, 3072}), {{3072}}},
       .bytes = f32 * (512 * 768 + 768 * 3072 + 512 * 3072),
       .products = {{512, 768, 3072}}},
      {.name = "mlp",
       .what = "and W[3072,768] + b",
       .operands = {{{512, 768}}, weights({768, 3072}), {{3072}}, weights({3072, 768}), {{768}}},
       .bytes = f32 * 2 * (512 * 768 + 768 * 3072),
       .products = {{512, 768, 3072}, {512, 3072, 768}}},
      projections("projections_16", 16),
      projections("projections_512", 512),
      swiglu("swiglu_16", 16),
      swiglu("swiglu_512", 512),
      attention("attention", "12 heads, 512 x 64", 12, 512, 12),
      with_tables(attention("rope_attention", "and rotary embeddings, tables given", 12, 512, 12)),
      // The mask hides half of each product.
      attention("attention_4k", "4 heads, 4096 x 64, causal", 4, 4096, 2),
      {.name = "chain",
       .what = "(A B) v as written, [1024,1024]",
       .operands = {{{1024, 1024}}, {{1024, 1024}}, {{1024, 1}}},
       .bytes = 2 * f32 * million},
      {.name = "conv3x3_relu",
       .what = "[8,64,56,56], 64 filters, padding 1",
       .operands = {{{8, 64, 56, 56}}, weights({64, 64, 3, 3})},
       .bytes = f32 * (2 * 8 * 64 * 56 * 56 + 64 * 64 * 9),
       .products = {{8 * 56 * 56, 64 * 9, 64}}},
      {.name = "train_mlp",
       .what = "784-512-10, batch 128: forward, backward, SGD",
       .operands = {{{128, 784}}, weights({784, 512}), {{512}}, weights({512, 10}), {{10}}},
       .bytes = f32 * (128 * 784 + 2 * (784 * 512 + 512 + 512 * 10 + 10)),
       .products =
           {{128, 784, 512}, {128, 512, 10}, {128, 10, 512}, {512, 128, 10}, {784, 128, 512}},
       .updated = {1, 2, 3, 4}},
      {.name = "small_mlp",
       .what = "16x128 -> 64 -> 64 -> 10",
       .operands = {{{16, 128}}, weights({128, 64}), weights({64, 64}), weights({64, 10})},
       .bytes = f32 * (16 * 128 + 128 * 64 + 64 * 64 + 64 * 10 + 16 * 10),
       .products = {{16, 128, 64}, {16, 64, 64}, {16, 64, 10}}},
      {.name = "small_mlp_step",
       .what = "the same, a training step",
       .operands = {{{16, 128}}, weights({128, 64}), weights({64, 64}), weights({64, 10})},
       .bytes = f32 * (16 * 128 + 2 * (128 * 64 + 64 * 64 + 64 * 10)),
       .products = {{16, 128, 64},
                    {16, 64, 64},
                    {16, 64, 10},
                    {16, 10, 64},
                    {16, 64, 64},
                    {64, 16, 10},
                    {64, 16, 64},
                    {128, 16, 64}},
       .updated = {1, 2, 3}},
      {.name = "call_into",
       .what = "relu(x + b) on 16 floats, into a tensor that exists",
       .operands = {{{16}}, {{16}}}},
      {.name = "call_fresh", .what = "into a new one", .operands = {{{16}}, {{16}}}},
      {.name = "fresh_1m",
       .what = "the same on 2^20 floats",
       .operands = {{{1 << 20}}, {{1 << 20}}},
       .bytes = 3 * f32 * million},
      {.name = "first_call_mlp",
       .what = "planning of mlp, nothing run",
       .operands = {{{512, 768}}, weights({768, 3072}), {{3072}}, weights({3072, 768}), {{768}}}},
      {.name = "first_call_train",
       .what = "planning of train_mlp, nothing run",
       .operands = {{{128, 784}}, weights({784, 512}), {{512}}, weights({512, 10}), {{10}}}},
  };
  return cases;
}

}  // namespace bench
