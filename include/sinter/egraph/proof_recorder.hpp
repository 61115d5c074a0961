// SPDX-License-Identifier: MIT
//
// Recording proofs: what an e-graph and its runner do besides or instead once `record_proofs` was
// called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/proof_record.hpp>
#include <sinter/egraph/recorded_apply.hpp>
#include <sinter/egraph/runner.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

template <class Language>
class proof_recorder {
 public:
  using graph = egraph<Language>;

  static void start(graph& g) {
    if (!g.nodes_.empty()) raise(error("e-graph: proofs are recorded from the first node on"));
    g.proofs_.emplace();
    g.hooks_ = &hooks;
  }

  /// Throws unless proofs are recorded.
  static proof_record& record(graph& g) {
    if (!g.proofs_) raise(error("e-graph: no proofs are recorded"));
    return *g.proofs_;
  }

  static class_term add(graph& g, std::uint16_t op, std::uint32_t payload,
                        span<const class_term> children, reason why) {
    std::vector<class_id> classes;
    const term_id term = intern(g, op, payload, children, classes);
    return {g.template add_node<true>(op, payload, classes, why, term), term};
  }
  static bool add_to_class(graph& g, class_term target, std::uint16_t op, std::uint32_t payload,
                           span<const class_term> children, reason why) {
    std::vector<class_id> classes;
    const term_id term = intern(g, op, payload, children, classes);
    return g.template add_node_to_class<true>(target, op, payload, classes, why, term);
  }
  static bool unite(graph& g, class_term a, class_term b) {
    const bool changed = g.join(a.id, b.id);
    if (g.find(a.id) != g.find(b.id)) return false;  // refused
    proof_record& proofs = *g.proofs_;
    proofs.united(a.term, b.term);
    if (proofs.why().kind == equality_kind::analysis) proofs.folded(g.find(a.id), a.term, b.term);
    return changed;
  }
  static void same_node(graph& g, term_id term, node_id found) {
    g.proofs_->same_node(term, found, Language::operators[g.nodes_[found].op].commutative);
  }
  static void data_from(graph& g, class_id canonical, node_id node) {
    g.proofs_->data_from(canonical, node);
  }

 private:
  static class_id add_meant(graph& g, std::uint16_t op, std::uint32_t payload,
                            span<const class_id> children, reason why) {
    const term_id term = meant(g, op, payload, children);
    return g.template add_node<true>(op, payload, children, why, term);
  }
  static bool add_meant_to_class(graph& g, class_id target, std::uint16_t op, std::uint32_t payload,
                                 span<const class_id> children, reason why) {
    const term_id term = meant(g, op, payload, children);
    return g.template add_node_to_class<true>({target, g.proofs_->meant(target)}, op, payload,
                                              children, why, term);
  }
  static bool unite_meant(graph& g, class_id a, class_id b) {
    class_term left{a, g.proofs_->meant(a)}, right{b, g.proofs_->meant(b)};
    if (g.proofs_->why().kind != equality_kind::rule) return unite(g, left, right);
    // A rule's function at work: what it says of a root is the rule, other unions are its own
    // claim.
    if (g.proofs_->matched_pattern(left.term) == proof_record::no_pattern) std::swap(left, right);
    const std::uint8_t pattern = g.proofs_->matched_pattern(left.term);
    if (pattern == proof_record::no_pattern) std::swap(left, right);
    justification why = g.proofs_->why();
    why.pattern = pattern == proof_record::no_pattern ? std::uint8_t{0} : pattern;
    if (pattern == proof_record::no_pattern) why.kind = equality_kind::given;
    const auto before = g.proofs_->exchange_why(why);
    const bool changed = unite(g, left, right);
    g.proofs_->exchange_why(before);
    return changed;
  }
  static void congruent(graph& g, node_id a, node_id b) {
    same_node(g, g.proofs_->node_term(a), b);
  }

  static void classes_joined(graph& g, class_id winner, class_id loser, merge_result merged) {
    g.proofs_->classes_joined(winner, loser, merged);
  }

  static void modify(graph& g, class_id canonical) {
    if constexpr (HasModify<Language>) {
      const term_id term = analysed_term(g, canonical);
      const proof_record::context analysis(*g.proofs_, proof_record::by_analysis);
      g.proofs_->analysing({canonical, term});
      g.language_.modify(g, canonical);
      // What it added may have been in the class already.
      if (const term_id found = g.proofs_->meant(canonical); found != term)
        unite(g, {canonical, term}, {canonical, found});
      g.proofs_->set_waiting(g.find(canonical), false);
    }
  }

  static void search(runner<Language>& r, std::size_t rule, std::uint32_t previous_epoch) {
    r.template search_rule<true>(rule, previous_epoch);
  }
  static bool apply(runner<Language>& r, std::size_t rule, reason why) {
    recorded_applier<Language> applier(r.graph_, r.rules_[rule], why,
                                       r.registers_.data() + r.states_[rule].first_registers);
    return r.apply_matches(rule, applier);
  }

  static term_id intern(graph& g, std::uint16_t op, std::uint32_t payload,
                        span<const class_term> children, std::vector<class_id>& classes) {
    std::vector<term_id> terms;
    for (const class_term& child : children) {
      classes.push_back(child.id);
      terms.push_back(child.term);
    }
    return g.proofs_->intern(op, payload, terms);
  }
  // The term that a call with class ids means.
  static term_id meant(graph& g, std::uint16_t op, std::uint32_t payload,
                       span<const class_id> children) {
    std::vector<term_id> terms;
    for (const class_id child : children) terms.push_back(g.proofs_->meant(child));
    return g.proofs_->intern(op, payload, terms);
  }

  // The term that the data of a class were computed from: the node that they come from, with what
  // is known of its children in place of the children.
  static term_id analysed_term(graph& g, class_id canonical) {
    proof_record& proofs = *g.proofs_;
    const node_id support = proofs.support(canonical);
    const node_record& node = g.nodes_[support];
    if (node.arity == 0) return proofs.node_term(support);
    std::vector<term_id> terms;
    for (const class_id child : g.children(node)) terms.push_back(analysed_child(g, g.find(child)));
    const term_id term = proofs.intern(node.op, node.payload, terms);
    same_node(g, term, support);
    return term;
  }

  // `modify` may see a class before it sees what the class's data were computed from.
  static term_id analysed_child(graph& g, class_id canonical) {
    proof_record& proofs = *g.proofs_;
    const term_id seen = proofs.witness_of_data(canonical);
    if (seen != no_id || !proofs.waits_for_modify(canonical)) return proofs.witness(canonical);
    proofs.set_waiting(canonical, false);  // data may come round in a circle
    const term_id out = analysed_term(g, canonical);
    proofs.set_waiting(canonical, true);
    return out;
  }

  static constexpr proof_hooks<Language> hooks{
      add_meant,      add_meant_to_class, unite_meant, congruent,
      classes_joined, data_from,          modify,      search,
      apply,
  };
};

/// From now on the e-graph records why its terms are equal, so that `explain` can tell. It grows
/// node for node as it would without. Throws `sinter::error` unless it is empty. Costs three to
/// four times the time of a saturation.
template <class Language>
void record_proofs(egraph<Language>& graph) {
  proof_recorder<Language>::start(graph);
}

/// `graph.add` that keeps hold of the term as it is written: what `add` returns for a node that
/// exists stands for the term that founded its class. The e-graph must be rebuilt and record
/// proofs.
template <class Language>
class_term add_term(egraph<Language>& graph, std::uint16_t op, std::uint32_t payload,
                    span<const class_term> children) {
  proof_recorder<Language>::record(graph);
  graph.check_arity(op, children.size());
  return proof_recorder<Language>::add(graph, op, payload, children, {});
}
template <class Language>
class_term add_term(egraph<Language>& graph, std::uint16_t op, std::uint32_t payload,
                    std::initializer_list<class_term> children) {
  return add_term(graph, op, payload, span(children.begin(), children.size()));
}

/// `graph.unite` under a name that explanations show instead of "given".
template <class Language>
bool assume_equal(egraph<Language>& graph, class_id a, class_id b, std::string_view name) {
  if (graph.proofs() == nullptr) return graph.unite(a, b);
  proof_record& proofs = proof_recorder<Language>::record(graph);
  const proof_record::context given(proofs, {equality_kind::given, proofs.number_of(name), 0});
  return graph.unite(a, b);
}
/// The same for terms.
template <class Language>
bool assume_equal(egraph<Language>& graph, class_term a, class_term b, std::string_view name) {
  proof_record& proofs = proof_recorder<Language>::record(graph);
  const proof_record::context given(proofs, {equality_kind::given, proofs.number_of(name), 0});
  return proof_recorder<Language>::unite(graph, a, b);
}

}  // namespace sinter::inline SINTER_ABI::eqsat
