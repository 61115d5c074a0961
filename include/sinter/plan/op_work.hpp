// SPDX-License-Identifier: MIT
// What bytes, ops and superinstructions cost on a machine, per byte and per element.
#pragma once

#include <algorithm>
#include <cmath>

#include <sinter/graph/accumulator_program.hpp>
#include <sinter/graph/custom.hpp>
#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/plan/machine.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::planning {

// Nanoseconds per byte for a buffer of this size that the step before left where it fits. Beyond
// half of the last level what is computed of it displaces a part, all where it fills the level.
// (Softmax down columns of 16 MB: 3.3 ms where exponentials are stored as if they stayed in an L3
// of 32 MB, 2.1 where they are computed twice. By all that a nest touches, two nests would seem to
// keep what one does not.)
inline double byte_cost(double bytes, const machine& m) {
  if (bytes <= m.l2_bytes) return m.l2_byte;
  const double displaced = std::clamp(2 * bytes / m.last_level_bytes - 1, 0.0, 1.0);
  return m.last_level_byte + displaced * (m.dram_byte - m.last_level_byte);
}

// What a byte that is written takes of what one takes that is read: its line comes first and goes
// back later. (At 1, a training step of an inverted residual block stores more than L3 keeps rather
// than computing it again: 6.9 instead of 6.1 ms on a Zen 5.)
inline constexpr double written_share = 1.5;

// A cost in whole picoseconds, and work per element in 1e-9 ns. What compilers contract to fused
// multiply-adds differs in the last of 53 bits: of two nests that take the same time each build
// would choose its own. Decimals, as a machine's figures are, leave equal what is equal: with 24
// bits instead, plans of a training step took 4.6 ms to choose instead of 2.5.
inline double rounded_cost(double nanoseconds) { return std::round(nanoseconds * 1e3) / 1e3; }
inline double rounded_work(double nanoseconds) { return std::round(nanoseconds * 1e9) / 1e9; }

// f64 vectors hold half as many elements; small integers and bools run through scalar loops that
// compilers vectorise.
inline double width_factor(dtype type) {
  return type == dtype::f64 || type == dtype::i64 ? 2.0 : 1.0;
}

// One element of a micro-op: its work, and its operands through L1.
inline double micro_work(ir::op code, dtype type, const machine& m) {
  const ir::op_info& row = ir::info(code);
  if (row.kind != ir::kind::elementwise && row.kind != ir::kind::reduction &&
      row.kind != ir::kind::scan && code != ir::op::iota && code != ir::op::random_uniform)
    return 0;
  return width_factor(type) *
         (m.unit_work * static_cast<double>(row.cost) + m.tile_operand * (1 + row.arity));
}

// One element of a custom micro-op.
inline double custom_work(const ir::custom_op& custom, dtype type, const machine& m) {
  return width_factor(type) * (m.unit_work * custom.work + m.tile_operand * (1 + custom.arity));
}

// One element of a superinstruction: the same work, but only leaves and the result pass through
// memory.
inline double fused_work(const ir::region& r, const machine& m) {
  double work = m.tile_operand;
  for (int k = 0; k < r.leaf_count; ++k)
    if (!r.is_scalar(k)) work += m.tile_operand;
  for (int i = 0; i < r.node_count; ++i)
    work += m.unit_work * static_cast<double>(ir::info(r.code(i)).cost);
  return width_factor(r.type) * work;
}

// The same of one that runs step by step: most of what its ops read passes through memory.
inline double stepwise_work(const ir::region& r, const ir::accumulator_program& steps,
                            const machine& m) {
  double work = m.tile_operand * steps.accesses();
  for (int i = 0; i < r.node_count; ++i)
    work += m.unit_work * static_cast<double>(ir::info(r.code(i)).cost);
  return width_factor(r.type) * work;
}

inline double instruction_work(const ir::instruction& i, const machine& m) {
  return i.steps != nullptr ? stepwise_work(i.structure, *i.steps, m) : fused_work(i.structure, m);
}

}  // namespace sinter::inline SINTER_ABI::planning
