// SPDX-License-Identifier: MIT
// What the compiler says about a function that cannot work. Every fault ends in one static_assert
// on a class template whose arguments are the fault, the op and two numbers, because both GCC and
// Clang print those.
#pragma once

#include <cstdint>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

/// What a call of a fused function, or an expression that is evaluated, is checked by. The
/// arguments say what is wrong: the kind of fault (graph/fault.hpp), the op, and the two numbers it
/// is about (extents, ranks, dtypes by number, an axis and the rank, sizes before and after).
template <auto Fault, auto Op, std::int64_t Left, std::int64_t Right>
struct operands_fit {
  static constexpr bool value = Fault == decltype(Fault)::none;
};

}  // namespace sinter::inline SINTER_ABI
