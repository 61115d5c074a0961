// SPDX-License-Identifier: MIT
// Convolutions and their gradients as graphs: strides, padding, dilation, groups, batches and odd
// sizes, small enough for interpreters, so large that their products gather windows.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "trace_lambda.hpp"
#include <sinter/autodiff/expand.hpp>
#include <sinter/expr/expr.hpp>

namespace test_support {

struct convolution_graph {
  std::string name;
  sinter::ir::graph graph;
  std::vector<reference_tensor> arguments;
};

inline reference_tensor image_noise(const shape_vector& shape, unsigned seed,
                                    dtype type = dtype::f32) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  reference_tensor out = sinter::ir::filled(type, shape, 0);
  for (double& x : out.data) x = static_cast<double>(uniform(engine));
  return out;
}

template <class F, class... A>
convolution_graph convolution(std::string name, F f, const A&... arguments) {
  return {std::move(name),
          sinter::ir::expand_gradients(traced(f, false, arguments...)),
          {given(arguments).value...}};
}

// Forward, and gradients with respect to images and weights, behind which something else reads
// them.
inline std::vector<convolution_graph> convolution_graphs() {
  namespace sn = sinter;
  const auto gradients_of = [](sn::convolution_options options) {
    return [options](auto x, auto w, auto seed) {
      const auto [dx, dw] = sn::gradients(sn::sum(sn::conv2d(x, w, options) * seed), x, w);
      return sn::outputs(sn::relu(dx), dw * 0.5f);
    };
  };
  const sn::convolution_options mixed{
      .stride = {2, 1}, .padding = {1, 2}, .dilation = {1, 2}, .groups = 2};
  const sn::convolution_options padded{.padding = 1}, strided{.stride = 2, .padding = 1};
  const auto f64_noise = [](const shape_vector& shape, unsigned seed) {
    return image_noise(shape, seed, dtype::f64);
  };
  std::vector<convolution_graph> out;
  out.push_back(convolution(
      "convolution with an epilogue",
      [](auto x, auto w, auto b) { return sn::relu(sn::conv2d(x, w, b, {.padding = 1})); },
      image_noise({2, 3, 9, 11}, 1), image_noise({8, 3, 3, 3}, 2), image_noise({8}, 3)));
  out.push_back(convolution(
      "convolution by tiles",
      [](auto x, auto w, auto b) { return sn::relu(sn::conv2d(x, w, b, {.padding = 1})); },
      image_noise({2, 16, 11, 10}, 1), image_noise({24, 16, 3, 3}, 2), image_noise({24}, 3)));
  out.push_back(convolution(
      "strided, dilated convolution of groups",
      [mixed](auto x, auto w) { return sn::conv2d(x, w, mixed); }, image_noise({3, 6, 11, 13}, 1),
      image_noise({8, 3, 3, 2}, 2)));
  out.push_back(convolution(
      "convolution with one filter", [](auto x, auto w) { return sn::conv2d(x, w); },
      image_noise({2, 3, 8, 9}, 1), image_noise({1, 3, 3, 3}, 2)));
  out.push_back(convolution(
      "convolution of doubles, backwards",
      [](auto x, auto w) { return sn::conv2d(sn::flip(x, 2), w); }, f64_noise({2, 2, 9, 7}, 1),
      f64_noise({5, 2, 2, 3}, 2)));
  out.push_back(convolution("gradients of a convolution", gradients_of(padded),
                            image_noise({2, 3, 7, 9}, 1), image_noise({5, 3, 3, 3}, 2),
                            image_noise({2, 5, 7, 9}, 3)));
  out.push_back(convolution("gradients of a strided convolution", gradients_of(strided),
                            image_noise({2, 3, 8, 9}, 1), image_noise({5, 3, 3, 3}, 2),
                            image_noise({2, 5, 4, 5}, 3)));
  out.push_back(convolution("gradients of a strided, dilated convolution of groups",
                            gradients_of(mixed), image_noise({2, 4, 9, 8}, 1),
                            image_noise({6, 2, 3, 2}, 2), image_noise({2, 6, 5, 10}, 3)));
  out.push_back(convolution("gradients of a dilated convolution of groups",
                            gradients_of({.padding = 2, .dilation = 2, .groups = 2}),
                            image_noise({2, 4, 7, 6}, 1), image_noise({6, 2, 3, 3}, 2),
                            image_noise({2, 6, 7, 6}, 3)));
  return out;
}

}  // namespace test_support
