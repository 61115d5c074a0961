// SPDX-License-Identifier: MIT
// Values of a growing graph, exact and with rounding noise. A random graph is a fair test of an f32
// executor only if its results do not hang on the last bits: no comparison of nearly equal numbers,
// no cancellation, no overflow. Instead of reasoning about ops, every node is evaluated five
// times: exactly, and four times with each rounding op off by 4 to 8 units in the last place of
// what its error is relative to, which is the result for most. Nodes whose values differ noticeably
// are `unstable`, and the generator drops them.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <sinter/graph/interpret.hpp>
#include <sinter/support/hash.hpp>

namespace sinter::test {

class noisy_values {
 public:
  noisy_values(const ir::graph& g, std::span<const ir::reference_tensor> arguments,
               std::uint64_t seed)
      : graph_(g), interpreter_(g, arguments), seed_(seed) {}

  // Evaluates the nodes that were appended since the last call.
  void update() {
    for (int id = static_cast<int>(stable_.size()); id < graph_.size(); ++id) {
      bool stable = true;
      for (int i : graph_.inputs(id)) stable = stable && stable_[static_cast<std::size_t>(i)];
      for (int sample = 0; sample < samples; ++sample) {
        auto& values = values_[static_cast<std::size_t>(sample)];
        values.push_back(stable ? evaluate(id, sample) : ir::reference_tensor{});
        stable = stable && agree(values_[0].back(), values.back()) && same_order(id, sample);
      }
      stable_.push_back(stable);
    }
  }

  bool stable(int id) const { return stable_[static_cast<std::size_t>(id)]; }
  const ir::reference_tensor& operator[](int id) const {
    return values_[0][static_cast<std::size_t>(id)];
  }
  const shape_vector& shape(int id) const { return (*this)[id].shape; }

 private:
  // The first one is exact; each pair behind it has errors of opposite signs, so that one of them
  // is beyond what the value is just below or above of.
  static constexpr int samples = 5;

  ir::reference_tensor evaluate(int id, int sample) const {
    std::vector<const ir::reference_tensor*> in;
    for (int i : graph_.inputs(id))
      in.push_back(&values_[static_cast<std::size_t>(sample)][static_cast<std::size_t>(i)]);
    ir::reference_tensor out = interpreter_.evaluate(id, in);
    if (sample == 0 || !is_floating(out.type)) return out;
    for (std::size_t i = 0; i < out.data.size(); ++i) {
      if (rounds(graph_[id].code) && std::isfinite(out.data[i]))
        out.data[i] += error(id, in, out, i) * random_unit(id, sample, i);
      if (out.type == dtype::f32)
        out.data[i] = static_cast<double>(static_cast<float>(out.data[i]));
    }
    return out;
  }

  // The other ops give one of their operands, or a whole number.
  static bool rounds(ir::op code) {
    using ir::op;
    switch (code) {
      case op::neg:
      case op::abs:
      case op::sign:
      case op::floor:
      case op::ceil:
      case op::round:
      case op::relu:
      case op::stop_gradient:
      case op::maximum:
      case op::minimum:
      case op::where:
      case op::reduce_max:
      case op::reduce_min: return false;
      case op::cast:
      case op::sum_to: return true;
      default:
        return ir::info(code).kind != ir::kind::leaf && ir::info(code).kind != ir::kind::movement &&
               code != op::gather;
    }
  }
  // What element i of a result may be off by: docs/accuracy.md.
  double error(int id, std::span<const ir::reference_tensor* const> in,
               const ir::reference_tensor& out, std::size_t i) const {
    using ir::op;
    const double units = amplitude(out.type), result = std::abs(out.data[i]);
    switch (graph_[id].code) {
      // As their formulas have it, the error far below zero is relative to the operand.
      case op::gelu:
      case op::gelu_tanh: return units * std::abs(in[0]->data[i]);
      // Where e^-x overflows they are zero.
      case op::sigmoid: return units * result + least_normal(out.type);
      case op::silu: return units * result + 0x1p7 * least_normal(out.type);
      // Differences of numbers around 1, and logarithms of such.
      case op::softplus:
      case op::log_softmax:
      case op::cross_entropy:
      case op::layer_norm: return units * std::fmax(result, 1);
      default: return units * result;
    }
  }
  static double least_normal(dtype type) { return type == dtype::f64 ? 0x1p-1022 : 0x1p-126; }
  static double amplitude(dtype type) { return type == dtype::f32 ? 0x1p-20 : 0x1p-49; }

  // In [1/2, 1] or [-1, -1/2].
  double random_unit(int id, int sample, std::size_t i) const {
    const int pair = (sample + 1) / 2;
    const std::uint64_t bits = hash_combine(hash_combine(hash_combine(seed_, id), pair), i);
    const double size = 0.5 + static_cast<double>(bits >> 11) * 0x1p-54;
    return ((bits & 1) != 0) == (sample % 2 != 0) ? size : -size;
  }

  static bool agree(const ir::reference_tensor& exact, const ir::reference_tensor& noisy) {
    for (std::size_t i = 0; i < exact.data.size(); ++i) {
      const double a = exact.data[i], b = noisy.data[i];
      if (a == b || (a != a && b != b)) continue;
      if (!is_floating(exact.type) || !(std::fabs(a - b) <= 1e-4 * std::fmax(1.0, std::fabs(a))))
        return false;
    }
    return true;
  }

  // No comparison holds by chance: one side is larger in all samples, or both are equal, and
  // without noise, since one value computed in two ways has two roundings. (That f32 does not tell
  // 1 - 1e-10 from 1 no noise shows.) A cast to 1 or 0 is a comparison with 0; of two equal
  // numbers, a whole quotient is such a case.
  bool same_order(int id, int sample) const {
    using ir::op;
    const op code = graph_[id].code;
    const bool is_cast = code == op::cast && graph_[id].type == dtype::boolean,
               divides = code == op::floor_divide || code == op::mod;
    if (!is_cast && !divides && code != op::equal && code != op::not_equal && code != op::less &&
        code != op::less_equal)
      return true;
    for (std::size_t i = 0; i < values_[0].back().data.size(); ++i) {
      const auto side = [&](int of, int which) {
        return which == 1 && is_cast ? 0 : operand(id, of, which, i);
      };
      const double a = side(0, 0), b = side(0, 1), c = side(sample, 0), d = side(sample, 1);
      const bool same = a == c && b == d;
      if (divides ? !same && std::trunc(a / b) == a / b
                  : (a < b) != (c < d) || (a > b) != (c > d) || (a == b && !same))
        return false;
    }
    return true;
  }

  double operand(int id, int sample, int which, std::size_t i) const {
    const ir::reference_tensor& x = values_[static_cast<std::size_t>(sample)]
                                           [static_cast<std::size_t>(graph_.input(id, which))];
    return x.data[x.data.size() == 1 ? 0 : i];
  }

  const ir::graph& graph_;
  ir::interpreter interpreter_;
  std::uint64_t seed_;
  std::array<std::vector<ir::reference_tensor>, samples> values_;
  std::vector<bool> stable_;
};

}  // namespace sinter::test
