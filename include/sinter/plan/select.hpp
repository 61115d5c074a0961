// SPDX-License-Identifier: MIT
// Extraction over goals and nests: which nest stores which value, so that what is shared is paid
// once (DAG cost). The e-graph's extractor gives a first choice and a bound; exchanging one nest at
// a time improves it, which is what finds nests with several outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <sinter/egraph/extract.hpp>
#include <sinter/plan/candidate.hpp>
#include <sinter/plan/choice.hpp>
#include <sinter/plan/exchange.hpp>
#include <sinter/plan/value_nests.hpp>

namespace sinter::inline SINTER_ABI::planning {

// The goals and nests of an enumeration as nodes of the e-graph.
class goal_graph {
 public:
  goal_graph(tensor_egraph& graph, const value_graph& g, const candidate_enumeration& nests)
      : graph_(graph) {
    goals_.assign(static_cast<std::size_t>(g.size()), eqsat::no_id);
    const auto goal = [&](int value) {
      eqsat::class_id& id = goals_[static_cast<std::size_t>(value)];
      if (id == eqsat::no_id)
        id = graph_.add(rules::stored_operator, kind_of_goal(g, value), {g[value].id});
      return id;
    };
    for (std::size_t i = 0; i < nests.all().size(); ++i) {
      const candidate& c = nests.all()[i];
      std::vector<eqsat::class_id> reads;
      for (int r : c.reads) reads.push_back(goal(r));
      const eqsat::class_id nest =
          graph_.add(rules::nest_operator, static_cast<std::uint32_t>(i), reads);
      for (std::size_t k = 0; k < c.outputs.size(); ++k)
        graph_.unite(goal(c.outputs[k]),
                     graph_.add(rules::produce_operator, static_cast<std::uint32_t>(k), {nest}));
    }
    graph_.rebuild();
  }

  eqsat::class_id of(int value) const {
    return graph_.find(goals_[static_cast<std::size_t>(value)]);
  }
  bool has(int value) const { return goals_[static_cast<std::size_t>(value)] != eqsat::no_id; }
  const tensor_egraph& graph() const { return graph_; }

 private:
  // Up to three goals are about one class.
  static std::uint32_t kind_of_goal(const value_graph& g, int value) {
    const int other = g[value].stands_for;
    return other < 0 ? 0U : g[other].reader == value ? 1U : 2U;
  }

  tensor_egraph& graph_;
  std::vector<eqsat::class_id> goals_;  // by value
};

struct selection {
  // In place of a candidate: in memory since the epoch before.
  static constexpr int carried = -2;

  int epochs = 1;  // see epochs.hpp
  // By goal (value * epochs + epoch): the candidate that stores it, `carried`, or -1 where it is
  // not stored.
  std::vector<int> nest_of;
  // Goals in the order in which they are emitted, what they need before them.
  std::vector<int> order;
  double cost = 0;
  double lower_bound = 0;

  // The goal whose nest stored what this goal names.
  int stored_as(int goal) const {
    while (nest_of[static_cast<std::size_t>(goal)] == carried) --goal;
    return goal;
  }
};

class selector {
 public:
  selector(const value_graph& g, const candidate_enumeration& nests, const goal_graph& goals,
           std::span<const int> roots, const plan_options& options = {})
      : g_(g),
        nests_(nests),
        goals_(goals),
        roots_(roots.begin(), roots.end()),
        work_(options.extraction_work),
        alternatives_(g, nests) {
    // Training steps of up to 102 nodes (900 nests) are proved optimal by 0.2 to 1.5 M, 2 to 10 ms;
    // 775 nodes with 5,900 nests need 2 M (26 ms) for their best plan.
    if (work_ == 0) work_ = std::max<std::size_t>(2'000'000, 400 * nests.all().size());
  }

  selection run() {
    selection out = first_choice();
    improve(out);
    return out;
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  selection first_choice() {
    const tensor_egraph& graph = goals_.graph();
    // A stored argument costs nothing; values themselves are no way to store anything.
    const auto cost = [&](eqsat::class_id, const eqsat::enode_view& n) {
      if (n.op == rules::nest_operator) {
        const candidate& c = nests_.all()[n.payload];
        if (c.refused) return infinity;
        return c.cost;
      }
      if (n.op == rules::produce_operator) return 0.0;
      if (n.op == rules::stored_operator) {
        const int v = g_.number(n.children[0]);
        return v >= 0 && g_[v].is_source() ? 0.0 : infinity;
      }
      return n.children.empty() || is_value(n) ? 0.0 : infinity;
    };
    std::vector<eqsat::class_id> roots;
    for (int r : roots_)
      if (goals_.has(r)) roots.push_back(goals_.of(r));  // an argument is stored already
    const auto found =
        eqsat::extract_dag(graph, std::span<const eqsat::class_id>(roots), cost, work_);

    selection out;
    out.lower_bound = found.lower_bound;
    out.nest_of.assign(static_cast<std::size_t>(g_.size()), -1);
    for (int v = 0; v < g_.size(); ++v) {
      if (!goals_.has(v) || g_[v].is_source()) continue;
      const eqsat::node_id chosen = found.choice_of(goals_.of(v));
      if (chosen == eqsat::no_id) continue;
      const eqsat::enode_view produce = graph.node(chosen);
      if (produce.op != rules::produce_operator) continue;
      for (const eqsat::enode_view& n : graph.nodes(produce.children[0]))
        if (n.op == rules::nest_operator && !nests_.all()[n.payload].refused)
          out.nest_of[static_cast<std::size_t>(v)] = static_cast<int>(n.payload);
    }
    add_defaults(out.nest_of);
    out.cost = nest_choice(alternatives_, roots_, out.nest_of).cost();
    return out;
  }

  // Goals that the first choice does not need get the nest of least tree cost, for exchanges that
  // come to need them.
  void add_defaults(std::vector<int>& nest_of) const {
    std::vector<double> best(static_cast<std::size_t>(g_.size()), infinity);
    std::vector<int> choice(static_cast<std::size_t>(g_.size()), -1);
    for (int v = 0; v < g_.size(); ++v)
      if (g_[v].is_source()) best[static_cast<std::size_t>(v)] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < nests_.all().size(); ++i) {
        const candidate& c = nests_.all()[i];
        if (c.refused) continue;
        double cost = c.cost;
        for (int r : c.reads) cost += best[static_cast<std::size_t>(r)];
        if (!(cost < best[static_cast<std::size_t>(c.root)])) continue;
        best[static_cast<std::size_t>(c.root)] = cost;
        choice[static_cast<std::size_t>(c.root)] = static_cast<int>(i);
        changed = true;
      }
    }
    for (std::size_t v = 0; v < nest_of.size(); ++v)
      if (nest_of[v] < 0) nest_of[v] = choice[v];
  }

  static bool is_value(const eqsat::enode_view& n) { return n.op <= rules::fused_operator; }

  void improve(selection& s) {
    nest_choice choice(alternatives_, roots_, s.nest_of);
    exchange_search(alternatives_, choice).improve();
    s.nest_of = choice.nests();
    // Anew, because differences add up their rounding.
    s.cost = nest_choice(alternatives_, roots_, s.nest_of).cost();
    // The extractor adds up in another order.
    s.lower_bound = std::min(s.lower_bound, s.cost);
  }

  const value_graph& g_;
  const candidate_enumeration& nests_;
  const goal_graph& goals_;
  std::vector<int> roots_;
  std::size_t work_;
  value_nests alternatives_;
};

}  // namespace sinter::inline SINTER_ABI::planning
