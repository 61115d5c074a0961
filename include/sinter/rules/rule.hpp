// SPDX-License-Identifier: MIT
// A rule as data: what it looks for, what that equals, and how exactly. A file per theme holds a
// table of them; the engine's program for a rule is made from this text when a saturation starts.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/rules/right_side.hpp>

namespace sinter::inline SINTER_ABI::rules {

/// How a rule's two sides agree. What merely approximates is no rule: it never unites classes.
enum class rounding : std::uint8_t {
  exact,         // the same bits, NaN payloads aside
  defines,       // an op that has no kernel, as what it is computed by: the only way to run it
  reassociates,  // equal over the reals; may differ by rounding, in the sign of a zero, and where
                 // intermediates overflow
};

/// When a rule runs. `normalise` rules run again beside `improve`; composites are expanded once, so
/// that what recognition finds is not taken apart again.
enum class phase : std::uint8_t { normalise, recognise, expand, improve };

using operator_set = std::bitset<operator_count>;

/// `left => right`, or `left => compute(match)`, where `when` holds. Several rules may share a
/// name: they are one rule for several ops or orders of operands, counted and switched off
/// together. The text is parsed at run time, once per process: most patterns are made for every op
/// of the table, and a mistake stops the first test that asks for the rules.
struct tensor_rule {
  std::string_view name;
  rules::phase phase{};
  rounding error{};
  std::string left;
  std::string right;  // empty with `compute`
  eqsat::rule<tensor_language> program;
  std::size_t name_number = 0;  // among the names of all rules
  operator_set reads, writes;   // operators of the left side; of the right side where it is text

  tensor_rule(std::string_view rule_name, rules::phase runs, rounding how, std::string from,
              std::string to, condition when = nullptr)
      : name(rule_name), phase(runs), error(how), left(std::move(from)), right(std::move(to)) {
    build(nullptr, when);
  }
  tensor_rule(std::string_view rule_name, rules::phase runs, rounding how, std::string from,
              computed to, condition when = nullptr)
      : name(rule_name), phase(runs), error(how), left(std::move(from)) {
    build(to, when);
  }

  /// For conditions that look at nodes below the classes that the match binds.
  tensor_rule searched_fully() && {
    program.full_search = true;
    return std::move(*this);
  }

 private:
  void build(computed compute, condition when) {
    program.name = name;
    program.tag = static_cast<int>(error);
    program.compute = compute;
    program.guard = when;
    const eqsat::pattern_pair pair[] = {{left, right}};
    eqsat::report_fault(eqsat::build_rule<tensor_language>(program, pair));
    const auto operators_of = [](const eqsat::pattern_list& patterns) {
      operator_set out;
      for (const eqsat::pattern_term& term : patterns.terms)
        if (term.kind == eqsat::term_kind::apply) out.set(term.op);
      return out;
    };
    reads = operators_of(program.left.patterns);
    writes = operators_of(program.right);
  }
};

using rule_table = std::vector<tensor_rule>;

}  // namespace sinter::inline SINTER_ABI::rules
