// SPDX-License-Identifier: MIT
// The soundness check rejects wrong rules: every rule is broken in every way of rule_mutants.hpp,
// and the check of its cases must notice. Mutants that mean the same are listed.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "support/class_check.hpp"
#include "support/rule_cases_tensor.hpp"
#include "support/rule_cases_unwanted.hpp"
#include "support/rule_mutants.hpp"
#include <sinter/rules/saturate.hpp>

namespace rule_mutation_test {

using namespace sinter;

namespace {

// Does the check notice anything in this graph after the rule ran alone?
bool fails(const eqsat::rule<rules::tensor_language>& rule, rules::rounding error,
           const test::rule_case& each, std::uint64_t seed) {
  test::case_graph made(seed, each.type);
  const ir::value x = made.arg({made.a, made.n}), y = made.arg({made.a, made.n});
  const test::sides sides = each.build(made, x, y);
  made.g.outputs = {{sides.left.id, -1}, {sides.right.id, -1}};
  rules::tensor_egraph graph;
  rules::load(graph, made.g);
  const bool exact = error == rules::rounding::exact;
  try {
    const auto report = eqsat::saturate<rules::tensor_language>(graph, std::vector{rule},
                                                                {.nodes = 2000, .iterations = 2});
    if (report.refused_unions != 0) return true;
    for (bool infinities : {false, true}) {
      if (infinities && !exact) continue;
      const auto found =
          test::check_classes(graph, test::random_arguments(made.g, seed, infinities));
      if (!(found.difference <= (exact ? 0 : 2e-6))) return true;
    }
  } catch (const sinter::error&) {
    return true;  // the right-hand side cannot even be written
  }
  return false;
}

bool is_rejected(const test::rule_mutant& mutant) {
  const bool guarded = !mutant.what.ends_with("no guard");
  const auto rejected_by = [&](const test::rule_case& each) {
    for (std::uint64_t seed = 50; seed < 53; ++seed)
      if (fails(mutant.program, mutant.original->error, each, seed)) return true;
    return false;
  };
  static const auto wanted = test::all_cases(), unwanted = test::unwanted_cases();
  for (const auto& each : wanted)
    if ((!guarded || each.rule == mutant.original->name) && rejected_by(each)) return true;
  for (const auto& each : unwanted)
    if (!guarded && rejected_by(each)) return true;
  return false;
}

const std::set<std::string_view> equivalent = {
    // The exchanged variables are operands of one commutative op.
    "divide-by-quotient: right variables ?x and ?z",
    "divide-recip: right variables ?x and ?y",
    "exp-times-exp: right variables ?x and ?y",
    "maximum-constants: right variables ?x and ?c",
    "maximum-constants: right variables ?x and ?d",
    "minimum-constants: right variables ?x and ?c",
    "minimum-constants: right variables ?x and ?d",
    "maximum-neg: right variables ?x and ?y",
    "minimum-neg: right variables ?x and ?y",
    "maximum-twice: right variables ?x and ?y",
    "minimum-twice: right variables ?x and ?y",
    "multiply-add: right variables ?a and ?b",
    "multiply-neg: right variables ?x and ?y",
    "not-equal: right variables ?x and ?y",
    "not-not-equal: right variables ?x and ?y",
    "power-of-exp: right variables ?x and ?y",
    "recip-times-recip: right variables ?x and ?y",
    "subtract-neg: right variables ?x and ?y",
    // The guard bounds growth, or keeps a rule to where it gains.
    "add-same: no guard",
    "common-factor: no guard",
    "constant-factors: no guard",
    "constant-outward: no guard",
    "constant-terms: no guard",
    "divide-constant: no guard",
    "divide-scalar: no guard",
    "exp-over-exp: no guard",
    "exp-times-exp: no guard",
    "factor-one: no guard",
    "find-softmax: no guard",
    "find-log-softmax: no guard",
    "multiply-add: no guard",
    "neg-subtract: no guard",
    "power-of-exp: no guard",
    "recip-exp: no guard",
    "recip-quotient: no guard",
    "recip-times-recip: no guard",
    "scalar-factors: no guard",
    "times-recip: no guard",
};

}  // namespace

TEST_CASE("the check rejects every mutant of a rule that changes what the rule means") {
  std::size_t rejected = 0, total = 0;
  for (const test::rule_mutant& mutant : test::all_mutants()) {
    const bool found = is_rejected(mutant);
    if (equivalent.contains(mutant.what)) continue;
    ++total;
    rejected += found ? 1 : 0;
    if (!found) MESSAGE("not rejected: " << mutant.what);
  }
  MESSAGE(rejected << " of " << total << " mutants rejected, " << equivalent.size()
                   << " mean the same");
  CHECK(total > 150);
  CHECK(static_cast<double>(rejected) >= 0.95 * static_cast<double>(total));
}

TEST_CASE("mutants that mean the same are mutants") {
  std::set<std::string_view> names;
  const auto mutants = test::all_mutants();
  for (const test::rule_mutant& mutant : mutants) names.insert(mutant.what);
  for (std::string_view each : equivalent) CHECK_MESSAGE(names.contains(each), std::string(each));
}

TEST_CASE("the rules leave alone what their guards exclude") {
  for (const test::rule_case& each : test::unwanted_cases())
    for (const rules::tensor_rule& rule : rules::all_rules()) {
      INFO(std::string(each.rule) << ": " << std::string(rule.name));
      CHECK_FALSE(fails(rule.program, rule.error, each, 60));
    }
}

}  // namespace rule_mutation_test
