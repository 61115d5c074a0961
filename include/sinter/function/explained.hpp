// SPDX-License-Identifier: MIT
// What there is to tell of a call: its graph, its plan, what was decided for it, which rules led to
// each nest, and how long that takes. Gathered once; explain.hpp and explain_html.hpp show it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sinter/function/make_schedule.hpp>
#include <sinter/function/nest_history.hpp>
#include <sinter/function/program_source.hpp>
#include <sinter/plan/print.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

struct explained {
  // Of a plan, by nest: the rules that led to it, and nanoseconds.
  struct plan_part {
    const planning::plan* plan = nullptr;
    planning::schedule schedule;
    std::vector<std::vector<std::string>> origins;
    std::vector<double> nanoseconds;

    double total() const { return std::accumulate(nanoseconds.begin(), nanoseconds.end(), 0.0); }
  };
  // What frozen arguments let the function keep. `sets`: as it may be kept for several of them.
  struct prepared {
    plan_part part;
    std::size_t values = 0, bytes = 0, runs = 0, sets = 0, bytes_of_sets = 0;
  };

  std::shared_ptr<const shape_class> shapes;
  const planning::planned* made = nullptr;
  span<const std::int64_t> symbols;
  span<const std::string> argument_names;  // as many as have one
  plan_part replay;
  std::optional<prepared> preparation{};
  program_statistics counts{};
};

// Nanoseconds of each nest: the shortest of several runs, because whatever else the machine does
// only adds to them. Runs for some 20 ms, at least 3 times and at most 100.
inline std::vector<double> measure_nests(exec::executor& executor, std::size_t nests,
                                         span<const argument_memory> arguments,
                                         span<const output_memory> outputs,
                                         span<std::byte* const> kept) {
  using clock = std::chrono::steady_clock;
  std::vector<double> shortest(nests, std::numeric_limits<double>::infinity()), run(nests);
  const auto start = clock::now();
  for (int i = 0; i < 100 && (i < 3 || clock::now() - start < std::chrono::milliseconds(20)); ++i) {
    executor.run(arguments, outputs, kept, nest_clock(run));
    for (std::size_t nest = 0; nest < nests; ++nest)
      shortest[nest] = std::min(shortest[nest], run[nest]);
  }
  return shortest;
}

// By nest: the rules that led to it, and last what it is, where it is more than a fusion of
// element-wise ops.
inline std::vector<std::vector<std::string>> origins_of(const shape_class& c,
                                                        const planning::plan& p,
                                                        const program_options& options,
                                                        span<const ir::instruction> instructions) {
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

}  // namespace detail

SINTER_INLINE std::vector<planning::schedule> program::schedules(
    const prepared_call& call, span<const detail::argument_memory> arguments,
    span<const std::int64_t> symbols) const {
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

SINTER_INLINE detail::explained program::explained(prepared_call& call,
                                                   span<const detail::argument_memory> arguments,
                                                   span<const std::int64_t> symbols) {
  // Results of its own also for assigned arguments: nothing of the caller's changes.
  std::vector<storage> results;
  std::vector<detail::output_memory> outputs;
  for (int k = 0; k < static_cast<int>(assigned_.size()); ++k) {
    const auto count = static_cast<std::size_t>(element_count(call.output_shape(k)));
    const std::size_t bytes = count * size_of(call.output_type(k));
    results.emplace_back(bytes);
    outputs.push_back({results.back().data(), bytes});
  }
  const detail::ready_call& ready = *call.ready_;
  const planning::planned& made = ready.plan->planned;
  const std::shared_ptr<const detail::shape_class> shapes = with_egraph(ready.shapes);
  const auto origins_of = [&](const planning::plan& p) {
    return detail::origins_of(*shapes, p, options_, code_.instructions);
  };
  std::vector<planning::schedule> decided = schedules(call, arguments, symbols);
  detail::explained out;
  out.shapes = shapes;
  out.made = &made;
  out.symbols = symbols;
  out.argument_names = traced_.argument_names;
  out.counts = statistics();
  out.replay = {&made.plan, std::move(decided.back()), origins_of(made.plan),
                detail::measure_nests(**ready.executor, made.plan.nests.size(), arguments, outputs,
                                      detail::kept_values(ready.kept))};
  if (ready.kept) {
    const std::scoped_lock lock(mutex_);
    const detail::preparation& p = *ready.plan->preparation;
    out.preparation = detail::explained::prepared{
        {&p.plan(), std::move(decided.front()), origins_of(p.plan()), ready.kept->nanoseconds},
        ready.kept->values.size(),
        ready.kept->memory.size_bytes(),
        p.runs(),
        p.sets(),
        p.bytes()};
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI
