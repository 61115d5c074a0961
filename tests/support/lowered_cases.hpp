// SPDX-License-Identifier: MIT
// Graphs that between them bind every kind of nest and of command, at sizes that are cut into
// tiles, blocks, groups and parts with rests.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "convolution_graphs.hpp"
#include "custom_ops.hpp"
#include "trace_lambda.hpp"
#include <sinter/exec/lowered.hpp>
#include <sinter/sinter.hpp>

namespace test_support {

struct lowered_case {
  std::string name;
  sinter::ir::graph graph;
  std::vector<reference_tensor> arguments;
  bool frozen = false;  // all arguments but the first
  double tolerance = 1e-5;
};

// Values in [-1, 1) that an f32 holds; integers from 0 to 6.
inline reference_tensor noise(dtype type, const shape_vector& shape, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  reference_tensor out = sinter::ir::filled(type, shape, 0);
  for (double& x : out.data)
    x = sinter::is_floating(type) ? static_cast<double>(uniform(engine))
                                  : static_cast<double>(engine() % 7);
  return out;
}
inline reference_tensor noise(const shape_vector& shape, unsigned seed = 1) {
  return noise(dtype::f32, shape, seed);
}

template <class F, class... A>
lowered_case make_case(std::string name, F f, const A&... arguments) {
  return {std::move(name), traced(f, false, arguments...), {given(arguments).value...}};
}
template <class F, class... A>
lowered_case make_frozen_case(std::string name, F f, const A&... arguments) {
  lowered_case out = make_case(std::move(name), f, arguments...);
  out.frozen = true;
  return out;
}

// Custom ops among others and alone, and a value that is computed a second time.
inline std::vector<lowered_case> custom_cases() {
  namespace sn = sinter;
  std::vector<lowered_case> out;
  out.push_back(make_case(
      "custom ops, element by element",
      [](auto x, auto row, auto one) {
        return sn::custom<leak>(sn::custom<bend>(x * 2.0f) + 1.0f, sn::custom<bend>(row)) -
               sn::custom<bend>(one);
      },
      noise({37, 50}), noise({37, 1}, 2), noise({}, 3)));
  out.push_back(make_case(
      "a custom op that is summed",
      [](auto x) {
        const auto y = sn::custom<bend>(x);
        return sn::outputs(sn::sum(y, -1), sn::custom<bend>(sn::max(x, 0)));
      },
      noise({60, 300})));
  out.push_back(make_case(
      "product with a custom op",
      [](auto x, auto w, auto b) { return sn::custom<bend>(sn::matmul(x, w) + b); },
      noise({70, 90}), noise({90, 130}, 2), noise({130}, 3)));
  out.push_back(make_case(
      "custom op on rows",
      [](auto x) { return sn::custom<running_sum>(sn::transpose(x), 1) * 2.0f; },
      noise({130, 700})));
  out.push_back(make_case(
      "custom op with a value per row", [](auto x) { return sn::custom<last_of_row>(x); },
      noise({3, 5, 4})));
  out.push_back(make_case(
      "custom op on whole arrays",
      [](auto x, auto order) { return sn::custom<reordered>(sn::transpose(x), order); },
      noise({9, 7}), noise(dtype::i64, {7}, 2)));
  out.push_back(make_case(
      "custom op without a kernel", [](auto x) { return sn::custom<sorted>(sn::exp2(x)); },
      noise({3, 5, 40})));
  lowered_case again = make_case(
      "computed again",
      [](auto x, auto w) {
        const auto y =
            sn::checkpoint([](auto v, auto u) { return sn::tanh(sn::matmul(v, u)); }, x, w);
        return sn::outputs(sn::gradients(sn::sum(y * y), w)[0]);
      },
      noise({40, 30}), noise({30, 20}, 2));
  again.graph = sn::ir::expand_gradients(again.graph);
  out.push_back(std::move(again));
  return out;
}

inline std::vector<lowered_case> lowered_cases() {
  namespace sn = sinter;
  const auto scale = [](auto x, auto y) { return x * y + x; };
  const auto softmax = [](auto x) { return sn::softmax(x); };
  const auto sums = [](auto x) { return sn::sum(x * x, -1); };
  const auto attention = [](auto q, auto k, auto v) {
    return sn::attention(q, k, v, {.causal = true});
  };
  std::vector<lowered_case> out;
  const auto add = [&](lowered_case c) { out.push_back(std::move(c)); };
  add(make_case("element-wise", scale, noise({37, 50}), noise({37, 50}, 2)));
  add(make_case(
      "element-wise, broadcast and transposed",
      [](auto x, auto y, auto b) { return sn::relu(sn::transpose(x) + y * b); }, noise({70, 33}),
      noise({33, 70}, 2), noise({70}, 3)));
  add(make_case(
      "positions and random numbers",
      [](auto x, auto key) {
        return sn::outputs(sn::where(sn::uniform(key, x) < 0.5f, x, 2.0f * x),
                           x * sn::iota<float>(40, 30));
      },
      noise({40, 30}), noise(dtype::i64, {}, 4)));
  add(make_case(
      "integers",
      [](auto x, auto y) {
        return sn::outputs(sn::cast<float>(x / y), (x % (y + 1)) * 3 - x, x < y);
      },
      noise(dtype::i32, {29, 31}, 5), noise(dtype::i32, {29, 31}, 6)));
  add(make_case("softmax of short rows", softmax, noise({300, 17})));
  add(make_case("softmax that waits in its result", softmax, noise({9, 3000})));
  add(make_case(
      "softmax of kept rows",
      [](auto x) {
        const auto y = sn::softmax(x, -1);
        return y * y;
      },
      noise({9, 3000})));
  add(make_case("softmax of long rows, in parts", softmax, noise({2, 70001})));
  add(make_case(
      "layer norm", [](auto x, auto g, auto b) { return sn::layer_norm(x, g, b); },
      noise({45, 130}), noise({130}, 2), noise({130}, 3)));
  const auto group_norm = [](auto x, auto g, auto b) { return sn::group_norm(x, 4, g, b); };
  add(make_case("group norm of runs, several rows together", group_norm, noise({5, 16, 6, 6}),
                noise({16}, 2), noise({16}, 3)));
  add(make_case(
      "norm of runs that chunks cut",
      [](auto x, auto g, auto b) {
        const auto d = x - sn::mean(x, {1, 2}, true);
        return d * sn::rsqrt(sn::mean(d * d, {1, 2}, true) + 1e-5f) * g + b;
      },
      noise({4, 25, 361}), noise({25, 1}, 2), noise({25, 1}, 3)));
  add(make_case("sum of squares", sums, noise({33, 1000})));
  add(make_case(
      "sum of everything", [](auto x) { return sn::sum(x); }, noise({300, 500})));
  add(make_case(
      "largest and its place of long rows",
      [](auto x) { return sn::outputs(sn::argmax(x, -1), sn::max(x, -1)); }, noise({3, 40000})));
  add(make_case(
      "sums of columns and what follows", [](auto x) { return sn::mean(x * x, 0) * 2.0f; },
      noise({210, 300})));
  add(make_case(
      "sums of many rows, in groups", [](auto x) { return sn::sum(x, 0); }, noise({9000, 40})));
  add(make_case(
      "mean and variance of columns",
      [](auto x) { return sn::outputs(sn::mean(x, 0), sn::var(x, 0)); }, noise({525, 70})));
  add(make_case(
      "mean and variance of many rows, in groups",
      [](auto x) { return sn::outputs(sn::mean(x, 0), sn::var(x, 0)); }, noise({9000, 20})));
  add(make_case(
      "largest of columns and exponentials",
      [](auto x) {
        return sn::outputs(sn::max(x, 0), sn::sum(sn::exp(x - sn::max(x, 0, true)), 0));
      },
      noise({525, 70})));
  add(make_case(
      "logarithm of exponentials of many rows, in groups",
      [](auto x) { return sn::logsumexp(x, 0); }, noise({9000, 20})));
  const auto summed_rows = [](auto x, auto y) {
    const auto d = x - sn::max(x, -1, true);
    return sn::outputs(d * y, sn::sum(d, 0), sn::sum(d * y, 0));
  };
  add(make_case("rows, and what they sum up to", summed_rows, noise({300, 130}),
                noise({300, 130}, 2)));
  add(make_case("long rows, and what they sum up to", summed_rows, noise({45, 5000}),
                noise({45, 5000}, 2)));
  add(make_case("short rows, and what they sum up to", summed_rows, noise({9001, 9}),
                noise({9001, 9}, 2)));
  add(make_case("doubles in rows, and what they sum up to", summed_rows,
                noise(dtype::f64, {140, 150}, 1), noise(dtype::f64, {140, 150}, 2)));
  add(make_case(
      "rows that lie unevenly, and what they sum up to",
      [](auto x, auto y) {
        const auto d = sn::permute(x, {1, 0, 2}) - sn::max(y, -1, true);
        return sn::outputs(d - sn::max(d, -1, true), sn::sum(d, {0, 1}));
      },
      noise({40, 23, 50}), noise({23, 40, 50}, 2)));
  add(make_case(
      "squares down columns",
      [](auto x, auto m) {
        const auto d = x - m;
        return sn::sum(d * d, 0);
      },
      noise({210, 300}), noise({300}, 2)));
  add(make_case(
      "squares down columns of rows that lie unevenly",
      [](auto x, auto y) {
        const auto d = sn::permute(x, {1, 0, 2}) - y;
        return sn::sum(d * d, {0, 1});
      },
      noise({40, 7, 50}), noise({7, 40, 1}, 2)));
  add(make_case(
      "places in columns", [](auto x) { return sn::argmax(x, 1); }, noise({3, 50, 20})));
  add(make_case(
      "product with an epilogue",
      [](auto x, auto w, auto b) { return sn::gelu(sn::matmul(x, w) + b); }, noise({70, 90}),
      noise({90, 130}, 2), noise({130}, 3)));
  add(make_case(
      "product, softmax of its rows", [](auto x, auto w) { return sn::softmax(sn::matmul(x, w)); },
      noise({300, 64}), noise({64, 300}, 2)));
  add(make_case(
      "batched products of a strided operand",
      [](auto x, auto w) { return sn::matmul(sn::slice(x, -1, 0, 60, 2), w); }, noise({3, 20, 60}),
      noise({3, 30, 25}, 2)));
  add(make_case(
      "product of integers", [](auto x, auto w) { return sn::matmul(x, w) + 1; },
      noise(dtype::i32, {20, 30}, 1), noise(dtype::i32, {30, 25}, 2)));
  add(make_case(
      "gate and up",
      [](auto x, auto g, auto u) { return sn::silu(sn::matmul(x, g)) * sn::matmul(x, u); },
      noise({64, 80}), noise({80, 100}, 2), noise({80, 100}, 3)));
  add(make_case(
      "grouped products",
      [](auto x, auto q, auto k, auto v) {
        return sn::outputs(sn::matmul(x, q), sn::relu(sn::matmul(x, k)), sn::matmul(x, v) * 0.5f);
      },
      noise({64, 96}), noise({96, 96}, 2), noise({96, 48}, 3), noise({96, 48}, 4)));
  add(make_frozen_case(
      "frozen weights",
      [](auto x, auto w, auto b) { return sn::relu(sn::matmul(x, w * 2.0f) + b); },
      noise({72, 128}), noise({128, 256}, 2), noise({256}, 3)));
  add(make_case("attention", attention, noise({2, 300, 32}), noise({2, 300, 32}, 2),
                noise({2, 300, 24}, 3)));
  add(make_case(
      "attention with rotary embeddings",
      [](auto q, auto k, auto v) {
        return sn::attention(sn::rope(q), sn::rope(k), v, {.causal = true});
      },
      noise({2, 150, 32}), noise({2, 150, 32}, 2), noise({2, 150, 32}, 3)));
  add(make_case(
      "concat", [](auto x, auto y) { return sn::concat(1, x, sn::relu(y), x); }, noise({20, 30}),
      noise({20, 11}, 2)));
  add(make_case(
      "pad",
      [](auto x) {
        return sn::pad(x, {{1, 2}, {0, 3}}, 7);
      },
      noise({20, 11})));
  add(make_case(
      "gather", [](auto x, auto i) { return sn::gather(x, i, 1); }, noise({4, 7, 9}),
      noise(dtype::i32, {5, 3}, 2)));
  add(make_case(
      "scatter_add", [](auto x, auto i) { return sn::scatter_add(x, i, 7, 0); }, noise({30, 21}),
      noise(dtype::i64, {30}, 2)));
  add(make_case(
      "running sums",
      [](auto x) {
        return sn::outputs(sn::cumsum(x, 1), sn::cumsum(x, 0, {.exclusive = true}),
                           sn::cumsum(x, 2, {.exclusive = true, .reverse = true}),
                           sn::cumsum(sn::transpose(sn::slice(x, 2, 1, 9)), 2));
      },
      noise({4, 7, 9})));
  add(make_case(
      "another shape", [](auto x, auto y) { return sn::reshape(x, 50, 20) + y; }, noise({20, 50}),
      noise({50, 20}, 2)));
  add(make_case(
      "assigned",
      [](auto w, auto g) { return sn::outputs(sn::assign(w, w - 0.1f * g), sn::sum(w)); },
      noise({40, 60}), noise({40, 60}, 2)));
  for (lowered_case& c : custom_cases()) add(std::move(c));
  for (convolution_graph& c : convolution_graphs())
    add({std::move(c.name), std::move(c.graph), std::move(c.arguments)});
  return out;
}

}  // namespace test_support
