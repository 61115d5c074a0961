// SPDX-License-Identifier: MIT
// How a plan is made: values, cuts and candidates are enumerated per bucket, on a copy of the
// saturated e-graph; saturation is never repeated.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sinter/plan/budget.hpp>
#include <sinter/plan/candidate.hpp>
#include <sinter/plan/grouped.hpp>
#include <sinter/plan/lower.hpp>
#include <sinter/plan/memory.hpp>
#include <sinter/plan/nest_order.hpp>
#include <sinter/plan/order.hpp>
#include <sinter/plan/planner.hpp>
#include <sinter/plan/preparation.hpp>
#include <sinter/plan/recomputation.hpp>
#include <sinter/plan/select.hpp>
#include <sinter/plan/value_nests.hpp>
#include <sinter/plan/view_choice.hpp>
#include <sinter/support/add_once.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/timeline.hpp>

namespace sinter::inline SINTER_ABI::planning {

SINTER_INLINE planned make_plan(tensor_egraph graph, std::span<const std::int64_t> symbols,
                                std::span<const class_id> output_classes,
                                std::span<const int> assigned, int arguments,
                                std::span<const ir::instruction> instructions,
                                const plan_options& options) {
  planned out;
  timeline::span enumeration("cuts");
  auto last = std::chrono::steady_clock::now();
  const auto lap = [&last] {
    const auto before = std::exchange(last, std::chrono::steady_clock::now());
    return std::chrono::duration<double>(last - before).count();
  };
  graph.language().terms().symbol_values.assign(symbols.begin(), symbols.end());
  if (symbols.empty()) graph.language().terms().symbol_values.push_back(0);

  value_graph values(graph, output_classes, instructions, options.machine);
  add_view_choices(values);
  std::vector<int> roots;
  std::vector<wanted> outputs;
  for (std::size_t k = 0; k < output_classes.size(); ++k) {
    const int value = values.number(output_classes[k]);
    if (value < 0)
      raise(graph_error("plan: output " + std::to_string(k) + " has no executable form"));
    outputs.push_back({value, assigned[k]});
    add_once(roots, value);
  }
  const cut_enumeration cuts(values, options.nests);
  candidate_enumeration nests(values, cuts, roots, options);
  goal_graph goals(graph, values, nests);
  out.seconds.enumeration = lap();
  enumeration.note("nests considered", nests.all().size());
  enumeration.end();
  timeline::span extraction("extraction");
  selection chosen = selector(values, nests, goals, roots, options).run();
  const auto is_complete = [](const selection& s) {
    return s.cost < std::numeric_limits<double>::infinity();
  };
  if (!is_complete(chosen)) raise(graph_error("plan: no nests compute all outputs"));
  if (!options.nests.recompute) {
    recomputation again(values, nests, roots);
    while (again.refuse_repeated(chosen)) {
      selection next = selector(values, nests, goals, roots, options).run();
      if (!is_complete(next)) break;
      chosen = std::move(next);
    }
  }
  if (options.nests.grouped) product_grouping(values, cuts, nests, roots).improve(chosen);
  out.seconds.selection = lap();
  extraction.end();

  std::vector<std::int64_t> corner = bucket_corner(graph.language().terms().dims, symbols);
  if (corner.empty()) corner.push_back(0);
  const auto plan_of = [&](const selection& s) {
    timeline::span lowered("lowering");
    divided_plan made =
        divide(lowering(values, nests, s, outputs).take(), graph.language().fixed());
    scheduler(made.replay, assigned).run();
    lowered.note("nests", made.replay.nests.size());
    lowered.end();
    timeline::span memory("memory");
    for (plan* part : {&made.replay, &made.preparation}) {
      part->last_level_bytes = options.machine.last_level_bytes;
      plan_memory(*part, graph.language().terms().symbol_values, corner, arguments,
                  static_cast<int>(output_classes.size()));
    }
    memory.note("arena bytes", made.replay.arena_bytes);
    return made;
  };
  const value_nests alternatives(values, nests);
  const emission_order order(alternatives, chosen.nest_of, roots);
  for (int i : order.nests()) {
    const std::vector<int>& parts = alternatives[i].parts;
    out.chosen.insert(out.chosen.end(), parts.begin(), parts.end());
    if (parts.empty()) out.chosen.push_back(i);
  }

  divided_plan made = plan_of(in_order(chosen, order));
  const std::size_t arena_bytes = made.replay.arena_bytes;
  out.budget.budget = options.memory_budget;
  out.budget.unlimited = arena_bytes;
  out.budget.met = options.memory_budget == 0 || arena_bytes <= options.memory_budget;
  if (!out.budget.met && options.nests.recompute) {
    budget_search search(alternatives, chosen, order, roots);
    made = plan_of(
        search.run(out.budget, [&](const selection& s) { return plan_of(s).replay.arena_bytes; }));
  }
  out.plan = std::move(made.replay);
  out.preparation = std::move(made.preparation);
  for (const plan* part : {&out.plan, &out.preparation}) {
    verify_memory(*part);
    out.may_outgrow = out.may_outgrow || has_computed_extents(*part);
  }
  out.candidates = nests.all().size();
  for (int v = 0; v < values.size(); ++v) {
    if (nests.is_goal(v)) ++out.goals;
  }
  out.seconds.layout = lap();
  return out;
}

}  // namespace sinter::inline SINTER_ABI::planning
