// SPDX-License-Identifier: MIT
// What an integer dtype keeps of a number: its low bits.
#pragma once

#include <cstdint>
#include <type_traits>

#include <sinter/tensor/dtype.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// The value that an integer dtype keeps of x (its low bits), as a double.
constexpr double wrap(dtype type, std::uint64_t x) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>)
      return x != 0 ? 1.0 : 0.0;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<double>(static_cast<T>(x));
    else
      return static_cast<double>(static_cast<std::int64_t>(x));
  });
}

}  // namespace sinter::inline SINTER_ABI::ir
