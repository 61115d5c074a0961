// SPDX-License-Identifier: MIT
//
// Applying a match while proofs are recorded: does to the e-graph what `rule_applier` does, and
// records that the left side's instance equals the right side's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinter/egraph/apply.hpp>
#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/left_instance.hpp>
#include <sinter/egraph/rule.hpp>

namespace sinter::eqsat {

template <class Language>
class recorded_applier {
 public:
  recorded_applier(egraph<Language>& graph, const rule<Language>& r, reason why)
      : graph_(graph),
        rule_(r),
        layout_(match_layout::of(r)),
        why_(why),
        proofs_(recorder::record(graph)),
        name_(proofs_.number_of(r.name)) {}

  /// See `rule_applier::apply`. `registers` are those of the match program when it found the match.
  void apply(std::span<const std::uint32_t> values, const class_id* registers) {
    const auto roots = values.first(layout_.roots);
    const auto classes = values.subspan(layout_.roots, layout_.classes);
    const auto payloads = values.subspan(layout_.roots + layout_.classes);
    // Conditions and computed sides look at data, which a witness shows.
    const bool looks_at_data = rule_.guard != nullptr || rule_.compute != nullptr;
    terms_.clear();
    for (const class_id id : classes)
      terms_.push_back(looks_at_data ? proofs_.witness(graph_.find(id)) : proofs_.founder(id));
    left_instance<Language> left(graph_, proofs_, rule_.left, registers, terms_, payloads);
    if (rule_.compute != nullptr) {
      compute(roots, classes, payloads, left);
      return;
    }
    for (std::size_t i = 0; i < roots.size(); ++i) {
      const proof_record::context context(proofs_, by_rule(i));
      build(i, roots[i], classes, payloads, left);
    }
  }

 private:
  using recorder = proof_recorder<Language>;

  justification by_rule(std::size_t pattern) const {
    return {equality_kind::rule, name_, static_cast<std::uint8_t>(pattern)};
  }

  void build(std::size_t number, class_id root, std::span<const class_id> classes,
             std::span<const std::uint32_t> payloads, left_instance<Language>& left) {
    const std::size_t first = rule_.right.starts[number];
    std::array<class_term, max_terms> stack;
    std::size_t top = stack.size();
    for (std::size_t i = first + rule_.right.terms[first].size; i-- > first;) {
      const pattern_term& term = rule_.right.terms[i];
      switch (term.kind) {
        case term_kind::variable: stack[--top] = {classes[term.index], terms_[term.index]}; break;
        case term_kind::literal:
          stack[--top] = literal(rule_.right.literals[term.index], root);
          break;
        case term_kind::any: return;
        case term_kind::apply: {
          const std::uint32_t payload =
              term.payload == payload_kind::variable ? payloads[term.payload_index] : 0;
          const std::span<const class_term> children(stack.data() + top, term.arity);
          if (i == first) {
            if (!is_known(root, term.op, payload, children) || wants_alternative()) {
              const class_term target{root, left.of_pattern(number, root)};
              recorder::add_to_class(graph_, target, term.op, payload, children, why_);
            }
            return;
          }
          const class_term made = recorder::add(graph_, term.op, payload, children, why_);
          top += term.arity;
          stack[--top] = made;
          break;
        }
      }
    }
    if (graph_.find(root) != graph_.find(stack[top].id) || wants_alternative())
      recorder::unite(graph_, {root, left.of_pattern(number, root)}, stack[top]);
  }

  bool wants_alternative() const { return proofs_.has_room_for_alternative(); }

  // Does the class hold the node already?
  bool is_known(class_id home, std::uint16_t op, std::uint32_t payload,
                std::span<const class_term> children) {
    std::vector<class_id> classes;
    for (const class_term& child : children) classes.push_back(child.id);
    const auto found = graph_.lookup(op, payload, classes);
    return found && graph_.find(*found) == graph_.find(home);
  }

  class_term literal(double value, class_id root) {
    if constexpr (HasAddLiteral<Language>) {
      const class_id made = graph_.language().add_literal(graph_, value, graph_.find(root));
      return {made, proofs_.meant_literal(made, graph_.find(made))};
    } else {
      return {root, no_id};
    }
  }

  void compute(std::span<const class_id> roots, std::span<const class_id> classes,
               std::span<const std::uint32_t> payloads, left_instance<Language>& left) {
    std::array<class_id, max_patterns> current_roots;
    std::array<class_id, max_variables> current_classes;
    const proof_record::context context(proofs_, by_rule(0));
    std::vector<term_id> lefts;
    for (std::size_t i = 0; i < roots.size(); ++i) {
      lefts.push_back(left.of_pattern(i, roots[i]));
      current_roots[i] = graph_.find(roots[i]);
      proofs_.given_out(current_roots[i], lefts[i]);
    }
    for (std::size_t i = 0; i < classes.size(); ++i) {
      current_classes[i] = graph_.find(classes[i]);
      proofs_.given_out(current_classes[i], terms_[i]);
    }
    proofs_.set_matched(lefts);
    const match found(rule_.variables, {current_roots.data(), roots.size()},
                      {current_classes.data(), classes.size()}, payloads);
    if (const auto result = rule_.compute(graph_, found))
      recorder::unite(graph_, {current_roots[0], lefts[0]}, {*result, proofs_.meant(*result)});
  }

  egraph<Language>& graph_;
  const rule<Language>& rule_;
  match_layout layout_;
  reason why_;
  proof_record& proofs_;
  std::uint32_t name_;
  std::vector<term_id> terms_;  // what the class variables stand for
};

}  // namespace sinter::eqsat
