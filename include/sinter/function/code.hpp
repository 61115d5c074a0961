// SPDX-License-Identifier: MIT
// What the compiler instantiates for a traced function: kernels for the dtypes that occur, and a
// fused kernel per element-wise region.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include <sinter/exec/map_reduce.hpp>
#include <sinter/function/program.hpp>
#include <sinter/function/trace.hpp>

namespace sinter::inline SINTER_ABI::detail {

// Kernels, products and superinstructions of the library for every dtype. A template, as all that
// calls it: otherwise each unit that includes sinter.hpp would compile them, called or not, where
// all is in headers.
template <class = void>
program_code all_code();

// For a graph that is known only at run time (gradients expanded): behind the library, the regions
// of the graph that run step by step.
template <class = void>
program_code code_of(const ir::graph& g);

// For the dtypes named; bool comes with every table.
template <Element... T>
program_code make_code();

// The same for a set of dtypes (bit i: dtype i). Where they are compiled once for a whole program,
// that is for every dtype.
template <unsigned Dtypes, Element... Chosen>
program_code code_for() {
#ifdef SINTER_SEPARATE
  return all_code();
#else
  constexpr unsigned rest = Dtypes & ~(1u << static_cast<unsigned>(dtype::boolean));
  if constexpr (rest != 0)
    return code_for<(rest & (rest - 1)), Chosen...,
                    cpp_type<static_cast<dtype>(std::countr_zero(rest))>>();
  else
    return make_code<Chosen...>();
#endif
}

// A fused kernel for each region of the trace.
template <class Trace>
inline constexpr auto region_kernels = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<ir::instruction, sizeof...(I)>{
      exec::instruction_for<traced<Trace>::value.regions[I]>()...};
}(std::make_index_sequence<traced<Trace>::size.regions>{});

}  // namespace sinter::inline SINTER_ABI::detail

#ifndef SINTER_SEPARATE
#include <sinter/function/code_source.hpp>
#include <sinter/function/middle.hpp>
#endif
