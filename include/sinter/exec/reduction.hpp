// SPDX-License-Identifier: MIT
// What a reduction is to the executor: a monoid, and pointers to the kernels that were compiled for
// it (reduce.hpp).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// What reductions combine with. Sums and products of integers wrap in their own dtype; a NaN makes
/// max and min NaN; argmax is the first position of the largest value, NaN counting as largest.
/// Deviations are the squared distances from the mean, of floats, and the sum beside them.
enum class monoid : std::uint8_t { sum, max, min, prod, argmax, deviations };
inline constexpr int monoid_count = 6;

/// The monoid of a reduction op. Precondition: `code` is one of reduce_* or argmax.
constexpr monoid monoid_of(ir::op code) {
  if (code == ir::op::reduce_max) return monoid::max;
  if (code == ir::op::reduce_min) return monoid::min;
  if (code == ir::op::reduce_prod) return monoid::prod;
  return code == ir::op::argmax ? monoid::argmax : monoid::sum;
}

/// The reduction op of a monoid. Precondition: not deviations, which are no op.
constexpr ir::op op_of(monoid m) {
  constexpr ir::op ops[] = {ir::op::reduce_sum, ir::op::reduce_max, ir::op::reduce_min,
                            ir::op::reduce_prod, ir::op::argmax};
  return ops[static_cast<std::size_t>(m)];
}

/// Does what a row comes to depend on its elements alone? Deviations are of several rows, whose
/// shifts are found together.
constexpr bool rows_are_independent(monoid m) { return m != monoid::deviations; }

/// What sums of f32 accumulate in: blocks are summed in f32, and however many follow each other,
/// what is lost is lost in the blocks. All other accumulators are as exact as the elements.
template <monoid M, class T>
using accumulator_type =
    std::conditional_t<M == monoid::sum && std::is_same_v<T, float>, double, T>;
constexpr dtype accumulator_dtype(monoid m, dtype type) {
  return m == monoid::sum && type == dtype::f32 ? dtype::f64 : type;
}

/// The accumulator of argmax: the largest of the `count` elements seen so far and its position
/// among them.
template <class T>
struct argmax_state {
  T value;
  std::int64_t index;
  std::int64_t count;
};

/// The accumulator of deviations: of `count` elements the sum of their distances from a number near
/// them, and of the squared ones from their mean. All other accumulators are one value.
struct moments_state {
  double count = 0, origin = 0, sum = 0, deviations = 0;

  double whole_sum() const { return std::fma(origin, count, sum); }
};

/// Registers of a block, which are combined in order. 64 leave 16 additions in a row to each of
/// four accumulators, which hide the latency of an addition.
inline constexpr std::int64_t reduce_block = 64;

/// Rows that are combined before an accumulator of a column is touched: a block costs one read and
/// write of the accumulators, and the error of a sum grows with the number of blocks rather than of
/// rows.
inline constexpr std::int64_t column_block_rows = 32;

/// Rows of so many registers and less are walked one register of columns after the other, whose
/// sums need not wait for what was stored four rows before. (sum(|x|, 0) over 20,000 rows of 16: 46
/// us instead of 62.)
inline constexpr std::int64_t narrow_registers = 4;

/// Combines n contiguous elements x into *accumulator.
using row_reduce_function = void (*)(std::int64_t n, const void* x, void* accumulator);
/// *result = what n contiguous elements x are reduced to, as if one accumulator had seen them.
using whole_row_function = void (*)(std::int64_t n, const void* x, void* result);
/// The same for `rows` rows of n elements, whose beginnings, and whose results, are so many bytes
/// apart.
using whole_rows_function = void (*)(std::int64_t rows, std::int64_t n, const void* x,
                                     std::int64_t row_step, void* results,
                                     std::int64_t result_step);
/// accumulator[j] = accumulator[j] op x[i][j] over all rows i; row_stride counts elements.
using column_reduce_function = void (*)(std::int64_t rows, std::int64_t columns, const void* x,
                                        std::int64_t row_stride, ir::column_walk walk,
                                        void* accumulator);
/// result[j] = what x[i][j] of at most column_block_rows rows i are reduced to, as if accumulators
/// had seen them.
using whole_columns_function = void (*)(std::int64_t rows, std::int64_t columns, const void* x,
                                        std::int64_t row_stride, void* result);
/// block[j] = block[j] op x[i][j] for all rows i, one after the other, in the dtype of the
/// elements; `block` has room for whole lines.
using block_reduce_function = void (*)(std::int64_t rows, std::int64_t columns, const void* x,
                                       std::int64_t row_stride, void* block);
/// accumulator[j] = accumulator[j] op other[j] for n accumulators; `other` has seen what comes
/// behind.
using combine_function = void (*)(std::int64_t n, const void* other, void* accumulator);
/// Sets n accumulators to the identity.
using identity_function = void (*)(std::int64_t n, void* accumulator);
/// Writes the results of n accumulators: their values, or the i64 positions of argmax.
using finish_function = void (*)(std::int64_t n, const void* accumulator, void* result);
/// Where both values go that deviations of a row have, of each row so many bytes behind that of the
/// row before.
struct pair_results {
  void* deviations;
  std::int64_t deviations_step;
  void* sums;
  std::int64_t sums_step;

  pair_results from_row(std::int64_t i) const {
    return {static_cast<std::byte*>(deviations) + i * deviations_step, deviations_step,
            static_cast<std::byte*>(sums) + i * sums_step, sums_step};
  }
};
/// As whole_rows_function, with both values.
using whole_rows_pair_function = void (*)(std::int64_t rows, std::int64_t n, const void* x,
                                          std::int64_t row_step, const pair_results& results);

/// All functions of one monoid for one dtype, with the size of its accumulator.
struct reduction_kernels {
  row_reduce_function row;
  whole_row_function whole_row;
  whole_rows_function whole_rows;
  column_reduce_function column;
  whole_columns_function whole_columns;  // of floats, else nullptr
  combine_function combine;
  identity_function identity;
  finish_function finish;
  std::size_t accumulator_bytes;
  // Elements that are combined side by side, which decides the order: those of a register; 1: one
  // after the other.
  int lanes;
  block_reduce_function block = nullptr;  // of sums of f32 and f64
  // Of deviations: what gives their other value, the sum, and whether squares are added without
  // being rounded before.
  finish_function finish_sum = nullptr;
  whole_rows_pair_function whole_rows_pair = nullptr;
  bool fuses_squares = false;
};

/// The reductions of one dtype, indexed by monoid.
using reduction_table = std::array<reduction_kernels, static_cast<std::size_t>(monoid_count)>;

}  // namespace sinter::inline SINTER_ABI::exec
