// SPDX-License-Identifier: MIT
// The words of schedule text, for those who write and who read it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <sinter/plan/schedule.hpp>

namespace sinter::inline SINTER_ABI::planning {

template <class Enum>
inline constexpr std::array<std::string_view, 0> words_of{};
template <>
inline constexpr auto words_of<place> =
    std::to_array<std::string_view>({"argument", "output", "arena", "prepared"});
template <>
inline constexpr auto words_of<nest_kind> =
    std::to_array<std::string_view>({"tile", "column", "matmul", "grouped", "streamed", "assemble",
                                     "gather", "scatter_add", "scan", "alias", "custom", "pack"});
template <>
inline constexpr auto words_of<step_kind> = std::to_array<std::string_view>(
    {"load", "scalar", "constant", "extent", "iota", "random", "map", "reduce", "spread", "product",
     "deviations", "exponentials"});
template <>
inline constexpr auto words_of<axis_role> =
    std::to_array<std::string_view>({"parallel", "reduction", "streamed", "whole"});
template <>
inline constexpr auto words_of<mapped_to> =
    std::to_array<std::string_view>({"threads", "serial", "lanes"});
template <>
inline constexpr auto words_of<work_kind> = std::to_array<std::string_view>(
    {"body", "product", "epilogue", "operand", "copy", "fill", "index", "scan", "custom", "pack"});
template <>
inline constexpr auto words_of<combination> =
    std::to_array<std::string_view>({"in_order", "pairwise"});
template <>
inline constexpr auto words_of<hint_kind> =
    std::to_array<std::string_view>({"prefetch", "copy", "pack", "keep", "gather"});
template <>
inline constexpr auto words_of<dependency_kind> =
    std::to_array<std::string_view>({"data", "order"});

/// The word of an enumerator; those of an enumeration follow its order.
template <class Enum>
constexpr std::string_view word_of(Enum e) {
  return words_of<Enum>[static_cast<std::size_t>(e)];
}

}  // namespace sinter::inline SINTER_ABI::planning
