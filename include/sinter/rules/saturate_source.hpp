// SPDX-License-Identifier: MIT
// How rules run, phase by phase.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/egraph/runner.hpp>
#include <sinter/rules/custom.hpp>
#include <sinter/rules/rule_set.hpp>
#include <sinter/rules/saturate.hpp>
#include <sinter/support/separate.hpp>
#include <sinter/support/timeline.hpp>

namespace sinter::inline SINTER_ABI::rules {

SINTER_INLINE std::string saturation_report::phases_text() const {
  std::string out;
  for (const phase_report& each : phases) {
    out += "  " + std::string(rules::name(each.phase)) + ": " + std::to_string(each.nodes) +
           " e-nodes in " + std::to_string(each.classes) + " classes after " +
           std::to_string(each.iterations) + (each.iterations == 1 ? " iteration" : " iterations") +
           ", stopped: " + std::string(eqsat::name(each.stopped)) + "\n";
  }
  return out;
}

SINTER_INLINE std::string saturation_report::rules_text() const {
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

SINTER_INLINE std::vector<class_id> load(tensor_egraph& graph, const ir::graph& bound) {
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

SINTER_INLINE saturation_report saturate(tensor_egraph& graph, const saturate_options& options) {
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
