// SPDX-License-Identifier: MIT
//
// Patterns as text and as values. `(mul ?x (sigmoid ?x))` is parsed, in constant evaluation or at
// run time, into a short array of terms in prefix order. Grammar:
//
//   term    := ?name | ?_ | literal | operator payload? | '(' operator payload? term* ')'
//   payload := '[' ?name ']' | '[_]'                  none: the payload must be 0
//
// `?_` and `[_]` match anything and bind nothing. Literals are what the language's `parse_literal`
// accepts. What is wrong with a text is recorded as a `pattern_fault`, which fault.hpp turns into a
// compile error or an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sinter/egraph/language.hpp>
#include <sinter/support/inline_vector.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

inline constexpr std::size_t max_terms = 40;      ///< terms of all patterns of one side of a rule
inline constexpr std::size_t max_variables = 16;  ///< class variables of a rule
inline constexpr std::size_t max_payloads = 8;    ///< payload variables of a rule
inline constexpr std::size_t max_literals = 8;    ///< literals of one side of a rule
inline constexpr std::size_t max_patterns = 4;    ///< patterns of a multi-pattern

enum class term_kind : std::uint8_t { variable, any, literal, apply };
enum class payload_kind : std::uint8_t { zero, any, variable };

struct pattern_term {
  term_kind kind = term_kind::any;
  std::uint8_t index = 0;  ///< which variable or literal
  std::uint16_t op = 0;
  std::uint8_t arity = 0;
  payload_kind payload = payload_kind::zero;
  std::uint8_t payload_index = 0;  ///< which payload variable
  std::uint8_t size = 1;           ///< terms of this sub-term, itself included

  friend constexpr bool operator==(const pattern_term&, const pattern_term&) = default;
};

/// A name of at most 22 characters, kept by value: a rule may outlive the text it was parsed from.
struct variable_name {
  char text[23] = {};
  std::uint8_t length = 0;

  static constexpr std::size_t capacity = 22;
  constexpr variable_name() = default;
  constexpr explicit variable_name(std::string_view name)
      : length(static_cast<std::uint8_t>(name.size())) {
    for (std::size_t i = 0; i < name.size(); ++i) text[i] = name[i];
  }
  constexpr std::string_view view() const { return {text, length}; }
};

/// The variables of a rule, shared by all of its patterns. Numbers are given in order of first
/// appearance.
struct variable_table {
  inline_vector<variable_name, max_variables> classes;
  inline_vector<variable_name, max_payloads> payloads;
};

/// Index of `name` (with or without its question mark), or -1.
template <std::size_t N>
constexpr int find_name(const inline_vector<variable_name, N>& names, std::string_view name) {
  if (!name.empty() && name.front() == '?') name.remove_prefix(1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].view() == name) return static_cast<int>(i);
  }
  return -1;
}

/// One side of a rule: one or more patterns in prefix order, one after the other.
struct pattern_list {
  inline_vector<pattern_term, max_terms> terms;
  inline_vector<double, max_literals> literals;
  inline_vector<std::uint8_t, max_patterns> starts;  ///< where each pattern begins in `terms`
};

enum class fault_kind : std::uint8_t {
  none,
  unknown_operator,
  wrong_number_of_children,
  unbalanced_parenthesis,
  text_after_pattern,
  empty_pattern,
  malformed_payload,
  variable_not_bound,
  payload_not_bound,
  wildcard_on_right_side,
  left_side_is_no_operator,
  too_large,
};

struct pattern_fault {
  fault_kind kind = fault_kind::none;
  std::string_view text;   ///< the pattern
  std::string_view token;  ///< the part that is wrong

  constexpr explicit operator bool() const { return kind != fault_kind::none; }
};

/// Parses one pattern after another into one `pattern_list`. On the right side (`binds` false)
/// every variable must be in the table already.
template <class Language>
class pattern_parser {
 public:
  constexpr pattern_parser(pattern_list& out, variable_table& variables, bool binds)
      : out_(out), variables_(variables), binds_(binds) {}

  /// Appends the pattern `text`. Iterative, so that the compiler's trace of a typo stays short.
  constexpr pattern_fault parse(std::string_view text) {
    text_ = text;
    at_ = 0;
    if (out_.starts.full()) return fault(fault_kind::too_large, text);
    const std::size_t start = out_.terms.size();
    out_.starts.push_back(static_cast<std::uint8_t>(start));
    inline_vector<std::uint8_t, max_terms> open;
    for (;;) {
      const std::string_view token = next_token();
      if (token.empty())
        return fault(open.empty() ? fault_kind::empty_pattern : fault_kind::unbalanced_parenthesis,
                     text);
      if (token == ")") {
        if (open.empty()) return fault(fault_kind::unbalanced_parenthesis, token);
        if (const pattern_fault wrong = close(open.back())) return wrong;
        open.pop_back();
      } else {
        if (out_.terms.full()) return fault(fault_kind::too_large, token);
        if (!open.empty()) ++out_.terms[open.back()].arity;
        const bool opens = token == "(";
        const auto index = static_cast<std::uint8_t>(out_.terms.size());
        if (const pattern_fault wrong = opens ? push_operator(next_token()) : push_atom(token))
          return wrong;
        if (opens) open.push_back(index);
      }
      if (open.empty()) break;
    }
    if (!next_token().empty()) return fault(fault_kind::text_after_pattern, text.substr(at_ - 1));
    if (binds_ && out_.terms[start].kind != term_kind::apply)
      return fault(fault_kind::left_side_is_no_operator, text);
    return {};
  }

 private:
  static constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  static constexpr bool ends_word(char c) {
    return is_space(c) || c == '(' || c == ')' || c == '[' || c == ']';
  }

  constexpr pattern_fault fault(fault_kind kind, std::string_view token) const {
    return {kind, text_, token};
  }

  constexpr std::string_view next_token() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    const std::size_t first = at_;
    if (at_ == text_.size()) return {};
    if (ends_word(text_[at_])) return text_.substr(at_++, 1);
    while (at_ < text_.size() && !ends_word(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }

  constexpr pattern_fault push_operator(std::string_view name) {
    const int op = find_operator<Language>(name);
    if (op < 0) return fault(fault_kind::unknown_operator, name);
    pattern_term term{.kind = term_kind::apply, .op = static_cast<std::uint16_t>(op)};
    if (at_ < text_.size() && text_[at_] == '[') {
      ++at_;
      const std::string_view payload = next_token();
      if (payload.empty() || next_token() != "]") return fault(fault_kind::malformed_payload, name);
      if (payload == "_") {
        if (!binds_) return fault(fault_kind::wildcard_on_right_side, payload);
        term.payload = payload_kind::any;
      } else if (payload.front() == '?') {
        term.payload = payload_kind::variable;
        if (const pattern_fault wrong = number_of(
                variables_.payloads, payload, fault_kind::payload_not_bound, term.payload_index)) {
          return wrong;
        }
      } else {
        return fault(fault_kind::malformed_payload, payload);
      }
    }
    out_.terms.push_back(term);
    return {};
  }

  constexpr pattern_fault push_atom(std::string_view token) {
    pattern_term term;
    if (token == "?_") {
      if (!binds_) return fault(fault_kind::wildcard_on_right_side, token);
      out_.terms.push_back(term);
      return {};
    }
    if (token.front() == '?') {
      term.kind = term_kind::variable;
      if (const pattern_fault wrong =
              number_of(variables_.classes, token, fault_kind::variable_not_bound, term.index)) {
        return wrong;
      }
      out_.terms.push_back(term);
      return {};
    }
    if (find_operator<Language>(token) < 0) {
      if constexpr (HasParseLiteral<Language>) {
        double value = 0;
        if (Language::parse_literal(token, value)) {
          if (out_.literals.full()) return fault(fault_kind::too_large, token);
          term.kind = term_kind::literal;
          term.index = static_cast<std::uint8_t>(out_.literals.size());
          out_.literals.push_back(value);
          out_.terms.push_back(term);
          return {};
        }
      }
    }
    const auto index = static_cast<std::uint8_t>(out_.terms.size());
    if (const pattern_fault wrong = push_operator(token)) return wrong;
    return close(index);
  }

  // All children of the operator at `index` are there.
  constexpr pattern_fault close(std::uint8_t index) {
    pattern_term& term = out_.terms[index];
    const operator_info& info = Language::operators[term.op];
    if (info.arity >= 0 && info.arity != term.arity)
      return fault(fault_kind::wrong_number_of_children, info.name);
    if (info.commutative && term.arity > 6)
      return fault(fault_kind::too_large, info.name);  // 6! orders to try
    term.size = static_cast<std::uint8_t>(out_.terms.size() - index);
    return {};
  }

  template <std::size_t N>
  constexpr pattern_fault number_of(inline_vector<variable_name, N>& names, std::string_view token,
                                    fault_kind if_unbound, std::uint8_t& number) {
    int found = find_name(names, token);
    if (found < 0) {
      if (!binds_) return fault(if_unbound, token);
      if (names.full() || token.size() - 1 > variable_name::capacity)
        return fault(fault_kind::too_large, token);
      found = static_cast<int>(names.size());
      names.push_back(variable_name(token.substr(1)));
    }
    number = static_cast<std::uint8_t>(found);
    return {};
  }

  pattern_list& out_;
  variable_table& variables_;
  bool binds_;
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
