// SPDX-License-Identifier: MIT
//
// The symbolic mathematics of egglog's math-microbenchmark: its operators, 24 rules and 7 seed
// terms. Commutativity is among the rules, so no operator has the flag. Numbers and names are
// payloads.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <sinter/egraph.hpp>

namespace math {

namespace eq = sinter::eqsat;

enum op : std::uint16_t {
  diff,
  integral,
  add,
  sub,
  mul,
  division,
  power,
  ln,
  square_root,
  sine,
  cosine,
  constant,
  variable
};

struct language {
  static constexpr std::array<eq::operator_info, 13> operators{{{"d", 2},
                                                                {"i", 2},
                                                                {"+", 2},
                                                                {"-", 2},
                                                                {"*", 2},
                                                                {"/", 2},
                                                                {"pow", 2},
                                                                {"ln", 1},
                                                                {"sqrt", 1},
                                                                {"sin", 1},
                                                                {"cos", 1},
                                                                {"const", 0},
                                                                {"var", 0}}};

  // The number that the class holds, or `none`: what literals in patterns are compared with.
  using data = int;
  static constexpr int none = 1 << 30;
  static int make(const eq::egraph<language>&, eq::enode_view node) {
    return node.op == constant ? static_cast<int>(node.payload) : none;
  }
  static eq::merge_result merge(int& into, int from) {
    const bool take = into == none && from != none;
    const eq::merge_result result{take, from == none && into != none};
    if (take) into = from;
    return result;
  }

  static constexpr bool parse_literal(std::string_view text, double& value) {
    const bool negative = text.front() == '-';
    if (negative) text.remove_prefix(1);
    if (text.empty()) return false;
    value = 0;
    for (const char digit : text) {
      if (digit < '0' || digit > '9') return false;
      value = value * 10 + (digit - '0');
    }
    if (value > std::numeric_limits<int>::max()) return false;  // its constants are integers
    if (negative) value = -value;
    return true;
  }
  static bool matches_literal(const eq::egraph<language>& graph, eq::class_id id, double value) {
    return graph.data(id) == static_cast<int>(value);
  }
  static eq::class_id add_literal(eq::egraph<language>& graph, double value, eq::class_id) {
    return graph.add(constant, static_cast<std::uint32_t>(static_cast<int>(value)), {});
  }
};

using graph = eq::egraph<language>;
using rule = eq::rule<language>;

template <class Language>
eq::class_id number(eq::egraph<Language>& g, int value) {
  return Language::add_literal(g, value, 0);
}

template <class Language = language>
std::vector<eq::rule<Language>> microbenchmark_rules() {
  using eq::rewrite;
  return {
      rewrite<Language>("commute +", "(+ ?a ?b)", "(+ ?b ?a)"),
      rewrite<Language>("commute *", "(* ?a ?b)", "(* ?b ?a)"),
      rewrite<Language>("associate +", "(+ ?a (+ ?b ?c))", "(+ (+ ?a ?b) ?c)"),
      rewrite<Language>("associate *", "(* ?a (* ?b ?c))", "(* (* ?a ?b) ?c)"),
      rewrite<Language>("canonical -", "(- ?a ?b)", "(+ ?a (* -1 ?b))"),
      rewrite<Language>("zero +", "(+ ?a 0)", "?a"),
      rewrite<Language>("zero *", "(* ?a 0)", "0"),
      rewrite<Language>("one *", "(* ?a 1)", "?a"),
      rewrite<Language>("cancel -", "(- ?a ?a)", "0"),
      rewrite<Language>("distribute", "(* ?a (+ ?b ?c))", "(+ (* ?a ?b) (* ?a ?c))"),
      rewrite<Language>("factor", "(+ (* ?a ?b) (* ?a ?c))", "(* ?a (+ ?b ?c))"),
      rewrite<Language>("power of a sum", "(* (pow ?a ?b) (pow ?a ?c))", "(pow ?a (+ ?b ?c))"),
      rewrite<Language>("power of one", "(pow ?x 1)", "?x"),
      rewrite<Language>("power of two", "(pow ?x 2)", "(* ?x ?x)"),
      rewrite<Language>("d +", "(d ?x (+ ?a ?b))", "(+ (d ?x ?a) (d ?x ?b))"),
      rewrite<Language>("d *", "(d ?x (* ?a ?b))", "(+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a)))"),
      rewrite<Language>("d sin", "(d ?x (sin ?x))", "(cos ?x)"),
      rewrite<Language>("d cos", "(d ?x (cos ?x))", "(* -1 (sin ?x))"),
      rewrite<Language>("i one", "(i 1 ?x)", "?x"),
      rewrite<Language>("i cos", "(i (cos ?x) ?x)", "(sin ?x)"),
      rewrite<Language>("i sin", "(i (sin ?x) ?x)", "(* -1 (cos ?x))"),
      rewrite<Language>("i +", "(i (+ ?f ?g) ?x)", "(+ (i ?f ?x) (i ?g ?x))"),
      rewrite<Language>("i -", "(i (- ?f ?g) ?x)", "(- (i ?f ?x) (i ?g ?x))"),
      rewrite<Language>("by parts", "(i (* ?a ?b) ?x)",
                        "(- (* ?a (i ?b ?x)) (i (* (d ?x ?a) (i ?b ?x)) ?x))"),
  };
}

template <class Language>
void add_microbenchmark_seeds(eq::egraph<Language>& g) {
  const auto node = [&](op o, std::initializer_list<eq::class_id> children) {
    return g.add(o, 0, children);
  };
  const eq::class_id x = g.add(variable, 1, {}), y = g.add(variable, 2, {}),
                     five = g.add(variable, 3, {});
  const eq::class_id one = number(g, 1), two = number(g, 2), three = number(g, 3),
                     seven = number(g, 7);
  const eq::class_id root = node(square_root, {five});
  node(integral, {node(ln, {x}), x});
  node(integral, {node(add, {x, node(cosine, {x})}), x});
  node(integral, {node(mul, {node(cosine, {x}), x}), x});
  node(diff, {x, node(add, {one, node(mul, {two, x})})});
  node(diff, {x, node(sub, {node(power, {x, three}), node(mul, {seven, node(power, {x, two})})})});
  node(add,
       {node(mul, {y, node(add, {x, y})}), node(sub, {node(add, {x, two}), node(add, {x, x})})});
  node(division, {one, node(sub, {node(division, {node(add, {one, root}), two}),
                                  node(division, {node(sub, {one, root}), two})})});
}

}  // namespace math
