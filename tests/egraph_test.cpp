// SPDX-License-Identifier: MIT
// The e-graph itself: hash-consing, congruence closure, analysis, determinism, printing.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/egraph.hpp>

namespace egraph_test {

namespace eq = sinter::eqsat;

namespace {

struct symbols {
  enum op : std::uint16_t { leaf, f, g, h, sum, list };
  static constexpr std::array<eq::operator_info, 6> operators{
      {{"leaf", 0}, {"f", 1}, {"g", 2}, {"h", 3}, {"sum", 2, true}, {"list", -1}}};
};
using graph = eq::egraph<symbols>;

eq::class_id leaf(graph& g, std::uint32_t n) { return g.add(symbols::leaf, n, {}); }

// What rebuild promises, checked from the outside.
template <class Language>
void check_invariants(const eq::egraph<Language>& g) {
  std::size_t nodes = 0, classes = 0;
  std::set<std::vector<std::uint32_t>> seen;
  for (const eq::class_id id : g.classes()) {
    ++classes;
    for (const eq::enode_view& node : g.nodes(id)) {
      ++nodes;
      REQUIRE(g.class_of(node.id) == id);
      std::vector<std::uint32_t> key{node.op, node.payload};
      for (const eq::class_id child : node.children) {
        REQUIRE(g.find(child) == child);
        key.push_back(child);
      }
      if (Language::operators[node.op].commutative)
        REQUIRE(std::is_sorted(key.begin() + 2, key.end()));
      REQUIRE(seen.insert(key).second);
      REQUIRE(g.lookup(node.op, node.payload, node.children) == id);
    }
  }
  REQUIRE(nodes == g.node_count());
  REQUIRE(classes == g.class_count());
}

}  // namespace

TEST_CASE("the same node is added once") {
  graph g;
  const auto a = leaf(g, 1), b = leaf(g, 2);
  CHECK(leaf(g, 1) == a);
  CHECK(a != b);
  CHECK(g.add(symbols::g, 0, {a, b}) == g.add(symbols::g, 0, {a, b}));
  CHECK(g.add(symbols::g, 0, {a, b}) != g.add(symbols::g, 0, {b, a}));
  CHECK(g.add(symbols::g, 7, {a, b}) != g.add(symbols::g, 0, {a, b}));
  CHECK(g.add(symbols::sum, 0, {a, b}) == g.add(symbols::sum, 0, {b, a}));
  CHECK(g.node_count() == 6);
  CHECK_FALSE(g.lookup(symbols::f, 0, {a}).has_value());
  check_invariants(g);
}

TEST_CASE("wrong nodes are errors") {
  graph g;
  const auto a = leaf(g, 1);
  CHECK_THROWS_WITH_AS(g.add(symbols::g, 0, {a}), "e-graph: g takes 2 children, not 1",
                       sinter::error);
  CHECK_THROWS_AS(g.add(99, 0, {a}), sinter::error);
}

TEST_CASE("congruence closes upwards") {
  graph g;
  const auto a = leaf(g, 1), b = leaf(g, 2);
  const auto fa = g.add(symbols::f, 0, {a}), fb = g.add(symbols::f, 0, {b});
  const auto ffa = g.add(symbols::f, 0, {fa}), ffb = g.add(symbols::f, 0, {fb});
  const auto h1 = g.add(symbols::h, 0, {a, fa, ffb}), h2 = g.add(symbols::h, 0, {b, fb, ffa});
  CHECK(g.unite(a, b));
  CHECK_FALSE(g.unite(a, b));
  CHECK_FALSE(g.clean());
  g.rebuild();
  CHECK(g.clean());
  CHECK(g.find(ffa) == g.find(ffb));
  CHECK(g.find(h1) == g.find(h2));
  CHECK(g.node_count() == 5);  // two leaves, f, f f, h
  CHECK(g.class_count() == 4);
  check_invariants(g);
}

TEST_CASE("f^5(a) = a and f^3(a) = a give f(a) = a") {
  graph g;
  const auto a = leaf(g, 1);
  std::vector<eq::class_id> power{a};
  for (int i = 0; i < 5; ++i) power.push_back(g.add(symbols::f, 0, {power.back()}));
  g.unite(power[5], a);
  g.unite(power[3], a);
  g.rebuild();
  CHECK(g.find(power[1]) == g.find(a));
  CHECK(g.node_count() == 2);
  check_invariants(g);
}

TEST_CASE("unions that change the order of a commutative node's children") {
  graph g;
  const auto a = leaf(g, 1), b = leaf(g, 2), c = leaf(g, 3);
  const auto ab = g.add(symbols::sum, 0, {a, b}), bc = g.add(symbols::sum, 0, {b, c});
  g.add(symbols::f, 0, {c});
  g.add(symbols::f, 1, {c});  // makes c heavier than a: c wins the union
  g.unite(a, c);
  g.rebuild();
  CHECK(g.find(a) == c);
  CHECK(g.find(ab) == g.find(bc));
  check_invariants(g);
}

TEST_CASE("variadic nodes of many children") {
  graph g;
  std::vector<eq::class_id> leaves;
  for (std::uint32_t i = 0; i < 40; ++i) leaves.push_back(leaf(g, i));
  const auto all = g.add(symbols::list, 0, leaves);
  std::vector<eq::class_id> other = leaves;
  other[17] = leaf(g, 100);
  const auto nearly = g.add(symbols::list, 0, other);
  CHECK(g.add(symbols::list, 0, std::vector<eq::class_id>{}) != all);
  g.unite(leaves[17], other[17]);
  g.rebuild();
  CHECK(g.find(all) == g.find(nearly));
  check_invariants(g);
}

TEST_CASE("children may be a view into the e-graph itself") {
  graph g;
  const auto a = leaf(g, 1);
  auto last = g.add(symbols::h, 0, {a, a, a});
  for (int i = 0; i < 100; ++i) {
    const eq::enode_view node = *g.nodes(last).begin();
    last = g.add(symbols::h, node.payload + 1, node.children);
  }
  CHECK(g.node_count() == 102);
}

TEST_CASE("random unions agree with a naive congruence closure") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    graph g;
    struct term {
      std::uint16_t op;
      std::uint32_t payload;
      std::vector<std::size_t> children;
    };
    std::vector<term> terms;
    std::vector<eq::class_id> ids;
    std::vector<std::pair<std::size_t, std::size_t>> unions;
    const auto any = [&] { return static_cast<std::size_t>(random() % terms.size()); };
    for (int i = 0; i < 40; ++i) {
      const auto kind =
          i < 4 ? std::uint16_t{symbols::leaf} : static_cast<std::uint16_t>(1 + random() % 5);
      term t{kind,
             kind == symbols::leaf ? static_cast<std::uint32_t>(i)
                                   : static_cast<std::uint32_t>(random() % 2),
             {}};
      const int arity = symbols::operators[kind].arity;
      for (int c = 0; c < (arity < 0 ? static_cast<int>(random() % 5) : arity); ++c)
        t.children.push_back(any());
      std::vector<eq::class_id> children;
      for (const std::size_t c : t.children) children.push_back(ids[c]);
      ids.push_back(g.add(t.op, t.payload, children));
      terms.push_back(t);
      if (random() % 5 == 0) {
        unions.push_back({any(), any()});
        g.unite(ids[unions.back().first], ids[unions.back().second]);
      }
      if (random() % 7 == 0) {
        g.rebuild();
        check_invariants(g);
      }
    }
    g.rebuild();
    check_invariants(g);

    // The oracle: labels of terms, made equal until nothing changes.
    std::vector<std::size_t> label(terms.size());
    std::iota(label.begin(), label.end(), std::size_t{0});
    const auto relabel = [&](std::size_t from, std::size_t to) {
      std::replace(label.begin(), label.end(), from, to);
    };
    for (const auto& [a, b] : unions) relabel(label[a], label[b]);
    for (bool changed = true; changed;) {
      changed = false;
      std::map<std::vector<std::size_t>, std::size_t> keys;
      for (std::size_t i = 0; i < terms.size(); ++i) {
        std::vector<std::size_t> children;
        for (const std::size_t c : terms[i].children) children.push_back(label[c]);
        if (terms[i].op == symbols::sum) std::sort(children.begin(), children.end());
        std::vector<std::size_t> key{terms[i].op, terms[i].payload};
        key.insert(key.end(), children.begin(), children.end());
        const auto [found, inserted] = keys.insert({key, i});
        if (!inserted && label[found->second] != label[i]) {
          relabel(label[i], label[found->second]);
          changed = true;
          break;
        }
      }
    }
    for (std::size_t i = 0; i < terms.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j)
        REQUIRE((label[i] == label[j]) == (g.find(ids[i]) == g.find(ids[j])));
    }
  }
}

TEST_CASE("parents of a class") {
  graph g;
  const auto a = leaf(g, 1), b = leaf(g, 2);
  g.add(symbols::f, 0, {a});
  g.add(symbols::g, 0, {a, b});
  g.add(symbols::g, 0, {a, a});
  int count = 0;
  g.for_each_parent(a,
                    [&](const eq::enode_view& node) { count += node.op == symbols::g ? 10 : 1; });
  CHECK(count == 21);
}

TEST_CASE("the node limit throws before anything is added") {
  graph g;
  const auto a = leaf(g, 1);
  g.set_node_limit(2);
  g.add(symbols::f, 0, {a});
  CHECK_THROWS_AS(leaf(g, 2), eq::node_limit_error);
  CHECK(g.node_limit_reached());
  CHECK(g.add(symbols::f, 0, {a}) != a);  // what is there already is no problem
  CHECK(g.node_count() == 2);
  check_invariants(g);
}

TEST_CASE("a copy is independent") {
  graph g;
  const auto a = leaf(g, 1), b = leaf(g, 2);
  graph copy = g;
  g.unite(a, b);
  g.rebuild();
  CHECK(copy.find(a) != copy.find(b));
  copy.add(symbols::f, 0, {a});
  CHECK(copy.node_count() == 3);
  CHECK(g.node_count() == 2);
}

TEST_CASE("printing") {
  graph g;
  const auto a = leaf(g, 1), b = leaf(g, 2);
  const auto s = g.add(symbols::sum, 0, {b, a});
  const auto n = g.add(symbols::list, 0, {a, s, b});
  g.unite(n, s);
  g.rebuild();
  CHECK(eq::to_text(g) == "c0 = leaf[1]\nc1 = leaf[2]\nc2 = (sum c0 c1) | (list c0 c2 c1)\n");
  const std::string dot = eq::to_dot(g);
  CHECK(dot.rfind("digraph egraph {", 0) == 0);
  CHECK(dot.find("subgraph cluster_2") != std::string::npos);
  const std::string egglog = eq::to_egglog(g);
  CHECK(egglog.find("(op-list-3 String Term Term Term)") != std::string::npos);
  CHECK(egglog.find("(union (class 2) (op-sum \"\" (class 0) (class 1)))") != std::string::npos);
}

}  // namespace egraph_test
