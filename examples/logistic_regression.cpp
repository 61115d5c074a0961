// SPDX-License-Identifier: MIT
// Logistic regression: which of two classes a row belongs to, learnt by gradient descent. The
// function that makes a step derives the loss itself; a loop over numbers checks the slopes.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include <sinter/sinter.hpp>

namespace sn = sinter;

namespace {

constexpr std::int64_t rows = 2000, features = 5;

// The slopes of the mean loss, from the textbook: mean((sigmoid(x w + b) - label) x).
sn::tensor<double, 1> slopes(const sn::tensor<double, 2>& x, const sn::tensor<double, 1>& label,
                             const sn::tensor<double, 1>& w, double b) {
  sn::tensor<double, 1> out(features);
  for (std::int64_t i = 0; i < rows; ++i) {
    double score = b;
    for (std::int64_t j = 0; j < features; ++j) score += x(i, j) * w(j);
    const double error = 1 / (1 + std::exp(-score)) - label(i);
    for (std::int64_t j = 0; j < features; ++j) out(j) += error * x(i, j) / rows;
  }
  return out;
}

}  // namespace

int main() {
  auto step = sn::fuse([](auto x, auto label, auto w, auto b, auto rate) {
    const auto loss = sn::bce_with_logits(sn::matmul(x, w) + b, label);
    const auto [dw, db] = sn::gradients(loss, w, b);
    return sn::outputs(loss, dw, sn::assign(w, w - rate * dw), sn::assign(b, b - rate * db));
  });
  auto accuracy = sn::fuse([](auto x, auto label, auto w, auto b) {
    const auto guessed = sn::cast<double>(sn::matmul(x, w) + b > 0.0);
    return sn::mean(sn::cast<double>(guessed == label));
  });

  // Labels by a rule that is to be found, some of them wrong.
  const double truth[features] = {2, -1, 0.5, 0, 3};
  std::mt19937 random(11);
  std::normal_distribution<double> normal(0, 1);
  sn::tensor<double, 2> x(rows, features);
  sn::tensor<double, 1> label(rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    double score = 0.5;
    for (std::int64_t j = 0; j < features; ++j) score += (x(i, j) = normal(random)) * truth[j];
    label(i) = score + normal(random) > 0 ? 1 : 0;
  }

  sn::tensor<double, 1> w(features);
  sn::tensor<double, 0> b;
  double last = 0, first = 0;
  for (int n = 1; n <= 500; ++n) {
    const auto expected = slopes(x, label, w, b.item());
    const auto [loss, dw] = step(x, label, w, b, 1.0);
    for (std::int64_t j = 0; j < features; ++j)
      if (!(std::abs(dw(j) - expected(j)) < 1e-12)) {
        std::printf("logistic_regression: slope %.15f instead of %.15f\n", dw(j), expected(j));
        return 1;
      }
    last = loss.item();
    if (n == 1) first = last;
    if (n == 1 || n % 100 == 0) std::printf("step %3d: loss %.4f\n", n, last);
  }
  const double right = accuracy(x, label, w, b).item();
  std::printf("weights %.2f %.2f %.2f %.2f %.2f, bias %.2f; right in %.1f %%\n", w(0), w(1), w(2),
              w(3), w(4), b.item(), 100 * right);
  // Of the labels, one in twelve is another than the rule says.
  if (!(last < first / 2) || right < 0.9) {
    std::puts("logistic_regression: it has not learnt what can be learnt");
    return 1;
  }
}
