// SPDX-License-Identifier: MIT
// The result of planning, and the contract with the executor: a list of nests over buffers. A nest
// is a parallel loop over tiles of an iteration space whose body is a straight-line tile program.
// Extents stay symbolic, so one plan runs for every shape of its class; the executor binds it to
// the extents at hand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sinter/egraph/enode.hpp>
#include <sinter/graph/custom.hpp>
#include <sinter/graph/dim.hpp>
#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/graph/unit_axes.hpp>
#include <sinter/plan/machine.hpp>
#include <sinter/support/inline_vector.hpp>

namespace sinter::inline SINTER_ABI::planning {

// Where a buffer lives. Arguments and outputs are memory of the caller (arguments may be strided
// views, outputs are contiguous, row-major); prepared values are kept between calls; everything
// else has an offset in the arena.
enum class place : std::uint8_t { argument, output, arena, prepared };

struct buffer {
  planning::place place{};
  int number = 0;  // of the argument, output or prepared value
  dtype type{};
  ir::symbolic_shape shape;
  std::size_t offset = 0;  // bytes in the arena, a multiple of 64
  std::size_t bytes = 0;  // reserved in the arena: enough for the upper corner of the plan's bucket
  friend bool operator==(const buffer&, const buffer&) = default;
};

// One movement op between the shape that a nest sees and the shape of a buffer: permute {source
// axis of each axis}, broadcast_to, slice {steps; dims start, stop}, flip {mask}, windows {axis,
// stride, dilation; dim size}, or a reshape that only adds or drops axes of extent 1. The first
// step of a product's operand may be any reshape that joins neighbouring axes, see `gathered`.
struct view_step {
  ir::op code{};
  inline_vector<std::int64_t, max_rank> attributes;
  inline_vector<ir::dim, 2 * max_rank> dims;
  ir::symbolic_shape result;   // shape after the op (what the nest, or the step before, sees)
  ir::symbolic_shape operand;  // shape before it (what the next step, or the buffer, has)
  friend bool operator==(const view_step&, const view_step&) = default;
};

// How a nest reads a buffer: element i of the seen shape is found by going down the steps (first =
// outermost).
struct access {
  int buffer = -1;
  ir::symbolic_shape shape;  // as seen by the nest
  std::vector<view_step> steps;
  friend bool operator==(const access&, const access&) = default;
};

// An operand of a product whose rows and columns may each be several axes of a view: the view, with
// all its axes. Such an operand is gathered as it is packed. Nothing for others.
inline std::optional<access> gathered(const access& operand) {
  if (operand.steps.empty() || operand.steps[0].code != ir::op::reshape) return std::nullopt;
  const view_step& joins = operand.steps[0];
  if (ir::same_but_ones(joins.result, joins.operand)) return std::nullopt;
  return access{operand.buffer, joins.operand, {operand.steps.begin() + 1, operand.steps.end()}};
}

// Values in a tile program have one value per element of the tile (full), or one per row (row: the
// inner axes are 1).
enum class level : std::uint8_t { full, row };

enum class step_kind : std::uint8_t {
  load,      // accesses[access], at its level
  scalar,    // a stored rank-0 value, accesses[access]
  constant,  // `constant` in dtype `type`
  extent,    // the value of dim `extent`, in dtype `type`
  iota,      // the index along axis `attribute` of the iteration space
  // Uniform in [0,1): operands {key (scalar, i64)}, `attribute` is the stream, the index of an
  // element is its linear one in the space.
  random,
  // An element-wise op on `operands` (micro-op, or `fused` if set); cast: to `type` from the
  // operand's.
  map,
  reduce,  // full -> row over the inner axes; monoid by `code` (reduce_sum, ..., argmax)
  spread,  // row -> full: the operand's value in every element of the row; an operand mode, no work
  product,  // matmul and streamed nests: the element of the matrix product
  // tile, column: full -> row, the squared distances from the mean, summed up. Beside the
  // reduce_sum of the same operand, from which the mean is made: one sweep gives both
  // (exec/column_pair.hpp, exec/row_moments.hpp).
  deviations,
  // column: full -> row, the sum of e^(x - largest). Beside the reduce_max of the same operand.
  // `attribute` 1: 0 stands for a largest that is infinite, as logsumexp has it.
  exponentials,
};

struct step {
  step_kind kind{};
  planning::level level{};
  dtype type{};
  ir::op code{};
  const ir::custom_op* custom = nullptr;                  // of op::custom_map
  const ir::instruction* fused = nullptr;                 // operands in the order of its leaves
  inline_vector<int, ir::region::max_leaves> operands{};  // numbers of earlier steps
  int access = -1;
  std::int64_t attribute = 0;
  std::int64_t constant = 0;  // bits: of a double, or the value itself for i64
  ir::dim extent{};
  friend bool operator==(const step&, const step&) = default;
};

// Step `step` is stored row-major in `buffer`; a row-level value has the shape of the kept axes
// (times ones).
struct store {
  int step = 0;
  int buffer = -1;
  // tile: what the full-level value of a nest with rows sums up to along the axes outside of its
  // rows is stored, in the shape of a row.
  bool summed = false;
  friend bool operator==(const store&, const store&) = default;
};

enum class nest_kind : std::uint8_t {
  tile,  // body over `space`; reductions over the last `inner_axes` axes of the (reordered) space
  // like tile with one reduction at the end of a map body, over the axes [column_first,
  // column_last), and maybe a second value beside it
  column,
  matmul,  // blocks of a product, and the body as epilogue over them while they are hot
  // Several matmuls with one left side, which is read once: see `parts`.
  grouped,
  // The softmax over rows of scores, and the sum of values that it weighs: scores are a product
  // with the body as epilogue, computed block by block and never stored.
  streamed,
  assemble,     // pad or concat: fill, then pieces, copied or computed, into blocks of the output
  gather,       // out[..., i..., ...] = x[..., index[i...], ...]
  scatter_add,  // zeros, then adds each update at its index, in the order of the updates
  scan,         // out[..., i, ...] = the sum of x[..., j, ...], j from the first one to i
  alias,        // no work: the output is the operand's memory under another shape
  custom,       // a user's op on contiguous arrays: `custom` on the accesses
  pack,  // a right side of products in the order in which their kernel reads it (exec/gemm.hpp)
};

// What an assemble nest puts into its place: a tile program whose last step is what is put there.
// Its loads are accesses of the nest.
struct piece {
  ir::symbolic_shape space;
  ir::symbolic_shape offset;  // where its element 0 goes in the output
  std::vector<step> body;
  friend bool operator==(const piece&, const piece&) = default;
};

// Scores that need not be computed to be known, a causal mask's: (row, column) holds `value`
// wherever column > row + offset.
struct hidden_scores {
  bool any = false;
  double value = 0;
  ir::dim offset{};
  friend bool operator==(const hidden_scores&, const hidden_scores&) = default;
};

// A packed right side has its columns padded to a multiple of so many elements (a cache line of
// floats).
inline constexpr std::int64_t packed_column_unit = 16;
/// Of n columns.
constexpr std::int64_t packed_width(std::int64_t n) {
  return (n + packed_column_unit - 1) / packed_column_unit * packed_column_unit;
}

// Columns of an operand that the nest computes on the way, block by block of its rows: a tile
// program whose last step is what they hold. Its loads are accesses of the nest.
struct operand_part {
  ir::symbolic_shape space;  // [batch..., rows, columns of this part]
  ir::dim offset{};          // its first column
  std::vector<step> body;
  friend bool operator==(const operand_part&, const operand_part&) = default;
};

// Of an operand that a thread computes on the way, what it keeps for later blocks at most.
inline constexpr std::size_t kept_operand_bytes = 1 << 20;

struct nest {
  nest_kind kind{};
  // The iteration space, axes in the order of the values' shapes. All full-level values have this
  // shape.
  ir::symbolic_shape space;
  // tile: the order in which axes are walked; the last inner_axes of it form a row (reductions go
  // over them). Empty: as they are. Used by reductions over axes that are not the last ones. Loads
  // at row level have extent 1 on them.
  inline_vector<int, max_rank> axis_order;
  int inner_axes = 0;
  // column: the reduced axes of `space`; everything before is a batch, everything behind is the
  // columns.
  int column_first = 0, column_last = 0;
  // matmul, streamed: accesses 0 and 1 are a and b: [batch..., m, k] and [batch..., k, n], or
  // transposed in the last two axes.
  // (transpose_b also of pack, whose `space` is [k, n] and whose access 0 is the matrix).
  bool transpose_a = false, transpose_b = false;
  // matmul: access 1, and that of a second product, is what a pack nest wrote, for all batches.
  bool packed_b = false;
  // matmul: access 0 are filters, one matrix for all batches, access 1 the gathered windows of
  // images, 3x3 at every place (image_windows.hpp): computed tile by tile, see winograd.hpp.
  bool winograd = false;
  // streamed: `space` is that of the scores, [batch..., rows, columns]; access 2 are the values,
  // [batch..., columns, n] or transposed. stores[0].step are the scores, still to be multiplied by
  // score_scale > 0; its buffer gets [batch..., rows, n].
  bool transpose_values = false;
  double score_scale = 1;
  hidden_scores hidden;
  // streamed: operands a and b where they are computed on the way; empty where they are read. The
  // access of a computed operand has its shape, and a buffer that the first part reads.
  std::array<std::vector<operand_part>, 2> prologues;
  // matmul: a product step with an access is a second product, of a and that access ([batch..., k,
  // n], or transposed if the step's attribute is 1), which the epilogue reads beside the first.
  // grouped: matmul nests whose access 0 and rows are the same, in any order. `accesses` and
  // `stores` of the nest list those of all parts, for who asks what it reads and writes.
  std::vector<nest> parts;
  // matmul: the epilogue reads what the result overwrites (w - rate * gradient), so the product
  // must not be computed in the result's memory but in scratch.
  bool product_in_scratch = false;
  int axis = 0;  // gather, scatter_add, scan
  // scan: without the element itself; from the last one on
  bool exclusive = false, reverse = false;
  double fill = 0;                        // assemble
  const ir::custom_op* custom = nullptr;  // custom, with its attributes
  std::vector<double> custom_attributes;
  std::vector<piece> pieces;  // assemble
  // gather: x, indices; scatter_add: updates, indices; scan, alias: the operand; assemble: what the
  // pieces read, in their order
  std::vector<access> accesses;
  std::vector<step> body;
  std::vector<store>
      stores;  // what the nest produces; nests without a body produce stores[0].buffer
  // The e-nodes it was made of, first that of the value it was made for; none: a copy, or
  // parts that name theirs. For reports.
  std::vector<eqsat::node_id> enodes;
  double predicted_nanoseconds = 0;
  std::string label;  // for explain: what it computes, in the terms of the graph
  friend bool operator==(const nest&, const nest&) = default;
};

/// Is this the second value of a column, which comes from one sweep with a reduction?
inline bool is_second_of_pair(const step& s) {
  return s.kind == step_kind::deviations || s.kind == step_kind::exponentials;
}

/// That of a column nest, or nullptr.
inline const step* second_of_pair(const nest& n) {
  for (const step& s : n.body)
    if (is_second_of_pair(s)) return &s;
  return nullptr;
}

/// The reduction beside it.
inline ir::op first_of_pair(step_kind second) {
  return second == step_kind::deviations ? ir::op::reduce_sum : ir::op::reduce_max;
}

/// Is a piece only copied? Then it has one load.
inline bool is_copied(const piece& p) {
  return p.body.size() == 1 && p.body[0].kind == step_kind::load;
}

/// What a piece of an assemble nest is taken to cost, and the fill before them. A single one that
/// is copied writes what is around it on the way, and is all there is to do. (Zeros around
/// [384,14,14], 8 threads of a Xeon: 14 µs were two times 7, which are not worth a second thread.)
inline double nanoseconds_of_piece(const nest& n) {
  const bool is_all = n.pieces.size() == 1 && is_copied(n.pieces[0]);
  return n.predicted_nanoseconds / static_cast<double>(is_all ? 1 : n.pieces.size() + 1);
}

/// The nest that computes one piece of an assemble nest, and nothing else.
inline nest nest_of_piece(const nest& n, const piece& p) {
  nest out;
  out.kind = nest_kind::tile;
  out.space = p.space;
  out.body = p.body;
  for (step& s : out.body) {
    if (s.access < 0) continue;
    out.accesses.push_back(n.accesses[static_cast<std::size_t>(s.access)]);
    s.access = static_cast<int>(out.accesses.size()) - 1;
  }
  out.stores = {{static_cast<int>(p.body.size()) - 1, n.stores[0].buffer}};
  out.predicted_nanoseconds = nanoseconds_of_piece(n);
  return out;
}

/// Does the product of a matmul nest gather operand 0 or 1?
inline bool is_gathered(const nest& n, std::size_t operand) {
  return n.kind == nest_kind::matmul && !(operand == 1 && n.packed_b) &&
         gathered(n.accesses[operand]).has_value();
}

struct plan {
  std::vector<buffer> buffers;
  std::vector<nest> nests;  // in execution order
  std::size_t arena_bytes = 0;
  std::size_t lower_bound_bytes = 0;  // the largest set of arena buffers alive at one time
  double cost = 0,
         cost_bound = 0;  // predicted nanoseconds; a bound relative to the enumerated nests
  // The machine's last level of caches. Nests write past it what it does not hold: a buffer that
  // is larger, or an output beside what the nest reads.
  double last_level_bytes = nominal_machine.last_level_bytes;
  ir::dim_table dims;
  // may_alias[o * arguments + a]: output o may be the very memory of argument a.
  std::vector<bool> may_alias;
  friend bool operator==(const plan&, const plan&) = default;
};

}  // namespace sinter::inline SINTER_ABI::planning
