// SPDX-License-Identifier: MIT
//
// The lambda calculus of egg's test suite: substitution by `let` that avoids capture (an analysis
// keeps the free names of each class), conditionals, recursion and folded numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph.hpp>

namespace lambda_calculus {

namespace eq = sinter::eqsat;

enum op : std::uint16_t { var, lam, app, let, fix, plus, equal, choose, top, bottom, number, name };

struct language {
  static constexpr std::array<eq::operator_info, 12> operators{{{"var", 1},
                                                                {"lam", 2},
                                                                {"app", 2},
                                                                {"let", 3},
                                                                {"fix", 2},
                                                                {"+", 2},
                                                                {"=", 2},
                                                                {"if", 3},
                                                                {"true", 0},
                                                                {"false", 0},
                                                                {"number", 0},
                                                                {"name", 0}}};
  using graph = eq::egraph<language>;
  using names = std::vector<std::uint32_t>;                  // sorted
  using constant = std::pair<std::uint16_t, std::uint32_t>;  // operator and payload of a leaf

  struct data {
    names free;
    std::optional<constant> value;
    std::optional<std::uint32_t> own_name;
  };

  static data make(const graph& g, eq::enode_view node) {
    data out;
    const auto child = [&](std::size_t i) -> const data& { return g.data(node.children[i]); };
    const auto add = [&](const names& more) {
      names all;
      std::ranges::set_union(out.free, more, std::back_inserter(all));
      out.free = std::move(all);
    };
    switch (node.op) {
      case name: out.own_name = node.payload; break;
      case top:
      case bottom:
      case number: out.value = {node.op, node.payload}; break;
      case var: out.free = {*child(0).own_name}; break;
      case let:
        out.free = child(2).free;
        std::erase(out.free, *child(0).own_name);
        add(child(1).free);
        break;
      case lam:
      case fix:
        out.free = child(1).free;
        std::erase(out.free, *child(0).own_name);
        break;
      default:
        for (std::size_t i = 0; i < node.children.size(); ++i) add(child(i).free);
        if (node.op == choose || node.op == app || !child(0).value || !child(1).value) break;
        if (node.op == equal) {
          out.value = constant(*child(0).value == *child(1).value ? top : bottom, 0);
        } else if (child(0).value->first == number && child(1).value->first == number) {
          out.value = constant(number, child(0).value->second + child(1).value->second);
        }
    }
    return out;
  }
  static eq::merge_result merge(data& into, const data& from) {
    eq::merge_result result;
    names both;
    std::ranges::set_intersection(into.free, from.free, std::back_inserter(both));
    result = {both.size() < into.free.size(), both.size() < from.free.size()};
    into.free = std::move(both);
    const auto take = [&](auto& mine, const auto& other) {
      result.into_changed |= !mine && other;
      result.from_differs |= mine && !other;
      if (!mine) mine = other;
    };
    take(into.value, from.value);
    take(into.own_name, from.own_name);
    return result;
  }
  static void modify(graph& g, eq::class_id id) {
    if (const auto value = g.data(id).value) g.unite(id, g.add(value->first, value->second, {}));
  }
};

using graph = language::graph;
using rule = eq::rule<language>;

/// A name that no program has, one for each class.
inline std::uint32_t fresh_name(eq::class_id root) {
  return std::numeric_limits<std::uint32_t>::max() - root;
}

// Local to each file that includes this: under UBSan, GCC takes no pointer to an inline function
// for constant.
namespace {

std::vector<rule> rules() {
  using eq::rewrite;
  const auto names_differ = [](const graph& g, const eq::match& m) {
    return g.find(m["v"]) != g.find(m["w"]);
  };
  return {
      rewrite<language>("if true", "(if true ?a ?b)", "?a"),
      rewrite<language>("if false", "(if false ?a ?b)", "?b"),
      // Whether the two branches agree may change without a change below the match.
      rewrite<language>("if elimination", "(if (= (var ?x) ?e) ?a ?b)",
                        [](graph& g, const eq::match& m) -> std::optional<eq::class_id> {
                          const eq::class_id a = g.add(let, 0, {m["x"], m["e"], m["a"]});
                          const eq::class_id b = g.add(let, 0, {m["x"], m["e"], m["b"]});
                          if (g.find(a) != g.find(b)) return std::nullopt;
                          return m["b"];
                        })
          .searched_fully(),
      rewrite<language>("commute +", "(+ ?a ?b)", "(+ ?b ?a)"),
      rewrite<language>("associate +", "(+ (+ ?a ?b) ?c)", "(+ ?a (+ ?b ?c))"),
      rewrite<language>("commute =", "(= ?a ?b)", "(= ?b ?a)"),
      rewrite<language>("fix", "(fix ?v ?e)", "(let ?v (fix ?v ?e) ?e)"),
      rewrite<language>("beta", "(app (lam ?v ?body) ?e)", "(let ?v ?e ?body)"),
      rewrite<language>("let app", "(let ?v ?e (app ?a ?b))",
                        "(app (let ?v ?e ?a) (let ?v ?e ?b))"),
      rewrite<language>("let +", "(let ?v ?e (+ ?a ?b))", "(+ (let ?v ?e ?a) (let ?v ?e ?b))"),
      rewrite<language>("let =", "(let ?v ?e (= ?a ?b))", "(= (let ?v ?e ?a) (let ?v ?e ?b))"),
      rewrite<language>(
          "let constant", "(let ?v ?e ?c)",
          [](graph&, const eq::match& m) -> std::optional<eq::class_id> { return m["c"]; },
          [](const graph& g, const eq::match& m) { return g.data(m["c"]).value.has_value(); }),
      rewrite<language>("let if", "(let ?v ?e (if ?c ?a ?b))",
                        "(if (let ?v ?e ?c) (let ?v ?e ?a) (let ?v ?e ?b))"),
      rewrite<language>("let same", "(let ?v ?e (var ?v))", "?e"),
      rewrite<language>("let other", "(let ?v ?e (var ?w))", "(var ?w)", names_differ),
      rewrite<language>("let lam same", "(let ?v ?e (lam ?v ?body))", "(lam ?v ?body)"),
      rewrite<language>(
          "let lam", "(let ?v ?e (lam ?w ?body))",
          [](graph& g, const eq::match& m) -> std::optional<eq::class_id> {
            const auto& free = g.data(m["e"]).free;
            eq::class_id inner = m["w"], body = m["body"];
            if (std::ranges::binary_search(free, *g.data(inner).own_name)) {
              const eq::class_id fresh = g.add(name, fresh_name(m.root()), {});
              const eq::class_id renamed = g.add(var, 0, {fresh});
              body = g.add(let, 0, {inner, renamed, body});
              inner = fresh;
            }
            return g.add(lam, 0, {inner, g.add(let, 0, {m["v"], m["e"], body})});
          },
          names_differ),
  };
}

}  // namespace

/// egg's `lambda_function_repeat`: adding one, repeated twice. The class is to become
/// (lam ?x (+ (var ?x) 2)).
inline eq::class_id add_function_repeat(graph& g) {
  enum : std::uint32_t { compose, f, gg, x, repeat, fun, n, i, add1, y };
  const auto word = [&](std::uint32_t w) { return g.add(name, w, {}); };
  const auto read = [&](std::uint32_t w) { return g.add(var, 0, {word(w)}); };
  const auto integer = [&](int v) { return g.add(number, static_cast<std::uint32_t>(v), {}); };
  const auto call = [&](eq::class_id a, eq::class_id b) { return g.add(app, 0, {a, b}); };
  const auto function = [&](std::uint32_t v, eq::class_id body) {
    return g.add(lam, 0, {word(v), body});
  };
  const auto sum = [&](eq::class_id a, eq::class_id b) { return g.add(plus, 0, {a, b}); };
  const eq::class_id composed =
      function(f, function(gg, function(x, call(read(f), call(read(gg), read(x))))));
  const eq::class_id once_more =
      call(call(read(compose), read(fun)),
           call(call(read(repeat), read(fun)), sum(read(n), integer(-1))));
  const eq::class_id is_zero = g.add(equal, 0, {read(n), integer(0)});
  const eq::class_id step = g.add(choose, 0, {is_zero, function(i, read(i)), once_more});
  const eq::class_id repeated = g.add(fix, 0, {word(repeat), function(fun, function(n, step))});
  const eq::class_id twice = call(call(read(repeat), read(add1)), integer(2));
  const eq::class_id in_add1 =
      g.add(let, 0, {word(add1), function(y, sum(read(y), integer(1))), twice});
  const eq::class_id in_repeat = g.add(let, 0, {word(repeat), repeated, in_add1});
  return g.add(let, 0, {word(compose), composed, in_repeat});
}

/// After so many iterations with back-off the goal is proved; one less does not do.
inline constexpr std::size_t function_repeat_iterations = 33;

/// Does the class contain (lam ?x (+ (var ?x) 2))?
inline bool adds_two(const graph& g, eq::class_id id) {
  const auto two = g.lookup(number, 2, {});
  for (const eq::enode_view node : g.nodes(id)) {
    if (node.op != lam || !two) continue;
    const auto x = g.lookup(var, 0, {node.children[0]});
    if (!x) continue;
    const auto sum = g.lookup(plus, 0, {*x, *two});
    if (sum && g.find(*sum) == g.find(node.children[1])) return true;
  }
  return false;
}

}  // namespace lambda_calculus
