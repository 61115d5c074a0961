// SPDX-License-Identifier: MIT
// The kernel of a custom element-wise op: the user's function on registers of elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <sinter/exec/simd.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Whole registers only. Not inlined: all elements, those of a tail too, go through this one loop,
// so the compiler cannot contract products and sums here and not there.
template <class Op, Floating T, std::size_t... I>
[[gnu::noinline]] void custom_registers(std::int64_t n,
                                        const std::array<const T*, sizeof...(I)>& from, T* to,
                                        std::index_sequence<I...>) {
  for (std::int64_t i = 0; i < n; i += lanes<T>)
    store<T>(to + i, simd<T>(Op::element(load<T>(from[I] + i)...)));
}

}  // namespace detail

/// An ir::map_function for Op::element on n elements of T; the bits of an element do not depend on
/// its position. Results may overwrite operands.
template <class Op, Floating T>
void custom_map_kernel(std::int64_t n, const void* const* operands, void* result) {
  constexpr auto arity = static_cast<std::size_t>(Op::arity);
  constexpr std::make_index_sequence<arity> all{};
  constexpr std::int64_t step = lanes<T>;
  std::array<const T*, arity> from{};
  for (std::size_t k = 0; k < arity; ++k) from[k] = static_cast<const T*>(operands[k]);
  auto* const to = static_cast<T*>(result);
  const std::int64_t whole = n / step * step;
  detail::custom_registers<Op, T>(whole, from, to, all);
  const std::int64_t rest = n - whole;
  if (rest <= 0) return;
  // The tail as a whole register, padded with ones.
  alignas(64) T padded[arity + 1][static_cast<std::size_t>(step)];
  for (std::size_t k = 0; k < arity; ++k) {
    for (std::int64_t i = 0; i < step; ++i) padded[k][i] = i < rest ? from[k][whole + i] : T(1);
    from[k] = padded[k];
  }
  detail::custom_registers<Op, T>(step, from, padded[arity], all);
  std::memcpy(to + whole, padded[arity], static_cast<std::size_t>(rest) * sizeof(T));
}

}  // namespace sinter::inline SINTER_ABI::exec
