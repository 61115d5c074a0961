// SPDX-License-Identifier: MIT
//
// The instance of a rule's left side under a match, as a recorded term.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/program.hpp>
#include <sinter/egraph/proof_record.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Puts together what a match program took apart. May run after other matches were applied: up to
/// the next rebuild, the nodes that were matched have the children that the registers tell.
template <class Language>
class left_instance {
 public:
  /// `terms` are what the class variables stand for.
  left_instance(const egraph<Language>& graph, proof_record& proofs, const match_program& program,
                const class_id* registers, span<const term_id> terms,
                span<const std::uint32_t> payloads)
      : graph_(graph),
        proofs_(proofs),
        program_(program),
        registers_(registers),
        terms_(terms),
        payloads_(payloads) {
    first_child_.fill(none);
    for (const instruction& code : program.code) {
      if (code.kind == instruction_kind::root || code.kind == instruction_kind::scan ||
          code.kind == instruction_kind::scan_parents || code.kind == instruction_kind::bind) {
        first_child_[code.index] = code.output;
      }
    }
  }

  /// The instance of the pattern that was matched in class `root`.
  term_id of_pattern(std::size_t number, class_id root) {
    return instance(program_.patterns.starts[number], root);
  }

 private:
  static constexpr std::uint8_t none = 0xff;

  term_id instance(std::size_t at, class_id home) {
    const pattern_term& pattern = program_.patterns.terms[at];
    switch (pattern.kind) {
      case term_kind::variable: return terms_[pattern.index];
      case term_kind::literal: return literal(graph_.find(home));
      case term_kind::any: return proofs_.founder(home);
      case term_kind::apply: break;
    }
    if (first_child_[at] == none) return ground(at, home);
    std::vector<term_id> terms;
    std::size_t child = at + 1;
    for (std::size_t i = 0; i < pattern.arity; ++i) {
      terms.push_back(instance(child, registers_[first_child_[at] + i]));
      child += program_.patterns.terms[child].size;
    }
    const node_id node =
        matched(pattern, {registers_ + first_child_[at], pattern.arity}, graph_.find(home));
    const term_id out = proofs_.intern(pattern.op, graph_.record(node).payload, terms);
    proofs_.same_node(out, node, Language::operators[pattern.op].commutative);
    return out;
  }

  term_id literal(class_id home) const {
    if constexpr (!HasMake<Language>) {  // no data tell which of the class's terms is the literal
      for (const enode_view& node : graph_.nodes(home)) {
        if (node.children.empty()) return proofs_.node_term(node.id);
      }
    }
    return proofs_.witness(home);
  }

  // A node of the class with these children.
  node_id matched(const pattern_term& pattern, span<const class_id> children, class_id home) {
    std::vector<class_id> sorted(children.begin(), children.end());
    if (Language::operators[pattern.op].commutative) std::sort(sorted.begin(), sorted.end());
    if (pattern.payload != payload_kind::any) {
      const std::uint32_t payload =
          pattern.payload == payload_kind::variable ? payloads_[pattern.payload_index] : 0;
      const node_id found = graph_.lookup_exact(pattern.op, payload, sorted);
      if (found != no_id && graph_.class_of(found) == home) return found;
    }
    // Any payload will do, or the language refused to unite two classes that have the same node.
    for (const enode_view& node : graph_.nodes(home)) {
      if (node.op != pattern.op || !std::ranges::equal(node.children, sorted)) continue;
      if (pattern.payload == payload_kind::zero && node.payload != 0) continue;
      if (pattern.payload == payload_kind::variable &&
          node.payload != payloads_[pattern.payload_index]) {
        continue;
      }
      return node.id;
    }
    raise(error("e-graph: a match whose nodes are gone"));
  }

  // A term without variables or literals was looked up as a whole: registers tell its class only.
  term_id ground(std::size_t at, class_id home) {
    const pattern_term& pattern = program_.patterns.terms[at];
    for (const enode_view& node : graph_.nodes(graph_.find(home))) {
      if (node.op != pattern.op || node.payload != 0 || node.children.size() != pattern.arity)
        continue;
      std::vector<class_id> order(node.children.begin(), node.children.end());
      do {
        std::vector<term_id> terms;
        std::size_t child = at + 1;
        for (const class_id id : order) {
          terms.push_back(ground(child, id));
          if (terms.back() == no_id) break;
          child += program_.patterns.terms[child].size;
        }
        if (!terms.empty() && terms.back() == no_id) continue;
        const term_id out = proofs_.intern(node.op, 0, terms);
        proofs_.same_node(out, node.id, Language::operators[node.op].commutative);
        return out;
      } while (Language::operators[node.op].commutative &&
               std::next_permutation(order.begin(), order.end()));
    }
    return no_id;
  }

  const egraph<Language>& graph_;
  proof_record& proofs_;
  const match_program& program_;
  const class_id* registers_;
  span<const term_id> terms_;
  span<const std::uint32_t> payloads_;
  std::array<std::uint8_t, max_terms> first_child_;  // by pattern term: a register, or none
};

}  // namespace sinter::inline SINTER_ABI::eqsat
