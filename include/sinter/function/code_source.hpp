// SPDX-License-Identifier: MIT
// The code that functions share: kernels of single ops, products and the library of
// superinstructions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <sinter/exec/accumulator_machine.hpp>
#include <sinter/exec/library.hpp>
#include <sinter/exec/make_kernels.hpp>
#include <sinter/function/code.hpp>
#include <sinter/function/program.hpp>
#include <sinter/graph/accumulator_program.hpp>
#include <sinter/graph/regions.hpp>

namespace sinter::inline SINTER_ABI::detail {

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

template <class>
program_code all_code() {
  return make_code<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                   std::uint32_t, std::int64_t, std::uint64_t, float16, bfloat16, float, double>();
}

template <class>
program_code code_of(const ir::graph& g) {
  program_code out = all_code();
  for (const ir::region& r :
       ir::find_regions(g, ir::has_accumulator_op, ir::region_runner::steps)) {
    const std::optional<ir::accumulator_program> steps = ir::accumulator_program_of(r);
    if (!steps) continue;
    out.steps.push_back(std::make_shared<const ir::accumulator_program>(*steps));
    ir::instruction made{r};
    made.steps = out.steps.back().get();
    made.run_steps =
        r.type == dtype::f32 ? &exec::accumulator_kernel<float> : &exec::accumulator_kernel<double>;
    out.instructions.push_back(made);
  }
  return out;
}

#ifdef SINTER_SEPARATE
template program_code all_code<void>();
template program_code code_of<void>(const ir::graph& g);
#endif

}  // namespace sinter::inline SINTER_ABI::detail
