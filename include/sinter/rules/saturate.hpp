// SPDX-License-Identifier: MIT
// Saturation of a tensor e-graph: the rules run in phases under limits that count work. A wall
// clock is only an emergency stop; what it stops may differ from run to run, so programs do not
// keep such an e-graph.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph/runner.hpp>
#include <sinter/rules/custom.hpp>
#include <sinter/rules/rule_set.hpp>
#include <sinter/support/timeline.hpp>

namespace sinter::inline SINTER_ABI::rules {

struct saturate_options {
  bool reassociate = true;            // false: only rules that give the same bits
  std::vector<std::string> disabled;  // rules that are switched off, by name
  // The limit of e-nodes, relative to those there at the start; but small graphs may always grow to
  // `least_nodes`.
  std::size_t nodes_per_traced_node = 30;
  std::size_t least_nodes = 5000;
  std::size_t iterations = 30;  // of the last phase; the others need a handful
  double seconds = 10;          // emergency stop of each phase

  rule_policy policy() const {
    return {reassociate ? rounding::reassociates : rounding::exact, disabled};
  }
};

struct rule_count {
  std::string_view name;
  std::size_t matches = 0;  // left sides found
  std::size_t applied = 0;  // of those, how many changed the e-graph
};

struct phase_report {
  rules::phase phase{};
  eqsat::stop_reason stopped{};
  std::size_t iterations = 0;
  std::size_t nodes = 0, classes = 0;  // at its end
  double seconds = 0;
};

struct saturation_report {
  std::vector<rule_count> rules;  // every rule that was admitted, by name, all phases together
  std::vector<phase_report> phases;
  std::size_t nodes_before = 0, nodes = 0, classes = 0;
  std::size_t refused_unions = 0;
  double seconds = 0;

  /// Did the last phase run out of things to do?
  bool saturated() const {
    return !phases.empty() && phases.back().stopped == eqsat::stop_reason::saturated;
  }

  const rule_count* find(std::string_view name) const {
    for (const rule_count& each : rules)
      if (each.name == name) return &each;
    return nullptr;
  }

  /// Did the clock stop a phase? Then another run may find something else.
  bool out_of_time() const {
    return std::ranges::any_of(phases, [](const phase_report& each) {
      return each.stopped == eqsat::stop_reason::time_limit;
    });
  }

  /// A line per phase, then the rules that changed something, most active first.
  std::string to_text() const { return phases_text() + rules_text(); }
  std::string phases_text() const;
  std::string rules_text() const;
};

constexpr std::string_view name(phase p) {
  switch (p) {
    case phase::normalise: return "normalise";
    case phase::recognise: return "recognise";
    case phase::expand: return "expand";
    case phase::improve: return "improve";
  }
  return "?";
}

inline std::string saturation_report::phases_text() const {
  std::string out;
  for (const phase_report& each : phases) {
    out += "  " + std::string(rules::name(each.phase)) + ": " + std::to_string(each.nodes) +
           " e-nodes in " + std::to_string(each.classes) + " classes after " +
           std::to_string(each.iterations) + (each.iterations == 1 ? " iteration" : " iterations") +
           ", stopped: " + std::string(eqsat::name(each.stopped)) + "\n";
  }
  return out;
}

inline std::string saturation_report::rules_text() const {
  std::string out;
  std::vector<rule_count> active;
  for (const rule_count& each : rules)
    if (each.applied != 0) active.push_back(each);
  std::ranges::stable_sort(active, std::ranges::greater{}, &rule_count::applied);
  for (const rule_count& each : active)
    out += "  rule " + std::string(each.name) + ": applied " + std::to_string(each.applied) +
           " times, matched " + std::to_string(each.matches) + "\n";
  if (refused_unions != 0) out += "  refused unions: " + std::to_string(refused_unions) + "\n";
  return out;
}

/// Loads a bound graph into an empty e-graph and returns the classes of its outputs. The graph
/// becomes the language's.
inline std::vector<class_id> load(tensor_egraph& graph, const ir::graph& bound) {
  tensor_language& language = graph.language();
  language.terms() = bound;
  std::vector<bool> needed(static_cast<std::size_t>(bound.size()), false);
  for (const ir::output& out : bound.outputs) needed[static_cast<std::size_t>(out.node)] = true;
  for (int id = bound.size() - 1; id >= 0; --id)
    if (needed[static_cast<std::size_t>(id)])
      for (int input : bound.inputs(id)) needed[static_cast<std::size_t>(input)] = true;
  for (int id = 0; id < bound.size(); ++id)
    if (needed[static_cast<std::size_t>(id)]) language.add(graph, id);
  graph.rebuild();
  std::vector<class_id> roots;
  for (const ir::output& out : bound.outputs) roots.push_back(language.add(graph, out.node));
  return roots;
}

namespace detail {

inline bool runs_in(phase rule, phase now) {
  switch (now) {
    case phase::normalise: return rule == phase::normalise;
    case phase::recognise: return rule == phase::normalise || rule == phase::recognise;
    case phase::expand: return rule == phase::expand;
    case phase::improve: return rule == phase::normalise || rule == phase::improve;
  }
  return false;
}

inline std::size_t iterations_of(phase now, const saturate_options& options) {
  switch (now) {
    case phase::normalise: return 12;
    case phase::recognise: return 6;
    case phase::expand: return 4;  // what an expansion contains is primitive: two suffice
    case phase::improve: return options.iterations;
  }
  return 0;
}

inline operator_set operators_in(const tensor_egraph& graph) {
  operator_set out;
  for (std::size_t code = 0; code < operator_count; ++code)
    out.set(code, !graph.nodes_by_operator(static_cast<std::uint16_t>(code)).empty());
  return out;
}

// What the e-graph has, what computed right-hand sides write most, and what the other rules make of
// it.
inline operator_set operators_expected(std::span<const tensor_rule* const> admitted,
                                       operator_set present) {
  for (op code : {op::constant, op::neg, op::add, op::sub, op::mul, op::reshape, op::permute,
                  op::broadcast_to, op::slice, op::reduce_sum})
    present.set(static_cast<std::size_t>(code));
  for (operator_set before; before != present;) {
    before = present;
    for (const tensor_rule* rule : admitted)
      if ((rule->reads & ~present).none()) present |= rule->writes;
  }
  return present;
}

// Most rules are made for every op of the table and most ops are in no graph: only rules whose
// operators are there run. Should a right-hand side have written another operator, they run again
// with the rules that it wakes.
// `own`: the rules of the graph's custom ops.
inline void run_phase(tensor_egraph& graph, phase now, const rule_table& own,
                      const saturate_options& options, eqsat::limits limits,
                      saturation_report& report) {
  timeline::span step(name(now));
  const auto started = std::chrono::steady_clock::now();
  const rule_policy policy = options.policy();
  std::vector<const tensor_rule*> admitted;
  for (const std::span<const tensor_rule> rules : {all_rules(), std::span<const tensor_rule>(own)})
    for (const tensor_rule& rule : rules)
      if (runs_in(rule.phase, now) && policy.admits(rule)) admitted.push_back(&rule);
  phase_report done{now};
  operator_set active;
  for (operator_set wanted = operators_expected(admitted, operators_in(graph)); wanted != active;
       wanted |= operators_in(graph)) {
    active = wanted;
    std::vector<eqsat::rule<tensor_language>> rules;
    std::vector<std::size_t> names;
    rules.reserve(admitted.size());
    for (const tensor_rule* rule : admitted) {
      if ((rule->reads & ~active).any()) continue;
      rules.push_back(rule->program);
      names.push_back(rule->name_number);
    }
    limits.iterations = iterations_of(now, options) - done.iterations;
    const auto result = eqsat::saturate<tensor_language>(graph, rules, limits);
    for (std::size_t i = 0; i < result.rules.size(); ++i) {
      report.rules[names[i]].matches += result.rules[i].matches;
      report.rules[names[i]].applied += result.rules[i].applications;
    }
    done.stopped = result.stop_reason;
    done.iterations += result.iterations;
    if (result.stop_reason != eqsat::stop_reason::saturated) break;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  done.nodes = graph.node_count();
  done.classes = graph.class_count();
  done.seconds = took.count();
  step.note("iterations", done.iterations);
  step.note("e-nodes", done.nodes);
  step.note("classes", done.classes);
  report.phases.push_back(done);
}

}  // namespace detail

/// Runs the rules that the policy admits until they find nothing new or a limit is reached. The
/// e-graph must hold the graph to optimise (see `load`). Never throws for a limit: what was found
/// until then stays.
inline saturation_report saturate(tensor_egraph& graph, const saturate_options& options = {}) {
  const auto started = std::chrono::steady_clock::now();
  saturation_report report;
  graph.rebuild();
  report.nodes_before = graph.node_count();
  for (std::string_view name : rule_names()) report.rules.push_back({name});
  rule_table own = custom_rules(graph.language().terms());
  for (tensor_rule& rule : own) {
    rule.name_number = report.rules.size();
    report.rules.push_back({rule.name});
  }

  eqsat::limits limits;
  limits.nodes = std::max(options.least_nodes, options.nodes_per_traced_node * report.nodes_before);
  limits.time = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(options.seconds));
  for (phase now : {phase::normalise, phase::recognise, phase::expand, phase::improve})
    detail::run_phase(graph, now, own, options, limits, report);

  const rule_policy policy = options.policy();
  std::vector<bool> admitted(report.rules.size(), false);
  for (const std::span<const tensor_rule> rules : {all_rules(), std::span<const tensor_rule>(own)})
    for (const tensor_rule& rule : rules)
      if (policy.admits(rule)) admitted[rule.name_number] = true;
  std::vector<rule_count> counts;
  for (std::size_t i = 0; i < report.rules.size(); ++i)
    if (admitted[i]) counts.push_back(report.rules[i]);
  report.rules = std::move(counts);
  report.nodes = graph.node_count();
  report.classes = graph.class_count();
  report.refused_unions = graph.refused_unions();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
  report.seconds = took.count();
  return report;
}

}  // namespace sinter::inline SINTER_ABI::rules
