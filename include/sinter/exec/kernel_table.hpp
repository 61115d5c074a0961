// SPDX-License-Identifier: MIT
// The kernels that a program hands to its executor: micro-ops, casts and reductions for the dtypes
// that occur, so that the compiler instantiates no others. A table is a value; programs usually
// keep one constant per set of dtypes.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <sinter/exec/micro_ops.hpp>
#include <sinter/exec/reduce.hpp>
#include <sinter/graph/op.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::exec {

/// nullptr where a dtype is not in the table or an op does not accept it.
struct kernel_table {
  template <class Entry>
  using by_dtype = std::array<Entry, static_cast<std::size_t>(dtype_count)>;

  by_dtype<micro_op_table> micro_ops{};
  by_dtype<by_dtype<ir::map_function>> casts{};  // [from][to]
  by_dtype<reduction_table> reductions{};

  /// `type` is the dtype of the operands; for `where`, of its branches.
  constexpr ir::map_function micro_op(ir::op code, dtype type) const {
    return micro_ops[static_cast<std::size_t>(type)][static_cast<std::size_t>(code)];
  }
  /// One operand of dtype `from`; the result has dtype `to`.
  constexpr ir::map_function cast_op(dtype from, dtype to) const {
    return casts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  }
  constexpr const reduction_kernels& reduction(monoid m, dtype type) const {
    return reductions[static_cast<std::size_t>(type)][static_cast<std::size_t>(m)];
  }
};

/// A table for the given dtypes and bool, which comparisons yield.
template <Element... T>
constexpr kernel_table make_kernel_table() {
  kernel_table table;
  const auto add = [&]<class From>(std::type_identity<From>) {
    constexpr auto from = static_cast<std::size_t>(dtype_of<From>);
    table.micro_ops[from] = exec::micro_ops<From>();
    table.casts[from][static_cast<std::size_t>(dtype::boolean)] = exec::cast_op<bool, From>();
    ((table.casts[from][static_cast<std::size_t>(dtype_of<T>)] = exec::cast_op<T, From>()), ...);
    if constexpr (!std::is_same_v<From, bool>) table.reductions[from] = exec::reductions<From>();
  };
  add(std::type_identity<bool>{});
  (add(std::type_identity<T>{}), ...);
  return table;
}

}  // namespace sinter::exec
