// SPDX-License-Identifier: MIT
// Values of a growing graph, exact and with rounding noise. A random graph is a fair test of an f32
// executor only if its results do not hang on the last bits: no comparison of nearly equal numbers,
// no cancellation, no overflow. Instead of reasoning about ops, every node is evaluated three
// times: exactly, and twice with each rounding op off by up to 8 units in the last place. Nodes
// whose values differ noticeably are `unstable`, and the generator drops them.
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
        stable = stable && agree(values_[0].back(), values.back());
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
  static constexpr int samples = 3;  // the first one is exact

  ir::reference_tensor evaluate(int id, int sample) const {
    std::vector<const ir::reference_tensor*> in;
    for (int i : graph_.inputs(id))
      in.push_back(&values_[static_cast<std::size_t>(sample)][static_cast<std::size_t>(i)]);
    ir::reference_tensor out = interpreter_.evaluate(id, in);
    if (sample == 0 || !is_floating(out.type)) return out;
    for (std::size_t i = 0; i < out.data.size(); ++i) {
      if (rounds(graph_[id].code))
        out.data[i] *= 1 + amplitude(out.type) * random_unit(id, sample, i);
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
  static double amplitude(dtype type) { return type == dtype::f32 ? 0x1p-20 : 0x1p-49; }

  double random_unit(int id, int sample, std::size_t i) const {
    const std::uint64_t bits = hash_combine(hash_combine(hash_combine(seed_, id), sample), i);
    return static_cast<double>(bits >> 11) * 0x1p-52 - 1;
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

  const ir::graph& graph_;
  ir::interpreter interpreter_;
  std::uint64_t seed_;
  std::array<std::vector<ir::reference_tensor>, samples> values_;
  std::vector<bool> stable_;
};

}  // namespace sinter::test
