// SPDX-License-Identifier: MIT
//
// What an e-graph writes down so that it can explain itself: every term as it was inserted, with
// its own children rather than canonical classes (as in egg: "Small Proofs from Congruence
// Closure"), and every equality in the order in which it was found. The order is what makes a
// congruence provable: the children were made equal by what stands before it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph/enode.hpp>
#include <sinter/egraph/term_bank.hpp>
#include <sinter/egraph/union_find.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

enum class equality_kind : std::uint8_t {
  congruence,  ///< same operator, children equal before
  rule,
  analysis,  ///< a union made by the language's `modify`: constant folding, for instance
  given,     ///< a union made by the user, or by a rule's function besides the rule's own
};

/// Why unions are made at present.
struct justification {
  equality_kind kind = equality_kind::given;
  std::uint32_t name = 0;    ///< number of a name in the record
  std::uint8_t pattern = 0;  ///< which pattern of a multi-pattern rule
};

struct equality {
  term_id left = no_id;
  term_id right = no_id;
  justification why;
  std::uint32_t permutation = no_id;  ///< of a congruence whose operator commutes, see `paired`
};

/// How a class came about: a rule put it into its right side, where its left side matched `left`;
/// or the analysis made it (`left` is empty then), or the user (no rule).
struct class_origin {
  std::uint32_t rule = no_id;  ///< number of a name in the record
  class_term left;
};

class proof_record {
 public:
  proof_record() : names_{"given", "analysis"} {}

  // Reading.

  const term_bank& terms() const { return terms_; }
  const std::vector<equality>& equalities() const { return equalities_; }
  const std::string& name(std::uint32_t number) const { return names_[number]; }
  /// The child of `right` that equals child `i` of `left`.
  std::size_t paired(const equality& congruence, std::size_t i) const {
    return congruence.permutation == no_id ? i : permutations_[congruence.permutation + i];
  }
  /// The term that the class was made for; `id` need not be canonical.
  term_id founder(class_id id) const { return founders_[id]; }
  /// The origin of the class that this id was given out for; the ids of `left` are smaller.
  const class_origin& origin(class_id id) const { return origins_[id]; }
  term_id node_term(node_id id) const { return node_terms_[id]; }
  /// Equal by what is recorded so far.
  bool connected(term_id a, term_id b) const { return components_.find(a) == components_.find(b); }

  // What the e-graph tells. Class ids are canonical unless they are called handles.

  term_id intern(std::uint16_t op, std::uint32_t payload, span<const term_id> children) {
    const term_id id = terms_.add(op, payload, children);
    if (components_.size() < terms_.size()) components_.make_set();
    return id;
  }
  void class_founded(term_id term, node_id node) {
    founders_.push_back(term);
    origins_.push_back({why_.kind == equality_kind::analysis ? why_.name : no_id, {}});
    folded_.push_back(no_id);
    support_.push_back({node, data_changes_++});
    waiting_.push_back(true);
  }
  /// The classes from `first` on were made for the right side of a rule.
  void founded_by_rule(class_id first, std::uint32_t rule, class_term left) {
    for (std::size_t id = first; id < origins_.size(); ++id) origins_[id] = {rule, left};
  }
  void node_added(term_id term) { node_terms_.push_back(term); }

  /// The term denotes what the node does: same operator, children of the same classes.
  void same_node(term_id term, node_id node, bool commutative) {
    congruent(term, node_terms_[node], commutative);
  }
  void congruent(term_id left, term_id right, bool commutative) {
    if (connected(left, right)) return;
    equality made{left, right, {.kind = equality_kind::congruence}, no_id};
    made.permutation = pair_children(left, right, commutative);
    equalities_.push_back(made);
    connect(left, right);
  }
  /// An equality by the present justification. If the two are connected already, it is an
  /// alternative and may be the shorter way.
  void united(term_id left, term_id right) {
    if (left == right) return;
    if (connected(left, right)) ++alternatives_;
    equalities_.push_back({left, right, why_, no_id});
    connect(left, right);
  }

  /// Alternatives make explanations some 40 % shorter (random pairs of the math-microbenchmark),
  /// but there may be a hundred times more of them than nodes: one for each node is recorded.
  bool has_room_for_alternative() const { return alternatives_ < node_terms_.size(); }

  /// The data of the class come from this node.
  void data_from(class_id id, node_id node) {
    support_[id] = {node, data_changes_++};
    waiting_[id] = true;
  }
  /// Of two classes with the same data, what came first stands: so data never come from themselves.
  void classes_joined(class_id winner, class_id loser, merge_result merged) {
    const bool same = !merged.into_changed && !merged.from_differs;
    if (merged.into_changed || (same && support_[loser].order < support_[winner].order)) {
      support_[winner] = support_[loser];
      waiting_[winner] = true;
    }
    if (folded_[winner] == no_id) folded_[winner] = folded_[loser];
  }
  node_id support(class_id id) const { return support_[id].node; }
  /// Has the data of the class changed since `modify` saw it?
  bool waits_for_modify(class_id id) const { return waiting_[id]; }
  void set_waiting(class_id id, bool waits) { waiting_[id] = waits; }
  /// The language's `modify` is about to run for a class whose data come from this term.
  void analysing(class_term subject) {
    subject_ = subject.term;
    given_out(subject.id, subject.term);
  }
  /// `modify` made the class one with another.
  void folded(class_id id, term_id a, term_id b) {
    if (a == subject_ || b == subject_) folded_[id] = a == subject_ ? b : a;
  }
  /// A term of the class from which to see its data: what `modify` made of it, or the leaf that
  /// they come from, rather than the term that founded it.
  term_id witness(class_id id) const {
    const term_id seen = witness_of_data(id);
    return seen != no_id ? seen : founders_[id];
  }
  /// The same, but no_id rather than the founder.
  term_id witness_of_data(class_id id) const {
    if (folded_[id] != no_id) return folded_[id];
    const term_id known = node_terms_[support_[id].node];
    return terms_[known].children.empty() ? known : no_id;
  }

  // Where the e-graph gives out class ids for terms that it does not keep apart, the record
  // remembers which was meant, as long as a rule or an analysis is at work.

  term_id meant(class_id handle) const {
    const term_id known = meant_now(handle);
    return known != no_id ? known : founders_[handle];
  }
  /// The same for a class that is known to hold a literal.
  term_id meant_literal(class_id handle, class_id canonical) const {
    const term_id known = meant_now(handle);
    return known != no_id ? known : witness(canonical);
  }
  void given_out(class_id handle, term_id term) {
    if (at_work_) meant_.push_back({handle, term});
  }

  std::uint32_t number_of(std::string_view name) {
    const auto [found, added] =
        numbers_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
    if (added) names_.emplace_back(name);
    return found->second;
  }
  const justification& why() const { return why_; }
  justification exchange_why(const justification& why) { return std::exchange(why_, why); }

  /// The left sides' instances of the match that a rule's function works on.
  void set_matched(span<const term_id> lefts) { matched_.assign(lefts.begin(), lefts.end()); }
  static constexpr std::uint8_t no_pattern = 0xff;
  std::uint8_t matched_pattern(term_id term) const {
    const auto found = std::find(matched_.begin(), matched_.end(), term);
    return found == matched_.end() ? no_pattern
                                   : static_cast<std::uint8_t>(found - matched_.begin());
  }

  /// Unions have this justification until the object dies.
  class context {
   public:
    context(proof_record& record, justification why)
        : record_(record),
          why_(std::exchange(record.why_, why)),
          at_work_(std::exchange(record.at_work_, why.kind != equality_kind::given)) {}
    context(const context&) = delete;
    context& operator=(const context&) = delete;
    ~context() {
      record_.why_ = why_;
      record_.at_work_ = at_work_;
      record_.meant_.clear();
    }

   private:
    proof_record& record_;
    justification why_;
    bool at_work_;
  };

  static constexpr justification by_analysis{equality_kind::analysis, 1, 0};

 private:
  term_id meant_now(class_id handle) const {
    for (std::size_t i = meant_.size(); i-- > 0;) {
      if (meant_[i].id == handle) return meant_[i].term;
    }
    return no_id;
  }
  void connect(term_id a, term_id b) {
    a = components_.find_and_compress(a);
    b = components_.find_and_compress(b);
    if (a == b) return;
    if (component_size(a) < component_size(b)) std::swap(a, b);
    sizes_[a] += component_size(b);
    components_.link(a, b);
  }
  std::uint32_t component_size(term_id root) {
    if (sizes_.size() < components_.size()) sizes_.resize(components_.size(), 1);
    return sizes_[root];
  }

  // For each child of `left`, a child of `right` that is known to be equal. no_id for the identity.
  std::uint32_t pair_children(term_id left, term_id right, bool commutative) {
    const auto a = terms_[left].children, b = terms_[right].children;
    if (std::equal(a.begin(), a.end(), b.begin(), b.end(),
                   [this](term_id x, term_id y) { return connected(x, y); })) {
      return no_id;
    }
    const auto start = static_cast<std::uint32_t>(permutations_.size());
    std::vector<bool> taken(b.size(), false);
    for (std::size_t i = 0; i < a.size(); ++i) {
      std::size_t j = 0;
      while (j < b.size() && (taken[j] || !connected(a[i], b[j]))) ++j;
      if (j == b.size() || !commutative)
        raise(error("e-graph: a congruence whose children are not equal"));
      taken[j] = true;
      permutations_.push_back(static_cast<std::uint16_t>(j));
    }
    return start;
  }

  struct data_source {
    node_id node;
    std::uint64_t order;
  };

  term_bank terms_;
  union_find components_;             // of terms
  std::vector<std::uint32_t> sizes_;  // of components, at their roots
  std::vector<equality> equalities_;
  std::size_t alternatives_ = 0;
  std::vector<std::uint16_t> permutations_;
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;

  std::vector<term_id> node_terms_;    // by node
  std::vector<term_id> founders_;      // by class
  std::vector<class_origin> origins_;  // by class
  std::vector<term_id> folded_;        // by class: what its analysis added to it, or no_id
  std::vector<data_source> support_;   // by class: where its data come from
  std::uint64_t data_changes_ = 0;
  std::vector<bool> waiting_;  // by class: its data have changed since `modify` ran

  justification why_;
  bool at_work_ = false;
  term_id subject_ = no_id;
  std::vector<class_term> meant_;
  std::vector<term_id> matched_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
