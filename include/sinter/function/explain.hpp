// SPDX-License-Identifier: MIT
// What the optimizer did, as text: rules that fired, e-graph size, times, the nests with what led
// to them, their tile programs and their predicted and measured times, memory.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <sinter/egraph/print.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/function/make_schedule.hpp>
#include <sinter/function/nest_history.hpp>
#include <sinter/function/program_source.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/plan/print_schedule.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// Nanoseconds of each nest: the shortest of several runs, because whatever else the machine does
// only adds to them. Runs for some 20 ms, at least 3 times and at most 100.
inline std::vector<double> measure_nests(exec::executor& executor, std::size_t nests,
                                         std::span<const argument_memory> arguments,
                                         std::span<const output_memory> outputs,
                                         std::span<std::byte* const> kept) {
  using clock = std::chrono::steady_clock;
  std::vector<double> shortest(nests, std::numeric_limits<double>::infinity()), run(nests);
  const auto start = clock::now();
  for (int i = 0; i < 100 && (i < 3 || clock::now() - start < std::chrono::milliseconds(20)); ++i)
    with_pointers(arguments, outputs, [&](const auto& in, const auto& out) {
      executor.run(in, out, kept, nest_clock(run));
      for (std::size_t nest = 0; nest < nests; ++nest)
        shortest[nest] = std::min(shortest[nest], run[nest]);
    });
  return shortest;
}

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

// By nest: the rules that led to it, and last what it is, where it is more than a fusion of
// element-wise ops.
inline std::vector<std::vector<std::string>> origins_of(
    const shape_class& c, const planning::plan& p, const program_options& options,
    std::span<const ir::instruction> instructions) {
  std::vector<std::vector<std::string>> out(p.nests.size());
  // What the clock stopped need not come out the same again.
  if (!c.report.out_of_time()) {
    ir::graph bound = c.bound;
    bound.guards.resize(c.binding_guards);
    nest_history history(bound, c.saturated.language().fixed(), saturation_options(options),
                         instructions);
    if (!history.agrees_with(c.saturated))
      raise(graph_error("explain: saturation with proofs gave another e-graph"));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = history.rules_of(p.nests[i]);
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    if (const std::string_view form = planning::fused_form(p.nests[i]); !form.empty())
      out[i].emplace_back(form);
  return out;
}

// The symbols in the shapes of the arguments, and what they are in this call.
inline std::string extents_text(const ir::graph& bound, std::span<const std::int64_t> symbols) {
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
inline std::string preparation_text(const preparation& p, const prepared_values& kept,
                                    const std::vector<std::vector<std::string>>& origins,
                                    const planning::schedule& schedule) {
  std::string out = "prepared once from frozen arguments: " + std::to_string(kept.values.size()) +
                    (kept.values.size() == 1 ? " value, " : " values, ") +
                    planning::in_bytes(kept.memory.size_bytes()) + "; computed " +
                    std::to_string(p.runs()) + (p.runs() == 1 ? " time" : " times") + ", " +
                    std::to_string(p.sets()) + (p.sets() == 1 ? " set" : " sets") + " kept in " +
                    planning::in_bytes(p.bytes()) + "\n";
  const planning::plan_printer printer(p.plan());
  const planning::schedule_printer decided(schedule);
  for (std::size_t i = 0; i < p.plan().nests.size(); ++i)
    out += printer.nest_text(i, kept.nanoseconds[i], origins[i]) + decided.decisions_text(i) + "\n";
  return out;
}

// How far the plan is from the cheapest one of the nests considered.
inline std::string optimality_text(const planning::plan& p) {
  const double gap = p.cost - p.cost_bound;
  if (gap <= 1e-9 * p.cost) return "the least of these nests";
  return "at most " + planning::fixed(100 * gap / p.cost, 2) + " % above the least of these nests";
}

inline std::string explain_text(const shape_class& c, const planning::planned& made,
                                std::span<const std::int64_t> symbols,
                                const std::vector<std::vector<std::string>>& origins,
                                const std::vector<double>& measured,
                                const planning::schedule& schedule) {
  const planning::plan& p = made.plan;
  std::string out =
      "graph: " + std::to_string(c.bound.size()) + " nodes" + extents_text(c.bound, symbols) + "\n";
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
  const planning::schedule_printer decided(schedule);
  double total = 0;
  for (std::size_t i = 0; i < p.nests.size(); ++i) {
    out += printer.nest_text(i, measured[i], origins[i]) + decided.decisions_text(i) + "\n";
    total += measured[i];
  }
  out += "all nests: measured " + planning::in_microseconds(total) + "\n";
  out += decided.critical_text();
  out += "memory: arena " + planning::in_bytes(schedule.plan.arena_bytes) + ", lower bound " +
         planning::in_bytes(schedule.plan.lower_bound_bytes) + "\n";
  return out + budget_text(made.budget, p.arena_bytes);
}

}  // namespace detail

SINTER_INLINE std::vector<planning::schedule> program::schedules(
    const prepared_call& call, std::span<const detail::argument_memory> arguments,
    std::span<const std::int64_t> symbols) const {
  std::vector<exec::argument_layout> layouts;
  for (const detail::argument_memory& a : arguments) layouts.push_back({a.strides});
  std::vector<planning::schedule> out;
  if (call.ready_->kept)
    out.push_back(detail::make_schedule(call.ready_->plan->preparation->plan(), code_.kernels,
                                        symbols, layouts, {}));
  out.push_back(detail::make_schedule(call.ready_->plan->planned.plan, code_.kernels, symbols,
                                      layouts, assigned_));
  return out;
}

SINTER_INLINE std::string program::schedule(const prepared_call& call,
                                            std::span<const detail::argument_memory> arguments,
                                            std::span<const std::int64_t> symbols) const {
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
                                           std::span<const detail::argument_memory> arguments,
                                           std::span<const std::int64_t> symbols) {
  // Results of its own also for assigned arguments: nothing of the caller's changes.
  std::vector<storage> results;
  std::vector<detail::output_memory> outputs;
  for (int k = 0; k < static_cast<int>(assigned_.size()); ++k) {
    const auto count = static_cast<std::size_t>(element_count(call.output_shape(k)));
    const std::size_t bytes = count * size_of(call.output_type(k));
    results.emplace_back(bytes);
    outputs.push_back({results.back().data(), bytes});
  }
  const planning::planned& made = call.ready_->plan->planned;
  const program_statistics counts = statistics();
  const std::shared_ptr<const detail::shape_class> shapes = with_egraph(call.ready_->shapes);
  const auto origins_of = [&](const planning::plan& p) {
    return detail::origins_of(*shapes, p, options_, code_.instructions);
  };
  const std::vector<planning::schedule> decided = schedules(call, arguments, symbols);
  std::string out = detail::explain_text(
      *shapes, made, symbols, origins_of(made.plan),
      detail::measure_nests(**call.ready_->executor, made.plan.nests.size(), arguments, outputs,
                            detail::kept_values(call.ready_->kept)),
      decided.back());
  if (call.ready_->kept) {
    const std::scoped_lock lock(mutex_);
    const detail::preparation& prepared = *call.ready_->plan->preparation;
    out += detail::preparation_text(prepared, *call.ready_->kept, origins_of(prepared.plan()),
                                    decided.front());
  }
  return out + "calls " + std::to_string(counts.calls) + ", saturations " +
         std::to_string(counts.saturations) + ", extractions " +
         std::to_string(counts.extractions) +
         "; vectors: " + std::string(exec::instruction_set_name()) + "\n";
}

}  // namespace sinter::inline SINTER_ABI
