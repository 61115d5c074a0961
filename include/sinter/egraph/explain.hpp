// SPDX-License-Identifier: MIT
//
// Why two terms are equal, from what the e-graph recorded: a shortest way through the recorded
// equalities, where a congruence is replaced by the ways between the children.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/explanation.hpp>
#include <sinter/egraph/proof_search.hpp>
#include <sinter/egraph/rule.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Writes one way between two terms as a sequence of whole terms.
class explanation_writer {
 public:
  explanation_writer(const proof_record& record, std::size_t max_steps)
      : record_(record), search_(record), max_steps_(max_steps) {}

  explanation write(term_id from, term_id to) {
    explanation out;
    out.from = whole_ = import(from);
    out.to = import(to);
    write_path(search_.path(from, to));
    out.steps = without_loops(out.from);
    out.terms = terms_.terms();
    return out;
  }

 private:
  void write_path(const proof_path& path) {
    for (const path_edge& edge : path) write_edge(edge);
  }
  void write_reversed(const proof_path& path) {
    for (std::size_t i = path.size(); i-- > 0;) write_edge({path[i].number, !path[i].forward});
  }

  void write_edge(const path_edge& edge) {
    const equality& used = record_.equalities()[edge.number];
    if (used.why.kind == equality_kind::congruence) {
      write_congruence(edge, used);
      return;
    }
    step_kind kind = step_kind::given;
    if (used.why.kind == equality_kind::rule) kind = step_kind::rule;
    if (used.why.kind == equality_kind::analysis) kind = step_kind::analysis;
    replace(import(edge.forward ? used.right : used.left), {.kind = kind,
                                                            .forward = edge.forward,
                                                            .pattern = used.why.pattern,
                                                            .name = record_.name(used.why.name)});
  }

  // Forward: first the children become those of the right side, then their order does.
  void write_congruence(const path_edge& edge, const equality& used) {
    const std::vector<proof_path>& children = search_.children_of(edge.number);
    if (!edge.forward) reorder(used, false);
    for (std::size_t i = 0; i < children.size(); ++i) {
      position_.push_back(static_cast<std::uint32_t>(i));
      if (edge.forward) {
        write_path(children[i]);
      } else {
        write_reversed(children[i]);
      }
      position_.pop_back();
    }
    if (edge.forward) reorder(used, true);
  }

  void reorder(const equality& used, bool forward) {
    const term_view right = record_.terms()[used.right];
    std::vector<term_id> paired;
    bool same = true;
    for (std::size_t i = 0; i < right.children.size(); ++i) {
      const term_id child = right.children[record_.paired(used, i)];
      same = same && child == right.children[i];
      paired.push_back(import(child));
    }
    if (same) return;
    replace(forward ? import(used.right) : terms_.add(right.op, right.payload, paired),
            {.kind = step_kind::commutative, .name = "commutative"});
  }

  void replace(term_id part, explanation_step step) {
    if (steps_.size() == max_steps_) {
      raise(error("explanation: more than " + std::to_string(max_steps_) + " steps"));
    }
    std::vector<term_id> above;  // from the root down
    term_id at = whole_;
    for (const std::uint32_t child : position_) {
      above.push_back(at);
      at = terms_[at].children[child];
    }
    for (std::size_t i = above.size(); i-- > 0;) {
      const term_view old = terms_[above[i]];
      std::vector<term_id> children(old.children.begin(), old.children.end());
      children[position_[i]] = part;
      part = terms_.add(old.op, old.payload, children);
    }
    whole_ = step.result = part;
    step.position = position_;
    steps_.push_back(std::move(step));
  }

  // Ways that cross each other where a congruence is taken apart may come by the same term twice.
  std::vector<explanation_step> without_loops(term_id from) {
    std::unordered_map<term_id, std::size_t> after_last;  // steps up to the last visit of a term
    after_last[from] = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i) after_last[steps_[i].result] = i + 1;
    std::vector<explanation_step> kept;
    for (std::size_t i = after_last[from]; i < steps_.size();) {
      kept.push_back(std::move(steps_[i]));
      i = after_last[kept.back().result];
    }
    return kept;
  }

  // A term of the record in the explanation's own list.
  term_id import(term_id id) {
    if (const auto known = imported_.find(id); known != imported_.end()) return known->second;
    const term_view original = record_.terms()[id];
    std::vector<term_id> children;
    for (const term_id child : original.children) children.push_back(import(child));
    return imported_[id] = terms_.add(original.op, original.payload, children);
  }

  const proof_record& record_;
  proof_search search_;
  std::size_t max_steps_;
  term_bank terms_;
  std::unordered_map<term_id, term_id> imported_;
  std::vector<std::uint32_t> position_;
  std::vector<explanation_step> steps_;
  term_id whole_ = no_id;
};

/// What is recorded, if the terms are equal by that. Throws `sinter::error` otherwise.
template <class Language>
const proof_record& record_of(const egraph<Language>& graph, term_id from, term_id to) {
  const proof_record* record = graph.proofs();
  if (record == nullptr) raise(error("explanation: the e-graph was built without record_proofs()"));
  if (from >= record->terms().size() || to >= record->terms().size())
    raise(error("explanation: the e-graph has no such term"));
  if (!record->connected(from, to)) raise(error("explanation: the terms are not equal"));
  return *record;
}

inline constexpr std::size_t default_max_steps = 100'000;

/// Why two terms (from `add_term`, or the record's founders) are equal. Breadth-first search over
/// the recorded equalities of their class, and over those of the children for each congruence used.
/// Throws `sinter::error` if proofs were not recorded, if the terms are not equal, or if the
/// explanation has more than `max_steps` steps (written out, it may be exponentially long).
template <class Language>
explanation explain_terms(const egraph<Language>& graph, term_id from, term_id to,
                          std::size_t max_steps = default_max_steps) {
  return explanation_writer(record_of(graph, from, to), max_steps).write(from, to);
}

/// The equalities that the same explanation uses, by number in the record, each once, in the order
/// of their first use and without congruences. No terms are written, so sharing does no harm.
template <class Language>
std::vector<std::uint32_t> equalities_between(const egraph<Language>& graph, term_id from,
                                              term_id to) {
  const proof_record& record = record_of(graph, from, to);
  proof_search search(record);
  std::vector<std::uint32_t> out;
  std::vector<bool> seen(record.equalities().size(), false);
  const std::function<void(const proof_path&, bool)> follow = [&](const proof_path& path,
                                                                  bool forward) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      const path_edge edge = path[forward ? i : path.size() - 1 - i];
      if (seen[edge.number]) continue;
      seen[edge.number] = true;
      if (record.equalities()[edge.number].why.kind != equality_kind::congruence) {
        out.push_back(edge.number);
        continue;
      }
      for (const proof_path& child : search.children_of(edge.number))
        follow(child, edge.forward == forward);
    }
  };
  follow(search.path(from, to), true);
  return out;
}

/// The same for the terms that `add` made these class ids for; see `egraph::add_term`.
template <class Language>
explanation explain(const egraph<Language>& graph, class_id from, class_id to,
                    std::size_t max_steps = default_max_steps) {
  const proof_record* record = graph.proofs();
  if (record == nullptr) raise(error("explanation: the e-graph was built without record_proofs()"));
  if (from >= graph.class_id_end() || to >= graph.class_id_end())
    raise(error("explanation: the e-graph has no such class"));
  if (graph.find(from) != graph.find(to)) raise(error("explanation: the terms are not equal"));
  return explain_terms(graph, record->founder(from), record->founder(to), max_steps);
}

/// The rules as text, for the checker; it refers to the text of the rules, which must outlive it.
/// Rules that were parsed at run time do not keep their text and are left out.
template <class Language>
std::vector<rule_text> texts_of(span<const rule<Language>> rules) {
  std::vector<rule_text> out;
  for (const rule<Language>& each : rules) {
    if (each.texts.empty()) continue;
    rule_text& row = out.emplace_back();
    row.name = each.name;
    row.computed = each.compute != nullptr;
    row.conditional = each.guard != nullptr;
    for (const pattern_pair& pair : each.texts) row.patterns.push_back({pair.left, pair.right});
  }
  return out;
}
template <class Language>
std::vector<rule_text> texts_of(const std::vector<rule<Language>>& rules) {
  return texts_of(span<const rule<Language>>(rules));
}

}  // namespace sinter::inline SINTER_ABI::eqsat
