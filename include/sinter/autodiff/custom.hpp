// SPDX-License-Identifier: MIT
// The gradient of a custom op: what its author wrote, or a fault.
#pragma once

#include <array>

#include <sinter/autodiff/adjoint.hpp>

namespace sinter::inline SINTER_ABI::ir {

// Faults where a derivative would go through a custom op that has no rule for it.
constexpr void fail_custom(graph& g, int id, fault_kind kind) {
  fault problem{kind, g[id].code};
  problem.custom = op_name(g, id);
  const inline_vector<int, max_custom_operands> operands(g.inputs(id).begin(), g.inputs(id).end());
  g.fail(problem, operands);
}

namespace backward {

constexpr void custom(const pullback& p) {
  graph& g = p.owner();
  const custom_op& own = g.custom(g.attributes(p.result.id));
  if (!own.has_gradient) return fail_custom(g, p.result.id, fault_kind::no_gradient);
  std::array<int, max_custom_operands> found{};
  found.fill(-1);
  own.gradient(g, p.result.id, p.adjoint.id, {found.data(), static_cast<std::size_t>(own.arity)});
  for (int i = 0; i < own.arity; ++i)
    if (const int part = found[static_cast<std::size_t>(i)]; part >= 0 && p.wants(i))
      p.add(i, {&g, part});
}

}  // namespace backward

}  // namespace sinter::inline SINTER_ABI::ir
