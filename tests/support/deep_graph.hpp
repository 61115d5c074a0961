// SPDX-License-Identifier: MIT
// Training steps of deep networks as graphs: a chain of equal layers, plain or residual, with or
// without dropout, the mean square of what comes out as loss, and a plain gradient step for every
// parameter.
#pragma once

#include <cstdint>
#include <vector>

#include <sinter/autodiff/expand.hpp>

namespace sinter::test {

struct deep_sizes {
  std::int64_t layers = 24, batch = 256, width = 64;
  ir::op activation = ir::op::tanh;
  bool residual = false;
  bool dropout = false;
};

// Arguments: x, then weight and bias of each layer, then the learning rate and the key of dropout.
// Outputs: the loss, then the parameters, each assigned to its argument.
inline ir::graph deep_training_step(const deep_sizes& s = {}) {
  ir::graph g;
  g.symbol_values = {0};
  int next = 0;
  const auto input = [&](const ir::symbolic_shape& shape, dtype type = dtype::f32) {
    return ir::argument(g, type, next++, shape);
  };
  ir::value h = input({ir::dim(s.batch), ir::dim(s.width)});
  std::vector<ir::value> parameters;
  for (std::int64_t i = 0; i < 2 * s.layers; i += 2) {
    parameters.push_back(input({ir::dim(s.width), ir::dim(s.width)}));
    parameters.push_back(input({ir::dim(s.width)}));
  }
  const ir::value rate = input({}), key = input({}, dtype::i64);
  for (std::size_t i = 0; i < parameters.size(); i += 2) {
    ir::value out = ir::unary(s.activation, ir::matmul(h, parameters[i]) + parameters[i + 1]);
    if (s.dropout) {
      const ir::value draw{
          &g, ir::append(g, ir::op::random_uniform, {key.id},
                         {static_cast<std::int64_t>(dtype::f32), static_cast<std::int64_t>(i)},
                         out.shape())};
      out = ir::where(ir::elementwise(ir::op::less, {draw, ir::constant_like(draw, 0.8)}), out,
                      ir::constant_like(out, 0));
    }
    h = s.residual ? h + out : out;
  }
  const ir::value loss = ir::mean(h * h, 3, false);
  g.outputs.push_back({loss.id, -1});
  for (const ir::value& p : parameters) {
    const ir::value slope{&g, ir::append(g, ir::op::gradient, {loss.id, p.id})};
    g.outputs.push_back({(p - rate * slope).id, static_cast<int>(g.attributes(p.id)[1])});
  }
  return ir::expand_gradients(g);
}

}  // namespace sinter::test
