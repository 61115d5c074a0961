// SPDX-License-Identifier: MIT
// What the optimizer did, as text: rules that fired, e-graph size, times, the nests with what led
// to them, their tile programs and their predicted and measured times, memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sinter/egraph/print.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/function/explained.hpp>
#include <sinter/function/program_source.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/plan/print_schedule.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

inline std::string budget_text(const planning::budget_report& r, std::size_t arena_bytes) {
  if (r.budget == 0) return "";
  std::string out = "budget: " + planning::in_bytes(r.budget) + " for the arena, ";
  if (r.unlimited <= r.budget) return out + "kept without computing anything twice\n";
  out += r.met ? "kept" : "not kept: " + planning::in_bytes(arena_bytes) + " is the least found";
  return out + "; without it " + planning::in_bytes(r.unlimited) + "; " +
         std::to_string(r.recomputed) + " times a value is computed again, in " +
         std::to_string(r.epochs) + " epochs, a byte carried from one to the next at " +
         planning::fixed(r.price, 4) + " ns; plans tried: " + std::to_string(r.plans) + "\n";
}

// The symbols in the shapes of the arguments, and what they are in this call.
inline std::string extents_text(const ir::graph& bound, span<const std::int64_t> symbols) {
  std::string out;
  std::vector<ir::dim> known;
  for (int id = 0; id < bound.size(); ++id) {
    if (bound[id].code != ir::op::argument) continue;
    for (ir::dim d : bound[id].shape) {
      if (d.is_constant() || std::ranges::find(known, d) != known.end()) continue;
      known.push_back(d);
      out +=
          ", " + bound.dims.to_string(d) + " = " + std::to_string(bound.dims.evaluate(d, symbols));
    }
  }
  return out;
}

// What frozen arguments let the function keep between calls, and how it came to be.
inline std::string preparation_text(const explained::prepared& p) {
  std::string out = "prepared once from frozen arguments: " + std::to_string(p.values) +
                    (p.values == 1 ? " value, " : " values, ") + planning::in_bytes(p.bytes) +
                    "; computed " + std::to_string(p.runs) + (p.runs == 1 ? " time" : " times") +
                    ", " + std::to_string(p.sets) + (p.sets == 1 ? " set" : " sets") + " kept in " +
                    planning::in_bytes(p.bytes_of_sets) + "\n";
  const planning::plan_printer printer(*p.part.plan);
  const planning::schedule_printer decided(p.part.schedule);
  for (std::size_t i = 0; i < p.part.plan->nests.size(); ++i)
    out += printer.nest_text(i, p.part.nanoseconds[i], p.part.origins[i]) +
           decided.decisions_text(i) + "\n";
  return out;
}

// How far the plan is from the cheapest one of the nests considered.
inline std::string optimality_text(const planning::plan& p) {
  const double gap = p.cost - p.cost_bound;
  if (gap <= 1e-9 * p.cost) return "the least of these nests";
  return "at most " + planning::fixed(100 * gap / p.cost, 2) + " % above the least of these nests";
}

inline std::string explain_text(const explained& e) {
  const shape_class& c = *e.shapes;
  const planning::planned& made = *e.made;
  const planning::plan& p = made.plan;
  std::string out = "graph: " + std::to_string(c.bound.size()) + " nodes" +
                    extents_text(c.bound, e.symbols) + "\n";
  out += "e-graph: " + std::to_string(c.traced_nodes) + " -> " +
         std::to_string(c.saturated.node_count()) + " e-nodes in " +
         std::to_string(c.saturated.class_count()) + " classes, " +
         planning::fixed(c.report.seconds * 1e3, 2) + " ms of saturation\n";
  out += c.report.to_text();
  out += "superinstructions matched: " + std::to_string(c.fused_nodes) + "\n";
  out += "plan: " + std::to_string(p.nests.size()) + " nests, " + std::to_string(made.candidates) +
         " considered for " + std::to_string(made.goals) + " values in " +
         planning::fixed(made.seconds.total() * 1e3, 2) + " ms; predicted " +
         planning::in_microseconds(p.cost) + ", " + optimality_text(p) + "\n";
  out += "nests by number (nest_policy::without):";
  for (int i : made.chosen) out += " " + std::to_string(i);
  out += "\n";
  const planning::plan_printer printer(p);
  const planning::schedule_printer decided(e.replay.schedule);
  for (std::size_t i = 0; i < p.nests.size(); ++i)
    out += printer.nest_text(i, e.replay.nanoseconds[i], e.replay.origins[i]) +
           decided.decisions_text(i) + "\n";
  out += "all nests: measured " + planning::in_microseconds(e.replay.total()) + "\n";
  out += decided.critical_text();
  out += "memory: arena " + planning::in_bytes(e.replay.schedule.plan.arena_bytes) +
         ", lower bound " + planning::in_bytes(e.replay.schedule.plan.lower_bound_bytes) + "\n";
  out += budget_text(made.budget, p.arena_bytes);
  if (e.preparation) out += preparation_text(*e.preparation);
  return out + "calls " + std::to_string(e.counts.calls) + ", saturations " +
         std::to_string(e.counts.saturations) + ", extractions " +
         std::to_string(e.counts.extractions) + "\ncompiled for " + exec::instruction_set_name() +
         ", " + exec::threads_text() + "\n";
}

}  // namespace detail

SINTER_INLINE std::string program::schedule(const prepared_call& call,
                                            span<const detail::argument_memory> arguments,
                                            span<const std::int64_t> symbols) const {
  std::string out;
  for (const planning::schedule& each : schedules(call, arguments, symbols))
    out += planning::to_text(each);
  return out;
}

SINTER_INLINE std::string program::egglog(const prepared_call& call) const {
  return eqsat::to_egglog(with_egraph(call.ready_->shapes)->saturated);
}

// The class itself unless it was loaded: then one with an e-graph, for this report alone.
SINTER_INLINE std::shared_ptr<const detail::shape_class> program::with_egraph(
    const std::shared_ptr<detail::shape_class>& c) const {
  if (!c->loaded) return c;
  auto out = std::make_shared<detail::shape_class>();
  out->shapes = c->shapes;
  out->frozen = c->frozen;
  out->bound = ir::bind(traced_, c->shapes);
  saturate(*out);
  return out;
}

SINTER_INLINE std::string program::explain(prepared_call& call,
                                           span<const detail::argument_memory> arguments,
                                           span<const std::int64_t> symbols) {
  return detail::explain_text(explained(call, arguments, symbols));
}

}  // namespace sinter::inline SINTER_ABI
