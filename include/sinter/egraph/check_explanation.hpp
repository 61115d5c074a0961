// SPDX-License-Identifier: MIT
//
// A checker of explanations that shares no code with the engine but the list of terms and the table
// of operators: it reads the rules' text itself and works on plain terms, so that a mistake in the
// engine cannot hide itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph/check_pattern.hpp>
#include <sinter/egraph/explanation.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// What the text of a rule does not say is for the caller to judge; a step that needs a judge that
/// is empty is rejected, except that conditions may remain unchecked. Sides are in the direction of
/// the rule or union, not of the step.
struct judges {
  /// Is the term the literal that a pattern writes like this?
  checking::literal_judge literal;
  /// May the computed right side of the rule be `right`?
  std::function<bool(const term_list&, std::string_view rule, term_id left, term_id right)>
      computed;
  /// Do the conditions of the rule hold? For a multi-pattern these include that the other patterns
  /// match.
  std::function<bool(const term_list&, std::string_view rule, const checking::substitution&)>
      condition;
  /// May the analysis say that the two are equal?
  std::function<bool(const term_list&, term_id left, term_id right)> analysis;
  /// Were the two made equal by hand? For a union that a rule's function made besides the rule's
  /// own, `name` is the rule's.
  std::function<bool(const term_list&, std::string_view name, term_id left, term_id right)> given;
};

struct check_result {
  bool accepted = false;
  std::size_t step = 0;  ///< the first one that is wrong; the number of steps if it is the end
  std::string problem;   ///< empty if accepted
  std::vector<std::size_t> unchecked;  ///< steps whose conditions nobody judged

  explicit operator bool() const { return accepted; }
};

/// The two terms that an explanation is asked for.
struct asked_terms {
  const term_list& terms;
  term_id from;
  term_id to;
};

template <class Language>
class explanation_checker {
 public:
  explanation_checker(const explanation& why, span<const rule_text> rules, const judges& judged)
      : why_(why), terms_(why.terms), rules_(rules), judges_(judged) {}

  check_result check(const asked_terms& asked) {
    if (!well_formed()) return result_;
    if (!same(asked.terms, asked.from, why_.from)) {
      reject(0, "the explanation starts from another term");
      return result_;
    }
    for (std::size_t i = 0; i < why_.steps.size(); ++i) {
      if (!check_step(i)) return result_;
    }
    if (why_.before(why_.steps.size()) != why_.to || !same(asked.terms, asked.to, why_.to)) {
      reject(why_.steps.size(), "the explanation does not end with the term that was asked for");
      return result_;
    }
    result_.accepted = true;
    return result_;
  }

 private:
  bool reject(std::size_t step, std::string problem) {
    result_.step = step;
    result_.problem = std::move(problem);
    return false;
  }

  bool well_formed() {
    for (term_id id = 0; id < terms_.size(); ++id) {
      const term_view term = terms_[id];
      if (term.op >= Language::operators.size()) return reject(0, "a term has no operator");
      const int arity = Language::operators[term.op].arity;
      if (arity >= 0 && term.children.size() != static_cast<std::size_t>(arity))
        return reject(0, "a term has a wrong number of children");
      for (const term_id child : term.children) {
        if (child >= id) return reject(0, "a term contains itself");
      }
    }
    if (why_.from >= terms_.size() || why_.to >= terms_.size()) return reject(0, "no such term");
    for (std::size_t i = 0; i < why_.steps.size(); ++i) {
      if (why_.steps[i].result >= terms_.size()) return reject(i, "no such term");
    }
    return true;
  }

  // Is `id` of another list the same term as `own`?
  bool same(const term_list& other, term_id id, term_id own) {
    std::map<std::pair<term_id, term_id>, bool> known;
    const std::function<bool(term_id, term_id)> equal = [&](term_id a, term_id b) {
      const auto [found, is_new] = known.try_emplace({a, b}, false);
      if (!is_new) return found->second;
      const term_view x = other[a], y = terms_[b];
      return found->second = x.op == y.op && x.payload == y.payload &&
                             std::ranges::equal(x.children, y.children, equal);
    };
    return equal(id, own);
  }

  bool check_step(std::size_t number) {
    const explanation_step& step = why_.steps[number];
    term_id before = why_.before(number);
    term_id after = step.result;
    for (const std::uint32_t child : step.position) {
      const term_view x = terms_[before], y = terms_[after];
      if (child >= x.children.size()) return reject(number, "there is no such position");
      if (x.op != y.op || x.payload != y.payload || x.children.size() != y.children.size())
        return reject(number, "the term changes above the position");
      for (std::size_t i = 0; i < x.children.size(); ++i) {
        if (i != child && x.children[i] != y.children[i])
          return reject(number, "the term changes beside the position");
      }
      before = x.children[child];
      after = y.children[child];
    }
    const term_id left = step.forward ? before : after;
    const term_id right = step.forward ? after : before;
    switch (step.kind) {
      case step_kind::rule: return check_rule(number, left, right);
      case step_kind::commutative:
        return is_permutation(left, right) || reject(number, "the children are not permuted");
      case step_kind::analysis:
        return (judges_.analysis && judges_.analysis(terms_, left, right)) ||
               reject(number, "the analysis may not say so");
      case step_kind::given:
        return (judges_.given && judges_.given(terms_, step.name, left, right)) ||
               reject(number, "no such equality was given");
    }
    return reject(number, "no such kind of step");
  }

  bool is_permutation(term_id left, term_id right) const {
    const term_view x = terms_[left], y = terms_[right];
    return Language::operators[x.op].commutative && x.op == y.op && x.payload == y.payload &&
           std::ranges::is_permutation(x.children, y.children);
  }

  // Several rules may have one name.
  bool check_rule(std::size_t number, term_id left, term_id right) {
    const explanation_step& step = why_.steps[number];
    std::string problem = "no rule is called '" + step.name + "'";
    for (const rule_text& rule : rules_) {
      if (rule.name != step.name) continue;
      problem = apply_rule(number, rule, left, right);
      if (problem.empty()) return true;
    }
    return reject(number, std::move(problem));
  }

  // Returns what is wrong.
  std::string apply_rule(std::size_t number, const rule_text& rule, term_id left, term_id right) {
    const explanation_step& step = why_.steps[number];
    if (step.pattern >= rule.patterns.size()) return "the rule has no such pattern";
    const pattern_text& text = rule.patterns[step.pattern];
    checking::substitution values;
    const auto left_tree = checking::pattern_reader::read(text.left);
    if (!left_tree) return "the rule's left side is no pattern";
    if (!checking::matches<Language>(terms_, left, *left_tree, values, judges_.literal))
      return "the left side does not match";
    if (rule.computed) {
      if (!judges_.computed || !judges_.computed(terms_, rule.name, left, right))
        return "the computed right side may not be this";
    } else {
      const auto right_tree = checking::pattern_reader::read(text.right);
      if (!right_tree) return "the rule's right side is no pattern";
      if (!checking::matches<Language>(terms_, right, *right_tree, values, judges_.literal))
        return "the right side does not match";
    }
    if (rule.conditional || rule.patterns.size() > 1) {
      if (!judges_.condition) {
        result_.unchecked.push_back(number);
      } else if (!judges_.condition(terms_, rule.name, values)) {
        return "the condition does not hold";
      }
    }
    return {};
  }

  const explanation& why_;
  const term_list& terms_;
  span<const rule_text> rules_;
  const judges& judges_;
  check_result result_;
};

/// Checks every step of an explanation, and that it leads from the one term asked for to the other.
/// Each step tries the rules of its name and follows its position; terms are compared once each.
template <class Language>
check_result check_explanation(const explanation& why, const asked_terms& asked,
                               span<const rule_text> rules, const judges& judged = {}) {
  return explanation_checker<Language>(why, rules, judged).check(asked);
}

}  // namespace sinter::inline SINTER_ABI::eqsat
