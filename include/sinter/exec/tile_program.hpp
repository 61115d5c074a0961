// SPDX-License-Identifier: MIT
// A tile program bound to extents and strides: what the threads run. `tile_binder` makes it,
// `tile_runner` runs it. A program walks rows (the outer axes) of columns (the inner axes), several
// rows or a part of one at a time; the values of such a tile stay in a few slots of scratch memory
// that fit into L1.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sinter/exec/reduction.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::exec {

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
};

// A nest hands in the blocks of at most so many matrix products.
inline constexpr std::size_t most_products = 2;

// The axes that are walked, after neighbouring axes that every operand crosses in one stride were
// merged.
struct walk {
  shape_vector outer, inner;
  std::int64_t rows = 1, columns = 1;
};

// Memory (or, for iota and random, an arithmetic sequence: the position itself) under the axes of a
// walk.
struct stream {
  int buffer = -1;  // -1: positions
  std::size_t element_size = 0;
  std::int64_t offset = 0;    // of element 0, in elements
  shape_vector outer, inner;  // strides in elements
  std::int64_t step = 0;      // the one stride along all columns, if linear
  bool linear = false;
  bool dense = false;      // linear, and the rows lie one behind the other
  bool invariant = false;  // the same columns for every row

  value_class extent() const {
    for (std::int64_t s : inner)
      if (s != 0) return value_class::full;
    for (std::int64_t s : outer)
      if (s != 0) return value_class::row;
    return value_class::single;
  }
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
  ir::map_reduce_function reducing = nullptr;
  int reduction = -1;
  std::int64_t attribute = 0;  // random: the stream id
};

struct command_range {
  int first = 0, last = 0;
};

struct bound_reduction {
  const reduction_kernels* kernels = nullptr;
  std::size_t offset = 0;  // of the accumulators of all rows of a tile, in bytes
  location result;         // a row slot
  int phase = 0;
  bool in_place = false;  // the accumulators are the result
};

// Row slots hold a multiple of so many values. A kernel that computes all of them spends less than
// one that copies the few it was asked for to and fro: 64 elements are four registers of AVX-512.
inline constexpr std::int64_t row_padding = 64;

// Memory whose next tile is fetched while one is computed.
struct prefetched_stream {
  int stream = -1;
  std::int64_t bytes_per_step = 0;  // whole lines
};

// Per phase: row commands (one value per row), then commands over the columns, then the reductions
// finish. Behind the last phase comes one more list of row commands. The prologue runs once per
// task.
struct tile_program {
  walk axes;
  std::int64_t tile_rows = 1, chunk = 1;  // a tile is at most tile_rows x chunk elements
  std::int64_t row_capacity = 1;          // rows that row slots and accumulators hold
  bool aligned_rows = false;  // the rows of a tile never cross the end of the last outer axis
  bool split = false;         // few long rows: columns are divided among tasks, phase by phase

  std::vector<exec::stream> streams;
  std::vector<std::int64_t> row_steps;  // [outer axis][stream]: streams' strides, side by side
  std::vector<command> commands;
  std::vector<location> operands;
  std::vector<std::int64_t> constants;  // each in the first bytes of a word
  std::vector<bound_reduction> reductions;
  std::vector<prefetched_stream> prefetched;
  int prefetch_steps = 0;  // commands of a tile before which a part of the next one is fetched
  command_range prologue;
  std::vector<command_range> row_lists, phase_lists;  // row_lists has one more

  // Layout of a thread's scratch memory, in bytes.
  std::size_t slot_bytes = 0, row_slot_bytes = 0;
  std::size_t rows_offset = 0, accumulators_offset = 0, singles_offset = 0, slots_offset = 0;
  std::size_t accumulators_bytes = 0;
  std::vector<std::size_t> kept_offsets;
  std::size_t scratch_bytes = 0;

  // Is there a command behind the prologue?
  bool does_anything() const {
    const auto has_commands = [](command_range r) { return r.first != r.last; };
    return std::ranges::any_of(phase_lists, has_commands) ||
           std::ranges::any_of(row_lists, has_commands);
  }
};

}  // namespace sinter::exec
