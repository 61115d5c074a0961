// SPDX-License-Identifier: MIT
// Whole cache lines, each as wide as a register of AVX-512: what blocks of memory, those of scratch
// memory and packed operands are rounded up to, so that all that follows them is aligned for every
// register.
#pragma once

#include <cstddef>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

inline constexpr std::size_t line_bytes = 64;

constexpr std::size_t round_to_lines(std::size_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

}  // namespace sinter::inline SINTER_ABI
