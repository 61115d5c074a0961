// SPDX-License-Identifier: MIT
//
// The mathematics of egg's test suite: the operators and 24 rules of math_language.hpp and the 12
// rules that have conditions or need folded constants. Unlike egg, the engine keeps the terms of a
// class that holds a number.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "math_language.hpp"
#include <sinter/egraph.hpp>

namespace math {

struct folded {
  static constexpr auto operators = language::operators;
  using graph = eq::egraph<folded>;

  struct data {
    std::optional<float> number;
    bool has_name = false;
  };
  static data make(const graph& g, eq::enode_view node) {
    if (node.op == constant) return {std::bit_cast<float>(node.payload)};
    if (node.op == variable) return {std::nullopt, true};
    if (node.children.size() != 2) return {};
    const auto a = g.data(node.children[0]).number, b = g.data(node.children[1]).number;
    if (!a || !b) return {};
    switch (node.op) {
      case add: return {*a + *b};
      case sub: return {*a - *b};
      case mul: return {*a * *b};
      case division: return *b == 0 ? data{} : data{*a / *b};
      default: return {};
    }
  }
  static eq::merge_result merge(data& into, const data& from) {
    const bool number = !into.number && from.number, name = !into.has_name && from.has_name;
    const eq::merge_result result{
        number || name, (into.number && !from.number) || (into.has_name && !from.has_name)};
    if (number) into.number = from.number;
    into.has_name |= from.has_name;
    return result;
  }
  static bool can_unite(const data& a, const data& b) {
    return !a.number || !b.number || *a.number == *b.number;
  }
  static void modify(graph& g, eq::class_id id) {
    if (const auto value = g.data(id).number) g.unite(id, add_literal(g, *value, id));
  }

  static constexpr bool parse_literal(std::string_view text, double& value) {
    return language::parse_literal(text, value);
  }
  static bool matches_literal(const graph& g, eq::class_id id, double value) {
    return g.data(id).number == static_cast<float>(value);
  }
  static eq::class_id add_literal(graph& g, double value, eq::class_id) {
    return g.add(constant, std::bit_cast<std::uint32_t>(static_cast<float>(value)), {});
  }
};

inline bool is_zero(const folded::graph& g, eq::class_id id) { return g.data(id).number == 0.0F; }

/// A rule `?a => (op ?a value)`, which looks at every class: one for each operator that a class's
/// node may have.
inline void add_rules_for_every_class(std::vector<eq::rule<folded>>& rules, std::string_view name,
                                      eq::applier<folded> compute) {
  for (const eq::operator_info& info : folded::operators) {
    std::string text("(");
    text += info.name;
    text += "[_]";
    for (int i = 0; i < info.arity; ++i) text += " ?_";
    text += ')';
    eq::rule<folded> made{.name = name, .compute = compute};
    const eq::pattern_pair pairs[] = {{text, {}}};
    eq::report_fault(eq::build_rule<folded>(made, pairs));
    rules.push_back(made);
  }
}

/// The 36 rules; the two of egg whose left side is `?a` are one per operator.
inline std::vector<eq::rule<folded>> folded_rules() {
  using eq::rewrite;
  using folded_graph = const folded::graph;
  std::vector<eq::rule<folded>> rules = microbenchmark_rules<folded>();
  for (const eq::rule<folded>&made : {
           rewrite<folded>("canonical /", "(/ ?a ?b)", "(* ?a (pow ?b -1))",
                           [](folded_graph& g, const eq::match& m) { return !is_zero(g, m["b"]); }),
           rewrite<folded>("cancel /", "(/ ?a ?a)", "1",
                           [](folded_graph& g, const eq::match& m) { return !is_zero(g, m["a"]); }),
           rewrite<folded>("power of zero", "(pow ?x 0)", "1",
                           [](folded_graph& g, const eq::match& m) { return !is_zero(g, m["x"]); }),
           rewrite<folded>("power of -1", "(pow ?x -1)", "(/ 1 ?x)",
                           [](folded_graph& g, const eq::match& m) { return !is_zero(g, m["x"]); }),
           rewrite<folded>("times reciprocal", "(* ?x (/ 1 ?x))", "1",
                           [](folded_graph& g, const eq::match& m) { return !is_zero(g, m["x"]); }),
           rewrite<folded>(
               "d variable", "(d ?x ?x)", "1",
               [](folded_graph& g, const eq::match& m) { return g.data(m["x"]).has_name; }),
           rewrite<folded>("d constant", "(d ?x ?c)", "0",
                           [](folded_graph& g, const eq::match& m) {
                             const folded::data& c = g.data(m["c"]);
                             return g.data(m["x"]).has_name && (c.number || c.has_name) &&
                                    g.find(m["c"]) != g.find(m["x"]);
                           }),
           rewrite<folded>("d ln", "(d ?x (ln ?x))", "(/ 1 ?x)",
                           [](folded_graph& g, const eq::match& m) { return !is_zero(g, m["x"]); }),
           rewrite<folded>("d pow", "(d ?x (pow ?f ?g))",
                           "(* (pow ?f ?g) (+ (* (d ?x ?f) (/ ?g ?f)) (* (d ?x ?g) (ln ?f))))",
                           [](folded_graph& g, const eq::match& m) {
                             return !is_zero(g, m["f"]) && !is_zero(g, m["g"]);
                           }),
           rewrite<folded>("i pow", "(i (pow ?x ?c) ?x)", "(/ (pow ?x (+ ?c 1)) (+ ?c 1))",
                           [](folded_graph& g, const eq::match& m) {
                             return g.data(m["c"]).number.has_value();
                           }),
       }) {
    rules.push_back(made);
  }
  add_rules_for_every_class(
      rules, "plus zero", [](folded::graph& g, const eq::match& m) -> std::optional<eq::class_id> {
        const eq::class_id zero = folded::add_literal(g, 0, 0);
        return g.add(add, 0, {m.root(), zero});
      });
  add_rules_for_every_class(
      rules, "times one", [](folded::graph& g, const eq::match& m) -> std::optional<eq::class_id> {
        const eq::class_id one = folded::add_literal(g, 1, 0);
        return g.add(mul, 0, {m.root(), one});
      });
  return rules;
}

}  // namespace math
