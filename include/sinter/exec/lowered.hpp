// SPDX-License-Identifier: MIT
// The lowest of the three levels as values: what an executor has bound for every nest of a plan,
// with concrete extents, strides, blocks and tile programs. Runners say it of themselves
// (`lowered`); it is printed and read by lowered_text.hpp, checked by verify_lowered.hpp and
// computed, in plain scalar code, by interpret_lowered.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include <sinter/exec/bound_access.hpp>
#include <sinter/exec/tile_program.hpp>
#include <sinter/graph/custom.hpp>
#include <sinter/plan/nest.hpp>

namespace sinter::inline SINTER_ABI::exec {

// Strides are those of an argument as it was handed in; all other buffers are row-major.
struct lowered_buffer {
  planning::place place{};
  int number = 0;  // of the argument, output or prepared value
  dtype type{};
  shape_vector shape, strides;
  std::size_t offset = 0, bytes = 0;  // in the arena
  friend bool operator==(const lowered_buffer&, const lowered_buffer&) = default;
};

// A tile program over all its rows and columns, cut into tasks. A split one runs phase by phase:
// rows one by one, parts of columns_per_task, whose accumulators combine in their order.
struct lowered_tiles {
  tile_program program;
  std::int64_t rows_per_task = 1, columns_per_task = 1;
  friend bool operator==(const lowered_tiles&, const lowered_tiles&) = default;
};

// `map` reduces the rows of a batch into accumulators of all columns, group by group; groups
// combine in order. `rest` reads the results as external value 0, a row per batch. A pair (see
// column_pair.hpp): the second value is external value 1. Beside a sum, both come from distances
// from shifts, the means of some rows (planning::moment_sample_rows), and their squares.
struct lowered_columns {
  tile_program map, rest;
  std::int64_t batch = 1, reduced = 1, columns = 1;
  std::int64_t rows_per_group = 1, columns_per_task = 1, batches_per_task = 1;
  bool pair = false, guarded = false;  // as the exponentials of a step are
  friend bool operator==(const lowered_columns&, const lowered_columns&) = default;
};

// Axes that are counted through row-major, the last one fastest.
struct lowered_axes {
  shape_vector extents, strides;
  friend bool operator==(const lowered_axes&, const lowered_axes&) = default;
};

// A matrix per batch: element (row, column) lies offset + batch . batch_strides + row * row_stride
// + column * column_stride elements behind the start of the buffer. A packed one is what a pack
// nest wrote, the same for all batches. Of a gathered one rows and columns are positions along
// several axes each, and elements may overlap, as windows of an image do; it has no strides.
struct lowered_matrix {
  int buffer = -1;
  bool packed = false, gathered = false;
  std::int64_t offset = 0, row_stride = 0, column_stride = 0;
  lowered_axes rows, columns;  // gathered
  shape_vector batch_strides;
  friend bool operator==(const lowered_matrix&, const lowered_matrix&) = default;
};

// An operand that has no unit stride is copied before the nest runs, into a buffer of the nest's
// own: `offset` bytes into the memory that all threads share.
struct lowered_copy {
  int buffer = -1;
  dtype type{};
  shape_vector shape;
  std::size_t offset = 0;
  lowered_tiles tiles;
  friend bool operator==(const lowered_copy&, const lowered_copy&) = default;
};

// A product of m x k and k x n, in blocks of `columns` columns, and the program that runs over each
// block while it is hot: external value 0 is the block, 1 that of a second product. The block is
// computed where `destination` (row-major, of m * batches rows) says, or in scratch memory.
struct lowered_part {
  std::int64_t n = 0, columns = 1;
  std::vector<lowered_matrix> right;
  int destination = -1;  // a buffer
  std::int64_t destination_offset = 0;
  bool runs_rest = false;  // false: rest is empty
  tile_program rest;
  friend bool operator==(const lowered_part&, const lowered_part&) = default;
};

struct lowered_products {
  dtype type{};
  shape_vector batch;
  std::int64_t m = 0, k = 0, rows = 1;  // rows of a block
  bool packs_left = false;  // a thread packs a block of rows once for all blocks of columns
  // A convolution by tiles of 2x2 results: rows are filters, the right side windows of 3x3 with all
  // their axes. A task has so many images, goes through filters and channels by so many.
  bool winograd = false;
  std::int64_t images = 1, filters = 1, depth = 1;
  std::vector<lowered_copy> copies;
  lowered_matrix left;
  std::vector<lowered_part> parts;
  friend bool operator==(const lowered_products&, const lowered_products&) = default;
};

// Columns from `column` on of an operand that is computed on the way, a row per row of the walk;
// the block is external value 0.
struct lowered_prologue {
  std::int64_t column = 0;
  tile_program program;
  friend bool operator==(const lowered_prologue&, const lowered_prologue&) = default;
};

// Queries or keys: in memory, or computed by `parts` as rows x columns per batch (and `transposed`
// on the way into the product). `shared`: by batch axis, 1 where it is the same matrix along it;
// `folded` batches of it are one batch of the product's.
struct lowered_operand {
  lowered_matrix stored;
  std::vector<lowered_prologue> parts;
  bool transposed = false;
  std::int64_t rows = 0, columns = 0, folded = 1;
  shape_vector shared;

  bool is_computed() const { return !parts.empty(); }
  friend bool operator==(const lowered_operand&, const lowered_operand&) = default;
};

// softmax(scale * scores) * values, scores being rest(left * right): rows x columns per batch, of
// products with `depth` terms. Blocks of columns come in order; sums and the largest score are
// carried from one to the next. Where scores are hidden, those right of row + hidden_offset hold
// hidden_value, and blocks that would add nothing are left out.
struct lowered_streamed {
  dtype type{};
  shape_vector batch;
  std::int64_t rows = 0, columns = 0, depth = 0, width = 0;
  std::int64_t block_rows = 1, block_columns = 1;
  double scale = 1;
  bool hides = false;
  std::int64_t hidden_offset = 0;
  double hidden_value = 0;
  std::vector<lowered_copy> copies;
  lowered_operand left, right;
  lowered_matrix values;
  bool packs_once = false;  // a thread keeps packed keys and values of a batch
  bool runs_rest = false;
  tile_program rest;
  int target = -1;
  std::int64_t target_offset = 0;
  friend bool operator==(const lowered_streamed&, const lowered_streamed&) = default;
};

// The first `count` elements of a buffer are set to a value unless the pieces cover them all; then
// every piece is copied to its place.
struct lowered_assembly {
  int target = -1;
  dtype type{};
  std::int64_t offset = 0, count = 0;
  bool fills = false;
  bound_constant value;
  std::vector<lowered_tiles> pieces;
  friend bool operator==(const lowered_assembly&, const lowered_assembly&) = default;
};

// Later nests read the operand's memory in place of the target's, unless it had to be copied.
struct lowered_alias {
  int target = -1;
  strided_view source;
  std::vector<lowered_tiles> copy;  // one or none
  friend bool operator==(const lowered_alias&, const lowered_alias&) = default;
};

// A k x n matrix, written in the order in which the product reads it.
struct lowered_pack {
  dtype type{};
  int target = -1;
  std::int64_t k = 0, n = 0;
  std::vector<lowered_copy> copies;
  lowered_matrix matrix;
  friend bool operator==(const lowered_pack&, const lowered_pack&) = default;
};

// Indices in row-major order of their view. Those of an argument are checked before any nest runs.
struct lowered_indices {
  strided_view view;
  dtype type{};
  std::int64_t extent = 0;  // each is in [0, extent)
  bool checked_first = false;
  friend bool operator==(const lowered_indices&, const lowered_indices&) = default;
};

// target[before][i][behind] = x[before][indices[i]][behind], the target contiguous.
struct lowered_gather {
  dtype type{};
  int source = -1;
  std::int64_t offset = 0, axis_stride = 0;
  shape_vector before, before_strides, behind, behind_strides;
  lowered_indices indices;
  int target = -1;
  std::int64_t target_offset = 0;
  friend bool operator==(const lowered_gather&, const lowered_gather&) = default;
};

// target[before][indices[i]][behind] = the sum, in the order of i, of updates[before][i][behind];
// the target, contiguous, has extent rows per `before`. Tasks have columns_per_task of `behind`.
struct lowered_scatter {
  dtype type{};
  int source = -1;
  std::int64_t offset = 0;
  shape_vector before, before_strides, indexed, indexed_strides, behind, behind_strides;
  lowered_indices indices;
  std::int64_t columns_per_task = 1;
  int target = -1;
  std::int64_t target_offset = 0;
  friend bool operator==(const lowered_scatter&, const lowered_scatter&) = default;
};

// target[before][i][behind] = the sum of source[before][j][behind] up to j = i; exclusive: without
// i; reverse: from the last j on. Blocks of `block` elements along the axis are summed by
// themselves, `lanes` of them at once: to element i of these element i - 1 is added, to that i - 2,
// i - 4 and so on. The target is contiguous. Tasks have columns_per_task of `behind`.
struct lowered_scan {
  dtype type{};
  int source = -1;
  std::int64_t offset = 0, count = 0, axis_stride = 0;
  shape_vector before, before_strides, behind, behind_strides;
  bool exclusive = false, reverse = false;
  std::int64_t block = 1, lanes = 1, columns_per_task = 1;
  int target = -1;
  std::int64_t target_offset = 0;
  friend bool operator==(const lowered_scan&, const lowered_scan&) = default;
};

// An array as a user's op gets it, contiguous: under its own axes, or, where the op leaves leading
// axes alone, with these as one. A view that is not contiguous is copied before the op runs,
// `copy_offset` bytes into the memory that all threads share.
struct lowered_array {
  strided_view view;
  dtype type{};
  shape_vector shape;
  bool copied = false;
  std::size_t copy_offset = 0;
  friend bool operator==(const lowered_array&, const lowered_array&) = default;
};

// The op's kernel for the dtype of operand 0, or null: then what its reference interpreter runs, in
// double. It is called for rows_per_task of the first axis at a time, or once for whole arrays
// where that is 0.
struct lowered_custom {
  const ir::custom_op* op = nullptr;
  ir::custom_function kernel = nullptr;
  std::vector<double> attributes;
  std::int64_t rows_per_task = 0;
  std::vector<lowered_array> operands;
  lowered_array result;  // never copied
  friend bool operator==(const lowered_custom&, const lowered_custom&) = default;
};

/// What says what a custom op on arrays is, for operand 0 of this dtype: floats are doubles in it.
/// nullptr if there is nothing.
inline ir::custom_function reference_function(const ir::custom_op& op, dtype first) {
  if (op.reference != nullptr || op.kernel == nullptr) return op.reference;
  return op.kernel(is_floating(first) ? dtype::f64 : first);
}

using lowered_nest = std::variant<lowered_tiles, lowered_columns, lowered_products,
                                  lowered_streamed, lowered_assembly, lowered_alias, lowered_pack,
                                  lowered_gather, lowered_scatter, lowered_scan, lowered_custom>;

/// A plan bound to extents and strides. Buffers behind those of the plan are the copies' own.
struct lowered_plan {
  std::vector<lowered_buffer> buffers;
  std::size_t arena_bytes = 0;
  std::vector<lowered_nest> nests;
  friend bool operator==(const lowered_plan&, const lowered_plan&) = default;
};

}  // namespace sinter::inline SINTER_ABI::exec
