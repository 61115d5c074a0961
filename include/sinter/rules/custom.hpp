// SPDX-License-Identifier: MIT
// Rules that custom ops bring along. Their text names the op itself, which the e-graph knows by a
// payload only: the left side gets a payload variable and a guard, the right side is written out
// by a function. Both must know which rule of which op they are for, and are plain pointers: there
// is one of each for every slot, and the rules of a graph take slots in order.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <sinter/rules/rule.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI::rules {

namespace custom {

// Rules of all custom ops of one graph.
inline constexpr std::size_t slots = 64;

struct slot_rule {
  const ir::custom_op* op = nullptr;
  std::int64_t number = -1;  // of the op in the graph
  const ir::custom_rule* rule = nullptr;
};

inline slot_rule rule_in(const ir::graph& terms, std::size_t slot) {
  for (std::size_t number = 0; number < terms.customs.size(); ++number) {
    const ir::custom_op& op = *terms.customs[number];
    if (slot < op.rules.size()) return {&op, static_cast<std::int64_t>(number), &op.rules[slot]};
    slot -= op.rules.size();
  }
  return {};
}

[[noreturn]] inline void reject(const ir::custom_rule& rule, const std::string& reason) {
  raise(graph_error("custom op: rule '" + std::string(rule.name) + "': " + reason));
}

// Takes words and parentheses off the front of a pattern.
class tokens {
 public:
  explicit tokens(std::string_view text) : text_(text) {}
  std::string_view next() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
    std::size_t n = 0;
    if (!text_.empty() && (text_.front() == '(' || text_.front() == ')')) n = 1;
    while (n < text_.size() && text_.substr(0, n) != "(" && text_.substr(0, n) != ")" &&
           text_[n] != ' ' && text_[n] != '(' && text_[n] != ')')
      ++n;
    const std::string_view out = text_.substr(0, n);
    text_.remove_prefix(n);
    return out;
  }

 private:
  std::string_view text_;
};

// The left side as the engine reads it: (softsign ?x) is (custom_map[?own] ?x).
inline std::string left_of(const ir::custom_op& op, std::string_view text, bool& names_op) {
  std::string out;
  tokens from(text);
  bool opened = false;
  for (std::string_view word = from.next(); !word.empty(); word = from.next()) {
    if (!out.empty() && !opened && word != ")") out += ' ';
    if (opened && word == op.name) {
      names_op = true;
      out += op.elementwise ? "custom_map[?own]" : "custom[?own]";
    } else {
      out += word;
    }
    opened = word == "(";
  }
  return out;
}

// Reads a right side: variables, numbers, element-wise ops of the table, and the op itself.
class right_reader {
 public:
  right_reader(right_side& at, const slot_rule& from, bool binds_own)
      : at_(at), from_(from), binds_own_(binds_own), words_(from.rule->right) {}

  ir::value read() { return term(words_.next()); }

 private:
  ir::value term(std::string_view word) {
    if (word.starts_with('?')) return at_[word];
    if (word == "(") return apply(words_.next());
    double number = 0;
    std::from_chars(word.data(), word.data() + word.size(), number);
    return ir::constant_like(at_.root(), number);
  }

  ir::value apply(std::string_view name) {
    std::vector<int> in;
    for (std::string_view word = words_.next(); word != ")"; word = words_.next())
      in.push_back(term(word).id);
    if (name != from_.op->name) {
      for (const ir::op_info& row : ir::op_table)
        if (row.name == name) return {&at_.terms(), ir::append(at_.terms(), row.code, in)};
      return {};
    }
    std::vector<std::int64_t> attributes{from_.number};
    if (binds_own_) attributes = at_.attributes("?own");
    const ir::op code = from_.op->elementwise ? ir::op::custom_map : ir::op::custom;
    return {&at_.terms(), ir::append(at_.terms(), code, in, attributes)};
  }

  right_side& at_;
  const slot_rule& from_;
  bool binds_own_;
  tokens words_;
};

// Throws unless the right side is what right_reader reads.
inline void check_right(const ir::custom_op& op, const ir::custom_rule& rule, bool binds_own,
                        const eqsat::variable_table& variables) {
  tokens words(rule.right);
  std::vector<std::pair<std::string_view, int>> open;  // an op, and its operands so far
  bool done = false;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    if (done) reject(rule, "text behind the right side");
    if (word == "(") {
      open.push_back({words.next(), 0});
      continue;
    }
    if (word == ")") {
      if (open.empty()) reject(rule, "unbalanced parentheses");
      const auto [name, given] = open.back();
      open.pop_back();
      int arity = name == op.name ? op.arity : -1;
      for (const ir::op_info& row : ir::op_table)
        if (row.name == name && row.kind == ir::kind::elementwise && !ir::is_conversion(row.code))
          arity = row.arity;
      if (arity < 0)
        reject(rule, "there is no element-wise op '" + std::string(name) + "' for a right side");
      if (arity != given)
        reject(rule, std::string(name) + " has " + std::to_string(given) + " operands, expected " +
                         std::to_string(arity));
      if (name == op.name && !binds_own && !op.attributes.empty())
        reject(rule, "the op has attributes, so the left side must have it, too");
    } else if (word.starts_with('?')) {
      if (eqsat::find_name(variables.classes, word) < 0)
        reject(rule, "the left side does not bind " + std::string(word));
    } else {
      double number = 0;
      if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc{})
        reject(rule, "'" + std::string(word) + "' is no number");
    }
    if (!open.empty()) ++open.back().second;
    done = open.empty();
  }
  if (!done) reject(rule, "the right side ends too early");
}

inline bool binds_own(const slot_rule& s) {
  bool names_op = false;
  static_cast<void>(left_of(*s.op, s.rule->left, names_op));
  return names_op;
}

template <std::size_t Slot>
bool guard(const tensor_egraph& graph, const tensor_match& m) {
  const tensor_language& language = graph.language();
  return language.payload(m.payload("?own")).attributes[0] ==
         rule_in(language.terms(), Slot).number;
}

template <std::size_t Slot>
std::optional<class_id> write(tensor_egraph& graph, const tensor_match& m) {
  const slot_rule from = rule_in(graph.language().terms(), Slot);
  right_side at(graph, m);
  const ir::value found = right_reader(at, from, binds_own(from)).read();
  return at.finish_broadcast(found);
}

template <std::size_t... Slot>
constexpr std::array<computed, slots> all_writers(std::index_sequence<Slot...>) {
  return {&write<Slot>...};
}
template <std::size_t... Slot>
constexpr std::array<condition, slots> all_guards(std::index_sequence<Slot...>) {
  return {&guard<Slot>...};
}

}  // namespace custom

/// The rules of the graph's custom ops. Throws graph_error for one that is no rule, sinter::error
/// for a left side that is no pattern.
inline rule_table custom_rules(const ir::graph& terms) {
  static constexpr auto writers = custom::all_writers(std::make_index_sequence<custom::slots>{});
  static constexpr auto guards = custom::all_guards(std::make_index_sequence<custom::slots>{});
  rule_table out;
  for (std::size_t slot = 0;; ++slot) {
    const custom::slot_rule from = custom::rule_in(terms, slot);
    if (from.op == nullptr) return out;
    if (slot == custom::slots)
      raise(graph_error("custom ops: one function may use " + std::to_string(custom::slots) +
                        " rules of them"));
    bool names_op = false;
    const std::string left = custom::left_of(*from.op, from.rule->left, names_op);
    out.emplace_back(from.rule->name, phase::improve,
                     from.rule->exact ? rounding::exact : rounding::reassociates, left,
                     writers[slot], names_op ? guards[slot] : nullptr);
    custom::check_right(*from.op, *from.rule, names_op, out.back().program.variables);
  }
}

}  // namespace sinter::inline SINTER_ABI::rules
