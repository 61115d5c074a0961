// SPDX-License-Identifier: MIT
// How rules led from the graph as it was traced to what a nest computes. Nothing of it is kept
// while programs run: the saturation is repeated with proofs recorded, and because ids are given
// out in the same order every time, the e-nodes that a plan names are found again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sinter/egraph/explain.hpp>
#include <sinter/egraph/proof_recorder.hpp>
#include <sinter/plan/instructions.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/rules/saturate.hpp>
#include <sinter/support/add_once.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

/// One way between two equal terms. `then`: the rule that matched the last of them and made, in its
/// right side, the value that the next link starts from; empty in the last link.
struct history_link {
  eqsat::term_id from = 0, to = 0;
  std::string then{};
};

/// A saturation that remembers.
class nest_history {
 public:
  /// `bound`, `fixed` (what frozen arguments fix) and `options` must be what the plan's e-graph was
  /// saturated from, `instructions` what was added to it. Takes three to four times as long as
  /// that.
  nest_history(const ir::graph& bound, const ir::fixed_inputs& fixed,
               rules::saturate_options options, span<const ir::instruction> instructions)
      : instructions_(instructions) {
    eqsat::record_proofs(graph_);
    graph_.language().fixed() = fixed;
    rules::load(graph_, bound);
    traced_end_ = graph_.class_id_end();
    // Recording takes longer, and what it finds must not depend on that.
    options.seconds *= 100;
    rules::saturate(graph_, options);
    const auto matches = planning::match_instructions(graph_, instructions);
    planning::add_matches(graph_, matches);
    for (const planning::instruction_match& m : matches)
      regions_.try_emplace({graph_.find(m.root), m.instruction}, m.nodes);
    first_id_.assign(graph_.class_id_end(), eqsat::no_id);
    for (eqsat::class_id id = 0; id < graph_.class_id_end(); ++id)
      first_id_[graph_.find(id)] = std::min(first_id_[graph_.find(id)], id);
  }

  const rules::tensor_egraph& graph() const { return graph_; }

  /// Does it have the same e-nodes in the same classes?
  bool agrees_with(const rules::tensor_egraph& other) const {
    if (graph_.node_id_end() != other.node_id_end() ||
        graph_.class_id_end() != other.class_id_end() ||
        graph_.node_count() != other.node_count() || graph_.class_count() != other.class_count())
      return false;
    for (eqsat::node_id id = 0; id < graph_.node_id_end(); ++id) {
      const eqsat::enode_view a = graph_.node(id), b = other.node(id);
      if (a.op != b.op || a.payload != b.payload || !std::ranges::equal(a.children, b.children) ||
          graph_.class_of(id) != other.class_of(id))
        return false;
    }
    return true;
  }

  /// From the traced term of the nest's value, or of the value whose rewriting brought it up, to
  /// the term that the nest computes; operands that it reads stand as they were first written.
  /// Empty for a copy, and for a grouped nest, whose parts have theirs. Adds terms to the record.
  std::vector<history_link> of(const planning::nest& n) {
    if (n.enodes.empty()) return {};
    const eqsat::class_term computed = term_of(n);
    const eqsat::class_id root = graph_.find(computed.id);
    std::vector<history_link> out = up_to(root);
    out.push_back(shortest(root, computed.term));
    return out;
  }

  /// The names of the rules that led to a nest or its parts, each once, part by part.
  std::vector<std::string> rules_of(const planning::nest& n) {
    std::vector<std::string> out = rules_in(of(n));
    for (const planning::nest& part : n.parts)
      for (std::string& name : rules_of(part)) add_once(out, std::move(name));
    return out;
  }

  /// The names of the rules in a history, each once, in the order of their first step.
  std::vector<std::string> rules_in(span<const history_link> history) const {
    std::vector<std::string> out;
    const auto add = [&out](const std::string& name) {
      if (!name.empty()) add_once(out, name);
    };
    for (const history_link& link : history) {
      for (std::uint32_t number : eqsat::equalities_between(graph_, link.from, link.to)) {
        const eqsat::justification& why = proofs().equalities()[number].why;
        const std::string& name = proofs().name(why.name);
        // Instructions join classes by hand.
        if (why.kind == eqsat::equality_kind::rule ||
            (why.kind == eqsat::equality_kind::given && name != "given"))
          add(name);
      }
      add(link.then);
    }
    return out;
  }

 private:
  // By class: what the nest computes inside, and what has become of it.
  struct nest_terms {
    std::map<eqsat::class_id, eqsat::node_id> inside;
    std::map<eqsat::class_id, eqsat::class_term> made;
  };

  // What the nest computes as a term.
  eqsat::class_term term_of(const planning::nest& n) {
    nest_terms t;
    for (eqsat::node_id node : n.enodes) t.inside.try_emplace(graph_.class_of(node), node);
    return term_of(graph_.class_of(n.enodes[0]), t);
  }

  // Recursion is as deep as a nest's body.
  eqsat::class_term term_of(eqsat::class_id id, nest_terms& t) {
    id = graph_.find(id);
    if (const auto known = t.made.find(id); known != t.made.end()) return known->second;
    const auto place = t.inside.find(id);
    if (place == t.inside.end()) return first_term(id);
    const eqsat::enode_view node = graph_.node(place->second);
    const std::vector<eqsat::class_id> operands(node.children.begin(), node.children.end());
    // A value that its own operands need (x = x * 1) is an operand where it comes up again.
    t.inside.erase(place);
    std::vector<eqsat::class_term> children;
    for (eqsat::class_id operand : operands) children.push_back(term_of(operand, t));
    return t.made[id] = node.op == rules::fused_operator ? region_term(id, node.payload, children)
                                                         : add(node.op, node.payload, children);
  }

  // The e-nodes that an instruction was matched with, in place of the instruction.
  eqsat::class_term region_term(eqsat::class_id root, std::uint32_t instruction,
                                std::vector<eqsat::class_term> operands) {
    const ir::region& region = instructions_[instruction].structure;
    const std::vector<eqsat::node_id>& nodes = regions_.at({root, instruction});
    for (int k = 0; k < region.node_count; ++k) {
      std::vector<eqsat::class_term> children;
      for (int i = 0; i < ir::info(region.code(k)).arity; ++i)
        children.push_back(operands[static_cast<std::size_t>(region.operand(k, i))]);
      const eqsat::enode_view node = graph_.node(nodes[static_cast<std::size_t>(k)]);
      operands.push_back(add(node.op, node.payload, children));
    }
    return operands.back();
  }

  eqsat::class_term add(std::uint16_t op, std::uint32_t payload,
                        span<const eqsat::class_term> children) {
    const std::size_t nodes = graph_.node_count();
    const eqsat::class_term made = eqsat::add_term(graph_, op, payload, children);
    if (graph_.node_count() != nodes) raise(graph_error("explain: a nest has an unknown e-node"));
    return made;
  }

  // The term that the class was first made for: traced, if any of the class was.
  eqsat::class_term first_term(eqsat::class_id id) const {
    const eqsat::class_id first = first_id_[id];
    return {first, proofs().founder(first)};
  }
  const eqsat::proof_record& proofs() const { return *graph_.proofs(); }

  // The links up to the first term of the class; none if that was traced. It ends because what a
  // rule matched was there before what it made.
  std::vector<history_link> up_to(eqsat::class_id id) const {
    std::vector<history_link> out;
    for (eqsat::class_id first = first_id_[id]; first >= traced_end_;) {
      const eqsat::class_origin& origin = proofs().origin(first);
      if (origin.left.id == eqsat::no_id) break;  // the analysis folded a constant
      const eqsat::class_id matched = graph_.find(origin.left.id);
      out.push_back(shortest(matched, origin.left.term));
      out.back().then = proofs().name(origin.rule);
      first = first_id_[matched];
    }
    std::ranges::reverse(out);
    return out;
  }

  // From the traced term of the class that is closest, or the first term if none was traced.
  history_link shortest(eqsat::class_id id, eqsat::term_id to) const {
    history_link best;
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (eqsat::class_id each = first_id_[id];
         each < traced_end_ || fewest == std::numeric_limits<std::size_t>::max(); ++each) {
      if (graph_.find(each) != id) continue;
      const eqsat::term_id from = proofs().founder(each);
      const std::size_t count = eqsat::equalities_between(graph_, from, to).size();
      if (count >= fewest) continue;
      fewest = count;
      best = {from, to};
    }
    return best;
  }

  span<const ir::instruction> instructions_;
  rules::tensor_egraph graph_;
  eqsat::class_id traced_end_ = 0;
  std::vector<eqsat::class_id> first_id_;  // by canonical class: the first id given out for it
  // By root and instruction: the e-nodes that were matched, by node of the region.
  std::map<std::pair<eqsat::class_id, std::uint32_t>, std::vector<eqsat::node_id>> regions_;
};

}  // namespace sinter::inline SINTER_ABI::detail
