// SPDX-License-Identifier: MIT
// The languages, rules and judges that explanations are tested with. Everything is local to the one
// test that includes it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "corrupt_explanation.hpp"
#include "math_language.hpp"
#include "sums_language.hpp"
#include "term_text.hpp"
#include <sinter/egraph.hpp>

namespace eq = sinter::eqsat;
using sinter::test::add_term;
using sinter::test::append_term;
using sinter::test::sum_graph;
using sinter::test::sums;

namespace {

using op_and_payload = std::pair<std::uint16_t, std::uint32_t>;

int number_of(std::string_view word) {
  const bool negative = word.front() == '-';
  int value = 0;
  for (const char digit : word.substr(negative ? 1 : 0)) value = value * 10 + (digit - '0');
  return negative ? -value : value;
}
bool is_number(std::string_view word) {
  return word.find_first_not_of("0123456789", word.front() == '-' ? 1 : 0) == word.npos &&
         word != "-";
}

op_and_payload math_leaf(std::string_view word) {
  if (is_number(word)) return {math::constant, static_cast<std::uint32_t>(number_of(word))};
  return {math::variable, static_cast<std::uint32_t>(word.front())};
}

eq::judges math_judges() {
  eq::judges out;
  out.literal = [](const eq::term_list& terms, eq::term_id id, std::string_view text) {
    return terms[id].op == math::constant && static_cast<int>(terms[id].payload) == number_of(text);
  };
  return out;
}

const std::vector<eq::rule<sums>> sum_rules{
    eq::rewrite<sums>("zero", "(+ ?a 0)", "?a"),
    eq::rewrite<sums>("one", "(* ?a 1)", "?a"),
    eq::rewrite<sums>("annihilate", "(* ?a 0)", "0"),
    eq::rewrite<sums>("associate", "(+ ?a (+ ?b ?c))", "(+ (+ ?a ?b) ?c)"),
    eq::rewrite<sums>("factor", "(+ (* ?a ?b) (* ?a ?c))", "(* ?a (+ ?b ?c))"),
    eq::rewrite<sums>(
        "half of even", "(half ?a)",
        [](sum_graph& graph, const eq::match& m) -> std::optional<eq::class_id> {
          return graph.add(sums::number, static_cast<std::uint32_t>(*graph.data(m["?a"]) / 2), {});
        },
        [](const sum_graph& graph, const eq::match& m) {
          const auto value = graph.data(m["?a"]);
          return value && *value % 2 == 0;
        }),
};

op_and_payload sum_leaf(std::string_view word) {
  if (is_number(word)) return {sums::number, static_cast<std::uint32_t>(number_of(word))};
  return {sums::name, static_cast<std::uint32_t>(word.front())};
}

// Evaluates without the engine.
std::optional<int> value_of(const eq::term_list& terms, eq::term_id id) {
  const eq::term_view term = terms[id];
  if (term.op == sums::number) return static_cast<int>(term.payload);
  if (term.op == sums::name) return std::nullopt;
  const auto a = value_of(terms, term.children[0]);
  if (term.op == sums::half) return a && *a % 2 == 0 ? std::optional(*a / 2) : std::nullopt;
  const auto b = value_of(terms, term.children[1]);
  if (!a || !b) return std::nullopt;
  return (term.op == sums::plus ? *a + *b : *a * *b) % 1000;
}
eq::judges sum_judges() {
  const auto same_value = [](const eq::term_list& terms, eq::term_id left, eq::term_id right) {
    const auto value = value_of(terms, left);
    return value && value == value_of(terms, right);
  };
  eq::judges out;
  out.literal = [](const eq::term_list& terms, eq::term_id id, std::string_view text) {
    return terms[id].op == sums::number && static_cast<int>(terms[id].payload) == number_of(text);
  };
  // One operator at a time: both children are numbers, and so is what they give.
  out.analysis = [=](const eq::term_list& terms, eq::term_id left, eq::term_id right) {
    const auto is_leaf = [&](eq::term_id id) { return terms[id].op == sums::number; };
    return is_leaf(right) && !terms[left].children.empty() &&
           std::ranges::all_of(terms[left].children, is_leaf) && same_value(terms, left, right);
  };
  out.computed = [=](const eq::term_list& terms, std::string_view, eq::term_id left,
                     eq::term_id right) {
    return terms[right].op == sums::number && same_value(terms, left, right);
  };
  out.condition = [](const eq::term_list& terms, std::string_view,
                     const eq::checking::substitution& values) {
    const eq::term_view value = terms[*values.term("a")];
    return value.op == sums::number && value.payload % 2 == 0;
  };
  return out;
}

// Propositions (egg's test suite): true and false are operators, so patterns contain ground terms.
struct prop {
  enum op : std::uint16_t { both, either, negation, implies, top, bottom, name };
  static constexpr std::array<eq::operator_info, 7> operators{
      {{"&", 2}, {"|", 2}, {"~", 1}, {"->", 2}, {"true", 0}, {"false", 0}, {"name", 0}}};
};
const std::vector<eq::rule<prop>> prop_rules{
    eq::rewrite<prop>("define implication", "(-> ?a ?b)", "(| (~ ?a) ?b)"),
    eq::rewrite<prop>("double negation", "(~ (~ ?a))", "?a"),
    eq::rewrite<prop>("associate |", "(| ?a (| ?b ?c))", "(| (| ?a ?b) ?c)"),
    eq::rewrite<prop>("distribute & over |", "(& ?a (| ?b ?c))", "(| (& ?a ?b) (& ?a ?c))"),
    eq::rewrite<prop>("distribute | over &", "(| ?a (& ?b ?c))", "(& (| ?a ?b) (| ?a ?c))"),
    eq::rewrite<prop>("commute |", "(| ?a ?b)", "(| ?b ?a)"),
    eq::rewrite<prop>("commute &", "(& ?a ?b)", "(& ?b ?a)"),
    eq::rewrite<prop>("excluded middle", "(| ?a (~ ?a))", "true"),
    eq::rewrite<prop>("or true", "(| ?a true)", "true"),
    eq::rewrite<prop>("and true", "(& ?a true)", "?a"),
    eq::rewrite<prop>("not true", "(~ true)", "false"),
    eq::rewrite<prop>("or not true", "(| ?a (~ true))", "?a"),
};
op_and_payload prop_leaf(std::string_view word) {
  if (const int op = eq::find_operator<prop>(word); op >= 0)
    return {static_cast<std::uint16_t>(op), 0u};
  return {prop::name, static_cast<std::uint32_t>(word.front())};
}

// A little lambda calculus (egg's test suite): substitution by `let`, conditions on names.
struct lambda {
  enum op : std::uint16_t { var, lam, app, let, plus, number, name };
  static constexpr std::array<eq::operator_info, 7> operators{
      {{"var", 1}, {"lam", 2}, {"app", 2}, {"let", 3}, {"+", 2}, {"number", 0}, {"name", 0}}};
  using data = std::optional<int>;  // the name or number that the class is
  static data make(const eq::egraph<lambda>&, eq::enode_view node) {
    if (node.op != number && node.op != name) return std::nullopt;
    return static_cast<int>(node.payload);
  }
  static eq::merge_result merge(data& into, const data& from) {
    const eq::merge_result result{!into && from, into && !from};
    if (!into) into = from;
    return result;
  }
};
using lambda_graph = eq::egraph<lambda>;
bool names_differ(const lambda_graph& graph, const eq::match& m) {
  return graph.data(m["?v"]) != graph.data(m["?w"]);
}
const std::vector<eq::rule<lambda>> lambda_rules{
    eq::rewrite<lambda>("beta", "(app (lam ?v ?body) ?e)", "(let ?v ?e ?body)"),
    eq::rewrite<lambda>("let +", "(let ?v ?e (+ ?a ?b))", "(+ (let ?v ?e ?a) (let ?v ?e ?b))"),
    eq::rewrite<lambda>("let app", "(let ?v ?e (app ?a ?b))",
                        "(app (let ?v ?e ?a) (let ?v ?e ?b))"),
    eq::rewrite<lambda>("let same", "(let ?v ?e (var ?v))", "?e"),
    eq::rewrite<lambda>("let other", "(let ?v ?e (var ?w))", "(var ?w)", names_differ),
    eq::rewrite<lambda>("let lam same", "(let ?v ?e (lam ?v ?body))", "(lam ?v ?body)"),
    eq::rewrite<lambda>("let lam", "(let ?v ?e (lam ?w ?body))", "(lam ?w (let ?v ?e ?body))",
                        names_differ),
    eq::rewrite<lambda>(
        "let number", "(let ?v ?e ?n)",
        [](lambda_graph&, const eq::match& m) -> std::optional<eq::class_id> { return m["?n"]; },
        [](const lambda_graph& graph, const eq::match& m) {
          return graph.data(m["?n"]).has_value();
        }),
    eq::rewrite<lambda>(
        "add numbers", "(+ ?a ?b)",
        [](lambda_graph& graph, const eq::match& m) -> std::optional<eq::class_id> {
          const int sum = *graph.data(m["?a"]) + *graph.data(m["?b"]);
          return graph.add(lambda::number, static_cast<std::uint32_t>(sum), {});
        },
        [](const lambda_graph& graph, const eq::match& m) {
          return graph.data(m["?a"]).has_value() && graph.data(m["?b"]).has_value();
        }),
};
op_and_payload lambda_leaf(std::string_view word) {
  if (is_number(word)) return {lambda::number, static_cast<std::uint32_t>(number_of(word))};
  return {lambda::name, static_cast<std::uint32_t>(word.front())};
}
eq::judges lambda_judges() {
  eq::judges out;
  out.condition = [](const eq::term_list& terms, std::string_view rule,
                     const eq::checking::substitution& values) {
    const auto is_number_leaf = [&](const char* variable) {
      return terms[*values.term(variable)].op == lambda::number;
    };
    if (rule == "let number") return is_number_leaf("n");
    if (rule == "add numbers") return is_number_leaf("a") && is_number_leaf("b");
    return *values.term("v") != *values.term("w");
  };
  out.computed = [](const eq::term_list& terms, std::string_view rule, eq::term_id left,
                    eq::term_id right) {
    const auto children = terms[left].children;
    if (rule == "let number") return right == children[2];
    return terms[right].op == lambda::number &&
           terms[right].payload == terms[children[0]].payload + terms[children[1]].payload;
  };
  return out;
}

// Payloads, three children, children that commute; no analysis.
struct symbols {
  enum op : std::uint16_t { leaf, f, g, h, sum, pair };
  static constexpr std::array<eq::operator_info, 6> operators{
      {{"leaf", 0}, {"f", 1}, {"g", 1}, {"h", 3}, {"sum", 3, true}, {"pair", 2}}};
};
using symbol_graph = eq::egraph<symbols>;
const std::vector<eq::rule<symbols>> symbol_rules{
    eq::rewrite<symbols>("drop", "(h[_] ?x ?_ ?x)", "(g ?x)"),
    eq::rewrite<symbols>("pull f out", "(sum (f[?p] ?x) ?y (f[?p] ?z))",
                         "(f[?p] (sum ?x (f[?p] ?y) ?z))"),
    eq::rewrite<symbols>("f of f", "(g (f[?p] (sum ?x (f[?p] ?y) ?z)))", "(g (sum ?x ?y ?z))"),
};

bool is_reversible(const eq::explanation_step& step) {
  return step.kind != eq::step_kind::rule || step.name.starts_with("commute");
}

template <class Language>
eq::check_result check(const eq::explanation& why, const eq::asked_terms& asked,
                       const std::vector<eq::rule<Language>>& rules, const eq::judges& judges) {
  return eq::check_explanation<Language>(why, asked, eq::texts_of(rules), judges);
}

// The explanation is accepted, and no corruption of any of its steps is.
template <class Language>
void check_and_corrupt(const eq::explanation& why, const eq::asked_terms& asked,
                       const std::vector<eq::rule<Language>>& rules, const eq::judges& judges) {
  const auto accepted = check(why, asked, rules, judges);
  CHECK_MESSAGE(accepted.accepted, "step " << accepted.step << ": " << accepted.problem);
  CHECK(accepted.unchecked.empty());
  for (const auto& corruption : sinter::test::corruptions(is_reversible)) {
    for (std::size_t i = 0; i < why.steps.size(); ++i) {
      eq::explanation wrong = why;
      if (!corruption.apply(wrong, i)) continue;
      CAPTURE(corruption.name);
      CAPTURE(i);
      const auto result = check(wrong, asked, rules, judges);
      CHECK_FALSE(result.accepted);
      CHECK_FALSE(result.problem.empty());
    }
  }
}

// Saturates from `from` (and `also`) and proves that it equals `to`.
template <class Language, class Leaf>
eq::explanation prove(std::string_view from, std::string_view to, Leaf leaf,
                      const std::vector<eq::rule<Language>>& rules, const eq::judges& judges,
                      bool insert_both = false) {
  CAPTURE(from);
  CAPTURE(to);
  eq::egraph<Language> graph;
  eq::record_proofs(graph);
  const eq::class_term start = add_term(graph, from, leaf);
  if (insert_both) add_term(graph, to, leaf);
  eq::saturate(graph, rules, {.nodes = 5000, .iterations = 16});
  const std::size_t nodes = graph.node_count();
  const eq::class_term end = add_term(graph, to, leaf);
  REQUIRE(graph.node_count() == nodes);
  const eq::explanation why = eq::explain_terms(graph, start.term, end.term);
  eq::term_list asked;
  const eq::term_id first = append_term<Language>(asked, from, leaf);
  const eq::term_id last = append_term<Language>(asked, to, leaf);
  check_and_corrupt(why, {asked, first, last}, rules, judges);
  return why;
}

std::string rule_names(const eq::explanation& why) {
  std::string out;
  for (const auto& step : why.steps)
    out += (out.empty() ? "" : ", ") + std::string(step.forward ? "" : "-") + step.name;
  return out;
}

}  // namespace
