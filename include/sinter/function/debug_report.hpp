// SPDX-License-Identifier: MIT
// What a program tells on stderr when SINTER_DEBUG asks for it: see support/debug.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <sinter/function/explain.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/support/debug.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

inline std::string function_name(int function) {
  return "sinter: function " + std::to_string(function);
}

inline std::string in_milliseconds(double seconds) {
  return planning::fixed(seconds * 1e3, 2) + " ms";
}

inline void debug_report::of_trace(int function, const ir::graph& traced) {
  if (debug::on(debug::topic::trace))
    debug::write(function_name(function) + ": traced, " + std::to_string(traced.size()) +
                 " nodes\n" + ir::to_text(traced));
}

inline void debug_report::of_class(int function, std::size_t number, const shape_class& c) {
  std::string out;
  if (debug::on(debug::topic::plan))
    out += function_name(function) + ": class " + std::to_string(number) + " of shapes, " +
           std::to_string(c.bound.size()) + " nodes, saturated in " +
           in_milliseconds(c.report.seconds) + "\n";
  if (debug::on(debug::topic::egraph))
    out += function_name(function) + ": e-graph of class " + std::to_string(number) + ", " +
           std::to_string(c.report.nodes_before) + " e-nodes at first\n" + c.report.phases_text();
  if (debug::on(debug::topic::rules))
    out += function_name(function) + ": rules for class " + std::to_string(number) + "\n" +
           c.report.rules_text();
  if (!out.empty()) debug::write(out);
}

inline void debug_report::of_plan(int function, std::size_t number, const shape_class& c,
                                  const bucket& b, span<const std::int64_t> symbols) {
  const planning::planned& made = b.planned;
  const std::string who = function_name(function) + ": plan " + std::to_string(number);
  std::string out;
  if (debug::on(debug::topic::plan))
    out += who + extents_text(c.bound, symbols) + ": " + std::to_string(made.plan.nests.size()) +
           " nests, " + std::to_string(made.candidates) + " considered, in " +
           in_milliseconds(made.seconds.total()) + " (" +
           in_milliseconds(made.seconds.enumeration) + " enumeration, " +
           in_milliseconds(made.seconds.selection) + " selection, " +
           in_milliseconds(made.seconds.layout) + " layout); predicted " +
           planning::in_microseconds(made.plan.cost) + ", " + optimality_text(made.plan) + "\n";
  if (debug::on(debug::topic::nests)) {
    out += who + ": nests\n";
    const planning::plan_printer replay(made.plan), preparation(made.preparation);
    for (std::size_t i = 0; i < made.plan.nests.size(); ++i) out += replay.nest_text(i);
    if (!made.preparation.nests.empty()) out += who + ": run once for frozen arguments\n";
    for (std::size_t i = 0; i < made.preparation.nests.size(); ++i) out += preparation.nest_text(i);
  }
  if (debug::on(debug::topic::memory))
    out += who + ": memory: arena " + planning::in_bytes(made.plan.arena_bytes) + ", lower bound " +
           planning::in_bytes(made.plan.lower_bound_bytes) + "\n" +
           budget_text(made.budget, made.plan.arena_bytes);
  if (!out.empty()) debug::write(out);
}

inline void debug_report::of_preparation(int function, const prepared_values& made) {
  if (debug::on(debug::topic::memory))
    debug::write(function_name(function) + ": prepared " + std::to_string(made.values.size()) +
                 (made.values.size() == 1 ? " value" : " values") +
                 " from frozen arguments: " + planning::in_bytes(made.memory.size_bytes()) + "\n");
}

}  // namespace sinter::inline SINTER_ABI::detail
