// SPDX-License-Identifier: MIT
// The reader of extraction-gym's files, on small graphs written here.
#include "support/gym.hpp"

#include <limits>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include <sinter/egraph/extract.hpp>

namespace gym_test {

namespace eq = sinter::eqsat;

namespace {

eq::extraction_problem read(const std::string& text) {
  std::istringstream in(text);
  return gym::read_problem(in);
}

}  // namespace

TEST_CASE("children are nodes that stand for their classes, costs default to one") {
  // (a + b) where + is also *, a is also a loop over itself, and b is subsumed.
  const auto problem = read(R"({
    "comment": "keys that are not known are ignored",
    "nodes": {
      "plus":  {"op": "+", "children": ["a", "b"], "eclass": "sum", "cost": 3},
      "times": {"op": "*", "children": ["b", "loop"], "eclass": "sum", "cost": 2.5},
      "a":     {"op": "a", "eclass": "left", "cost": 4},
      "loop":  {"op": "id", "children": ["a"], "eclass": "left", "cost": 0},
      "b":     {"op": "b", "children": [], "eclass": "right", "subsumed": true},
      "alone": {"op": "c", "children": [], "eclass": "nowhere", "cost": -7}
    },
    "root_eclasses": ["sum", "right", "sum"],
    "class_data": {"sum": {"type": "int"}}
  })");
  CHECK(problem.classes() == 4);
  CHECK(problem.options.size() == 5);  // the loop is part of no term
  CHECK(problem.roots.size() == 2);
  const auto dag = eq::solve(problem, {});
  CHECK(dag.cost == 2.5 + 4 + 1);
  CHECK(dag.lower_bound == dag.cost);
  CHECK(eq::solve(problem, {.how = eq::method::tree}).cost == 2 * 7.5 + 1);
}

TEST_CASE("a graph without a finite term, and one without roots") {
  const auto cycle = read(R"({"nodes": {
    "x": {"op": "f", "children": ["y"], "eclass": "1"},
    "y": {"op": "g", "children": ["x"], "eclass": "2"}}, "root_eclasses": ["1"]})");
  CHECK(eq::solve(cycle, {}).cost == std::numeric_limits<double>::infinity());
  const auto rootless = read(R"({"nodes": {"x": {"op": "f", "eclass": "1"}}})");
  CHECK(eq::solve(rootless, {}).cost == 0);
}

TEST_CASE("what is no such file is refused") {
  CHECK_THROWS_AS(read("{"), sinter::io_error);
  CHECK_THROWS_AS(read(R"({"root_eclasses": []})"), sinter::io_error);
  CHECK_THROWS_AS(read(R"({"nodes": {"x": {"op": "f"}}})"), sinter::io_error);
  CHECK_THROWS_AS(read(R"({"nodes": {"x": {"op": "f", "children": ["y"], "eclass": "1"}}})"),
                  sinter::io_error);
  CHECK_THROWS_AS(read(R"({"nodes": {"x": {"op": "f", "eclass": "1"}}, "root_eclasses": ["2"]})"),
                  sinter::io_error);
  CHECK_THROWS_AS(gym::read_problem(std::string("/no such file")), sinter::io_error);
}

}  // namespace gym_test
