// SPDX-License-Identifier: MIT
// What the compiler says about a function that cannot work. Every fault ends in one static_assert on a class template
// whose arguments are the op and the two numbers, because both GCC and Clang print those; the text says what to do.
#pragma once

#include <cstdint>

#include <sinter/graph/fault.hpp>

namespace sinter {

template <ir::op Op, std::int64_t Left, std::int64_t Right>
struct extents_agree {
  static constexpr bool value = false;
};
template <ir::op Op, std::int64_t Given, std::int64_t Expected>
struct rank_fits {
  static constexpr bool value = false;
};
template <ir::op Op, dtype Left, dtype Right>
struct dtypes_agree {
  static constexpr bool value = false;
};
template <ir::op Op, dtype Given>
struct dtype_is_accepted {
  static constexpr bool value = false;
};
template <ir::op Op, std::int64_t Axis, std::int64_t Rank>
struct axis_in_range {
  static constexpr bool value = false;
};
template <ir::op Op, std::int64_t Before, std::int64_t After>
struct sizes_agree {
  static constexpr bool value = false;
};
template <ir::op Op, std::int64_t Left, std::int64_t Right>
struct operands_fit {
  static constexpr bool value = false;
};

namespace detail {

// Never defined true: instantiating it is the error message. One static_assert each, so that there is one error.
template <ir::fault_kind Kind, ir::op Op, std::int64_t Left, std::int64_t Right>
constexpr void report_fault() {
  using enum ir::fault_kind;
  if constexpr (Kind == extents_disagree) static_assert(extents_agree<Op, Left, Right>::value, "sinter: the extents of the operands must be equal (or 1, where the op broadcasts)");
  else if constexpr (Kind == wrong_rank) static_assert(rank_fits<Op, Left, Right>::value, "sinter: wrong rank (given, expected)");
  else if constexpr (Kind == mixed_dtypes) static_assert(dtypes_agree<Op, static_cast<dtype>(Left), static_cast<dtype>(Right)>::value, "sinter: the dtypes of the operands differ; cast one of them");
  else if constexpr (Kind == wrong_dtype) static_assert(dtype_is_accepted<Op, static_cast<dtype>(Left)>::value, "sinter: the op is not defined for this dtype");
  else if constexpr (Kind == axis_out_of_range) static_assert(axis_in_range<Op, Left, Right>::value, "sinter: the axis is out of range (axis, rank)");
  else if constexpr (Kind == size_changes) static_assert(sizes_agree<Op, Left, Right>::value, "sinter: reshape must keep the number of elements (before, after)");
  else if constexpr (Kind == assigned_twice) static_assert(operands_fit<Op, Left, Right>::value, "sinter: an argument is assigned twice");
  else if constexpr (Kind == not_an_argument) static_assert(operands_fit<Op, Left, Right>::value, "sinter: only a tensor argument can be assigned");
  else static_assert(operands_fit<Op, Left, Right>::value, "sinter: the operands do not fit the op");
}

}  // namespace detail

}  // namespace sinter
