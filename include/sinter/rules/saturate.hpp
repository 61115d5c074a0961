// SPDX-License-Identifier: MIT
// Saturation of a tensor e-graph: the rules run in phases under limits that count work. A wall
// clock is only an emergency stop; what it stops may differ from run to run, so programs do not
// keep such an e-graph.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/egraph/runner.hpp>
#include <sinter/rules/rule_set.hpp>
#include <sinter/support/separate.hpp>

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

/// Loads a bound graph into an empty e-graph and returns the classes of its outputs. The graph
/// becomes the language's.
std::vector<class_id> load(tensor_egraph& graph, const ir::graph& bound);

/// Runs the rules that the policy admits until they find nothing new or a limit is reached. The
/// e-graph must hold the graph to optimise (see `load`). Never throws for a limit: what was found
/// until then stays.
saturation_report saturate(tensor_egraph& graph, const saturate_options& options = {});

}  // namespace sinter::inline SINTER_ABI::rules

#ifndef SINTER_SEPARATE
#include <sinter/rules/saturate_source.hpp>
#endif
