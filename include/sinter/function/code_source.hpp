// SPDX-License-Identifier: MIT
// The code that functions share: kernels of single ops, products and the library of
// superinstructions.
#pragma once

#include <cstdint>
#include <type_traits>

#include <sinter/exec/library.hpp>
#include <sinter/exec/make_kernels.hpp>
#include <sinter/function/program.hpp>

namespace sinter::detail {

// For the dtypes named; bool comes with every table.
template <Element... T>
program_code make_code() {
  program_code out{exec::make_kernel_table<T...>(), {}};
  const auto add_library = [&]<class Each>(std::type_identity<Each>) {
    if constexpr (std::is_floating_point_v<Each>)
      for (const ir::instruction& i : exec::library_instructions<Each>())
        out.instructions.push_back(i);
  };
  (add_library(std::type_identity<T>{}), ...);
  return out;
}

SINTER_INLINE program_code all_code() {
  return make_code<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t, float16, bfloat16, float, double>();
}

}  // namespace sinter::detail
