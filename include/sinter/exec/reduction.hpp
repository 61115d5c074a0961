// SPDX-License-Identifier: MIT
// What a reduction is to the executor: a monoid, and pointers to the kernels that were compiled for
// it (reduce.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <sinter/graph/op.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// What reductions combine with. Sums and products of integers wrap in their own dtype; a NaN makes
/// max and min NaN; argmax is the first position of the largest value, NaN counting as largest.
enum class monoid : std::uint8_t { sum, max, min, prod, argmax };
inline constexpr int monoid_count = 5;

/// The monoid of a reduction op. Precondition: `code` is one of reduce_* or argmax.
constexpr monoid monoid_of(ir::op code) {
  if (code == ir::op::reduce_max) return monoid::max;
  if (code == ir::op::reduce_min) return monoid::min;
  if (code == ir::op::reduce_prod) return monoid::prod;
  return code == ir::op::argmax ? monoid::argmax : monoid::sum;
}

/// The reduction op of a monoid.
constexpr ir::op op_of(monoid m) {
  constexpr ir::op ops[] = {ir::op::reduce_sum, ir::op::reduce_max, ir::op::reduce_min,
                            ir::op::reduce_prod, ir::op::argmax};
  return ops[static_cast<std::size_t>(m)];
}

/// What sums of f32 accumulate in: blocks are summed in f32, and however many follow each other,
/// what is lost is lost in the blocks. All other accumulators are as exact as the elements.
template <monoid M, class T>
using accumulator_type =
    std::conditional_t<M == monoid::sum && std::is_same_v<T, float>, double, T>;
constexpr dtype accumulator_dtype(monoid m, dtype type) {
  return m == monoid::sum && type == dtype::f32 ? dtype::f64 : type;
}

/// The accumulator of argmax: the largest of the `count` elements seen so far and its position
/// among them. All other accumulators are one value.
template <class T>
struct argmax_state {
  T value;
  std::int64_t index;
  std::int64_t count;
};

/// Rows that are combined before an accumulator of a column is touched: a block costs one read and
/// write of the accumulators, and the error of a sum grows with the number of blocks rather than of
/// rows.
inline constexpr std::int64_t column_block_rows = 32;

/// Combines n contiguous elements x into *accumulator.
using row_reduce_function = void (*)(std::int64_t n, const void* x, void* accumulator);
/// *result = what n contiguous elements x are reduced to, as if one accumulator had seen them.
using whole_row_function = void (*)(std::int64_t n, const void* x, void* result);
/// accumulator[j] = accumulator[j] op x[i][j] over all rows i; row_stride counts elements.
using column_reduce_function = void (*)(std::int64_t rows, std::int64_t columns, const void* x,
                                        std::int64_t row_stride, void* accumulator);
/// accumulator[j] = accumulator[j] op other[j] for n accumulators; `other` has seen what comes
/// behind.
using combine_function = void (*)(std::int64_t n, const void* other, void* accumulator);
/// Sets n accumulators to the identity.
using identity_function = void (*)(std::int64_t n, void* accumulator);
/// Writes the results of n accumulators: their values, or the i64 positions of argmax.
using finish_function = void (*)(std::int64_t n, const void* accumulator, void* result);

/// All functions of one monoid for one dtype, with the size of its accumulator.
struct reduction_kernels {
  row_reduce_function row;
  whole_row_function whole_row;
  column_reduce_function column;
  combine_function combine;
  identity_function identity;
  finish_function finish;
  std::size_t accumulator_bytes;
  // Elements that are combined side by side, which decides the order: those of a register; 1: one
  // after the other.
  int lanes;
};

/// The reductions of one dtype, indexed by monoid.
using reduction_table = std::array<reduction_kernels, static_cast<std::size_t>(monoid_count)>;

}  // namespace sinter::inline SINTER_ABI::exec
