// SPDX-License-Identifier: MIT
// Explanations: what the e-graph records, what `explain` makes of it, and that the checker accepts
// it and nothing else.
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/explanation_cases.hpp"
#include <sinter/egraph.hpp>

namespace explanation_test {

TEST_CASE("proof goals of the math rules") {
  const std::pair<const char*, const char*> goals[] = {
      {"(+ a (+ b (+ c d)))", "(+ d (+ c (+ b a)))"},
      {"(+ x (* y 0))", "x"},
      {"(- x x)", "0"},
      {"(d x (+ 1 (* 2 x)))", "(+ (d x 1) (d x (* x 2)))"},
      {"(* (+ x y) (+ x y))", "(+ (+ (* x x) (* y x)) (+ (* x y) (* y y)))"},
      {"(i (* (cos x) x) x)", "(- (* x (sin x)) (i (* (d x x) (sin x)) x))"},
      {"(- (+ x 2) (+ x x))", "(+ 2 (+ x (* -1 (+ x x))))"},
      {"(* (pow x 2) (pow x y))", "(* (pow x y) (* x x))"},
      {"(i (+ x (cos x)) x)", "(+ (sin x) (i x x))"},
  };
  const auto rules = math::microbenchmark_rules();
  for (const auto& [from, to] : goals)
    CHECK(prove(from, to, math_leaf, rules, math_judges()).steps.size() > 0);
}

TEST_CASE("proof goals of propositional logic") {
  const auto goal = [](const char* from, const char* to, bool insert_both = false) {
    return prove(from, to, prop_leaf, prop_rules, {}, insert_both);
  };
  CHECK(rule_names(goal("(-> x x)", "true")) == "define implication, commute |, excluded middle");
  goal("(-> (-> x y) (-> x y))", "true");
  goal("(| (& x (~ true)) (| x true))", "true");
  CHECK(rule_names(goal("(| x (~ true))", "x")) == "or not true");
  goal("(& (| x (~ x)) y)", "y");
  // The contrapositive needs a rule backwards: nothing introduces a double negation.
  const auto why = goal("(-> x y)", "(-> (~ y) (~ x))", true);
  CHECK(rule_names(why).find("-double negation") != std::string::npos);
}

TEST_CASE("proof goals of a lambda calculus") {
  const auto goal = [](const char* from, const char* to) {
    return prove(from, to, lambda_leaf, lambda_rules, lambda_judges());
  };
  CHECK(rule_names(goal("(app (lam x (var x)) 7)", "7")) == "beta, let same");
  goal("(app (lam x (+ (var x) 1)) 2)", "3");
  goal("(app (app (lam x (lam y (+ (var x) (var y)))) 3) 4)", "7");
  goal("(let x 1 (lam x (var x)))", "(lam x (var x))");
  goal(
      "(app (app (app (lam f (lam g (lam x (app (var f) (app (var g) (var x)))))) "
      "(lam y (+ (var y) 1))) (lam z (+ (var z) 1))) 5)",
      "7");
}

TEST_CASE("payload variables, wildcards and operators of many children that commute") {
  symbol_graph g;
  eq::record_proofs(g);
  const auto leaf = [&](std::uint32_t n) { return eq::add_term(g, symbols::leaf, n, {}); };
  const auto a = leaf(1), b = leaf(2), c = leaf(3);
  const auto f = [&](eq::class_term x) { return eq::add_term(g, symbols::f, 5, {x}); };
  // sum(f a, b, c) with b = f b, in an order that no child is at home in.
  const auto sum = eq::add_term(g, symbols::sum, 0, {c, f(a), b});
  const auto h = eq::add_term(g, symbols::h, 9, {sum, c, sum});
  eq::assume_equal(g, b, f(b), "b is f(b)");
  const auto report = eq::saturate(g, symbol_rules, {.nodes = 1000, .iterations = 10});
  CHECK(report.stop_reason == eq::stop_reason::saturated);
  const auto goal = eq::add_term(g, symbols::g, 0, {eq::add_term(g, symbols::sum, 0, {b, a, c})});
  REQUIRE(g.find(h.id) == g.find(goal.id));
  const auto why = eq::explain_terms(g, h.term, goal.term);
  eq::judges judges;
  judges.given = [](const eq::term_list& terms, std::string_view name, eq::term_id x,
                    eq::term_id y) { return name == "b is f(b)" && terms[y].children[0] == x; };
  check_and_corrupt(why, {why.terms, why.from, why.to}, symbol_rules, judges);
  const std::string names = rule_names(why);
  for (const char* name : {"drop", "pull f out", "f of f", "commutative"})
    CHECK_MESSAGE(names.find(name) != std::string::npos, names);
}

TEST_CASE("a multi-pattern's steps are conditional on its other patterns") {
  const std::vector<eq::rule<symbols>> rules{eq::multi_rewrite<symbols>(
      "exchange", {{"(pair ?x ?y)", "(pair ?y ?z)"}, {"(h ?x ?y ?z)", "(g (h ?z ?y ?x))"}})};
  symbol_graph g;
  eq::record_proofs(g);
  std::vector<eq::class_term> leaves;
  for (std::uint32_t i = 1; i <= 3; ++i) leaves.push_back(eq::add_term(g, symbols::leaf, i, {}));
  const auto pair = eq::add_term(g, symbols::pair, 0, {leaves[0], leaves[1]});
  const auto h = eq::add_term(g, symbols::h, 0, leaves);
  eq::saturate(g, rules, {.iterations = 1});
  const auto other_pair = eq::add_term(g, symbols::pair, 0, {leaves[1], leaves[2]});
  const auto other_h = eq::add_term(
      g, symbols::g, 0, {eq::add_term(g, symbols::h, 0, {leaves[2], leaves[1], leaves[0]})});
  for (const auto& [from, to] : {std::pair{pair, other_pair}, std::pair{h, other_h}}) {
    REQUIRE(g.find(from.id) == g.find(to.id));
    const auto why = eq::explain_terms(g, from.term, to.term);
    CHECK(why.steps.size() == 1);
    const eq::asked_terms asked{why.terms, why.from, why.to};
    const auto unjudged = check(why, asked, rules, {});
    CHECK(unjudged.accepted);
    CHECK(unjudged.unchecked == std::vector<std::size_t>{0});
    eq::judges judges;
    judges.condition = [](const auto&, std::string_view rule, const auto& values) {
      return rule == "exchange" && values.term("x") && values.term("y") && values.term("z");
    };
    check_and_corrupt(why, asked, rules, judges);
    auto other_pattern = why;
    other_pattern.steps[0].pattern ^= 1;
    CHECK_FALSE(check(other_pattern, asked, rules, judges).accepted);
    other_pattern.steps[0].pattern = 2;
    CHECK_FALSE(check(other_pattern, asked, rules, judges).accepted);
  }
}

TEST_CASE("a computed multi-pattern unites its second root and more") {
  const std::vector<eq::rule<symbols>> rules{eq::multi_rewrite<symbols>(
      "both", {"(pair ?x ?y)", "(h ?x ?y ?z)"},
      [](symbol_graph& graph, const eq::match& m) -> std::optional<eq::class_id> {
        const eq::class_id gx = graph.add(symbols::g, 0, {m["?x"]});
        graph.unite(graph.add(symbols::g, 0, {m["?y"]}), m.root(1));  // either way round
        graph.unite(gx, graph.add(symbols::g, 0, {m["?z"]}));
        return gx;
      })};
  symbol_graph g;
  eq::record_proofs(g);
  std::vector<eq::class_term> leaves;
  for (std::uint32_t i = 1; i <= 3; ++i) leaves.push_back(eq::add_term(g, symbols::leaf, i, {}));
  const auto pair = eq::add_term(g, symbols::pair, 0, {leaves[0], leaves[1]});
  const auto h = eq::add_term(g, symbols::h, 0, leaves);
  eq::saturate(g, rules, {.iterations = 1});
  const auto of = [&](std::size_t i) { return eq::add_term(g, symbols::g, 0, {leaves[i]}); };
  eq::judges judges;
  judges.condition = [](const auto&, auto, const auto&) { return true; };
  judges.computed = [](const eq::term_list& terms, std::string_view, eq::term_id left,
                       eq::term_id right) {
    const std::size_t child = terms[left].op == symbols::pair ? 0 : 1;
    return terms[right].op == symbols::g && terms[right].children[0] == terms[left].children[child];
  };
  judges.given = [](const eq::term_list& terms, std::string_view name, eq::term_id a,
                    eq::term_id b) {
    const auto leaf = [&](eq::term_id id) {
      return terms[id].op == symbols::g && terms[id].payload == 0
                 ? terms[terms[id].children[0]].payload
                 : 0u;
    };
    return name == "both" && leaf(a) == 1 && leaf(b) == 3;
  };
  for (const auto& [from, to, steps] :
       {std::tuple{pair, of(0), 1u}, std::tuple{h, of(1), 1u}, std::tuple{pair, of(2), 2u}}) {
    REQUIRE(g.find(from.id) == g.find(to.id));
    const auto why = eq::explain_terms(g, from.term, to.term);
    CHECK(why.steps.size() == steps);
    check_and_corrupt(why, {why.terms, why.from, why.to}, rules, judges);
  }
}

TEST_CASE("a class knows which rule made it, and from what") {
  const std::vector<eq::rule<symbols>> rules{
      eq::rewrite<symbols>("written", "(pair ?x ?y)", "(g (pair ?y ?x))"),
      eq::rewrite<symbols>("computed", "(h ?x ?y ?z)", [](symbol_graph& graph, const eq::match& m) {
        const eq::class_id made = graph.add(symbols::g, 0, {m["?z"]});
        return std::optional(graph.add(symbols::pair, 0, {made, made}));
      })};
  symbol_graph g;
  eq::record_proofs(g);
  std::vector<eq::class_term> leaves;
  for (std::uint32_t i = 1; i <= 3; ++i) leaves.push_back(eq::add_term(g, symbols::leaf, i, {}));
  const auto pair = eq::add_term(g, symbols::pair, 0, {leaves[0], leaves[1]});
  const auto h = eq::add_term(g, symbols::h, 0, leaves);
  eq::saturate(g, rules, {.iterations = 1});
  const eq::proof_record& record = *g.proofs();
  const auto origin = [&](eq::class_term made) { return record.origin(made.id); };
  for (const eq::class_term given : {leaves[0], pair, h}) CHECK(origin(given).rule == eq::no_id);
  const auto turned = eq::add_term(g, symbols::pair, 0, {leaves[1], leaves[0]});
  CHECK(record.name(origin(turned).rule) == "written");
  CHECK(origin(turned).left.term == pair.term);
  CHECK(g.find(origin(turned).left.id) == g.find(pair.id));
  const auto inner = eq::add_term(g, symbols::g, 0, {leaves[2]});
  CHECK(record.name(origin(inner).rule) == "computed");
  CHECK(origin(inner).left.term == h.term);

  sum_graph folded;
  eq::record_proofs(folded);
  const auto sum = add_term(folded, "(+ 1 2)", sum_leaf);
  folded.rebuild();
  const eq::class_origin by_analysis = folded.proofs()->origin(sum.id + 1);  // the folded 3
  CHECK(folded.proofs()->name(by_analysis.rule) == "analysis");
  CHECK(by_analysis.left.id == eq::no_id);
}

TEST_CASE("an explanation as text") {
  const auto rules = math::microbenchmark_rules();
  const auto why = prove("(sin (+ x (* y 0)))", "(sin x)", math_leaf, rules, math_judges());
  CHECK(eq::to_text(math::language{}, why) ==
        "(sin (+ var[120] (* var[121] const)))\n"
        "=> (sin (+ var[120] const))    zero * at 0 1: (* var[121] const) => const\n"
        "=> (sin var[120])    zero + at 0: (+ var[120] const) => var[120]\n");
  CHECK(eq::to_text(math::language{}, why.terms, why.from, 10) == "(sin (+ va...");
}

TEST_CASE("a term explains itself in no steps") {
  math::graph g;
  eq::record_proofs(g);
  const auto x = add_term(g, "(+ x y)", math_leaf);
  const auto why = eq::explain(g, x.id, x.id);
  CHECK(why.steps.empty());
  CHECK(why.from == why.to);
  eq::term_list asked;
  const eq::term_id same = append_term<math::language>(asked, "(+ x y)", math_leaf);
  const eq::term_id other = append_term<math::language>(asked, "(+ y x)", math_leaf);
  const auto rules = math::microbenchmark_rules();
  CHECK(check(why, {asked, same, same}, rules, {}).accepted);
  CHECK_FALSE(check(why, {asked, same, other}, rules, {}).accepted);
  CHECK_FALSE(check(why, {asked, other, same}, rules, {}).accepted);
}

TEST_CASE("what cannot be explained is an error") {
  math::graph silent;
  const auto a = silent.add(math::variable, 1, {});
  CHECK_THROWS_AS(eq::explain(silent, a, a), sinter::error);
  CHECK_THROWS_AS(eq::record_proofs(silent), sinter::error);  // too late
  CHECK_THROWS_AS(eq::add_term(silent, math::variable, 1, {}), sinter::error);

  math::graph g;
  eq::record_proofs(g);
  const auto x = add_term(g, "(+ x y)", math_leaf), y = add_term(g, "(* x y)", math_leaf);
  eq::saturate(g, math::microbenchmark_rules(), {.iterations = 4});
  CHECK_THROWS_WITH_AS(eq::explain(g, x.id, y.id), "explanation: the terms are not equal",
                       sinter::error);
  CHECK_THROWS_AS(eq::explain_terms(g, x.term, y.term), sinter::error);
  CHECK_THROWS_AS(eq::explain(g, x.id, eq::class_id{1000000}), sinter::error);
  CHECK_THROWS_AS(eq::explain_terms(g, x.term, eq::term_id{1000000}), sinter::error);
  CHECK_THROWS_AS(eq::add_term(g, math::add, 0, {x}), sinter::error);
  const auto z = add_term(g, "(+ y x)", math_leaf);
  CHECK_THROWS_WITH_AS(eq::explain_terms(g, x.term, z.term, 0), "explanation: more than 0 steps",
                       sinter::error);
}

TEST_CASE("unions by hand carry congruences, under their names") {
  math::graph g;
  eq::record_proofs(g);
  const auto a = add_term(g, "a", math_leaf), b = add_term(g, "b", math_leaf),
             c = add_term(g, "c", math_leaf);
  const auto left = add_term(g, "(+ (sin a) (* a a))", math_leaf);
  const auto right = add_term(g, "(+ (sin c) (* b c))", math_leaf);
  eq::assume_equal(g, a, b, "first axiom");
  g.unite(b.id, c.id);
  g.rebuild();
  REQUIRE(g.find(left.id) == g.find(right.id));
  const auto why = eq::explain(g, left.id, right.id);
  CHECK(rule_names(why) == "first axiom, given, first axiom, first axiom, given");
  const eq::proof_record& record = *g.proofs();
  std::string once;
  for (const std::uint32_t number : eq::equalities_between(g, left.term, right.term))
    once += record.name(record.equalities()[number].why.name) + ".";
  CHECK(once == "first axiom.given.");

  eq::judges judges;
  judges.given = [](const eq::term_list& terms, std::string_view name, eq::term_id x,
                    eq::term_id y) {
    const auto p = terms[x].payload, q = terms[y].payload;
    return terms[x].op == math::variable && terms[y].op == math::variable &&
           ((name == "first axiom" && p == 'a' && q == 'b') ||
            (name == "given" && p == 'b' && q == 'c'));
  };
  eq::term_list asked;
  const auto from = append_term<math::language>(asked, "(+ (sin a) (* a a))", math_leaf);
  const auto to = append_term<math::language>(asked, "(+ (sin c) (* b c))", math_leaf);
  const auto rules = math::microbenchmark_rules();
  check_and_corrupt(why, {asked, from, to}, rules, judges);
  CHECK_FALSE(check(why, {asked, from, to}, rules, {}).accepted);  // nobody gave them
  auto turned = why;
  turned.steps[0].forward = false;
  CHECK_FALSE(check(turned, {asked, from, to}, rules, judges).accepted);
}

TEST_CASE("f^5(a) = a and f^3(a) = a explain f(a) = a") {
  math::graph g;
  eq::record_proofs(g);
  std::vector<eq::class_id> power{g.add(math::variable, 1, {})};
  for (int i = 0; i < 5; ++i) power.push_back(g.add(math::sine, 0, {power.back()}));
  eq::assume_equal(g, power[5], power[0], "five");
  eq::assume_equal(g, power[3], power[0], "three");
  g.rebuild();
  const auto why = eq::explain(g, power[1], power[0]);
  for (const auto& step : why.steps) CHECK((step.name == "five" || step.name == "three"));
  const auto depth = [](const eq::term_list& terms, eq::term_id id) {
    int out = 0;
    for (; terms[id].op == math::sine && terms[id].payload == 0; id = terms[id].children[0]) ++out;
    return terms[id].payload == 1 ? out : -1;
  };
  eq::judges judges;
  judges.given = [&](const eq::term_list& terms, std::string_view name, eq::term_id x,
                     eq::term_id y) {
    return depth(terms, x) == (name == "five" ? 5 : 3) && depth(terms, y) == 0;
  };
  const auto rules = math::microbenchmark_rules();
  check_and_corrupt(why, {why.terms, why.from, why.to}, rules, judges);
}

TEST_CASE("constant folding, conditions and computed sides") {
  const auto fold = prove("(+ (* 2 3) x)", "(+ x 6)", sum_leaf, sum_rules, sum_judges());
  CHECK(rule_names(fold).find("analysis") != std::string::npos);
  CHECK(rule_names(fold).find("commutative") != std::string::npos);
  prove("(+ (+ 1 2) (* (+ 1 1) (+ 2 2)))", "11", sum_leaf, sum_rules, sum_judges());
  prove("(half (+ 4 (* 3 2)))", "5", sum_leaf, sum_rules, sum_judges());
  prove("(+ (* x 3) (* 4 x))", "(* 7 x)", sum_leaf, sum_rules, sum_judges());
  // 1 + 2 is folded before half(...) multiplies x by it: the literal that `one` matches is a sum.
  prove("(* x (half (+ 1 1)))", "x", sum_leaf, sum_rules, sum_judges());
  prove("(+ y (* x (+ 0 0)))", "y", sum_leaf, sum_rules, sum_judges());
}

TEST_CASE("constants that are known by hand or by rules alone") {
  // x is 2 because we say so: x + 2 folds through x, and half(x) knows its condition.
  sum_graph g;
  eq::record_proofs(g);
  const auto x = add_term(g, "x", sum_leaf), two = add_term(g, "2", sum_leaf);
  const auto sum = add_term(g, "(+ (half x) (+ x 2))", sum_leaf);
  eq::assume_equal(g, x, two, "x is 2");
  eq::saturate(g, sum_rules);
  const auto five = add_term(g, "5", sum_leaf);
  REQUIRE(g.find(sum.id) == five.id);
  const auto why = eq::explain_terms(g, sum.term, five.term);
  auto judges = sum_judges();
  judges.given = [](const eq::term_list& terms, std::string_view name, eq::term_id a,
                    eq::term_id b) {
    return name == "x is 2" && terms[a].op == sums::name && terms[b].payload == 2;
  };
  check_and_corrupt(why, {why.terms, why.from, why.to}, sum_rules, judges);
  CHECK(rule_names(why).find("half of even") != std::string::npos);

  // Without somebody who judges conditions they are reported, not accepted silently.
  judges.condition = nullptr;
  const auto unjudged = check(why, {why.terms, why.from, why.to}, sum_rules, judges);
  CHECK(unjudged.accepted);
  CHECK(unjudged.unchecked.size() == 1);
  judges.condition = [](const auto&, auto, const auto&) { return false; };
  CHECK_FALSE(check(why, {why.terms, why.from, why.to}, sum_rules, judges).accepted);
  judges = sum_judges();
  judges.computed = nullptr;
  CHECK_FALSE(check(why, {why.terms, why.from, why.to}, sum_rules, judges).accepted);
}

TEST_CASE("recording changes nothing about the e-graph") {
  const auto rules = math::microbenchmark_rules();
  for (const bool backoff : {false, true}) {
    CAPTURE(backoff);
    const auto schedule = backoff ? eq::scheduler::backoff(50, 2) : eq::scheduler::simple();
    math::graph plain, recorded;
    eq::record_proofs(recorded);
    math::add_microbenchmark_seeds(plain);
    math::add_microbenchmark_seeds(recorded);
    for (const std::size_t nodes : {700u, 20000u}) {  // the first is cut off by the limit
      const eq::limits limit{.nodes = nodes, .iterations = 8, .time = std::chrono::minutes(1)};
      const auto a = eq::saturate(plain, rules, limit, schedule);
      const auto b = eq::saturate(recorded, rules, limit, schedule);
      CHECK(a.stop_reason == b.stop_reason);
      for (std::size_t i = 0; i < rules.size(); ++i) {
        CHECK(a.rules[i].matches == b.rules[i].matches);
        CHECK(a.rules[i].applications == b.rules[i].applications);
      }
      CHECK(eq::to_text(plain) == eq::to_text(recorded));
    }
    CHECK(plain.node_id_end() == recorded.node_id_end());
    for (eq::node_id id = 0; id < plain.node_id_end(); ++id)
      REQUIRE(plain.class_of(id) == recorded.class_of(id));
  }
}

TEST_CASE("a copy goes on recording by itself") {
  math::graph g;
  eq::record_proofs(g);
  const auto a = add_term(g, "a", math_leaf), b = add_term(g, "b", math_leaf);
  math::graph copy = g;
  copy.unite(a.id, b.id);
  copy.rebuild();
  CHECK(eq::explain(copy, a.id, b.id).steps.size() == 1);
  CHECK_THROWS_AS(eq::explain(g, a.id, b.id), sinter::error);
}

TEST_CASE("random terms: whatever is equal is explained") {
  const auto rules = math::microbenchmark_rules();
  const auto judges = math_judges();
  std::size_t explained = 0, steps = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    math::graph g, plain;
    eq::record_proofs(g);
    std::vector<eq::class_id> made;
    for (std::uint32_t i = 0; i < 3; ++i) made.push_back(g.add(math::variable, i + 1, {}));
    for (int i = -1; i < 3; ++i) made.push_back(math::number(g, i));
    for (std::uint32_t i = 0; i < 3; ++i) plain.add(math::variable, i + 1, {});
    for (int i = -1; i < 3; ++i) math::number(plain, i);
    for (int i = 0; i < 8; ++i) {
      const auto op = static_cast<std::uint16_t>(random() % math::constant);
      std::vector<eq::class_id> children;
      for (int c = 0; c < math::language::operators[op].arity; ++c)
        children.push_back(made[random() % made.size()]);
      made.push_back(g.add(op, 0, children));
      plain.add(op, 0, children);
    }
    const eq::limits limit{.nodes = 400, .iterations = 6, .time = std::chrono::minutes(1)};
    eq::saturate(g, rules, limit);
    eq::saturate(plain, rules, limit);
    REQUIRE(eq::to_text(g) == eq::to_text(plain));
    for (int i = 0; i < 20; ++i) {
      const auto a = static_cast<eq::class_id>(random() % g.class_id_end());
      // Another id of the same class, if there is one.
      auto b = static_cast<eq::class_id>(random() % g.class_id_end());
      while (g.find(b) != g.find(a)) b = (b + 1) % g.class_id_end();
      const auto why = eq::explain(g, a, b);
      const auto result = check(why, {why.terms, why.from, why.to}, rules, judges);
      REQUIRE_MESSAGE(result.accepted, result.problem);
      explained += a != b;
      steps += why.steps.size();
    }
  }
  CHECK(explained > 500);
  CHECK(steps > 2 * explained);
}

TEST_CASE("random sums with folding, given and refused unions") {
  const auto judged_before = sum_judges();
  std::size_t explained = 0, refused = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    sum_graph g;
    eq::record_proofs(g);
    std::vector<eq::class_term> made;
    for (std::uint32_t i = 0; i < 3; ++i) made.push_back(eq::add_term(g, sums::name, 'x' + i, {}));
    for (std::uint32_t i = 0; i < 3; ++i) made.push_back(eq::add_term(g, sums::number, i, {}));
    std::vector<std::string> given;
    const auto text = [&](const eq::term_list& terms, eq::term_id id) {
      return eq::to_text(g.language(), terms, id);
    };
    eq::runner<sums> runner(g, sum_rules);
    for (int round = 0; round < 3; ++round) {
      const auto any = [&] { return made[random() % made.size()]; };
      for (int i = 0; i < 4; ++i) {
        const auto op = static_cast<std::uint16_t>(random() % 5);
        const eq::class_term a = any(), b = any();
        if (op == sums::half) {
          made.push_back(eq::add_term(g, op, 0, {a}));
        } else {
          made.push_back(eq::add_term(g, op % 2 == 0 ? sums::plus : sums::times, 0, {a, b}));
        }
      }
      g.rebuild();
      const eq::class_term a = any(), b = any();
      eq::assume_equal(g, a, b, "given " + std::to_string(round));
      const auto& terms = g.proofs()->terms().terms();
      given.push_back(text(terms, a.term) + " = " + text(terms, b.term));
      runner.run({.nodes = 300, .iterations = 6});
    }
    refused += g.refused_unions();
    auto judges = judged_before;
    // Folding may see a sum before its terms are folded.
    judges.analysis = [](const eq::term_list& terms, eq::term_id left, eq::term_id right) {
      return terms[right].op == sums::number && value_of(terms, left) == value_of(terms, right);
    };
    judges.given = [&](const eq::term_list& terms, std::string_view name, eq::term_id a,
                       eq::term_id b) {
      const std::string claim = text(terms, a) + " = " + text(terms, b);
      return claim == given[static_cast<std::size_t>(name.back() - '0')];
    };
    for (int i = 0; i < 20; ++i) {
      const auto a = static_cast<eq::class_id>(random() % g.class_id_end());
      auto b = static_cast<eq::class_id>(random() % g.class_id_end());
      while (g.find(b) != g.find(a)) b = (b + 1) % g.class_id_end();
      const auto why = eq::explain(g, a, b);
      const auto result = check(why, {why.terms, why.from, why.to}, sum_rules, judges);
      REQUIRE_MESSAGE(result.accepted, result.problem << "\n" << eq::to_text(g.language(), why));
      explained += a != b;
    }
  }
  CHECK(explained > 1000);
  CHECK(refused > 10);
}

}  // namespace explanation_test
