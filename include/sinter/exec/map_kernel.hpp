// SPDX-License-Identifier: MIT
// The fused kernel of an element-wise region: all values stay in registers. One instantiation per
// region, that is per structure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sinter/exec/evaluate_region.hpp>
#include <sinter/exec/partial.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/tensor/dtype.hpp>

namespace sinter::exec {

namespace detail {

// Fewer than Registers registers of elements, and ones behind them.
template <int Registers, Floating T>
[[gnu::always_inline]] inline void pad_short(std::int64_t n, const T* from, T* padded) {
  unrolled<Registers>([&](auto u) __attribute__((always_inline)) {
    constexpr std::int64_t first = static_cast<std::int64_t>(u()) * lanes<T>;
    // A pointer behind the elements is not formed.
    store<T>(padded + first, load_part<T>(from + std::min(n, first), n - first, T(1)));
  });
}

// The first n of Registers registers of results.
template <int Registers, class T>
[[gnu::always_inline]] inline void copy_short(std::int64_t n, const T* from, T* to) {
  if constexpr (Floating<T>)
    unrolled<Registers>([&](auto u) __attribute__((always_inline)) {
      constexpr std::int64_t first = static_cast<std::int64_t>(u()) * lanes<T>;
      store_part<T>(to + std::min(n, first), n - first, load<T>(from + first));
    });
  else
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
}

}  // namespace detail

/// Evaluates region R over n elements; see ir::map_function for the operands. R.type is f32 or f64;
/// a region whose last node is a truth value writes bools. The bits of an element depend neither on
/// its position nor on n, since all steps run the same code. Allocates nothing.
template <ir::region R>
void map_kernel(std::int64_t n, const void* const* operands, void* result) {
  using T = detail::region_type<R>;
  using out_type = std::conditional_t<detail::result_is_truth<R>, bool, T>;
  static_assert(R.type == dtype::f32 || R.type == dtype::f64,
                "regions of other dtypes have no fused kernel");
  static_assert(R.node_count > 0 && R.leaf_count > 0, "a region computes something from something");
  constexpr std::size_t leaf_count = R.leaf_count;
  constexpr int at_once = detail::registers_at_once;
  constexpr std::int64_t step = at_once * lanes<T>;
  if (n <= 0) return;

  detail::region_values<R, at_once> values;
  detail::leaf_pointers<R> leaf;
  for (std::size_t k = 0; k < leaf_count; ++k) leaf[k] = static_cast<const T*>(operands[k]);
  detail::load_scalars<R, at_once>(values, leaf);

  const auto run_step = [&](std::int64_t begin, out_type * out) __attribute__((always_inline)) {
    detail::evaluate_region<R, at_once>(values, leaf, begin);
    detail::unrolled<at_once>([&](auto u) __attribute__((always_inline)) {
      store<T>(out + begin + static_cast<std::int64_t>(u) * lanes<T>,
               detail::result_of<R, at_once>(values, u));
    });
  };

  // The rest goes first, into a buffer, because results may overwrite operands: the last `step`
  // elements where there are as many (all but the rest are computed again below), else copies
  // padded with ones. One loop for both keeps the code of the body single, and where n >= step no
  // copy has a length unknown to the compiler.
  auto* const target = static_cast<out_type*>(result);
  const std::int64_t whole = n / step * step;
  const bool has_rest = whole != n;
  alignas(64) T padded[leaf_count][step];
  alignas(64) out_type last_step[step];
  if (has_rest)
    detail::unrolled<leaf_count>([&](auto k) {
      if constexpr (!R.is_scalar(k)) {
        if (n >= step) {
          leaf[k] += n - step;
        } else {
          detail::pad_short<at_once>(n, leaf[k], padded[k]);
          leaf[k] = padded[k];
        }
      }
    });
  out_type* out = has_rest ? last_step : target;
  std::int64_t end = has_rest ? step : whole;
  for (bool at_rest = has_rest;; at_rest = false) {
    for (std::int64_t i = 0; i < end; i += step) run_step(i, out);
    if (!at_rest) break;
    if (n < step) {
      detail::copy_short<at_once>(n, last_step, target);
      return;
    }
    detail::unrolled<leaf_count>([&](auto k) {
      if constexpr (!R.is_scalar(k)) leaf[k] -= n - step;
    });
    out = target;
    end = whole;
  }
  if (has_rest) std::memcpy(target + (n - step), last_step, sizeof(last_step));
}

}  // namespace sinter::exec
