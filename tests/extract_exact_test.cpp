// SPDX-License-Identifier: MIT
// Extraction of problems that come from no e-graph: brute force as the oracle of every method over
// cycles, several roots and costs of any sign; limits on work and time; the search itself.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include <sinter/egraph/extract.hpp>

namespace extract_exact_test {

namespace eq = sinter::eqsat;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct node {
  std::uint32_t owner;
  double cost;
  std::vector<std::uint32_t> children;
};

eq::extraction_problem problem_of(std::size_t classes, const std::vector<node>& nodes,
                                  const std::vector<std::uint32_t>& roots) {
  eq::extraction_problem_builder builder(classes);
  std::uint32_t id = 0;
  for (const node& n : nodes) builder.add_option(n.owner, id++, n.cost, n.children);
  for (const std::uint32_t r : roots) builder.add_root(r);
  return builder.finish();
}

// The least cost over all choices without cycles of what the roots need: class by class, each
// needed one in each of its ways. Shares nothing with the extractors but the problem.
class brute_force {
 public:
  explicit brute_force(const eq::extraction_problem& problem)
      : problem_(problem), choice_(problem.classes(), eq::no_id) {}

  double run() {
    double best = infinity;
    for_each([&](const eq::option_choice&, double cost) { best = std::min(best, cost); });
    return best;
  }

  // visit(choice, cost)
  void for_each(const std::function<void(const eq::option_choice&, double)>& visit) {
    visit_ = visit;
    choose({problem_.roots.begin(), problem_.roots.end()}, 0);
  }

 private:
  void choose(std::vector<std::uint32_t> open, double cost) {
    while (!open.empty() && choice_[open.back()] != eq::no_id) open.pop_back();
    if (open.empty()) {
      std::vector<int> state(problem_.classes(), 0);
      for (const std::uint32_t r : problem_.roots) {
        if (!is_term(r, state)) return;
      }
      visit_(choice_, cost);
      return;
    }
    const std::uint32_t c = open.back();
    open.pop_back();
    for (std::uint32_t i = problem_.first_option[c]; i < problem_.first_option[c + 1]; ++i) {
      choice_[c] = i;
      std::vector<std::uint32_t> next = open;
      for (const auto& d : problem_.children_of(i)) next.push_back(d.target);
      choose(std::move(next), cost + problem_.options[i].cost);
    }
    choice_[c] = eq::no_id;
  }

  bool is_term(std::uint32_t c, std::vector<int>& state) const {
    if (state[c] == 2) return true;
    if (state[c] == 1) return false;
    state[c] = 1;
    for (const auto& d : problem_.children_of(choice_[c])) {
      if (!is_term(d.target, state)) return false;
    }
    state[c] = 2;
    return true;
  }

  const eq::extraction_problem& problem_;
  eq::option_choice choice_;
  std::function<void(const eq::option_choice&, double)> visit_;
};

// The choice is one of the roots, has no cycle and costs what the solution says.
void check_valid(const eq::extraction_problem& problem, const eq::problem_solution& found) {
  eq::option_choice choice = found.choice;
  REQUIRE(eq::keep_reachable(problem, choice) == doctest::Approx(found.cost).epsilon(1e-12));
  REQUIRE(choice == found.choice);
  REQUIRE_FALSE(eq::has_cycle(problem, choice));
  for (std::uint32_t c = 0; c < choice.size(); ++c) {
    if (choice[c] != eq::no_id) REQUIRE(problem.options[choice[c]].owner == c);
  }
}

// Edges lead anywhere but mostly up, so that there are cycles and most classes have a term.
eq::extraction_problem random_problem(unsigned seed, std::size_t classes, int options,
                                      const std::vector<double>& costs) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  std::vector<node> nodes;
  for (std::uint32_t c = 0; c < classes; ++c) {
    for (std::uint32_t k = below(static_cast<std::size_t>(options) + 1); k-- > 0;) {
      node n{c, costs[below(costs.size())], {}};
      for (std::uint32_t m = below(5) == 0 ? 0 : 1 + below(3); m-- > 0;) {
        const std::uint32_t up =
            std::min(c + 1 + below(3), static_cast<std::uint32_t>(classes) - 1);
        n.children.push_back(below(3) == 0 ? up : below(classes));
      }
      nodes.push_back(std::move(n));
    }
  }
  std::vector<std::uint32_t> roots{0};
  while (below(2) == 0) roots.push_back(below(classes));
  return problem_of(classes, nodes, roots);
}

}  // namespace

TEST_CASE("brute force over 10,000 random problems") {
  const std::vector<std::vector<double>> costs{{0, 0, 1, 2, 3, 4, 5},
                                               {0.37, 0.74, 1.11},
                                               {-4, -3, -2, -1, 0, 1, 2, 3, 4},
                                               {-0.1, 0, 0.1, 0.3}};
  int found = 0, sharing = 0;
  for (unsigned seed = 0; seed < 10'000; ++seed) {
    CAPTURE(seed);
    const eq::extraction_problem problem =
        random_problem(seed, 4 + seed % 8, 3, costs[seed % costs.size()]);
    const double best = brute_force(problem).run();
    const eq::problem_solution exact = eq::solve(problem, {.how = eq::method::exact});
    REQUIRE((exact.cost < infinity) == (best < infinity));
    if (best == infinity) continue;
    ++found;
    check_valid(problem, exact);
    REQUIRE(exact.cost == doctest::Approx(best).epsilon(1e-9));
    REQUIRE(exact.lower_bound == exact.cost);

    const eq::problem_solution tree = eq::solve(problem, {.how = eq::method::tree});
    eq::option_choice trees = tree.choice;
    REQUIRE_FALSE(eq::has_cycle(problem, trees));
    const double dag_of_tree = eq::keep_reachable(problem, trees);
    sharing += dag_of_tree > best + 1e-9 ? 1 : 0;
    for (const std::size_t work : {0u, 100u, 10'000u}) {
      const eq::problem_solution dag = eq::solve(problem, {.work = work});
      check_valid(problem, dag);
      REQUIRE(dag.cost <= dag_of_tree + 1e-9);
      REQUIRE(dag.cost >= best - 1e-9);
      REQUIRE(dag.lower_bound <= best + 1e-9);
    }
  }
  CHECK(found > 3000);
  CHECK(sharing > 150);
}

TEST_CASE(
    "landmarks: every choice has one of their options, and pays for its options beyond the bound") {
  int bounded = 0, tight = 0, dearer = 0;
  for (unsigned seed = 0; seed < 10'000; ++seed) {
    CAPTURE(seed);
    const auto problem = random_problem(seed, 4 + seed % 8, 3, {0, 1, 2, 3, 4.5, 5.1});
    std::size_t work = 1'000'000;
    const eq::landmark_bound bound = eq::bound_by_landmarks(problem, work);
    double best = infinity;
    brute_force(problem).for_each([&](const eq::option_choice& choice, double cost) {
      best = std::min(best, cost);
      double rest = 0;
      for (const std::uint32_t i : choice) {
        if (i == eq::no_id) continue;
        rest += bound.rest[i];
        REQUIRE(cost >= bound.total + bound.excess[i] - 1e-9);
      }
      REQUIRE(cost >= bound.total + rest - 1e-9);
      for (const eq::landmark& mark : bound.landmarks) {
        REQUIRE(std::ranges::any_of(
            mark.options, [&](std::uint32_t i) { return choice[problem.options[i].owner] == i; }));
      }
    });
    REQUIRE(bound.total <= best + 1e-9);
    CHECK((bound.total == infinity) == (best == infinity));
    if (best == infinity || best == 0) continue;
    CHECK(work < 1'000'000);
    ++bounded;
    tight += bound.total >= best - 1e-9 ? 1 : 0;
    dearer += bound.excess != bound.rest ? 1 : 0;

    // What was found when the work ran out.
    std::size_t little = 20;
    CHECK(eq::bound_by_landmarks(problem, little).total <= bound.total + 1e-9);
  }
  CHECK(bounded > 2500);
  CHECK(10 * tight > 9 * bounded);
  CHECK(dearer > 300);
}

TEST_CASE("only what the roots need is chosen, and no cycle, whatever it earns") {
  // 0 needs 1; 2 would earn 10, and 3 and 4 need each other and earn 5 each.
  const auto apart =
      problem_of(5, {{0, 1, {1}}, {1, 2, {}}, {2, -10, {}}, {3, -5, {4}}, {4, -5, {3}}}, {0});
  for (const eq::method how : {eq::method::tree, eq::method::dag, eq::method::exact}) {
    const auto found = eq::solve(apart, {.how = how});
    CHECK(found.cost == 3);
    CHECK(found.lower_bound == 3);
    CHECK(found.choice[2] == eq::no_id);
    CHECK(found.choice[3] == eq::no_id);
  }
  // A dearer option pays if it needs what earns more.
  const auto detour = problem_of(3, {{0, 1, {}}, {0, 4, {1, 2}}, {1, 0, {2}}, {2, -10, {}}}, {0});
  CHECK(eq::solve(detour, {}).cost == -6);
  CHECK(eq::solve(detour, {.how = eq::method::tree}).cost == -16);  // class 2 is paid at each use
  // Class 0 through 1 and back to 0 would earn for ever.
  const auto cycle = problem_of(2, {{0, -3, {1}}, {0, 1, {}}, {1, 0, {0}}, {1, 2, {}}}, {0, 1});
  const auto dag = eq::solve(cycle, {});
  CHECK(dag.cost == -1);
  CHECK(dag.lower_bound == -1);
  check_valid(cycle, dag);
  const auto tree = eq::solve(cycle, {.how = eq::method::tree});
  CHECK_FALSE(eq::has_cycle(cycle, tree.choice));
  CHECK(tree.lower_bound == -infinity);
}

TEST_CASE("a set cover") {
  // Class 0 needs the elements 1 to 6, each in one of two of the sets 7 to 11. Greedily {1, 2, 3,
  // 4} comes first, and two more are needed; {1, 3, 5} and {2, 4, 6} do.
  std::vector<node> nodes{{0, 0, {1, 2, 3, 4, 5, 6}}};
  const std::vector<std::vector<std::uint32_t>> sets{{1, 2, 3, 4}, {1, 3, 5}, {2, 4, 6}, {5}, {6}};
  for (std::uint32_t s = 0; s < sets.size(); ++s) {
    nodes.push_back({7 + s, 1, {}});
    for (const std::uint32_t element : sets[s]) nodes.push_back({element, 0, {7 + s}});
  }
  const auto cover = problem_of(12, nodes, {0});
  const auto found = eq::solve(cover, {});
  CHECK(found.cost == 2);
  CHECK(found.lower_bound == 2);
  check_valid(cover, found);
}

TEST_CASE("without work the first choice, with more never a worse one, and always the same") {
  int improved = 0, proved = 0, unproved = 0;
  for (unsigned seed = 0; seed < 10; ++seed) {
    CAPTURE(seed);
    // Random covers of 60 elements by some of 40 sets of six.
    std::mt19937 random(seed);
    std::vector<node> nodes{{0, 0, {}}};
    for (std::uint32_t element = 1; element <= 60; ++element) {
      nodes[0].children.push_back(element);
      for (int k = 0; k < 4; ++k) {
        nodes.push_back({element, 0, {61 + static_cast<std::uint32_t>(random() % 40)}});
      }
    }
    for (std::uint32_t set = 61; set <= 100; ++set) {
      nodes.push_back({set, 1.0 + static_cast<double>(random() % 5), {}});
    }
    const auto problem = problem_of(101, nodes, {0});
    const auto greedy = eq::solve(problem, {.how = eq::method::exact, .work = 0});
    check_valid(problem, greedy);
    CHECK(greedy.choice == eq::solve(problem, {.how = eq::method::dag, .work = 0}).choice);
    const auto late = eq::solve(problem, {.how = eq::method::exact, .seconds = 0});
    check_valid(problem, late);
    const auto little = eq::solve(problem, {.work = 20'000});
    const auto more = eq::solve(problem, {.work = 10'000'000});
    check_valid(problem, more);
    CHECK(more.cost <= little.cost);
    CHECK(little.cost <= greedy.cost);
    CHECK(more.lower_bound >= greedy.lower_bound);
    CHECK(late.lower_bound <= more.cost);
    CHECK(little.lower_bound <= more.cost);
    const auto again = eq::solve(problem, {.work = 10'000'000});
    CHECK(again.choice == more.choice);
    CHECK(again.lower_bound == more.lower_bound);
    improved += more.cost < greedy.cost ? 1 : 0;
    proved += more.lower_bound == more.cost ? 1 : 0;
    unproved += little.lower_bound < little.cost ? 1 : 0;
  }
  CHECK(improved > 5);
  CHECK(proved > 5);
  CHECK(unproved > 5);
}

TEST_CASE("chains and ladders as long as e-graphs have") {
  // Two ways down each of 5,000 steps, the dearer of which shares what the next step needs too.
  std::vector<node> nodes;
  constexpr std::uint32_t steps = 5000;
  for (std::uint32_t c = 0; c < steps; ++c) {
    nodes.push_back({c, 2, {c + 1}});
    nodes.push_back({c, 1, {c + 1, steps + 1}});
  }
  nodes.push_back({steps, 1, {}});
  nodes.push_back({steps + 1, 100, {}});
  const auto found = eq::solve(problem_of(steps + 2, nodes, {0}), {});
  CHECK(found.cost == steps + 101);
  CHECK(found.lower_bound == found.cost);
}

TEST_CASE("the largest amount that all costs are multiples of") {
  const auto grain = [](double a, double b) {
    return eq::cost_grain(problem_of(1, {{0, a, {}}, {0, b, {}}}, {0}));
  };
  CHECK(grain(6, 9) == 3);
  CHECK(grain(-6, 0) == 6);
  CHECK(grain(0.3, 0.45) == doctest::Approx(0.15));
  CHECK(grain(0.25, 1000) == doctest::Approx(0.25));
  CHECK(grain(std::sqrt(2.0), 1) == 0);
  CHECK(grain(0, 0) == 0);
}

}  // namespace extract_exact_test
