// SPDX-License-Identifier: MIT
// Wrong explanations made from right ones, one mistake each.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/egraph/explanation.hpp>

namespace sinter::test {

/// The term with the sub-term at `position` replaced; what is new is appended to the list.
inline eqsat::term_id with_subterm(eqsat::term_list& terms, eqsat::term_id whole,
                                   const std::vector<std::uint32_t>& position, eqsat::term_id part,
                                   std::size_t depth = 0) {
  if (depth == position.size()) return part;
  const eqsat::term_view old = terms[whole];
  std::vector<eqsat::term_id> children(old.children.begin(), old.children.end());
  const eqsat::term_id child =
      with_subterm(terms, children[position[depth]], position, part, depth + 1);
  children[position[depth]] = child;
  return terms.append(old.op, old.payload, children);
}

/// The same term with another payload at the root.
inline eqsat::term_id with_payload(eqsat::term_list& terms, eqsat::term_id id,
                                   std::uint32_t payload) {
  const eqsat::term_view old = terms[id];
  return terms.append(old.op, payload, std::vector(old.children.begin(), old.children.end()));
}

struct corruption {
  std::string_view name;
  /// Spoils step `i`. False where it would not change anything.
  std::function<bool(eqsat::explanation&, std::size_t i)> apply;
};

/// `reversible`: rules (and other steps) that may be read in both directions at any place where
/// they apply, so that turning them round is no mistake.
inline std::vector<corruption> corruptions(
    std::function<bool(const eqsat::explanation_step&)> reversible) {
  using eqsat::explanation;
  const auto last = [](const explanation& e, std::size_t i) { return i + 1 == e.steps.size(); };
  return {
      {"unknown rule",
       [](explanation& e, std::size_t i) {
         e.steps[i].name += "?";
         return e.steps[i].kind == eqsat::step_kind::rule;
       }},
      {"turned round",
       [=](explanation& e, std::size_t i) {
         e.steps[i].forward = !e.steps[i].forward;
         return !reversible(e.steps[i]);
       }},
      {"another kind",
       [](explanation& e, std::size_t i) {
         const bool rule = e.steps[i].kind == eqsat::step_kind::rule;
         e.steps[i].kind = rule ? eqsat::step_kind::given : eqsat::step_kind::rule;
         if (!rule) e.steps[i].name = "no rule";
         return true;
       }},
      {"position too deep",
       [](explanation& e, std::size_t i) {
         e.steps[i].position.push_back(7);
         return true;
       }},
      {"position too high",
       [](explanation& e, std::size_t i) {
         if (e.steps[i].position.empty()) return false;
         e.steps[i].position.pop_back();
         return true;
       }},
      {"position beside",
       [](explanation& e, std::size_t i) {
         if (e.steps[i].position.empty()) return false;
         ++e.steps[i].position.back();
         return true;
       }},
      {"another result",
       [](explanation& e, std::size_t i) {
         const eqsat::term_id part =
             eqsat::subterm(e.terms, e.steps[i].result, e.steps[i].position);
         const eqsat::term_id wrong = with_payload(e.terms, part, e.terms[part].payload + 1000);
         e.steps[i].result = with_subterm(e.terms, e.steps[i].result, e.steps[i].position, wrong);
         return true;
       }},
      {"a change beside the position",
       [](explanation& e, std::size_t i) {
         if (e.steps[i].position.empty()) return false;
         std::vector<std::uint32_t> beside = e.steps[i].position;
         const std::uint32_t own = beside.back();
         beside.pop_back();
         const eqsat::term_id parent = eqsat::subterm(e.terms, e.steps[i].result, beside);
         if (e.terms[parent].children.size() < 2) return false;
         beside.push_back(own == 0 ? 1 : 0);
         const eqsat::term_id part = eqsat::subterm(e.terms, e.steps[i].result, beside);
         const eqsat::term_id wrong = with_payload(e.terms, part, e.terms[part].payload + 1000);
         e.steps[i].result = with_subterm(e.terms, e.steps[i].result, beside, wrong);
         return true;
       }},
      {"a change above the position",
       [](explanation& e, std::size_t i) {
         if (e.steps[i].position.empty()) return false;
         e.steps[i].result = with_payload(e.terms, e.steps[i].result, 1000);
         return true;
       }},
      {"dropped",
       [](explanation& e, std::size_t i) {
         e.steps.erase(e.steps.begin() + static_cast<std::ptrdiff_t>(i));
         return true;
       }},
      {"the rest dropped",
       [=](explanation& e, std::size_t i) {
         const bool whole = last(e, i);
         e.steps.resize(i + 1);
         return !whole;
       }},
      {"no such term",
       [](explanation& e, std::size_t i) {
         e.steps[i].result = static_cast<eqsat::term_id>(e.terms.size());
         return true;
       }},
  };
}

}  // namespace sinter::test
