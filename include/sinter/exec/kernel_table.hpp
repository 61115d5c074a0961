// SPDX-License-Identifier: MIT
// The kernels that a program hands to its executor: pointers to micro-ops, casts, reductions and
// products for the dtypes that occur. A table is a value; make_kernels.hpp makes it.
#pragma once

#include <array>
#include <cstddef>

#include <sinter/exec/column_pair.hpp>
#include <sinter/exec/product.hpp>
#include <sinter/exec/reduction.hpp>
#include <sinter/exec/winograd.hpp>
#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

/// One kernel per op, for operands of one dtype.
using micro_op_table = std::array<ir::map_function, static_cast<std::size_t>(ir::op_count)>;
using micro_op_rows_table =
    std::array<ir::map_rows_function, static_cast<std::size_t>(ir::op_count)>;

/// nullptr where a dtype is not in the table or an op does not accept it.
struct kernel_table {
  template <class Entry>
  using by_dtype = std::array<Entry, static_cast<std::size_t>(dtype_count)>;

  by_dtype<micro_op_table> micro_ops{};
  by_dtype<micro_op_rows_table> micro_op_rows{};
  by_dtype<by_dtype<ir::map_function>> casts{};  // [from][to]
  by_dtype<reduction_table> reductions{};
  by_dtype<pair_kernels> moments{}, exponentials{};
  product_table products{};
  winograd_table winograd{};

  /// `type` is the dtype of the operands; for `where`, of its branches.
  constexpr ir::map_function micro_op(ir::op code, dtype type) const {
    return micro_ops[static_cast<std::size_t>(type)][static_cast<std::size_t>(code)];
  }
  /// One operand of dtype `from`; the result has dtype `to`.
  constexpr ir::map_function cast_op(dtype from, dtype to) const {
    return casts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  /// The kernel of an element-wise op, casts included, on operands as micro_op has them.
  constexpr ir::map_function map_op(ir::op code, dtype operands, dtype result) const {
    return code == ir::op::cast ? cast_op(operands, result) : micro_op(code, operands);
  }
  /// A micro-op in all modes, for an op of two operands; nullptr where it has but the plain one.
  constexpr ir::map_rows_function map_rows_op(ir::op code, dtype operands) const {
    return micro_op_rows[static_cast<std::size_t>(operands)][static_cast<std::size_t>(code)];
  }
  constexpr const reduction_kernels& reduction(monoid m, dtype type) const {
    return reductions[static_cast<std::size_t>(type)][static_cast<std::size_t>(m)];
  }
  /// The second value beside a sum, or beside a max.
  constexpr const pair_kernels& pair_of(monoid m, dtype type) const {
    return (m == monoid::sum ? moments : exponentials)[static_cast<std::size_t>(type)];
  }
  constexpr gemm_function product(dtype type) const {
    return products[static_cast<std::size_t>(type)];
  }
};

/// A table without a kernel.
inline constexpr kernel_table no_kernels{};

}  // namespace sinter::inline SINTER_ABI::exec
