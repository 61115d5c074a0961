// SPDX-License-Identifier: MIT
// A training step of a transformer as a graph: pre-norm blocks of multi-head attention and a
// feed-forward layer, a cross-entropy head, gradients by every parameter and their step, plain or
// Adam's. About 250 nodes per block, 400 with Adam.
#pragma once

#include <cmath>

#include <sinter/autodiff/expand.hpp>

namespace sinter::test {

struct transformer_sizes {
  std::int64_t blocks = 3, batch = 4, length = 16, width = 32, heads = 4, hidden = 128,
               classes = 10;
  bool symbolic_batch = true;
  bool adam = false;  // moving averages of every gradient and its square decide the step
};

class transformer_builder {
 public:
  explicit transformer_builder(const transformer_sizes& s) : s_(s) {
    if (s_.symbolic_batch) {
      g_.symbol_values = {s_.batch};
      batch_ = g_.dims.symbol(0);
    } else {
      g_.symbol_values = {0};
      batch_ = ir::dim(s_.batch);
    }
  }

  ir::graph build() {
    ir::value h = input({batch_, s_.length, s_.width});
    for (std::int64_t i = 0; i < s_.blocks; ++i) h = block(h);
    h = ir::mean(norm(h), 2, false);  // over the positions
    const ir::value logits =
        ir::matmul(h, parameter({s_.width, s_.classes})) + parameter({s_.classes});
    const ir::value label = ir::argument(g_, dtype::i64, next_++, {batch_});
    const ir::value losses{&g_, ir::append(g_, ir::op::cross_entropy, {logits.id, label.id})};
    const ir::value loss = ir::mean(losses, 1, false);
    const ir::value rate = ir::argument(g_, dtype::f32, next_++, {});
    g_.outputs.push_back({loss.id, -1});
    for (const ir::value& p : parameters_) {
      const ir::value slope{&g_, ir::append(g_, ir::op::gradient, {loss.id, p.id})};
      update(p, rate * (s_.adam ? direction(slope) : slope));
    }
    return ir::expand_gradients(g_);
  }

 private:
  ir::value input(const ir::symbolic_shape& shape) {
    return ir::argument(g_, dtype::f32, next_++, shape);
  }
  ir::value parameter(const ir::symbolic_shape& shape) {
    parameters_.push_back(input(shape));
    return parameters_.back();
  }

  static int argument_of(ir::value x) { return static_cast<int>(x.owner->attributes(x.id)[1]); }
  void update(ir::value p, ir::value step) {
    g_.outputs.push_back({(p - step).id, argument_of(p)});
  }

  // Kingma and Ba, "Adam: a method for stochastic optimization" (2015), the rate corrected by the
  // caller.
  ir::value direction(ir::value slope) {
    const auto average = [&](ir::value of, double keep) {
      const ir::value old = input(g_[slope.id].shape);
      const ir::value now = old * keep + of * (1 - keep);
      g_.outputs.push_back({now.id, argument_of(old)});
      return now;
    };
    return average(slope, 0.9) / (ir::unary(ir::op::sqrt, average(slope * slope, 0.999)) + 1e-8);
  }

  ir::value norm(ir::value x) {
    const std::int64_t last = std::int64_t{1} << (x.rank() - 1);
    const ir::value n{&g_, ir::append(g_, ir::op::layer_norm, {x.id}, {last, ir::bits_of(1e-5)})};
    return n * parameter({s_.width}) + parameter({s_.width});
  }

  ir::value dense(ir::value x, std::int64_t from, std::int64_t to) {
    return ir::matmul(leading(x), leading_weight(x, from, to)) + parameter({to});
  }
  ir::value leading(ir::value x) { return x; }
  // Weights get leading axes so that ranks agree, as the front end does.
  ir::value leading_weight(ir::value x, std::int64_t from, std::int64_t to) {
    return ir::with_leading_ones(parameter({from, to}), x.rank());
  }

  ir::value heads(ir::value x) {
    const std::int64_t axes[] = {0, 2, 1, 3};
    return ir::permute(ir::reshape(x, {batch_, s_.length, s_.heads, s_.width / s_.heads}), axes);
  }

  ir::value block(ir::value x) {
    const ir::value n = norm(x);
    const ir::value q = heads(dense(n, s_.width, s_.width)),
                    k = heads(dense(n, s_.width, s_.width)),
                    v = heads(dense(n, s_.width, s_.width));
    const ir::value scores =
        ir::matmul(q, k, false, true) * (1 / std::sqrt(static_cast<double>(s_.width / s_.heads)));
    const ir::value weights{&g_, ir::append(g_, ir::op::softmax, {scores.id}, {8})};
    const std::int64_t axes[] = {0, 2, 1, 3};
    const ir::value mixed =
        ir::reshape(ir::permute(ir::matmul(weights, v), axes), {batch_, s_.length, s_.width});
    x = x + dense(mixed, s_.width, s_.width);
    const ir::value up = ir::unary(ir::op::gelu, dense(norm(x), s_.width, s_.hidden));
    return x + dense(up, s_.hidden, s_.width);
  }

  transformer_sizes s_;
  ir::graph g_;
  ir::dim batch_;
  int next_ = 0;
  std::vector<ir::value> parameters_;
};

inline ir::graph transformer_training_step(const transformer_sizes& sizes = {}) {
  return transformer_builder(sizes).build();
}

}  // namespace sinter::test
