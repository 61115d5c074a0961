// SPDX-License-Identifier: MIT
// Checks a saturated e-graph against the reference interpreter: every e-node of a class must denote
// the same tensor.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <sinter/graph/interpret.hpp>
#include <sinter/rules/language.hpp>

namespace sinter::test {

/// Random values for the arguments of a bound graph: floats around 0 with some zeros among them,
/// small integers.
inline std::vector<ir::reference_tensor> random_arguments(const ir::graph& g, std::uint64_t seed,
                                                          bool with_infinities = false) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<ir::reference_tensor> out;
  for (int id = 0; id < g.size(); ++id) {
    if (g[id].code != ir::op::argument) continue;
    const std::size_t number = static_cast<std::size_t>(g.attributes(id)[1]);
    if (out.size() <= number) out.resize(number + 1);
    shape_vector shape;
    for (ir::dim d : g[id].shape) shape.push_back(g.dims.evaluate(d, g.symbol_values));
    ir::reference_tensor& x = out[number] = ir::filled(g[id].type, shape, 0);
    for (double& element : x.data) {
      const auto chance = random() % 16;
      if (!is_floating(x.type))
        element = static_cast<double>(random() % 2);
      else if (chance == 0)
        element = 0;
      else if (with_infinities && chance == 1)
        element = std::numeric_limits<double>::infinity();
      else if (with_infinities && chance == 2)
        element = -std::numeric_limits<double>::infinity();
      else if (with_infinities && chance == 3)
        element = std::numeric_limits<double>::quiet_NaN();
      else
        element = static_cast<double>(static_cast<float>(normal(random)));
    }
  }
  return out;
}

/// What may differ: a rule that reassociates gives the same real numbers, but a sum or product in
/// another order may meet infinities in another order, a zero of the other sign divides to the
/// other infinity, and a comparison of two equal numbers goes the other way.
enum class comparison { bits, finite };

/// The largest difference of two tensors relative to their largest finite element (at least 1).
/// `bits`: infinity where one has a NaN or infinity that the other has not; `finite`: such elements
/// are left out, and truth values.
inline double difference(const ir::reference_tensor& a, const ir::reference_tensor& b,
                         comparison how) {
  if (a.shape != b.shape || a.type != b.type) return std::numeric_limits<double>::infinity();
  if (how == comparison::finite && a.type == dtype::boolean) return 0;
  double scale = 1, largest = 0;
  for (double x : a.data)
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    const double x = a.data[i], y = b.data[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (std::isfinite(x) && std::isfinite(y))
      largest = std::max(largest, std::abs(x - y));
    else if (how == comparison::bits)
      return std::numeric_limits<double>::infinity();
  }
  return largest / scale;
}

struct class_disagreement {
  double difference = 0;
  std::string text;  // both e-nodes
  std::size_t compared = 0;
};

/// Evaluates every e-node of every class and returns the worst disagreement within a class.
inline class_disagreement check_classes(rules::tensor_egraph& graph,
                                        const std::vector<ir::reference_tensor>& arguments,
                                        comparison how = comparison::bits) {
  rules::tensor_language& language = graph.language();
  struct member {
    eqsat::class_id owner;
    int term;
  };
  std::vector<member> members;
  for (eqsat::class_id id : graph.classes()) {
    for (const eqsat::enode_view& node : graph.nodes(id)) {
      std::vector<int> in;
      for (eqsat::class_id child : node.children) in.push_back(graph.data(child).term);
      const auto payload = language.payload(node.payload);
      members.push_back({id, ir::append(language.terms(), static_cast<ir::op>(node.op), in,
                                        payload.attributes, payload.dims)});
    }
  }
  const ir::graph& terms = language.terms();
  const auto values = ir::interpret_all(terms, arguments);
  class_disagreement worst;
  for (const member& each : members) {
    const int standard = graph.data(each.owner).term;
    const double d = difference(values[static_cast<std::size_t>(standard)],
                                values[static_cast<std::size_t>(each.term)], how);
    ++worst.compared;
    if (!(d > worst.difference)) continue;
    worst.difference = d;
    const auto text = [&](int term) {
      std::string out =
          std::string(ir::name(terms[term].code)) + terms.shape_text(terms[term].shape) + " of";
      for (int i : terms.inputs(term))
        out += " " + std::string(ir::name(terms[i].code)) + terms.shape_text(terms[i].shape);
      return out;
    };
    worst.text = text(standard) + " is not " + text(each.term);
  }
  return worst;
}

}  // namespace sinter::test
