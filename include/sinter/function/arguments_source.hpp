// SPDX-License-Identifier: MIT
// What the arguments of a call must be for a function to assign them.
#pragma once

#include <cstddef>
#include <string>

#include <sinter/function/arguments.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/separate.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

SINTER_INLINE void require_assignable(const argument_memory& m, const void* target,
                                      std::size_t number) {
  if (target == nullptr && m.bytes != 0)
    raise(graph_error("assign: argument " + std::to_string(number) +
                      " is const, a scalar or a temporary; expected a tensor that may change"));
  if (m.strides != row_major_strides(m.shape) && m.bytes != 0)
    raise(shape_error("assign: argument " + std::to_string(number) + " of shape " +
                      to_string(m.shape) + " is a strided view; expected contiguous memory"));
}

SINTER_INLINE void write_assigned(span<const int> assigned, span<const argument_memory> arguments,
                                  span<void* const> targets, span<output_memory> out) {
  for (std::size_t k = 0; k < assigned.size(); ++k) {
    if (assigned[k] < 0) continue;
    const auto a = static_cast<std::size_t>(assigned[k]);
    require_assignable(arguments[a], targets[a], a);
    out[k] = {targets[a], arguments[a].bytes};
  }
}

}  // namespace sinter::inline SINTER_ABI::detail
