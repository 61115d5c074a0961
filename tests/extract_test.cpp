// SPDX-License-Identifier: MIT
// Extraction: optimal tree cost, DAG cost that shares, bounds, cycles, and brute force as the
// oracle.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/egraph.hpp>

namespace extract_test {

namespace eq = sinter::eqsat;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The payload of a node is its cost, except that 1000 stands for infinity.
struct priced {
  enum op : std::uint16_t { leaf, f, g, h };
  static constexpr std::array<eq::operator_info, 4> operators{
      {{"leaf", 0}, {"f", 1}, {"g", 2}, {"h", 3}}};
};
using graph = eq::egraph<priced>;

double price(eq::class_id, const eq::enode_view& node) {
  return node.payload % 1001 == 1000 ? infinity : node.payload % 1001;
}
// Distinct nodes of equal cost: the cost is the payload modulo 1001.
std::uint32_t costs(std::uint32_t cost, std::uint32_t tag = 0) { return cost + 1001 * tag; }

// The DAG cost of what was chosen; fails on a cycle or a missing choice.
double dag_cost(const graph& g, const eq::extraction& chosen,
                const std::vector<eq::class_id>& roots) {
  std::map<eq::class_id, int> state;
  double cost = 0;
  const std::function<void(eq::class_id)> visit = [&](eq::class_id id) {
    id = g.find(id);
    REQUIRE(state[id] != 1);
    if (state[id] == 2) return;
    state[id] = 1;
    REQUIRE(chosen.choice_of(id) != eq::no_id);
    const eq::enode_view node = g.node(chosen.choice_of(id));
    REQUIRE(g.class_of(node.id) == id);
    for (const eq::class_id child : node.children) visit(child);
    cost += price(id, node);
    state[id] = 2;
  };
  for (const eq::class_id root : roots) visit(root);
  return cost;
}

// The least tree and DAG cost over all choices without cycles.
struct optimum {
  double tree = infinity;
  double dag = infinity;
};
optimum brute_force(const graph& g, const std::vector<eq::class_id>& roots) {
  std::vector<eq::class_id> ids;
  std::vector<std::vector<eq::enode_view>> options;
  for (const eq::class_id id : g.classes()) {
    ids.push_back(id);
    options.emplace_back();
    for (const eq::enode_view& node : g.nodes(id)) options.back().push_back(node);
  }
  optimum best;
  std::map<eq::class_id, eq::enode_view> choice;
  std::vector<std::size_t> at(ids.size(), 0);
  for (;;) {
    for (std::size_t i = 0; i < ids.size(); ++i) choice[ids[i]] = options[i][at[i]];
    std::map<eq::class_id, double> tree;
    std::set<eq::class_id> open;
    double dag = 0;
    const std::function<double(eq::class_id)> visit = [&](eq::class_id id) -> double {
      id = g.find(id);
      if (const auto known = tree.find(id); known != tree.end()) return known->second;
      if (!open.insert(id).second) return infinity;
      double total = price(id, choice[id]);
      dag += total;
      for (const eq::class_id child : choice[id].children) total += visit(child);
      open.erase(id);
      return tree[id] = total;
    };
    double total = 0;
    for (const eq::class_id root : roots) total += visit(root);
    if (total < infinity) {
      best.tree = std::min(best.tree, total);
      best.dag = std::min(best.dag, dag);
    }
    std::size_t i = 0;
    while (i < at.size() && ++at[i] == options[i].size()) at[i++] = 0;
    if (i == at.size()) return best;
  }
}

}  // namespace

TEST_CASE("tree cost takes the cheapest term") {
  graph g;
  const auto a = g.add(priced::leaf, costs(5), {}), b = g.add(priced::leaf, costs(1), {});
  const auto fa = g.add(priced::f, costs(1), {a});
  const auto gb = g.add(priced::g, costs(1), {b, b});
  g.unite(fa, gb);
  g.rebuild();
  const eq::extraction best = eq::extract_tree(g, {fa}, price);
  CHECK(best.cost == 3);
  CHECK(best.proved());
  CHECK(g.node(best.choice_of(fa)).op == priced::g);
  CHECK(best.choice_of(gb) == best.choice_of(fa));  // any id of the class will do
  CHECK(best.choice_of(a) == eq::no_id);            // not needed
  CHECK(eq::to_text(g, best, fa) == "(g[1] leaf[1] leaf[1])");
}

TEST_CASE("DAG cost pays for what is shared once") {
  // root = g(x, y); x = f(shared) or leaf 6; y = f'(shared) or leaf 6; shared costs 8: as trees the
  // leaves win, together sharing is 1 + 1 + 1 + 8 = 11 against 13.
  graph g;
  const auto shared = g.add(priced::leaf, costs(8), {});
  const auto x = g.add(priced::f, costs(1, 1), {shared}),
             y = g.add(priced::f, costs(1, 2), {shared});
  g.unite(x, g.add(priced::leaf, costs(6, 1), {}));
  g.unite(y, g.add(priced::leaf, costs(6, 2), {}));
  const auto root = g.add(priced::g, costs(1), {x, y});
  g.rebuild();
  CHECK(eq::extract_tree(g, {root}, price).cost == 13);
  const eq::extraction dag = eq::extract_dag(g, {root}, price);
  CHECK(dag.cost == 11);
  CHECK(dag.proved());
  CHECK(dag.cost == dag_cost(g, dag, {root}));
  const auto twice = g.add(priced::h, costs(2), {x, x, y});
  CHECK(eq::extract_dag(g, {twice}, price).cost == 12);
  CHECK(eq::extract_tree(g, {twice}, price).cost == 20);
  CHECK(eq::extract(g, {twice}, price, {.how = eq::method::exact}).cost == 12);
  CHECK(eq::extract(g, {twice}, price, {.how = eq::method::tree}).cost == 20);
}

TEST_CASE("cycles, infinite costs, unreachable classes, several roots") {
  graph g;
  const auto a = g.add(priced::leaf, costs(4), {});
  const auto fa = g.add(priced::f, costs(0), {a});
  g.unite(a, fa);  // a = f(a): free, but no term
  const auto never = g.add(priced::leaf, costs(1000), {});
  const auto uses_never = g.add(priced::f, costs(0, 1), {never});
  const auto elsewhere = g.add(priced::leaf, costs(77), {});
  g.rebuild();
  const eq::extraction one = eq::extract_dag(g, {a, a, fa}, price);
  CHECK(one.cost == 4);
  CHECK(one.proved());
  CHECK(one.choice_of(elsewhere) == eq::no_id);
  CHECK(eq::extract_tree(g, {a, a}, price).cost == 8);
  const eq::extraction none = eq::extract_dag(g, {uses_never, a}, price);
  CHECK_FALSE(none.found());
  CHECK(none.cost == infinity);
  CHECK(none.choice_of(uses_never) == eq::no_id);
  CHECK(none.choice_of(a) != eq::no_id);
  CHECK(eq::extract_tree(g, {uses_never}, price).cost == infinity);
  CHECK(eq::extract_dag(g, {}, price).cost == 0);
}

TEST_CASE("a cost must be a number or plus infinity") {
  graph g;
  const auto a = g.add(priced::leaf, 1, {});
  CHECK_THROWS_AS(eq::extract_tree(g, {a}, [](auto, const auto&) { return -infinity; }),
                  sinter::error);
  CHECK_THROWS_AS(eq::extract_dag(g, {a}, [](auto, const auto&) { return std::nan(""); }),
                  sinter::error);
  CHECK(eq::extract_dag(g, {a}, [](auto, const auto&) { return -1.0; }).cost == -1);
}

TEST_CASE("tree costs beyond the range of double do not make a term impossible") {
  graph g;
  auto x = g.add(priced::leaf, costs(1), {});
  for (int i = 0; i < 2000; ++i) x = g.add(priced::g, costs(1), {x, x});
  CHECK(eq::extract_tree(g, {x}, price).found());
  const eq::extraction dag = eq::extract_dag(g, {x}, price);
  CHECK(dag.cost == 2001);
  CHECK(dag.proved());
}

TEST_CASE("out of work, greedy still returns the terms of least tree cost") {
  graph g;
  auto x = g.add(priced::leaf, costs(1), {});
  for (int i = 0; i < 50; ++i) x = g.add(priced::f, costs(1, static_cast<std::uint32_t>(i)), {x});
  const eq::extraction dag = eq::extract_dag(g, std::span<const eq::class_id>(&x, 1), price, 10);
  CHECK(dag.cost == 51);
}

TEST_CASE("brute force over random e-graphs") {
  int optimal = 0, total = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    graph g;
    std::vector<eq::class_id> made;
    const auto any = [&] { return made[random() % made.size()]; };
    for (std::uint32_t i = 0; i < 12; ++i) {
      const auto op = static_cast<std::uint16_t>(i < 3 ? 0 : random() % 4);
      const auto cost = static_cast<std::uint32_t>(random() % 12 == 0 ? 1000 : random() % 6);
      std::vector<eq::class_id> children;
      for (int c = 0; c < priced::operators[op].arity; ++c) children.push_back(any());
      made.push_back(g.add(op, costs(cost, i), children));
    }
    for (int i = 0; i < 5; ++i) {
      const auto a = any(), b = any();
      g.unite(a, b);
    }
    g.rebuild();
    std::vector<eq::class_id> roots{made.back()};
    if (random() % 2 == 0) roots.push_back(any());
    const optimum best = brute_force(g, roots);

    const eq::extraction tree = eq::extract_tree(g, std::span<const eq::class_id>(roots), price);
    REQUIRE(tree.cost == best.tree);
    const eq::extraction dag = eq::extract_dag(g, std::span<const eq::class_id>(roots), price);
    REQUIRE(dag.found() == (best.dag < infinity));
    if (!dag.found()) continue;
    REQUIRE(dag.cost == dag_cost(g, dag, roots));
    REQUIRE(dag.cost <= dag_cost(g, tree, roots));
    ++total;
    optimal += dag.cost == best.dag && dag.proved() ? 1 : 0;
  }
  CHECK(total > 1000);
  CHECK(optimal == total);
}

}  // namespace extract_test
