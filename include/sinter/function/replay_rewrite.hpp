// SPDX-License-Identifier: MIT
// One rewrite again: its two sides in an e-graph of their own, to which the rules of its name are
// applied once. Nothing of the search that found it is shared.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph/runner.hpp>
#include <sinter/function/rewrites.hpp>
#include <sinter/graph/fixed.hpp>
#include <sinter/rules/custom.hpp>
#include <sinter/rules/language.hpp>
#include <sinter/rules/rule_set.hpp>
#include <sinter/rules/saturate.hpp>

namespace sinter::inline SINTER_ABI::detail {

class rewrite_replay {
 public:
  // `terms` with the guards that rules may rely on: what needs others is not replayed. `fixed`:
  // what frozen arguments fix, on which some rules depend.
  rewrite_replay(const ir::graph& terms, ir::fixed_inputs fixed)
      : terms_(terms), fixed_(std::move(fixed)) {}

  // Is there such a rule?
  bool knows(std::string_view name) const { return !rules_of(name).empty(); }

  // Do the rules of that name (none: what every e-graph knows, that constants fold and equal
  // operands give equal results) make the two terms one?
  bool gives(std::string_view name, int left, int right) const {
    rules::tensor_egraph graph;
    const std::vector<eqsat::class_id> roots = load(graph, {left, right});
    apply(graph, name);
    return graph.find(roots[0]) == graph.find(roots[1]) && is_guarded(graph);
  }

  // Does the right side that the rule writes for `matched` contain `made`?
  bool brings_up(std::string_view name, int matched, int made) const {
    rules::tensor_egraph graph;
    load(graph, {matched});
    apply(graph, name);
    // A term that is there already adds nothing.
    const std::size_t before = graph.node_count();
    graph.language().add(graph, made);
    return graph.node_count() == before && is_guarded(graph);
  }

 private:
  bool is_guarded(const rules::tensor_egraph& graph) const {
    return graph.language().terms().guards.size() == terms_.guards.size();
  }

  std::vector<eqsat::class_id> load(rules::tensor_egraph& graph,
                                    std::initializer_list<int> terms) const {
    graph.language().fixed() = fixed_;
    ir::graph part = terms_;
    part.outputs.clear();
    for (int id : terms) part.outputs.push_back({id, -1});
    return rules::load(graph, part);
  }

  std::vector<eqsat::rule<rules::tensor_language>> rules_of(std::string_view name) const {
    std::vector<eqsat::rule<rules::tensor_language>> out;
    for (const rules::tensor_rule& rule : rules::all_rules())
      if (rule.name == name) out.push_back(rule.program);
    for (const rules::tensor_rule& rule : rules::custom_rules(terms_))
      if (rule.name == name) out.push_back(rule.program);
    return out;
  }

  void apply(rules::tensor_egraph& graph, std::string_view name) const {
    if (name.empty()) return;
    const auto rules = rules_of(name);
    eqsat::limits limits;
    limits.iterations = 2;
    limits.nodes = graph.node_count() + 10'000;
    limits.time = std::chrono::seconds(10);
    eqsat::saturate<rules::tensor_language>(graph, rules, limits);
    graph.rebuild();
  }

  const ir::graph& terms_;
  ir::fixed_inputs fixed_;
};

}  // namespace sinter::inline SINTER_ABI::detail
