// SPDX-License-Identifier: MIT
// A tile program bound to extents and strides: what the threads run. `tile_binder` makes it,
// `tile_runner` runs it. A program walks rows (the outer axes) of columns (the inner axes), several
// rows or a part of one at a time; the values of such a tile stay in a few slots of scratch memory
// that fit into L1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/graph/custom.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/support/cache_lines.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI::exec {

// How many values a step has in a tile: one for all rows, one per row, or one per element. It is
// read off the strides, so an operand that is broadcast along the inner axes costs one value per
// row whatever its declared level is.
enum class value_class : std::uint8_t { single, row, full };

// Where a value is while a tile is computed.
struct location {
  enum class memory : std::uint8_t {
    none,
    slot,         // scratch for one tile: rows lie one behind the other
    kept,         // scratch for whole rows: alive over several phases
    row_slot,     // one value per row of the tile
    single_slot,  // one value for all rows, computed by the program
    constant,     // one value known when the program was bound
    stream,       // the caller's or the arena's memory, used in place
    external,     // handed in by the nest: the block of a matrix product (of two: by index), the
                  // sums of a column reduction
  };
  memory where = memory::none;
  value_class extent = value_class::full;
  std::uint8_t element_size = 0;
  int index = -1;

  bool valid() const { return where != memory::none; }
  friend bool operator==(const location&, const location&) = default;
};

// A nest hands in the blocks of at most so many matrix products.
inline constexpr std::size_t most_products = 2;

// A value that the nest hands in: `at` is element (row, column) of the walk, rows are `pitch`
// elements apart.
struct external_block {
  std::byte* at = nullptr;
  std::int64_t pitch = 0, row = 0, column = 0;
};

// The axes that are walked, after neighbouring axes that every operand crosses in one stride were
// merged.
struct walk {
  shape_vector outer, inner;
  std::int64_t rows = 1, columns = 1;
  friend bool operator==(const walk&, const walk&) = default;
};

// Memory (or, for iota and random, an arithmetic sequence: the position itself) under the axes of a
// walk.
struct stream {
  int buffer = -1;  // -1: positions
  dtype type{};
  std::size_t element_size = 0;
  std::int64_t offset = 0;    // of element 0, in elements
  shape_vector outer, inner;  // strides in elements
  std::int64_t step = 0;      // the one stride along all columns, if linear
  bool linear = false;
  bool dense = false;      // linear, and the rows lie one behind the other
  bool invariant = false;  // the same columns for every row

  // Are its columns neighbours?
  bool has_unit_step() const { return linear && step == 1; }
  // Has it one element per run, that is for all columns along the last inner axis? (A factor per
  // channel, in rows of several channels.)
  bool is_one_per_run() const { return inner.size() == 2 && inner[0] != 0 && inner[1] == 0; }

  value_class extent() const {
    for (std::int64_t s : inner)
      if (s != 0) return value_class::full;
    for (std::int64_t s : outer)
      if (s != 0) return value_class::row;
    return value_class::single;
  }
  friend bool operator==(const stream&, const stream&) = default;
};

// A value in the first bytes of a word.
struct bound_constant {
  std::int64_t word = 0;
  dtype type{};
  friend bool operator==(const bound_constant&, const bound_constant&) = default;
};

enum class command_kind : std::uint8_t {
  load,
  expand,
  iota,
  random,
  map,
  map_reduce,  // a map, and the reduction of its result in the same kernel
  reduce,
  reduce_columns,
  map_reduce_columns,  // a map, and the reduction of its result down the columns
  reduce_pair,         // two values down the columns, see column_pair.hpp
  store
};

struct command {
  command_kind kind{};
  dtype type{};         // of the result
  bool by_row = false;  // operands lie apart from row to row: one call per row
  bool padded = false;  // of row slots: computes to the end of a block, see row_padding
  int stream = -1;      // load, store, iota, random
  int first_operand = 0, operand_count = 0;
  location target;
  ir::map_function function = nullptr;
  ir::map_rows_function run_rows = nullptr;  // the same in all modes, where the kernel has them
  ir::map_reduce_function reducing = nullptr;
  int reduction = -1;
  // What map, map_reduce and map_reduce_columns run, for who does not call it: an op on operands of
  // this dtype (of `where`: its branches), a user's op (the code is then custom_map), or a region.
  ir::op code{};
  dtype operand_type{};
  ir::run_mode mode{};         // map whose kernel has modes; map_reduce: what is fetched
  bool by_run = false;         // a map by calls for each run, in which operands are single
  std::int64_t attribute = 0;  // random: the stream id
  const ir::instruction* fused = nullptr;
  const ir::custom_op* custom = nullptr;
};
static_assert(sizeof(void*) != 8 || sizeof(command) == 88, "a command is a little over a line");

struct command_range {
  int first = 0, last = 0;
  int size() const { return last - first; }
  friend bool operator==(const command_range&, const command_range&) = default;
};

struct bound_reduction {
  const reduction_kernels* kernels = nullptr;
  std::size_t offset = 0;  // of the accumulators of all rows of a tile, in bytes
  location result;         // a row slot
  location sum;            // of deviations: another, for the sum of the same elements
  int phase = 0;
  bool in_place = false;  // the accumulators are the result
  exec::monoid monoid{};
  dtype type{};  // of what is combined
  friend bool operator==(const bound_reduction&, const bound_reduction&) = default;
};

// What a reduction that is not of rows sums up, one value per column, goes to `buffer` in row-major
// order, from element `offset` on.
struct column_sum {
  int reduction = -1;
  int buffer = -1;
  std::int64_t offset = 0;
  friend bool operator==(const column_sum&, const column_sum&) = default;
};

// Row slots hold a multiple of so many values. A kernel that computes all of them spends less than
// one that copies the few it was asked for to and fro: 64 elements are four registers of AVX-512.
inline constexpr std::int64_t row_padding = 64;

// Per phase: row commands (one value per row), then commands over the columns, then the reductions
// finish. Behind the last phase comes one more list of row commands. The prologue runs once per
// task.
struct tile_program {
  walk axes;
  std::int64_t tile_rows = 1, chunk = 1;  // a tile is at most tile_rows x chunk elements
  // Rows that row slots and accumulators hold; more than a tile has where one kernel takes as many.
  std::int64_t row_capacity = 1;
  bool aligned_rows = false;  // the rows of a tile never cross the end of the last outer axis
  bool streaming = false;     // some commands write past the caches
  bool split = false;         // few long rows: columns are divided among tasks, phase by phase

  std::vector<exec::stream> streams;
  std::vector<std::int64_t> row_steps;  // [outer axis][stream]: streams' strides, side by side
  std::vector<command> commands;
  std::vector<location> operands;
  std::vector<bound_constant> constants;
  std::vector<bound_reduction> reductions;
  std::vector<column_sum> sums;
  command_range prologue;
  std::vector<command_range> row_lists, phase_lists;  // row_lists has one more

  // Layout of a thread's scratch memory, in bytes.
  std::size_t slot_bytes = 0, row_slot_bytes = 0;
  std::size_t rows_offset = 0, accumulators_offset = 0, singles_offset = 0, slots_offset = 0;
  std::size_t accumulators_bytes = 0;
  std::size_t sums_offset = 0;  // of the sums' blocks, which are as far apart as accumulators
  std::vector<std::size_t> kept_offsets;
  std::size_t scratch_bytes = 0;

  bool whole_rows() const { return chunk == axes.columns; }

  // Do all phases together have one command? What it walks are streams, not tiles.
  bool is_one_kernel() const {
    int count = 0;
    for (const command_range& phase : phase_lists) count += phase.size();
    return count == 1;
  }

  // Is there a command behind the prologue?
  bool does_anything() const {
    const auto has_commands = [](command_range r) { return r.first != r.last; };
    return std::ranges::any_of(phase_lists, has_commands) ||
           std::ranges::any_of(row_lists, has_commands);
  }

  std::span<const location> operands_of(const command& c) const {
    return {operands.data() + c.first_operand, static_cast<std::size_t>(c.operand_count)};
  }

  // The streams' strides along the outer axes, side by side.
  void lay_row_steps() {
    row_steps.clear();
    for (std::size_t axis = 0; axis < axes.outer.size(); ++axis)
      for (const exec::stream& s : streams) row_steps.push_back(s.outer[axis]);
  }
};

inline const bound_reduction& reduction_of(const tile_program& p, const column_sum& s) {
  return p.reductions[static_cast<std::size_t>(s.reduction)];
}

/// Of a reduction that is not of rows: where the accumulator of a column is, in bytes from the
/// first one of the first sum.
inline std::size_t place_of_column(const bound_reduction& r, std::int64_t column) {
  return r.offset + static_cast<std::size_t>(column) * r.kernels->accumulator_bytes;
}

/// Of a reduction that is not of rows: bytes of one accumulator per column, whole lines.
inline std::size_t bytes_of_columns(const tile_program& p, const bound_reduction& r) {
  return round_to_lines(static_cast<std::size_t>(p.axes.columns) * r.kernels->accumulator_bytes);
}

/// The same of all sums of the program together.
inline std::size_t bytes_of_sums(const tile_program& p) {
  std::size_t out = 0;
  for (const column_sum& s : p.sums) out += bytes_of_columns(p, reduction_of(p, s));
  return out;
}

/// What a task of the program takes; `free`: it is a map.
inline planning::tile_division division_of(const tile_program& p, bool free) {
  planning::tile_division out =
      planning::divide_tile(p.axes.rows, p.axes.columns, p.tile_rows, p.chunk, p.split, free);
  if (!p.sums.empty()) out.rows = planning::summed_rows(p.axes.rows, p.axes.columns, p.tile_rows);
  return out;
}

/// The dtype of what a reduction gives.
constexpr dtype result_type(const bound_reduction& r) {
  return r.monoid == monoid::argmax ? dtype::i64 : r.type;
}

/// The dtype in which a command reads operand k.
inline dtype operand_type(const tile_program& p, const command& c, int k) {
  switch (c.kind) {
    case command_kind::random: return dtype::i64;
    case command_kind::map:
    case command_kind::map_reduce:
    case command_kind::map_reduce_columns:
      if (c.fused != nullptr) return c.fused->structure.type;
      return c.code == ir::op::where && k == 0 ? dtype::boolean : c.operand_type;
    case command_kind::reduce:
    case command_kind::reduce_columns:
    case command_kind::reduce_pair: return p.reductions[static_cast<std::size_t>(c.reduction)].type;
    default: return c.type;
  }
}

/// Does a map run the steps of a region, for which there is no kernel?
inline bool runs_steps(const command& c) {
  return c.kind == command_kind::map && c.function == nullptr && c.fused != nullptr &&
         c.fused->run_steps != nullptr;
}

/// Does a map run over rows, in modes (ir::map_run)?
inline bool takes_modes(const command& c) {
  return (c.kind == command_kind::map && c.run_rows != nullptr) || runs_steps(c);
}

/// Does a command reduce rows column by column?
inline bool reduces_columns(const command& c) {
  return c.kind == command_kind::reduce_columns || c.kind == command_kind::map_reduce_columns ||
         c.kind == command_kind::reduce_pair;
}

/// Can what a command runs fetch its operands ahead?
inline bool can_fetch(const command& c) {
  return takes_modes(c) || c.kind == command_kind::map_reduce || reduces_columns(c);
}

/// How the rows are walked that it reduces column by column.
inline ir::column_walk walk_of_columns(const command& c) {
  return {c.mode.bytes_ahead(), c.by_row};
}

/// Is a value read or written in the caller's memory, element by element?
inline bool walks_memory(const location& l) {
  return l.where == location::memory::stream && l.extent == value_class::full;
}

/// The same of a stream that has one element per run.
inline bool is_one_per_run(const tile_program& p, const location& l) {
  return walks_memory(l) && p.streams[static_cast<std::size_t>(l.index)].is_one_per_run();
}

/// Is leaf k of a region one value for a run of elements by its structure?
inline bool is_scalar_leaf(const command& c, int k) {
  return c.fused != nullptr && c.fused->structure.is_scalar(k);
}

/// Does the kernel of a map take fewer values for operands that are not scalar by its structure?
inline bool may_broadcast(const command& c) {
  return c.kind == command_kind::map && c.run_rows != nullptr &&
         (c.fused == nullptr ? ir::info(c.code).arity > 1 : ir::may_broadcast(c.fused->structure));
}

/// Of a map: operands that are fewer values than the result though they are not scalar by the
/// structure of its kernel, for run_mode::single.
inline std::uint16_t broadcast_operands(const tile_program& p, const command& c) {
  unsigned out = 0;
  if (!may_broadcast(c) || c.target.extent != value_class::full) return 0;
  for (int k = 0; k < c.operand_count; ++k) {
    const location& l = p.operands_of(c)[static_cast<std::size_t>(k)];
    if (!is_scalar_leaf(c, k) && (l.extent != value_class::full || is_one_per_run(p, l)))
      out |= 1u << k;
  }
  return static_cast<std::uint16_t>(out);
}
/// Enters them into a map.
inline void set_broadcast_operands(const tile_program& p, command& c) {
  c.mode.single = broadcast_operands(p, c);
  c.by_run = c.mode.single != 0 && std::ranges::any_of(p.operands_of(c), [&](const location& l) {
               return is_one_per_run(p, l);
             });
}

/// Of a map that runs no region: the name of its op, how many operands that takes, and the kernel,
/// nullptr where there is none; the same in all modes, nullptr where it has but the plain one.
constexpr std::string_view map_name(const command& c) {
  return c.custom != nullptr ? c.custom->name : ir::name(c.code);
}
constexpr int map_arity(const command& c) {
  return c.custom != nullptr ? c.custom->arity : ir::info(c.code).arity;
}
/// Runs a map that takes_modes; see ir::map_rows_function.
inline void run_map_rows(const command& c, const ir::map_run& run, const void* const* operands,
                         void* result) {
  if (runs_steps(c))
    c.fused->run_steps(*c.fused->steps, run, operands, result);
  else
    c.run_rows(run, operands, result);
}
/// Runs a map's kernel; see ir::map_function.
inline void run_map(const command& c, std::int64_t count, const void* const* operands,
                    void* result) {
  if (c.function != nullptr && c.mode.is_plain())
    c.function(count, operands, result);
  else
    run_map_rows(c, {.count = count, .mode = c.mode}, operands, result);
}
inline ir::map_function map_kernel(const kernel_table& kernels, const command& c) {
  const bool has_custom = c.type == dtype::f32 || c.type == dtype::f64;
  if (c.custom != nullptr)
    return has_custom && c.custom->map != nullptr ? c.custom->map(c.type) : nullptr;
  return kernels.map_op(c.code, c.operand_type, c.type);
}
inline ir::map_rows_function map_rows_kernel(const kernel_table& kernels, const command& c) {
  return kernels.map_rows_op(c.code, c.operand_type);
}

/// The kernel of a region and the reduction of its result along the row, or down the columns;
/// nullptr where there is none.
inline ir::map_reduce_function row_kernel(const command& c, monoid m) {
  const bool is_none = c.fused == nullptr || m == monoid::deviations;
  return is_none ? nullptr : c.fused->reduced_by(op_of(m));
}
inline ir::map_reduce_columns_function columns_kernel(const command& c, monoid m) {
  const bool is_none = c.fused == nullptr || m == monoid::deviations;
  return is_none ? nullptr : c.fused->columns_reduced_by(op_of(m));
}

/// Do two commands of two programs do the same? Where the list of operands has theirs does not
/// matter.
inline bool is_same(const tile_program& p, const command& a, const tile_program& q,
                    const command& b) {
  const bool same_code = a.fused == b.fused || (a.fused != nullptr && b.fused != nullptr &&
                                                a.fused->structure == b.fused->structure);
  return a.kind == b.kind && a.type == b.type && a.by_row == b.by_row && a.padded == b.padded &&
         a.stream == b.stream && a.target == b.target && a.function == b.function &&
         a.run_rows == b.run_rows && a.reducing == b.reducing && a.reduction == b.reduction &&
         a.code == b.code && a.mode == b.mode && a.operand_type == b.operand_type &&
         a.attribute == b.attribute && a.custom == b.custom && same_code &&
         std::ranges::equal(p.operands_of(a), q.operands_of(b));
}

/// Equal programs do the same with the same kernels in the same places.
inline bool operator==(const tile_program& p, const tile_program& q) {
  if (p.commands.size() != q.commands.size()) return false;
  for (std::size_t i = 0; i < p.commands.size(); ++i)
    if (!is_same(p, p.commands[i], q, q.commands[i])) return false;
  return p.axes == q.axes && p.tile_rows == q.tile_rows && p.chunk == q.chunk &&
         p.row_capacity == q.row_capacity && p.aligned_rows == q.aligned_rows &&
         p.split == q.split && p.streaming == q.streaming && p.streams == q.streams &&
         p.row_steps == q.row_steps && p.constants == q.constants && p.reductions == q.reductions &&
         p.sums == q.sums && p.prologue == q.prologue && p.row_lists == q.row_lists &&
         p.phase_lists == q.phase_lists && p.slot_bytes == q.slot_bytes &&
         p.row_slot_bytes == q.row_slot_bytes && p.rows_offset == q.rows_offset &&
         p.accumulators_offset == q.accumulators_offset && p.singles_offset == q.singles_offset &&
         p.slots_offset == q.slots_offset && p.sums_offset == q.sums_offset &&
         p.accumulators_bytes == q.accumulators_bytes && p.kept_offsets == q.kept_offsets &&
         p.scratch_bytes == q.scratch_bytes;
}

}  // namespace sinter::inline SINTER_ABI::exec
