// SPDX-License-Identifier: MIT
// An element-wise region in canonical form: what one fused kernel computes. It is a structural
// value, so that it can be the template argument of a kernel (one instantiation per structure,
// however many expressions share it), be compared at run time, and serve as the pattern that
// instruction selection looks for in the e-graph.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <sinter/graph/op.hpp>

namespace sinter::inline SINTER_ABI::ir {

// Operand k < leaf_count is a leaf, operand leaf_count + i is the result of node i; the last node
// is the result. All leaves and the result have dtype `type` (a region that is a single comparison
// or logical_not yields bool; inside a region bool values occur as results of comparisons and as
// operands of where, bit_and, bit_or, bit_xor, logical_not and cast, which gives 1 and 0). Leaves
// are numbered in the order of their first use, nodes in post-order.
struct region {
  // 32 nodes hold Black-Scholes as users write it; beyond some 40 the kernel spills more than
  // fusing saves.
  static constexpr int max_nodes = 32;
  static constexpr int max_leaves = 12;

  dtype type{};
  std::uint8_t leaf_count{};
  std::uint8_t node_count{};
  // Bit k is set where leaf k is one value for the whole run of elements (a C++ scalar, a row's
  // maximum).
  std::uint32_t scalar_leaves{};
  std::array<std::uint32_t, max_nodes> nodes{};  // op | a << 8 | b << 16 | c << 24

  constexpr op code(int node) const {
    return static_cast<op>(nodes[static_cast<std::size_t>(node)] & 255u);
  }
  constexpr int operand(int node, int which) const {
    return static_cast<int>(nodes[static_cast<std::size_t>(node)] >> (8 * (which + 1)) & 255u);
  }
  // Leaves are numbered by int where operands are, and by std::size_t where arrays are indexed.
  template <std::integral Index>
  constexpr bool is_scalar(Index leaf) const {
    return (scalar_leaves >> leaf & 1u) != 0;
  }

  constexpr int add_leaf(bool scalar) {
    if (scalar) scalar_leaves |= 1u << leaf_count;
    return leaf_count++;
  }
  // Call after all leaves are known: operand numbers of nodes start behind the leaves.
  constexpr int add_node(op what, int a, int b = 0, int c = 0) {
    nodes[node_count] = static_cast<std::uint32_t>(what) | static_cast<std::uint32_t>(a) << 8 |
                        static_cast<std::uint32_t>(b) << 16 | static_cast<std::uint32_t>(c) << 24;
    return leaf_count + node_count++;
  }

  friend constexpr bool operator==(const region&, const region&) = default;
};

// Whether an operand of the region is a truth value: kernels hold those in masks rather than in
// registers of numbers.
constexpr bool is_truth(const region& r, int operand) {
  if (operand < r.leaf_count) return false;
  const int node = operand - r.leaf_count;
  const op code = r.code(node);
  if (info(code).yields == yields::boolean) return true;
  if (code == op::where) return is_truth(r, r.operand(node, 1));
  if (info(code).accepts == accepts::integral_or_bool)
    return true;  // no integers in a region of floats
  if (code == op::stop_gradient) return is_truth(r, r.operand(node, 0));
  return false;
}

// Is the result that of such an op?
constexpr bool ends_in(const region& r, op code) { return r.code(r.node_count - 1) == code; }

// Can a leaf of a region be one value at run time while the result is not? Of a single leaf the
// result is one value as well.
constexpr bool may_broadcast(const region& r) {
  int vectors = 0;
  for (int k = 0; k < r.leaf_count; ++k) vectors += r.is_scalar(k) ? 0 : 1;
  return vectors > 1;
}

// The last leaf that is no scalar; 0 if there is none.
constexpr std::size_t last_vector(const region& r) {
  std::size_t last = 0;
  for (std::size_t k = 0; k < r.leaf_count; ++k)
    if (!r.is_scalar(k)) last = k;
  return last;
}

// Runs a region over `count` consecutive elements. operands[k] points to `count` elements, or to
// one if leaf k is scalar; nothing needs to be aligned; result may be one of the operands, but may
// not overlap one otherwise.
using map_function = void (*)(std::int64_t count, const void* const* operands, void* result);

// What is known of a run only when its memory is: whether an operand is broadcast along rows, how
// large operands and results are, and what will be read or written next.
struct run_mode {
  std::uint16_t single;    // bit k: operand k is one value, although leaf k is not scalar
  std::uint16_t fetched;   // bit k: lines further on than operand k are asked for meanwhile
  std::uint16_t distance;  // how much further on, in lines
  bool streaming;          // whole registers of the result go past the caches where it is aligned

  static constexpr int result = 15;  // the bit of the result
  static constexpr std::int64_t line = 64;

  template <std::integral Index>
  constexpr bool is_single(Index leaf) const {
    return (single >> leaf & 1) != 0;
  }
  template <std::integral Index>
  constexpr bool is_fetched(Index operand) const {
    return (fetched >> operand & 1) != 0;
  }
  constexpr bool fetches() const { return fetched != 0; }
  constexpr std::int64_t bytes_ahead() const { return distance * line; }
  constexpr bool is_plain() const { return single == 0 && !streaming && !fetches(); }
  friend constexpr bool operator==(const run_mode&, const run_mode&) = default;
};

// Rows of `count` consecutive elements each. Where there are several, operand k of the next one is
// steps[k] bytes behind that of a row, its result result_step bytes.
struct map_run {
  std::int64_t count = 0;
  run_mode mode{};
  std::int64_t rows = 1;
  const std::int64_t* steps = nullptr;
  std::int64_t result_step = 0;
};

// A map_function for one row and more, in all modes. Only regions that may_broadcast have single
// operands. What went past the caches is seen by other threads after a store fence.
using map_rows_function = void (*)(const map_run& run, const void* const* operands, void* result);

// Where the reductions of rows go: into accumulators, as those of parts of rows, or if `whole` is
// not nullptr, to results there; `step` bytes apart.
struct row_results {
  void* accumulator = nullptr;
  void* whole = nullptr;
  std::int64_t step = 0;
};

// Runs a region over rows of `count` consecutive elements and combines what it computes of each, in
// the order in which a reduction of the stored values would. Writes the values to result as well,
// unless that is nullptr. Of the mode what is fetched matters, operands alone.
using map_reduce_function = void (*)(const map_run& run, const void* const* operands, void* result,
                                     const row_results& to);

// What a kernel that has instructions to spare, or waits for memory, reduces the next row to: its
// largest element, its squared distances from the mean (and the sum, the second result), or its sum
// of squares.
enum class row_behind : std::uint8_t { none, largest, deviations, squares };

// Two other rows of as many elements: what is left to do for one, and what comes first for the
// other. Either may be missing where a sum is overlapped; where a map is, there is the second
// alone.
struct rows_beside {
  const void* scaled = nullptr;  // times *factor goes to `products`, which may be `scaled`
  const void* factor = nullptr;
  void* products = nullptr;
  bool streaming = false;         // as in run_mode, of the products
  const void* reduced = nullptr;  // to *result
  void* result = nullptr;
  void* second_result = nullptr;  // if anybody wants it
};

// A map_function of a whole row that works on the rows beside it as well, and writes what its
// values reduce to, unless `whole` is nullptr. These rows do not overlap with its own; results of
// the row behind, which are written last, may be operands.
using overlapped_function = void (*)(std::int64_t count, run_mode mode, const void* const* operands,
                                     void* result, void* whole, const rows_beside& rows);

// How rows are walked that are reduced column by column: four side by side, or one after the other.
// Lines `ahead` bytes further on are asked for meanwhile, unless that is 0.
struct column_walk {
  std::int64_t ahead = 0;
  bool in_turn = false;
};

// Runs a region over `columns` consecutive elements in each of at most 32 rows and combines what it
// computes into one accumulator per column, in the order in which a reduction of the stored values
// would. operands[row * leaf_count + k] is leaf k of a row.
using map_reduce_columns_function = void (*)(std::int64_t rows, std::int64_t columns,
                                             column_walk walk, const void* const* operands,
                                             void* accumulator);

// Runs the steps that a region was taken apart into; the rest as for map_rows_function. No operand
// is single.
struct accumulator_program;
using accumulator_function = void (*)(const accumulator_program& program, const map_run& run,
                                      const void* const* operands, void* result);

// A kernel the executor has: its structure and its code. With a sum or a maximum along the row, or
// down the columns, behind it the values need not be read again: nullptr where that was not
// compiled.
struct instruction {
  region structure;
  map_function run = nullptr;
  map_reduce_function sum = nullptr, max = nullptr;
  map_reduce_columns_function column_sum = nullptr, column_max = nullptr;
  map_rows_function run_rows = nullptr;
  // For rows one after the other, and what the next one is reduced to: `sum` or `run` otherwise.
  overlapped_function overlapped = nullptr;
  row_behind behind{};
  // Of a region that nobody compiled, in place of `run`: its steps, and what runs them. Whoever
  // made the instruction keeps the steps.
  const accumulator_program* steps = nullptr;
  accumulator_function run_steps = nullptr;

  constexpr map_reduce_function reduced_by(op reduction) const {
    if (reduction == op::reduce_sum) return sum;
    return reduction == op::reduce_max ? max : nullptr;
  }
  constexpr map_reduce_columns_function columns_reduced_by(op reduction) const {
    if (reduction == op::reduce_sum) return column_sum;
    return reduction == op::reduce_max ? column_max : nullptr;
  }
};

}  // namespace sinter::inline SINTER_ABI::ir
