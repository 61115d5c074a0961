// SPDX-License-Identifier: MIT
// Wrong versions of the rules: operands exchanged, variables exchanged, numbers changed, a function
// left out, a guard dropped. What the soundness test does not reject of them it would not reject if
// somebody wrote it by mistake.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/rules/rule_set.hpp>

namespace sinter::test {

/// A side of a rule as a tree: an atom, or an operator with operands.
struct pattern_tree {
  std::string head;
  std::vector<pattern_tree> operands;

  std::string text() const {
    if (operands.empty()) return head;
    std::string out = "(" + head;
    for (const pattern_tree& each : operands) out += " " + each.text();
    return out + ")";
  }
  static pattern_tree parse(std::string_view text) {
    std::size_t at = 0;
    return parse(text, at);
  }

 private:
  static pattern_tree parse(std::string_view text, std::size_t& at) {
    while (text[at] == ' ') ++at;
    const bool opens = text[at] == '(';
    if (opens) ++at;
    pattern_tree out;
    while (at < text.size() && text[at] != ' ' && text[at] != ')') out.head += text[at++];
    if (!opens) return out;
    for (; text[at] != ')'; ++at) {
      if (text[at] == ' ') continue;
      out.operands.push_back(parse(text, at));
      --at;
    }
    ++at;
    return out;
  }
};

struct rule_mutant {
  std::string what;  ///< "rule: what was done to it"
  const rules::tensor_rule* original = nullptr;
  eqsat::rule<rules::tensor_language> program;
};

namespace mutation {

inline const ir::op_info* operator_of(const pattern_tree& tree) {
  const std::string_view name = std::string_view(tree.head).substr(0, tree.head.find('['));
  for (const ir::op_info& row : ir::op_table)
    if (!tree.operands.empty() && row.name == name) return &row;
  return nullptr;
}

inline bool is_number(const pattern_tree& tree) {
  return tree.operands.empty() && !tree.head.empty() && tree.head[0] != '?';
}
inline std::string changed_number(const std::string& head) {
  double x = 0;
  std::from_chars(head.data(), head.data() + head.size(), x);
  char out[32];
  const auto end = std::to_chars(out, out + sizeof out, x + 1);
  return {out, end.ptr};
}

// Every tree that differs from `tree` in one place.
inline void collect(const pattern_tree& tree,
                    std::vector<std::pair<std::string, pattern_tree>>& out) {
  const ir::op_info* const code = operator_of(tree);
  if (code != nullptr && !code->commutative && tree.operands.size() >= 2) {
    pattern_tree swapped = tree;
    std::swap(swapped.operands[swapped.operands.size() - 2], swapped.operands.back());
    out.emplace_back("operands of " + tree.head, swapped);
  }
  if (code != nullptr && tree.operands.size() == 1 && ir::is_elementwise(code->code))
    out.emplace_back("without " + tree.head, tree.operands[0]);
  if (is_number(tree)) {
    pattern_tree other = tree;
    other.head = changed_number(tree.head);
    out.emplace_back("number " + tree.head, other);
  }
  for (std::size_t i = 0; i < tree.operands.size(); ++i) {
    std::vector<std::pair<std::string, pattern_tree>> inner;
    collect(tree.operands[i], inner);
    for (auto& [what, part] : inner) {
      pattern_tree whole = tree;
      whole.operands[i] = part;
      out.emplace_back(what, whole);
    }
  }
}

inline void collect_variables(const pattern_tree& tree, std::vector<std::string>& out) {
  if (tree.operands.empty() && tree.head[0] == '?' &&
      std::ranges::find(out, tree.head) == out.end())
    out.push_back(tree.head);
  for (const pattern_tree& each : tree.operands) collect_variables(each, out);
}
inline pattern_tree exchanged(pattern_tree tree, const std::string& a, const std::string& b) {
  if (tree.head == a)
    tree.head = b;
  else if (tree.head == b)
    tree.head = a;
  for (pattern_tree& each : tree.operands) each = exchanged(each, a, b);
  return tree;
}

}  // namespace mutation

/// All mutants of all rules. A number of the left side is changed where it makes a guard's
/// constant.
inline std::vector<rule_mutant> all_mutants() {
  std::vector<rule_mutant> out;
  for (const rules::tensor_rule& rule : rules::all_rules()) {
    const auto append = [&](const std::string& what, const std::string& left,
                            const std::string& right) {
      out.push_back({std::string(rule.name) + ": " + what, &rule,
                     eqsat::parse_rewrite<rules::tensor_language>(rule.name, left, right,
                                                                  rule.program.guard)});
    };
    if (rule.program.guard != nullptr) {
      rule_mutant unguarded{std::string(rule.name) + ": no guard", &rule, rule.program};
      unguarded.program.guard = nullptr;
      out.push_back(std::move(unguarded));
    }
    if (rule.right.empty()) continue;
    const pattern_tree left = pattern_tree::parse(rule.left),
                       right = pattern_tree::parse(rule.right);
    std::vector<std::pair<std::string, pattern_tree>> changed;
    mutation::collect(right, changed);
    for (const auto& [what, tree] : changed) append("right " + what, rule.left, tree.text());
    std::vector<std::string> variables;
    mutation::collect_variables(right, variables);
    for (std::size_t i = 1; i < variables.size(); ++i)
      append("right variables " + variables[0] + " and " + variables[i], rule.left,
             mutation::exchanged(right, variables[0], variables[i]).text());
  }
  return out;
}

}  // namespace sinter::test
