// SPDX-License-Identifier: MIT
// Values that several nests of a selection compute, each for itself, and nests refused so that they
// are stored once instead: the policy without recomputation.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <sinter/plan/candidate.hpp>
#include <sinter/plan/order.hpp>
#include <sinter/plan/select.hpp>
#include <sinter/plan/value_nests.hpp>

namespace sinter::inline SINTER_ABI::planning {

class recomputation {
 public:
  recomputation(const value_graph& g, candidate_enumeration& nests, std::span<const int> roots)
      : g_(g), nests_(nests), roots_(roots), steps_(at(g.size()), 0) {}

  /// Refuses nests that compute on the way what several nests of the selection compute: first those
  /// that do not store it, then all but those made for it. Returns whether any was refused; if not,
  /// nothing is computed twice. Every call refuses more for some value, so that calls come to an
  /// end.
  bool refuse_repeated(const selection& s) {
    const std::vector<int> repeated = repeated_by(s);
    for (int v : repeated) ++steps_[at(v)];
    bool any = false;
    for (int i = 0; i < static_cast<int>(nests_.all().size()); ++i) {
      const candidate& c = nests_.all()[at(i)];
      if (c.refused) continue;
      const std::vector<int> made = computed_by(c);
      const bool refused = std::ranges::any_of(repeated, [&](int v) {
        if (std::ranges::find(made, v) == made.end() || c.root == v) return false;
        return steps_[at(v)] > 1 || std::ranges::find(c.outputs, v) == c.outputs.end();
      });
      if (refused) nests_.refuse(i);
      any = any || refused;
    }
    return any;
  }

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  std::vector<int> repeated_by(const selection& s) const {
    const value_nests all(g_, nests_);
    std::vector<int> times(at(g_.size()), 0), out;
    const emission_order order(all, s.nest_of, roots_);
    for (int i : order.nests())
      for (int v : computed_by(nests_.all()[at(i)])) times[at(v)] += 1;
    for (int v = 0; v < g_.size(); ++v)
      if (times[at(v)] > 1) out.push_back(v);
    return out;
  }

  // What takes work in a nest, the insides of superinstructions included; sorted.
  std::vector<int> computed_by(const candidate& c) const {
    std::vector<int> out;
    if (c.kind == nest_kind::alias) return out;
    const auto add = [&](int v) {
      if (v >= 0 && takes_work(v)) out.push_back(v);
    };
    add(c.root);
    for (const auto& [v, f] : c.inside.body) {
      const form& each = g_[v].forms[at(f)];
      if (each.fused >= 0) add_region(g_.instruction(each).structure, each, add);
      add(v);
    }
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  template <class Add>
  void add_region(const ir::region& r, const form& f, Add add) const {
    std::vector<class_id> made;
    for (int leaf : f.operands) made.push_back(g_[leaf].id);
    for (int node = 0; node < r.node_count; ++node) {
      std::vector<class_id> operands;
      for (int k = 0; k < ir::info(r.code(node)).arity; ++k)
        operands.push_back(made[at(r.operand(node, k))]);
      // What rewriting made of it may have no e-node of its own any more.
      const std::optional<class_id> found = find_node(r, node, operands);
      if (!found) return;
      made.push_back(*found);
      add(g_.number(*found));
    }
  }

  std::optional<class_id> find_node(const ir::region& r, int node,
                                    std::span<const class_id> operands) const {
    const auto op = static_cast<std::uint16_t>(r.code(node));
    if (r.code(node) != ir::op::cast) return g_.graph().lookup(op, 0, operands);
    for (eqsat::node_id id : g_.graph().nodes_by_operator(op)) {
      if (g_.graph().record(id).dead()) continue;
      const class_id made = g_.graph().class_of(id);
      if (g_.graph().find(g_.graph().node(id).children[0]) == operands[0] &&
          g_.graph().language().terms()[g_.graph().data(made).term].type == r.type)
        return made;
    }
    return std::nullopt;
  }

  bool takes_work(int v) const {
    return !g_[v].scalar() && !g_[v].is_constant && !g_[v].fixed && resolve(g_, v).base == v;
  }

  const value_graph& g_;
  candidate_enumeration& nests_;
  std::span<const int> roots_;
  std::vector<int> steps_;  // by value: how often it was found to be repeated
};

}  // namespace sinter::inline SINTER_ABI::planning
