// SPDX-License-Identifier: MIT
// Fills memory with the uniforms of graph/random.hpp; a fill may start at any element.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <sinter/graph/random.hpp>

namespace sinter::inline SINTER_ABI::exec {

namespace detail {

// Threefry for `Lanes` consecutive counters at once: the rounds of ir::threefry over arrays, which
// compilers keep in vector registers. They do not vectorise a loop around the scalar function (17
// ns per element against 1.6).
template <std::size_t Lanes>
struct threefry_block {
  std::uint32_t x[Lanes];
  std::uint32_t y[Lanes];

  void run(std::int64_t begin, const ir::threefry_words& key) {
    const std::array<std::uint32_t, 3> schedule{key[0], key[1],
                                                ir::threefry_parity ^ key[0] ^ key[1]};
    for (std::size_t i = 0; i < Lanes; ++i) {
      const auto counter = static_cast<std::uint64_t>(begin) + i;
      x[i] = static_cast<std::uint32_t>(counter) + schedule[0];
      y[i] = static_cast<std::uint32_t>(counter >> 32) + schedule[1];
    }
    for (std::uint32_t group = 1; group <= 5; ++group) {
      const int* rotation = ir::threefry_rotations.data() + (group % 2 == 1 ? 0 : 4);
      for (int round = 0; round < 4; ++round)
        for (std::size_t i = 0; i < Lanes; ++i) {
          x[i] += y[i];
          y[i] = (y[i] << rotation[round] | y[i] >> (32 - rotation[round])) ^ x[i];
        }
      for (std::size_t i = 0; i < Lanes; ++i) {
        x[i] += schedule[group % 3];
        y[i] += schedule[(group + 1) % 3] + group;
      }
    }
  }
};

}  // namespace detail

/// out[i] = uniform(key, stream, begin + i) for i in [0, n), with the bits of an f32 or f64 by T.
template <std::floating_point T>
void fill_uniform(std::int64_t key, std::int64_t stream, std::int64_t begin, std::int64_t n,
                  T* out) {
  const ir::threefry_words derived = ir::stream_key(key, stream);
  const auto element = [](std::uint32_t x, std::uint32_t y) {
    if constexpr (sizeof(T) == 4)
      return ir::uniform_f32({x, y});
    else
      return ir::uniform_f64({x, y});
  };
  constexpr std::size_t block = 64;
  detail::threefry_block<block> words;
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(block)) {
    words.run(begin + i, derived);
    const auto count = static_cast<std::size_t>(n - i);
    if (count >= block)
      for (std::size_t j = 0; j < block; ++j)
        out[static_cast<std::size_t>(i) + j] = element(words.x[j], words.y[j]);
    else
      for (std::size_t j = 0; j < count; ++j)
        out[static_cast<std::size_t>(i) + j] = element(words.x[j], words.y[j]);
  }
}

/// to[i] = uniform(key, stream, first + i step) for i in [0, count), as elements of a dtype, f32 or
/// f64.
inline void write_uniform(dtype type, std::int64_t key, std::int64_t stream, std::int64_t first,
                          std::int64_t step, std::int64_t count, std::byte* to) {
  const auto write = [&]<class T>(std::type_identity<T>) {
    auto* const out = reinterpret_cast<T*>(to);
    if (step == 1) return fill_uniform(key, stream, first, count, out);
    for (std::int64_t i = 0; i < count; ++i)
      fill_uniform(key, stream, first + i * step, 1, out + i);
  };
  if (type == dtype::f64)
    write(std::type_identity<double>{});
  else
    write(std::type_identity<float>{});
}

}  // namespace sinter::inline SINTER_ABI::exec
