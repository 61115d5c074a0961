// SPDX-License-Identifier: MIT
// What a nest is put together from while it is lowered: accesses, steps, and the tile programs of
// what it computes on the way.
#pragma once

#include <utility>

#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::planning {

/// Returns the number of the access.
inline int add_access(nest& n, access a) {
  n.accesses.push_back(std::move(a));
  return static_cast<int>(n.accesses.size()) - 1;
}

/// Returns the number of the step.
inline int add_step(nest& n, const step& made) {
  n.body.push_back(made);
  return static_cast<int>(n.body.size()) - 1;
}

/// What a tile program inside of the nest reads becomes accesses of the nest; its body is left.
inline void take_accesses(nest& n, nest& program) {
  for (step& each : program.body)
    if (each.access >= 0) each.access += static_cast<int>(n.accesses.size());
  for (access& a : program.accesses) n.accesses.push_back(std::move(a));
}

/// Has the step one value for the whole nest?
inline bool is_uniform(const step& s) {
  return s.kind == step_kind::scalar || s.kind == step_kind::constant ||
         s.kind == step_kind::extent;
}

}  // namespace sinter::inline SINTER_ABI::planning
