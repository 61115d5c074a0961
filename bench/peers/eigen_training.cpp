// SPDX-License-Identifier: MIT
// Training steps by hand: forward, softmax and cross entropy, backward, gradient descent.
#include <cmath>
#include <cstdint>
#include <memory>

#include "eigen.hpp"

namespace bench {

namespace {

// Logits become the loss's gradient with respect to them. Returns the loss.
float cross_entropy(eigen_matrix& logits, const std::vector<std::int32_t>& label) {
  float loss = 0;
  for (Eigen::Index r = 0; r < logits.rows(); ++r) {
    auto row = logits.row(r).array();
    const auto right = label[static_cast<std::size_t>(r)];
    const float top = row.maxCoeff(), logit = row(right) - top;
    row = (row - top).exp();
    const float total = row.sum();
    loss += std::log(total) - logit;
    row *= 1 / total;
    row(right) -= 1.0f;
  }
  const float share = 1 / static_cast<float>(logits.rows());
  logits *= share;
  return loss * share;
}

void append(std::vector<float>& out, const auto& values) {
  out.insert(out.end(), values.data(), values.data() + values.size());
}

struct mlp_step {
  eigen_matrix x, w1, w2;
  eigen_row b1, b2;
  std::vector<std::int32_t> label;
  eigen_matrix h, p, dh, dw1, dw2;
  float loss = 0;

  explicit mlp_step(const problem& of)
      : x(as_matrix(of[0])),
        w1(as_matrix(of[1])),
        w2(as_matrix(of[3])),
        b1(as_row(of[2])),
        b2(as_row(of[4])),
        label(labels(x.rows(), w2.cols())) {}

  void run() {
    h.noalias() = x * w1;
    h = (h.rowwise() + b1).cwiseMax(0.0f);
    p.noalias() = h * w2;
    p.rowwise() += b2;
    loss = cross_entropy(p, label);
    dh.noalias() = p * w2.transpose();
    dh = (h.array() > 0).select(dh, 0.0f);
    dw2.noalias() = h.transpose() * p;
    dw1.noalias() = x.transpose() * dh;
    w2 -= learning_rate * dw2;
    b2 -= learning_rate * p.colwise().sum();
    w1 -= learning_rate * dw1;
    b1 -= learning_rate * dh.colwise().sum();
  }
  std::vector<float> result() const {
    std::vector<float> out{loss};
    append(out, w1);
    append(out, b1);
    append(out, w2);
    append(out, b2);
    return out;
  }
};

struct small_step {
  eigen_matrix x, w1, w2, w3;
  std::vector<std::int32_t> label;
  eigen_matrix h1, h2, p, dh1, dh2, dw1, dw2, dw3;
  float loss = 0;

  explicit small_step(const problem& of)
      : x(as_matrix(of[0])),
        w1(as_matrix(of[1])),
        w2(as_matrix(of[2])),
        w3(as_matrix(of[3])),
        label(labels(x.rows(), w3.cols())) {}

  void run() {
    h1.noalias() = x * w1;
    h1 = h1.cwiseMax(0.0f);
    h2.noalias() = h1 * w2;
    h2 = h2.cwiseMax(0.0f);
    p.noalias() = h2 * w3;
    loss = cross_entropy(p, label);
    dh2.noalias() = p * w3.transpose();
    dh2 = (h2.array() > 0).select(dh2, 0.0f);
    dh1.noalias() = dh2 * w2.transpose();
    dh1 = (h1.array() > 0).select(dh1, 0.0f);
    dw3.noalias() = h2.transpose() * p;
    dw2.noalias() = h1.transpose() * dh2;
    dw1.noalias() = x.transpose() * dh1;
    w3 -= learning_rate * dw3;
    w2 -= learning_rate * dw2;
    w1 -= learning_rate * dw1;
  }
  std::vector<float> result() const {
    std::vector<float> out{loss};
    append(out, w1);
    append(out, w2);
    append(out, w3);
    return out;
  }
};

template <class Step>
side step_side(const problem& p) {
  const auto step = std::make_shared<Step>(p);
  return {.run = [step] { step->run(); }, .result = [step] { return step->result(); }};
}

}  // namespace

sides eigen_training() {
  return {{"train_mlp", step_side<mlp_step>}, {"small_mlp_step", step_side<small_step>}};
}

}  // namespace bench
