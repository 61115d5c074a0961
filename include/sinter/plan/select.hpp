// SPDX-License-Identifier: MIT
// Extraction over goals and nests: which nest stores which value, so that what is shared is paid
// once (DAG cost). The e-graph's greedy extractor over cost sets gives a first choice; exchanging
// one nest at a time improves it, which is what finds nests with several outputs.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include <sinter/egraph/extract.hpp>
#include <sinter/plan/candidate.hpp>
#include <sinter/plan/choice.hpp>

namespace sinter::planning {

// The goals and nests of an enumeration as nodes of the e-graph.
class goal_graph {
 public:
  goal_graph(tensor_egraph& graph, const value_graph& g, const candidate_enumeration& nests)
      : graph_(graph) {
    goals_.assign(static_cast<std::size_t>(g.size()), eqsat::no_id);
    const auto goal = [&](int value) {
      eqsat::class_id& id = goals_[static_cast<std::size_t>(value)];
      if (id == eqsat::no_id) id = graph_.add(rules::stored_operator, 0, {g[value].id});
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
  tensor_egraph& graph_;
  std::vector<eqsat::class_id> goals_;  // by value
};

struct selection {
  std::vector<int> nest_of;  // by value: the candidate that stores it, -1 where it is not stored
  double cost = 0;
  double lower_bound = 0;
};

class selector {
 public:
  selector(const value_graph& g, const candidate_enumeration& nests, const goal_graph& goals,
           std::span<const int> roots)
      : g_(g), nests_(nests), goals_(goals), roots_(roots.begin(), roots.end()) {}

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
      if (n.op == rules::nest_operator) return nests_.all()[n.payload].cost;
      if (n.op == rules::produce_operator) return 0.0;
      if (n.op == rules::stored_operator) {
        const int v = g_.number(n.children[0]);
        return v >= 0 && candidate_enumeration::is_source(g_[v]) ? 0.0 : infinity;
      }
      return n.children.empty() || is_value(n) ? 0.0 : infinity;
    };
    std::vector<eqsat::class_id> roots;
    for (int r : roots_)
      if (goals_.has(r)) roots.push_back(goals_.of(r));  // an argument is stored already
    const auto found = eqsat::extract_dag(graph, std::span<const eqsat::class_id>(roots), cost);

    selection out;
    out.lower_bound = found.lower_bound;
    out.nest_of.assign(static_cast<std::size_t>(g_.size()), -1);
    for (int v = 0; v < g_.size(); ++v) {
      if (!goals_.has(v) || candidate_enumeration::is_source(g_[v])) continue;
      const eqsat::node_id chosen = found.choice_of(goals_.of(v));
      if (chosen == eqsat::no_id) continue;
      const eqsat::enode_view produce = graph.node(chosen);
      if (produce.op != rules::produce_operator) continue;
      for (const eqsat::enode_view& n : graph.nodes(produce.children[0]))
        if (n.op == rules::nest_operator)
          out.nest_of[static_cast<std::size_t>(v)] = static_cast<int>(n.payload);
    }
    add_defaults(out.nest_of);
    out.cost = nest_choice(g_, nests_.all(), roots_, out.nest_of).cost();
    return out;
  }

  // Goals that the first choice does not need get the nest of least tree cost, for exchanges that
  // come to need them.
  void add_defaults(std::vector<int>& nest_of) const {
    std::vector<double> best(static_cast<std::size_t>(g_.size()), infinity);
    std::vector<int> choice(static_cast<std::size_t>(g_.size()), -1);
    for (int v = 0; v < g_.size(); ++v)
      if (candidate_enumeration::is_source(g_[v])) best[static_cast<std::size_t>(v)] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < nests_.all().size(); ++i) {
        const candidate& c = nests_.all()[i];
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

  // Exchanges nests while that lowers the whole cost: one at a time; and, for a nest that stores
  // what others compute again for themselves, together with the nests that would then read it.
  void improve(selection& s) {
    nest_choice choice(g_, nests_.all(), roots_, s.nest_of);
    for (bool better = true; better;) {
      better = false;
      undo_.clear();
      for (int i = 0; i < static_cast<int>(nests_.all().size()); ++i)
        if (choice.needs(nest(i).root)) better = exchange(choice, i) || better;
      for (int i = 0; i < static_cast<int>(nests_.all().size()); ++i)
        if (nest(i).outputs.size() > 1 && choice.needs(nest(i).root))
          better = exchange_with_readers(choice, i) || better;
    }
    s.nest_of = choice.nests();
    // Anew, because differences add up their rounding.
    s.cost = nest_choice(g_, nests_.all(), roots_, s.nest_of).cost();
  }

  const candidate& nest(int i) const { return nests_.all()[static_cast<std::size_t>(i)]; }

  // A tiny margin keeps rounding from exchanging equals for ever.
  static bool less(double a, double b) { return a < b * (1 - 1e-9); }

  // Lets nest i store all its outputs if that is cheaper.
  bool exchange(nest_choice& choice, int i) {
    const double before = choice.cost();
    const std::size_t mark = undo_.size();
    if (!store_all(choice, i)) return false;
    if (less(choice.cost(), before) && !is_cyclic(choice, i)) return true;
    take_back(choice, mark);
    return false;
  }

  bool exchange_with_readers(nest_choice& choice, int i) {
    const double before = choice.cost();
    const std::size_t mark = undo_.size();
    store_all(choice, i);
    if (!is_cyclic(choice, i))
      for (int out : nest(i).outputs)
        for (int reader : readers_of(out))
          if (choice.needs(nest(reader).root)) exchange(choice, reader);
    if (less(choice.cost(), before) && !is_cyclic(choice, i)) return true;
    take_back(choice, mark);
    return false;
  }

  // False if it does so already.
  bool store_all(nest_choice& choice, int i) {
    bool changes = false;
    for (int out : nest(i).outputs) {
      if (choice.nest_of(out) == i) continue;
      undo_.push_back({out, choice.nest_of(out)});
      choice.assign(out, i);
      changes = true;
    }
    return changes;
  }

  bool is_cyclic(nest_choice& choice, int i) const {
    return std::ranges::any_of(nest(i).outputs, [&](int out) { return choice.is_cyclic_at(out); });
  }

  void take_back(nest_choice& choice, std::size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back())
      choice.assign(undo_.back().first, undo_.back().second);
  }

  const std::vector<int>& readers_of(int value) {
    if (readers_.empty()) {
      readers_.resize(static_cast<std::size_t>(g_.size()));
      for (int i = 0; i < static_cast<int>(nests_.all().size()); ++i)
        for (int r : nest(i).reads) readers_[static_cast<std::size_t>(r)].push_back(i);
    }
    return readers_[static_cast<std::size_t>(value)];
  }

  const value_graph& g_;
  const candidate_enumeration& nests_;
  const goal_graph& goals_;
  std::vector<int> roots_;
  std::vector<std::vector<int>> readers_;  // by value: nests
  std::vector<std::pair<int, int>> undo_;  // value, its nest before
};

}  // namespace sinter::planning
