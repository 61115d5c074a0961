// SPDX-License-Identifier: MIT
// The e-graph engine by itself: derives and simplifies formulas by equality saturation. A language
// of six operators, a dozen rules, and why what comes out is equal to what went in.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph.hpp>

namespace eq = sinter::eqsat;

namespace {

enum op : std::uint16_t { add, mul, power, derivative, number, name };

struct formulas {
  // Name, number of operands, and whether they commute.
  static constexpr std::array<eq::operator_info, 6> operators{
      {{"+", 2, true}, {"*", 2, true}, {"pow", 2}, {"d", 2}, {"num", 0}, {"var", 0}}};

  using data = int;  // what is known of a class: the number it is equal to
  static constexpr int unknown = -1;
  static int make(const eq::egraph<formulas>& g, eq::enode_view node) {
    if (node.op == number) return static_cast<int>(node.payload);
    if (node.op != add && node.op != mul) return unknown;
    const int a = g.data(node.children[0]), b = g.data(node.children[1]);
    if (a == unknown || b == unknown) return unknown;
    return node.op == add ? a + b : a * b;
  }
  static eq::merge_result merge(int& into, int from) {
    const int both = std::max(into, from);
    return {std::exchange(into, both) != both, from != both};
  }
  // Folds constants: 2 * 3 is 6.
  static void modify(eq::egraph<formulas>& g, eq::class_id id) {
    if (g.data(id) != unknown) g.unite(id, add_literal(g, g.data(id), id));
  }

  // Digits in rules are numbers.
  static constexpr bool parse_literal(std::string_view text, double& value) {
    value = 0;
    for (const char c : text) {
      if (c < '0' || c > '9') return false;
      value = value * 10 + (c - '0');
    }
    return true;
  }
  static bool matches_literal(const eq::egraph<formulas>& g, eq::class_id id, double value) {
    return g.data(id) == static_cast<int>(value);
  }
  static eq::class_id add_literal(eq::egraph<formulas>& g, double value, eq::class_id) {
    return g.add(number, static_cast<std::uint32_t>(value), {});
  }
  static std::string payload_text(std::uint16_t op, std::uint32_t payload) {
    return op == number ? std::to_string(payload) : std::string(1, static_cast<char>(payload));
  }
};

// Written as text, which is checked when this file is compiled. A rule may have a condition.
std::vector<eq::rule<formulas>> rules() {
  using eq::rewrite;
  return {
      rewrite<formulas>("zero +", "(+ ?a 0)", "?a"),
      rewrite<formulas>("zero *", "(* ?a 0)", "0"),
      rewrite<formulas>("one *", "(* ?a 1)", "?a"),
      rewrite<formulas>("associate +", "(+ ?a (+ ?b ?c))", "(+ (+ ?a ?b) ?c)"),
      rewrite<formulas>("associate *", "(* ?a (* ?b ?c))", "(* (* ?a ?b) ?c)"),
      rewrite<formulas>("distribute", "(* ?a (+ ?b ?c))", "(+ (* ?a ?b) (* ?a ?c))"),
      rewrite<formulas>("factor", "(+ (* ?a ?b) (* ?a ?c))", "(* ?a (+ ?b ?c))"),
      rewrite<formulas>("twice", "(+ ?a ?a)", "(* 2 ?a)"),
      rewrite<formulas>("square", "(pow ?a 2)", "(* ?a ?a)"),
      rewrite<formulas>("d name", "(d ?x ?x)", "1"),
      rewrite<formulas>("d number", "(d ?x ?n)", "0",
                        [](const eq::egraph<formulas>& g, const eq::match& m) {
                          return g.data(m["n"]) != formulas::unknown;
                        }),
      rewrite<formulas>("d +", "(d ?x (+ ?a ?b))", "(+ (d ?x ?a) (d ?x ?b))"),
      rewrite<formulas>("d *", "(d ?x (* ?a ?b))", "(+ (* ?a (d ?x ?b)) (* ?b (d ?x ?a)))"),
  };
}

}  // namespace

int main() {
  eq::egraph<formulas> g;
  eq::record_proofs(g);  // so that it can be explained
  const auto term = [&](op o, std::uint32_t payload, std::initializer_list<eq::class_term> parts) {
    return eq::add_term(g, o, payload, parts);
  };
  const auto x = term(name, 'x', {}), sum = term(add, 0, {x, term(number, 3, {})});
  const auto slope = term(derivative, 0, {x, term(power, 0, {sum, term(number, 2, {})})});

  const eq::report report = eq::saturate(g, rules(), {.nodes = 5000, .iterations = 12});
  std::printf("%s", report.to_text().c_str());

  // The cheapest formula: a sum costs more than a product, a large number more than a small one,
  // and a derivative so much that none is left.
  const auto cost = [](eq::class_id, const eq::enode_view& node) {
    if (node.op == derivative) return 1000.0;
    if (node.op == number) return 1 + node.payload / 100.0;
    return node.op == add ? 2.0 : 1.0;
  };
  const auto cheapest = eq::extract_tree(g, {slope.id}, cost);
  const std::string result = eq::to_text(g, cheapest, slope.id);
  std::printf("d/dx (x + 3)^2 = %s\n", result.c_str());

  const auto expected = term(mul, 0, {term(number, 2, {}), sum});
  if (g.find(expected.id) != g.find(slope.id) || std::abs(cheapest.cost - 6.05) > 1e-9) {
    std::puts("symbolic_math: expected (* 2 (+ x 3))");
    return 1;
  }
  const eq::explanation why = eq::explain_terms(g, slope.term, expected.term);
  std::printf("because\n%s", eq::to_text(g.language(), why).c_str());
}
