// SPDX-License-Identifier: MIT
//
// The checker's own reading of a rule's text: patterns as trees, matched against plain terms. On
// purpose it shares nothing with the engine's parser, programs and matcher; what it shares is the
// language's table of operators.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph/term_list.hpp>

namespace sinter::inline SINTER_ABI::eqsat::checking {

/// What variables stand for. Names are without question marks.
struct substitution {
  std::vector<std::pair<std::string, term_id>> terms;
  std::vector<std::pair<std::string, std::uint32_t>> payloads;

  std::optional<term_id> term(std::string_view name) const { return get(terms, name); }
  std::optional<std::uint32_t> payload(std::string_view name) const { return get(payloads, name); }

  /// False if the variable has another value already.
  bool bind_term(std::string_view name, term_id value) { return bind(terms, name, value); }
  bool bind_payload(std::string_view name, std::uint32_t value) {
    return bind(payloads, name, value);
  }

 private:
  using entries = std::vector<std::pair<std::string, std::uint32_t>>;
  static std::optional<std::uint32_t> get(const entries& all, std::string_view name) {
    for (const auto& [key, value] : all) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
  static bool bind(entries& all, std::string_view name, std::uint32_t value) {
    if (const auto known = get(all, name)) return *known == value;
    all.emplace_back(name, value);
    return true;
  }
};

/// Is the term the literal that a pattern writes like this?
using literal_judge = std::function<bool(const term_list&, term_id, std::string_view)>;

struct pattern_tree {
  std::string head;     ///< an operator or literal, `?name` or `?_`
  std::string payload;  ///< what stands between brackets, or empty
  std::vector<pattern_tree> children;
};

/// Recursive descent over `head`, `head[payload]`, `(head child ...)`. Nothing if the text is not a
/// pattern.
class pattern_reader {
 public:
  static std::optional<pattern_tree> read(std::string_view text) {
    pattern_reader reader{text};
    auto tree = reader.next();
    reader.skip_space();
    return reader.rest_.empty() ? std::move(tree) : std::nullopt;
  }

 private:
  explicit pattern_reader(std::string_view text) : rest_(text) {}

  std::optional<pattern_tree> next() {
    skip_space();
    const bool compound = take('(');
    pattern_tree tree;
    tree.head = word();
    if (tree.head.empty()) return std::nullopt;
    if (take('[')) {
      tree.payload = word();
      if (tree.payload.empty() || !take(']')) return std::nullopt;
    }
    if (!compound) return tree;
    for (skip_space(); !take(')'); skip_space()) {
      auto child = next();
      if (!child) return std::nullopt;
      tree.children.push_back(std::move(*child));
    }
    return tree;
  }
  std::string word() {
    skip_space();
    const std::size_t length = std::min(rest_.find_first_of(" \t\r\n()[]"), rest_.size());
    std::string out(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return out;
  }
  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  bool take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
};

/// Does the term look like the pattern, with these values of variables? Binds those without one.
template <class Language>
bool matches(const term_list& terms, term_id id, const pattern_tree& pattern, substitution& values,
             const literal_judge& is_literal) {
  if (pattern.head == "?_") return true;
  if (pattern.head.front() == '?')
    return values.bind_term(std::string_view(pattern.head).substr(1), id);
  const term_view term = terms[id];
  bool is_operator = false;
  for (const auto& info : Language::operators) is_operator |= info.name == pattern.head;
  if (!is_operator) return is_literal && is_literal(terms, id, pattern.head);
  if (Language::operators[term.op].name != pattern.head) return false;
  if (pattern.payload.empty()) {
    if (term.payload != 0) return false;
  } else if (pattern.payload != "_") {
    if (!values.bind_payload(std::string_view(pattern.payload).substr(1), term.payload))
      return false;
  }
  if (term.children.size() != pattern.children.size()) return false;
  for (std::size_t i = 0; i < term.children.size(); ++i) {
    if (!matches<Language>(terms, term.children[i], pattern.children[i], values, is_literal))
      return false;
  }
  return true;
}

}  // namespace sinter::inline SINTER_ABI::eqsat::checking
