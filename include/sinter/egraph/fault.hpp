// SPDX-License-Identifier: MIT
//
// How a mistake in the text of a rule is reported. The functions below are deliberately not
// constexpr: calling one in constant evaluation stops the compiler, and the function's name is then
// the first line of its message. At run time they throw `sinter::error` with the whole story.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <sinter/egraph/pattern.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

[[noreturn]] inline void throw_pattern_error(std::string_view problem, const pattern_fault& fault) {
  raise(error("pattern \"" + std::string(fault.text) + "\": " + std::string(problem) + " '" +
              std::string(fault.token) + "'"));
}

[[noreturn]] inline void pattern_has_an_unknown_operator(const pattern_fault& fault) {
  throw_pattern_error("the language has no operator", fault);
}
[[noreturn]] inline void pattern_has_a_wrong_number_of_children(const pattern_fault& fault) {
  throw_pattern_error("wrong number of children for", fault);
}
[[noreturn]] inline void pattern_has_unbalanced_parentheses(const pattern_fault& fault) {
  throw_pattern_error("unbalanced parenthesis in", fault);
}
[[noreturn]] inline void pattern_is_followed_by_more_text(const pattern_fault& fault) {
  throw_pattern_error("the pattern ends before", fault);
}
[[noreturn]] inline void pattern_is_empty(const pattern_fault& fault) {
  throw_pattern_error("no term in", fault);
}
[[noreturn]] inline void pattern_has_a_malformed_payload(const pattern_fault& fault) {
  throw_pattern_error("a payload is written [?name] or [_], not as at", fault);
}
[[noreturn]] inline void right_side_has_a_variable_that_the_left_side_does_not_bind(
    const pattern_fault& fault) {
  throw_pattern_error("the left side does not bind", fault);
}
[[noreturn]] inline void right_side_has_a_payload_that_the_left_side_does_not_bind(
    const pattern_fault& fault) {
  throw_pattern_error("the left side does not bind the payload", fault);
}
[[noreturn]] inline void right_side_has_a_wildcard(const pattern_fault& fault) {
  throw_pattern_error("a right side cannot contain", fault);
}
[[noreturn]] inline void left_side_must_start_with_an_operator(const pattern_fault& fault) {
  throw_pattern_error("a left side must start with an operator, not", fault);
}
[[noreturn]] inline void pattern_is_too_large(const pattern_fault& fault) {
  throw_pattern_error("too many terms, variables or literals, or too long a name, at", fault);
}

/// What to call for a fault, by `fault_kind`. A rule's maker calls through this table itself: one
/// frame less in the compiler's message.
inline constexpr std::array<void (*)(const pattern_fault&), 12> fault_reports{
    nullptr,
    pattern_has_an_unknown_operator,
    pattern_has_a_wrong_number_of_children,
    pattern_has_unbalanced_parentheses,
    pattern_is_followed_by_more_text,
    pattern_is_empty,
    pattern_has_a_malformed_payload,
    right_side_has_a_variable_that_the_left_side_does_not_bind,
    right_side_has_a_payload_that_the_left_side_does_not_bind,
    right_side_has_a_wildcard,
    left_side_must_start_with_an_operator,
    pattern_is_too_large,
};

/// Ends constant evaluation, or throws, when there is a fault.
constexpr void report_fault(const pattern_fault& fault) {
  if (fault) fault_reports[static_cast<std::size_t>(fault.kind)](fault);
}

}  // namespace sinter::inline SINTER_ABI::eqsat
