// SPDX-License-Identifier: MIT
// The machine as the cost model sees it: a table, in nanoseconds of one core. Absolute accuracy
// does not matter, ratios do: they decide what is fused, stored and recomputed. The built-in one is
// the default, so that a plan depends on shapes alone; a program may be given another
// (function/calibration.hpp), which is a value, never timings of the running program.
#pragma once

#include <algorithm>
#include <cstddef>

#include <sinter/graph/accumulator_program.hpp>
#include <sinter/graph/custom.hpp>
#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>

namespace sinter::inline SINTER_ABI::planning {

struct machine {
  // From a 2-core Xeon at 2.5 GHz with AVX-512: 11.7 GB/s from DRAM on one core, some 60 GB/s from
  // L2, GEMM 90 GFLOP/s.
  double dram_byte = 0.085;
  double l2_byte = 0.016;
  double l2_bytes = 1 << 20;
  double last_level_bytes = 24 << 20;
  double last_level_byte = 0.04;
  double unit_work = 0.04;     // one vectorised f32 addition per element, operands in L1
  double tile_operand = 0.03;  // a tile instruction reads or writes one f32 element in L1
  double flop = 0.011;
  double launch = 120;           // a nest: set-up and its share of a parallel region
  double row = 6;                // the end of a row: a reduction, or a value per row that is read
  double column_batch = 80;      // a batch of a column nest: its accumulators, two tile programs
  double strided_element = 1.0;  // an element that is gathered one by one
  double packed_element = 0.15;  // an element of a product's operand, rearranged for the kernel

  friend bool operator==(const machine&, const machine&) = default;
};

inline constexpr machine nominal_machine{};

// A thread keeps the rows of a product's left factor that it works on packed, from one block of
// columns to the next, if they take no more than this.
inline constexpr std::size_t packed_limit = 2 << 20;

// Nanoseconds per byte for a buffer of this size that the step before left where it fits.
inline double byte_cost(double bytes, const machine& m) {
  if (bytes <= m.l2_bytes) return m.l2_byte;
  if (bytes <= m.last_level_bytes) return m.last_level_byte;
  return m.dram_byte;
}

// A cost with 24 bits. What compilers contract to fused multiply-adds differs in the last of 53: of
// two nests that take the same time each build would choose its own. And in double, sums of such
// numbers are exact, in whatever order.
inline double rounded_cost(double nanoseconds) {
  return static_cast<double>(static_cast<float>(nanoseconds));
}

// f64 vectors hold half as many elements; small integers and bools run through scalar loops that
// compilers vectorise.
inline double width_factor(dtype type) {
  return type == dtype::f64 || type == dtype::i64 ? 2.0 : 1.0;
}

// One element of a micro-op: its work, and its operands through L1.
inline double micro_work(ir::op code, dtype type, const machine& m) {
  const ir::op_info& row = ir::info(code);
  if (row.kind != ir::kind::elementwise && row.kind != ir::kind::reduction &&
      code != ir::op::iota && code != ir::op::random_uniform)
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
