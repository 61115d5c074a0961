// SPDX-License-Identifier: MIT
// Instantiates the kernels of a set of dtypes.
#pragma once

#include <cstddef>
#include <type_traits>

#include <sinter/exec/exponentials_kernel.hpp>
#include <sinter/exec/gemm.hpp>
#include <sinter/exec/kernel_table.hpp>
#include <sinter/exec/micro_ops.hpp>
#include <sinter/exec/moments_kernel.hpp>
#include <sinter/exec/reduce.hpp>
#include <sinter/exec/row_moments.hpp>
#include <sinter/exec/winograd_kernel.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Products of integers wrap, so those of one size share a kernel.
template <Element T>
constexpr gemm_function product_of() {
  if constexpr (NarrowFloat<T>)
    return nullptr;
  else if constexpr (Integer<T>)
    return &gemm<unsigned_word<sizeof(T)>>;
  else
    return &gemm<T>;
}

}  // namespace detail

/// A table for the given dtypes and bool, which comparisons yield: the compiler instantiates no
/// others. There is no product of bools; 16-bit floats are stored and converted only.
template <Element... T>
constexpr kernel_table make_kernel_table() {
  kernel_table table;
  const auto add = [&]<class From>(std::type_identity<From>) {
    constexpr auto from = static_cast<std::size_t>(dtype_of<From>);
    table.micro_ops[from] = exec::micro_ops<From>();
    table.micro_op_rows[from] = exec::micro_op_rows<From>();
    table.casts[from][static_cast<std::size_t>(dtype::boolean)] = exec::cast_op<bool, From>();
    ((table.casts[from][static_cast<std::size_t>(dtype_of<T>)] = exec::cast_op<T, From>()), ...);
    if constexpr (!std::is_same_v<From, bool> && !NarrowFloat<From>)
      table.reductions[from] = exec::reductions<From>();
    if constexpr (Floating<From>)
      table.reductions[from][static_cast<std::size_t>(exec::monoid::deviations)] =
          exec::deviations_of<From>();
    table.moments[from] = exec::moments_of_dtype<From>();
    table.exponentials[from] = exec::exponentials_of_dtype<From>();
  };
  add(std::type_identity<bool>{});
  (add(std::type_identity<T>{}), ...);
  const auto add_winograd = [&]<class Of>(std::type_identity<Of>) {
    if constexpr (Floating<Of>)
      table.winograd[static_cast<std::size_t>(dtype_of<Of>)] = winograd_of<Of>();
  };
  (add_winograd(std::type_identity<T>{}), ...);
  ((table.products[static_cast<std::size_t>(dtype_of<T>)] = detail::product_of<T>()), ...);
  return table;
}

}  // namespace sinter::inline SINTER_ABI::exec
