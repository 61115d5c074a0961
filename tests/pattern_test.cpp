// SPDX-License-Identifier: MIT
// Patterns: parsing at compile time and at run time, and what the matcher finds.
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/egraph.hpp>

namespace pattern_test {

namespace eq = sinter::eqsat;

namespace {

struct shapes {
  enum op : std::uint16_t { mul, sum, sigmoid, pi, leaf, pair, list, add3 };
  static constexpr std::array<eq::operator_info, 8> operators{{{"mul", 2, true},
                                                               {"sum", 1},
                                                               {"sigmoid", 1},
                                                               {"pi", 0},
                                                               {"leaf", 0},
                                                               {"pair", 2},
                                                               {"list", -1},
                                                               {"add3", 3, true}}};
  static constexpr bool parse_literal(std::string_view text, double& value) {
    if (text != "0" && text != "1.5") return false;
    value = text == "0" ? 0 : 1.5;
    return true;
  }
  static bool matches_literal(const eq::egraph<shapes>& graph, eq::class_id id, double value) {
    return graph.lookup(leaf, value == 0 ? 100u : 150u, {}) == graph.find(id);
  }
  static eq::class_id add_literal(eq::egraph<shapes>& graph, double value, eq::class_id) {
    return graph.add(leaf, value == 0 ? 100u : 150u, {});
  }
};
using graph = eq::egraph<shapes>;
using rule = eq::rule<shapes>;

eq::class_id leaf(graph& g, std::uint32_t n) { return g.add(shapes::leaf, n, {}); }

// How many matches the left side of a rule has.
std::size_t matches(graph& g, const rule& r) {
  g.rebuild();
  struct {
    std::size_t count = 0;
    bool found(const eq::bindings&) { return ++count > 0; }
    bool expired() const { return false; }
  } sink;
  eq::machine<shapes, decltype(sink)> finder(g, r.left, 0, sink);
  for (const eq::node_id id : g.nodes_by_operator(r.left.root_operator())) finder.search(id);
  return sink.count;
}
std::size_t matches(graph& g, const char* left) {
  return matches(g, eq::parse_rewrite<shapes>("", left, "pi"));
}

std::string problem(const char* left, const char* right) {
  try {
    eq::parse_rewrite<shapes>("rule", left, right);
  } catch (const sinter::error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("patterns are values of constant evaluation") {
  constexpr rule silu = eq::rewrite<shapes>("silu", "(mul ?x (sigmoid ?x))", "(pair ?x ?x)");
  static_assert(silu.left.depth == 1);
  static_assert(silu.left.roots() == 1);
  static_assert(silu.left.code.size() == 3);  // root, bind sigmoid, compare
  static_assert(silu.variables.classes.size() == 1);
  static_assert(silu.variables.classes[0].view() == "x");
  CHECK(silu.name == "silu");
  CHECK(silu.with_tag(2).tag == 2);
}

TEST_CASE("text and compile time give the same program") {
  constexpr rule a =
      eq::rewrite<shapes>("r", "(pair (sum[?axes] ?x) (mul ?y 1.5))", "(sum[?axes] (pair ?y ?x))");
  const rule b = eq::parse_rewrite<shapes>("r", " (pair\n (sum[?axes] ?x)(mul ?y 1.5) )",
                                           "( sum[?axes] (pair ?y ?x))");
  CHECK(a.left.patterns.terms == b.left.patterns.terms);
  CHECK(a.right.terms == b.right.terms);
  CHECK(a.left.patterns.literals == b.left.patterns.literals);
  CHECK(a.left.code.size() == b.left.code.size());
}

TEST_CASE("mistakes in patterns are named") {
  CHECK(problem("(mull ?x ?y)", "?x") ==
        "pattern \"(mull ?x ?y)\": the language has no operator 'mull'");
  CHECK(problem("(mul ?x)", "?x").find("wrong number of children for 'mul'") != std::string::npos);
  CHECK(problem("(mul ?x ?y", "?x").find("unbalanced parenthesis") != std::string::npos);
  CHECK(problem(")", "?x").find("unbalanced parenthesis") != std::string::npos);
  CHECK(problem("(sum ?x) ?y", "?x").find("ends before") != std::string::npos);
  CHECK(problem("(sum ?x))", "?x").find("ends before") != std::string::npos);
  CHECK(problem("", "?x").find("no term") != std::string::npos);
  CHECK(problem("(sum ?x)", "?y").find("does not bind '?y'") != std::string::npos);
  CHECK(problem("(sum ?x)", "(sum[?a] ?x)").find("does not bind the payload '?a'") !=
        std::string::npos);
  CHECK(problem("(sum[?a ?x)", "?x").find("payload") != std::string::npos);
  CHECK(problem("(sum[a] ?x)", "?x").find("payload") != std::string::npos);
  CHECK(problem("(sum ?x)", "?_").find("right side") != std::string::npos);
  CHECK(problem("?x", "?x").find("must start with an operator") != std::string::npos);
  CHECK(problem("(sum 2.5)", "pi").find("no operator '2.5'") != std::string::npos);
  CHECK(problem("sum", "pi").find("wrong number of children") != std::string::npos);
  std::string deep = "?x";
  for (int i = 0; i < 60; ++i) deep = "(sum " + deep + ")";
  CHECK(problem(deep.c_str(), "pi").find("too many") != std::string::npos);
}

TEST_CASE("non-linear patterns compare classes") {
  graph g;
  const auto x = leaf(g, 1), y = leaf(g, 2);
  g.add(shapes::mul, 0, {x, g.add(shapes::sigmoid, 0, {x})});
  g.add(shapes::mul, 0, {y, g.add(shapes::sigmoid, 0, {x})});
  CHECK(matches(g, "(mul ?x (sigmoid ?x))") == 1);
  CHECK(matches(g, "(mul ?x (sigmoid ?y))") == 2);
  g.unite(x, y);
  CHECK(matches(g, "(mul ?x (sigmoid ?x))") == 1);
}

TEST_CASE("commutative operators match in each distinct order") {
  graph g;
  const auto x = leaf(g, 1), y = leaf(g, 2), z = leaf(g, 3);
  g.add(shapes::mul, 0, {x, y});
  g.add(shapes::mul, 0, {x, x});
  CHECK(matches(g, "(mul ?a ?b)") == 3);
  CHECK(matches(g, "(mul ?a ?a)") == 1);
  g.add(shapes::add3, 0, {x, y, z});
  CHECK(matches(g, "(add3 ?a ?b ?c)") == 6);
  g.add(shapes::add3, 0, {x, x, y});
  CHECK(matches(g, "(add3 ?a ?b ?c)") == 9);
  CHECK(matches(g, "(add3 ?a ?a ?c)") == 1);
}

TEST_CASE("payloads") {
  graph g;
  const auto x = leaf(g, 1);
  g.add(shapes::sum, 5, {g.add(shapes::sum, 5, {x})});
  g.add(shapes::sum, 6, {g.add(shapes::sum, 5, {x})});
  g.add(shapes::sum, 0, {x});
  CHECK(matches(g, "(sum ?x)") == 1);
  CHECK(matches(g, "(sum[_] ?x)") == 4);
  CHECK(matches(g, "(sum[?a] ?x)") == 4);
  CHECK(matches(g, "(sum[?a] (sum[?a] ?x))") == 1);
  CHECK(matches(g, "(sum[?a] (sum[?b] ?x))") == 2);
  CHECK(matches(g, "(sum[?a] leaf[_])") == 2);
}

TEST_CASE("literals, ground terms and wildcards") {
  graph g;
  const auto x = leaf(g, 1), zero = leaf(g, 100);
  const auto pi = g.add(shapes::pi, 0, {});
  const auto sigmoid_pi = g.add(shapes::sigmoid, 0, {pi});
  g.add(shapes::mul, 0, {x, zero});
  g.add(shapes::mul, 0, {x, pi});
  g.add(shapes::mul, 0, {x, sigmoid_pi});
  CHECK(matches(g, "(mul ?a 0)") == 1);
  CHECK(matches(g, "(mul ?a 1.5)") == 0);
  CHECK(matches(g, "(mul ?a pi)") == 1);
  CHECK(matches(g, "(mul ?a (pi))") == 1);
  CHECK(matches(g, "(mul ?a (sigmoid pi))") == 1);
  CHECK(matches(g, "(mul ?_ ?_)") == 6);
  CHECK(matches(g, "(sigmoid pi)") == 1);
  // The ground term is looked up, not searched for.
  constexpr rule r = eq::rewrite<shapes>("r", "(mul ?a (sigmoid pi))", "?a");
  static_assert(r.left.code[1].kind == eq::instruction_kind::lookup);
}

TEST_CASE("variadic operators match their exact number of children") {
  graph g;
  const auto x = leaf(g, 1), y = leaf(g, 2);
  g.add(shapes::list, 0, {x, y});
  g.add(shapes::list, 0, {x, y, x});
  CHECK(matches(g, "(list ?a ?b)") == 1);
  CHECK(matches(g, "(list ?a ?b ?a)") == 1);
  CHECK(matches(g, "(list)") == 0);
}

TEST_CASE("all nodes of a class are tried below the root") {
  graph g;
  const auto x = leaf(g, 1), y = leaf(g, 2);
  const auto a = g.add(shapes::sum, 0, {x}), b = g.add(shapes::sum, 0, {y});
  g.unite(a, b);
  g.add(shapes::sigmoid, 0, {a});
  CHECK(matches(g, "(sigmoid (sum ?x))") == 2);
}

TEST_CASE("right sides carry payloads and literals over") {
  const std::vector<rule> rules{eq::rewrite<shapes>("move", "(sum[?axes] (sigmoid ?x))",
                                                    "(sigmoid (sum[?axes] (mul ?x 1.5)))")};
  graph g;
  const auto x = leaf(g, 1);
  const auto root = g.add(shapes::sum, 9, {g.add(shapes::sigmoid, 0, {x})});
  eq::saturate(g, rules);
  const auto scaled = g.lookup(shapes::mul, 0, {x, leaf(g, 150)});
  REQUIRE(scaled.has_value());
  const auto moved = g.lookup(shapes::sum, 9, {*scaled});
  REQUIRE(moved.has_value());
  CHECK(g.lookup(shapes::sigmoid, 0, {*moved}) == g.find(root));
}

TEST_CASE("a match gives classes and payloads by name") {
  const std::vector<rule> rules{
      eq::rewrite<shapes>("swap", "(pair (sum[?a] ?x) (sum[?b] ?y))",
                          [](graph& g, const eq::match& m) -> std::optional<eq::class_id> {
                            CHECK_THROWS_AS(m["?z"], sinter::error);
                            CHECK_THROWS_AS(m.payload("?x"), sinter::error);
                            CHECK(m["x"] == m["?x"]);
                            if (m.payload("?a") > m.payload("?b")) return std::nullopt;
                            return g.add(shapes::pair, m.payload("?b"), {m["?y"], m.root()});
                          })};
  graph g;
  const auto x = leaf(g, 1), y = leaf(g, 2);
  const auto low = g.add(shapes::sum, 3, {x}), high = g.add(shapes::sum, 4, {y});
  const auto rising = g.add(shapes::pair, 0, {low, high}),
             falling = g.add(shapes::pair, 0, {high, low});
  const eq::report report = eq::saturate(g, rules);
  CHECK(report.rules[0].matches == 2);
  CHECK(report.rules[0].applications == 1);
  CHECK(g.lookup(shapes::pair, 4, {y, rising}) == g.find(rising));
  CHECK(g.find(falling) != g.find(rising));
}

}  // namespace pattern_test
