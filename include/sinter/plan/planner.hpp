// SPDX-License-Identifier: MIT
// The stage "choose" in one place: from a saturated e-graph to a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinter/plan/budget.hpp>
#include <sinter/plan/candidate.hpp>
#include <sinter/plan/nest.hpp>
#include <sinter/rules/language.hpp>
#include <sinter/support/separate.hpp>

namespace sinter::inline SINTER_ABI::planning {

// Where the time of planning went.
struct planning_seconds {
  double enumeration = 0;  // values, cuts, nests
  double selection = 0;    // extraction, and groups around it
  double layout = 0;       // lowering, the order of nests, memory and its verifier

  double total() const { return enumeration + selection + layout; }
};

struct planned {
  planning::plan plan;
  // What it keeps of frozen arguments between calls, computed once; no nests: nothing.
  planning::plan preparation;
  budget_report budget;
  std::size_t goals = 0;
  std::size_t candidates = 0;
  std::vector<int> chosen;  // numbers of the candidates whose nests the plans are made of
  // Some extents are computed: memory is checked for each call's extents (see `fits`).
  bool may_outgrow = false;
  planning_seconds seconds;
};

// Makes the plan for the extents in `symbols`. `graph` is a copy of the saturated e-graph: goals
// and nests join it. Throws graph_error if an output cannot be computed by any nest.
planned make_plan(tensor_egraph graph, std::span<const std::int64_t> symbols,
                  std::span<const class_id> output_classes, std::span<const int> assigned,
                  int arguments, std::span<const ir::instruction> instructions,
                  const plan_options& options = {});

}  // namespace sinter::inline SINTER_ABI::planning

#ifndef SINTER_SEPARATE
#include <sinter/plan/planner_source.hpp>
#endif
