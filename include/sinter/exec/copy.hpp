// SPDX-License-Identifier: MIT
// Moving elements without looking at them: strided loads and fills. Elements are known by their
// size alone (1, 2, 4 or 8 bytes), so four instantiations serve all dtypes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <sinter/exec/copy_rows.hpp>
#include <sinter/exec/each_element.hpp>
#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

template <std::size_t Size>
using size_constant = std::integral_constant<std::size_t, Size>;

// f(size_constant) for elements of so many bytes. f captures by value: bytes that are written may
// be those that a reference reads, again after each store (x - c over [100000,3]: 260 instead of
// 164 µs).
template <class F>
[[gnu::always_inline]] inline void for_size(std::size_t element_size, F f) {
  if (element_size == 1)
    f(size_constant<1>{});
  else if (element_size == 2)
    f(size_constant<2>{});
  else if (element_size == 4)
    f(size_constant<4>{});
  else
    f(size_constant<8>{});
}

// Elements go through memcpy: a float read through an integer pointer would break the aliasing
// rules.
template <std::size_t Size, std::int64_t Stride>
void load_each(std::int64_t n, const std::byte* from, std::byte* to) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  for_each_element(
      n, [=](std::int64_t i) { std::memcpy(to + i * size, from + i * Stride * size, Size); });
}

// Few: a number that the caller knows becomes stores of registers.
template <std::size_t Size>
[[gnu::always_inline]] inline void repeat_element(std::int64_t n, const std::byte* from,
                                                  std::byte* to) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  // By value, so that the store of a register need not wait for a load that might see it.
  std::array<std::byte, Size> value;
  std::memcpy(value.data(), from, Size);
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, value.data(), Size);
}

// Any number, in registers at -O2, too; pairs and threes would take 3 times as long so.
template <std::size_t Size>
void fill_elements(std::int64_t n, const std::byte* from, std::byte* to) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  std::array<std::byte, Size> value;
  std::memcpy(value.data(), from, Size);
  for_each_element(n, [=](std::int64_t i) { std::memcpy(to + i * size, value.data(), Size); });
}

template <std::size_t Size>
void load_elements(std::int64_t n, const std::byte* from, std::int64_t stride, std::byte* to) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  const std::int64_t step = stride * size;
  if (stride == 0) return fill_elements<Size>(n, from, to);
  // Known steps are shuffles: 0.04 ns per f32 element instead of 0.13 for 2, 0.1 instead of 0.26
  // backwards.
  if (stride == -1) return load_each<Size, -1>(n, from, to);
  if (stride == 2) return load_each<Size, 2>(n, from, to);
  if (stride == 3) return load_each<Size, 3>(n, from, to);
  if (stride == 4) return load_each<Size, 4>(n, from, to);
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * size, from + i * step, Size);
}

template <std::size_t Size>
void store_elements(std::int64_t n, const std::byte* __restrict from, std::byte* __restrict to,
                    std::int64_t stride) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * stride * size, from + i * size, Size);
}

template <std::size_t Size, std::size_t... K>
void interleave_elements(std::int64_t n, std::array<const std::byte*, sizeof...(K)> from,
                         std::byte* __restrict to, std::index_sequence<K...>) {
  constexpr auto size = static_cast<std::int64_t>(Size), count = std::int64_t{sizeof...(K)};
  for (std::int64_t i = 0; i < n; ++i)
    (std::memcpy(to + (i * count + std::int64_t{K}) * size, from[K] + i * size, Size), ...);
}

// Rows of at most Bytes: what is written behind the end of one the next one overwrites.
template <std::size_t Size, std::int64_t Bytes>
void spread_over(std::int64_t rows, std::int64_t width, const std::byte* from, std::int64_t step,
                 std::byte* to) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  const std::int64_t pitch = width * size, fitting = (rows * pitch - Bytes) / pitch + 1;
  std::int64_t row = 0;
  for (; row < fitting; ++row)
    repeat_element<Size>(Bytes / size, from + row * step, to + row * pitch);
  for (; row < rows; ++row) repeat_element<Size>(width, from + row * step, to + row * pitch);
}

template <std::size_t Size>
void spread_elements(std::int64_t rows, std::int64_t width, const std::byte* from,
                     std::int64_t step, std::byte* to) {
  constexpr auto size = static_cast<std::int64_t>(Size);
  // Of these numbers GCC makes whole registers: 0.04 ns per f32 element instead of 0.2.
  if (width == 2 && step == size)
    for (std::int64_t row = 0; row < rows; ++row)
      repeat_element<Size>(2, from + row * size, to + row * 2 * size);
  else if (width * size > 64)
    for (std::int64_t row = 0; row < rows; ++row)
      fill_elements<Size>(width, from + row * step, to + row * width * size);
  else if (rows * width * size < 64)
    for (std::int64_t row = 0; row < rows; ++row)
      repeat_element<Size>(width, from + row * step, to + row * width * size);
  else if (width * size <= 16)
    spread_over<Size, 16>(rows, width, from, step, to);
  else
    spread_over<Size, 64>(rows, width, from, step, to);
}

}  // namespace detail

/// to[i] = from[i * stride] for i in [0, n); strides count elements and may be 0 or negative.
/// Ranges must not overlap.
inline void strided_load(std::int64_t n, const void* from, std::int64_t stride,
                         std::size_t element_size, void* to) {
  if (n <= 0) return;
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (stride == 1) {
    copy_bytes(target, source, static_cast<std::size_t>(n) * element_size);
    return;
  }
  detail::for_size(element_size, [=]<std::size_t Size>(detail::size_constant<Size>) {
    detail::load_elements<Size>(n, source, stride, target);
  });
}

/// Rows of every other element: to[i] = from[2 i] for i in [0, columns), `rows` times; rows begin
/// so many bytes after each other. Ranges must not overlap. (Rows of 7 f32: 5 ns each, by a command
/// for each 76.)
inline void copy_every_other(std::int64_t rows, std::int64_t columns, std::size_t element_size,
                             const std::byte* from, std::int64_t from_step, std::byte* to,
                             std::int64_t to_step) {
  detail::for_size(element_size, [=]<std::size_t Size>(detail::size_constant<Size>) {
    for (std::int64_t row = 0; row < rows; ++row)
      detail::load_each<Size, 2>(columns, from + row * from_step, to + row * to_step);
  });
}

/// to[i * stride] = from[i] for i in [0, n). Ranges must not overlap.
inline void strided_store(std::int64_t n, const void* from, std::size_t element_size, void* to,
                          std::int64_t stride) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  if (stride == 1) {
    if (n > 0) copy_bytes(target, source, static_cast<std::size_t>(n) * element_size);
    return;
  }
  detail::for_size(element_size, [=]<std::size_t Size>(detail::size_constant<Size>) {
    detail::store_elements<Size>(n, source, target, stride);
  });
}

/// to[i * Count + k] = from[k][i] for i in [0, n). Ranges must not overlap.
template <std::size_t Count>
void interleave(std::int64_t n, std::array<const std::byte*, Count> from, std::size_t element_size,
                std::byte* to) {
  detail::for_size(element_size, [=]<std::size_t Size>(detail::size_constant<Size>) {
    detail::interleave_elements<Size>(n, from, to, std::make_index_sequence<Count>());
  });
}

/// to[i] = *value for i in [0, n).
inline void fill(std::int64_t n, const void* value, std::size_t element_size, void* to) {
  strided_load(n, value, 0, element_size, to);
}

/// to[i * width + j] = from[i] for i in [0, rows), j in [0, width), as a value per row becomes one
/// per element; those of `from` lie `step` bytes apart. (Rows of 3: 0.3 ns each, by a call 1.6.)
inline void spread(std::int64_t rows, std::int64_t width, const void* from, std::int64_t step,
                   std::size_t element_size, void* to) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  detail::for_size(element_size, [=]<std::size_t Size>(detail::size_constant<Size>) {
    detail::spread_elements<Size>(rows, width, source, step, target);
  });
}

}  // namespace sinter::inline SINTER_ABI::exec
