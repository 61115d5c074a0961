// SPDX-License-Identifier: MIT
//
// An explanation as plain data: the terms on the way from one term to another, each made from the
// one before by one equality at one place. `explain` makes them, `check_explanation` checks them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/egraph/term_list.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

enum class step_kind : std::uint8_t {
  rule,
  analysis,     ///< what the language's `modify` claimed
  given,        ///< a union by the user, or by a rule's function besides the rule's own
  commutative,  ///< an operator with the flag: its children in another order
};

struct explanation_step {
  step_kind kind = step_kind::rule;
  bool forward = true;                    ///< false: a right side is replaced by a left side
  std::uint8_t pattern = 0;               ///< which pattern of a multi-pattern rule
  std::string name;                       ///< of the rule or union
  std::vector<std::uint32_t> position{};  ///< child numbers from the root to what is replaced
  term_id result = 0;                     ///< the whole term afterwards
};

/// Without steps, `from` and `to` are the same term. Sub-terms are shared: a step adds as many
/// terms to the list as it is deep.
struct explanation {
  term_list terms;
  term_id from = 0;
  term_id to = 0;
  std::vector<explanation_step> steps;

  term_id before(std::size_t step) const { return step == 0 ? from : steps[step - 1].result; }
};

/// A rule as its author wrote it, for checking.
struct pattern_text {
  std::string_view left;
  std::string_view right;
};
struct rule_text {
  std::string_view name;
  std::vector<pattern_text> patterns;  ///< several for a multi-pattern
  bool computed = false;               ///< the right side is a function
  bool conditional = false;
};

/// The sub-term at `position`; the position must exist.
inline term_id subterm(const term_list& terms, term_id whole,
                       const std::vector<std::uint32_t>& position) {
  for (const std::uint32_t child : position) whole = terms[whole].children[child];
  return whole;
}

}  // namespace sinter::inline SINTER_ABI::eqsat
