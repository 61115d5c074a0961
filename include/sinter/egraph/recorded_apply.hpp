// SPDX-License-Identifier: MIT
//
// Applying matches while proofs are recorded: does to the e-graph what `rule_applier` does, and
// records that the left side's instance equals the right side's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/egraph/apply.hpp>
#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/left_instance.hpp>
#include <sinter/egraph/rule.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

template <class Language>
class recorded_applier {
 public:
  /// `registers` are those of the match program when it found the matches, one set after the other.
  recorded_applier(egraph<Language>& graph, const rule<Language>& r, reason why,
                   const class_id* registers)
      : graph_(graph),
        rule_(r),
        layout_(match_layout::of(r)),
        why_(why),
        proofs_(recorder::record(graph)),
        name_(proofs_.number_of(r.name)),
        registers_(registers) {}

  /// See `rule_applier::apply`, which takes the same steps in the same order.
  void apply(span<const std::uint32_t> matches) {
    read(matches);
    changes_.start_block();
    if (rule_.compute != nullptr) {
      for (std::size_t m = 0; m < count_; ++m) changes_.note(graph_, m, [&] { compute(m); });
    } else {
      for (std::size_t i = 0; i < layout_.roots; ++i) build(i);
    }
    registers_ += count_ * rule_.left.registers;
  }

  std::size_t applications() const { return changes_.total(); }

 private:
  using recorder = proof_recorder<Language>;

  void read(span<const std::uint32_t> matches) {
    matches_ = matches;
    count_ = matches.size() / layout_.size();
    made_.resize(count_ * rule_.right.terms.size());
    // Conditions and computed sides look at data, which a witness shows.
    const bool looks_at_data = rule_.guard != nullptr || rule_.compute != nullptr;
    terms_.clear();
    for (std::size_t m = 0; m < count_; ++m) {
      for (const class_id id : classes(m))
        terms_.push_back(looks_at_data ? proofs_.witness(graph_.find(id)) : proofs_.founder(id));
    }
  }

  span<const std::uint32_t> values(std::size_t m) const {
    return matches_.subspan(m * layout_.size(), layout_.size());
  }
  span<const class_id> roots(std::size_t m) const { return values(m).first(layout_.roots); }
  span<const class_id> classes(std::size_t m) const {
    return values(m).subspan(layout_.roots, layout_.classes);
  }
  span<const std::uint32_t> payloads(std::size_t m) const {
    return values(m).subspan(layout_.roots + layout_.classes);
  }
  // What the class variables stand for.
  span<const term_id> terms(std::size_t m) const {
    return span(terms_).subspan(m * layout_.classes, layout_.classes);
  }
  class_term& made(std::size_t term, std::size_t m) {
    return made_[m * rule_.right.terms.size() + term];
  }

  justification by_rule(std::size_t pattern) const {
    return {equality_kind::rule, name_, static_cast<std::uint8_t>(pattern)};
  }
  left_instance<Language> left_of(std::size_t m) {
    return {graph_,   proofs_,    rule_.left, registers_ + m * rule_.left.registers,
            terms(m), payloads(m)};
  }

  void build(std::size_t number) {
    const std::size_t first = rule_.right.starts[number];
    for (std::size_t i = first + rule_.right.terms[first].size; i-- > first;) {
      for (std::size_t m = 0; m < count_; ++m) {
        const proof_record::context context(proofs_, by_rule(number));
        changes_.note(graph_, m, [&] {
          if (i > first) {
            make(i, number, m);
          } else {
            make_root(number, m);
          }
        });
      }
    }
  }

  class_term value_of(std::size_t term, std::size_t m) {
    const pattern_term& t = rule_.right.terms[term];
    if (t.kind == term_kind::variable) return {classes(m)[t.index], terms(m)[t.index]};
    return made(term, m);
  }
  std::uint32_t payload_of(const pattern_term& term, std::size_t m) const {
    return term.payload == payload_kind::variable ? payloads(m)[term.payload_index] : 0;
  }
  span<const class_term> children_of(std::size_t term, std::size_t m) {
    children_.clear();
    std::size_t child = term + 1;
    for (std::size_t i = 0; i < rule_.right.terms[term].arity; ++i) {
      children_.push_back(value_of(child, m));
      child += rule_.right.terms[child].size;
    }
    return children_;
  }

  void make(std::size_t i, std::size_t number, std::size_t m) {
    const pattern_term& term = rule_.right.terms[i];
    const class_id root = roots(m)[number];
    const class_id first_made = graph_.class_id_end();
    if (term.kind == term_kind::literal) {
      made(i, m) = literal(rule_.right.literals[term.index], root);
    } else if (term.kind == term_kind::apply) {
      made(i, m) = recorder::add(graph_, term.op, payload_of(term, m), children_of(i, m), why_);
    }
    if (graph_.class_id_end() > first_made)
      proofs_.founded_by_rule(first_made, name_, {root, left_of(m).of_pattern(number, root)});
  }

  void make_root(std::size_t number, std::size_t m) {
    const class_id root = roots(m)[number];
    const std::size_t first = rule_.right.starts[number];
    const pattern_term& term = rule_.right.terms[first];
    if (term.kind == term_kind::apply) {
      const std::uint32_t payload = payload_of(term, m);
      const auto children = children_of(first, m);
      if (is_known(root, term.op, payload, children) && !wants_alternative()) return;
      const class_term target{root, left_of(m).of_pattern(number, root)};
      recorder::add_to_class(graph_, target, term.op, payload, children, why_);
      return;
    }
    make(first, number, m);
    const class_term same = value_of(first, m);
    if (graph_.find(root) != graph_.find(same.id) || wants_alternative())
      recorder::unite(graph_, {root, left_of(m).of_pattern(number, root)}, same);
  }

  bool wants_alternative() const { return proofs_.has_room_for_alternative(); }

  // Does the class hold the node already?
  bool is_known(class_id home, std::uint16_t op, std::uint32_t payload,
                span<const class_term> children) {
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

  void compute(std::size_t m) {
    left_instance<Language> left = left_of(m);
    std::array<class_id, max_patterns> current_roots;
    std::array<class_id, max_variables> current_classes;
    const proof_record::context context(proofs_, by_rule(0));
    std::vector<term_id> lefts;
    for (std::size_t i = 0; i < layout_.roots; ++i) {
      lefts.push_back(left.of_pattern(i, roots(m)[i]));
      current_roots[i] = graph_.find(roots(m)[i]);
      proofs_.given_out(current_roots[i], lefts[i]);
    }
    for (std::size_t i = 0; i < layout_.classes; ++i) {
      current_classes[i] = graph_.find(classes(m)[i]);
      proofs_.given_out(current_classes[i], terms(m)[i]);
    }
    proofs_.set_matched(lefts);
    const match found(rule_.variables, {current_roots.data(), layout_.roots},
                      {current_classes.data(), layout_.classes}, payloads(m));
    const class_id first_made = graph_.class_id_end();
    const auto result = rule_.compute(graph_, found);
    const class_term target{current_roots[0], lefts[0]};
    proofs_.founded_by_rule(first_made, name_, target);
    if (result) recorder::unite(graph_, target, {*result, proofs_.meant(*result)});
  }

  egraph<Language>& graph_;
  const rule<Language>& rule_;
  match_layout layout_;
  reason why_;
  proof_record& proofs_;
  std::uint32_t name_;
  const class_id* registers_;
  span<const std::uint32_t> matches_;  // the block
  std::size_t count_ = 0;              // of its matches
  std::vector<term_id> terms_;         // by match and class variable
  std::vector<class_term> made_;       // by match and term of the right side
  std::vector<class_term> children_;
  change_counter changes_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
