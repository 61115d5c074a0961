// SPDX-License-Identifier: MIT
// Random numbers as a function of position: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and
// Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). No state is kept, so every element
// can be computed by any thread in any order. `uniform` is the one definition that the interpreter
// and the kernels share.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::ir {

/// Two 32-bit words: a key, a counter, or the random bits made from them.
using threefry_words = std::array<std::uint32_t, 2>;

inline constexpr std::array<int, 8> threefry_rotations{13, 15, 26, 6, 17, 29, 16, 24};
inline constexpr std::uint32_t threefry_parity = 0x1BD11BDAu;

/// Threefry-2x32-20. Reference values are the kat_vectors of Random123.
constexpr threefry_words threefry(threefry_words counter, threefry_words key) {
  const std::array<std::uint32_t, 3> schedule{key[0], key[1], threefry_parity ^ key[0] ^ key[1]};
  std::uint32_t x = counter[0] + schedule[0];
  std::uint32_t y = counter[1] + schedule[1];
  for (std::uint32_t round = 0; round < 20; ++round) {
    x += y;
    y = std::rotl(y, threefry_rotations[round % 8]) ^ x;
    if (round % 4 == 3) {
      const std::uint32_t injection = round / 4 + 1;
      x += schedule[injection % 3];
      y += schedule[(injection + 1) % 3] + injection;
    }
  }
  return {x, y};
}

constexpr threefry_words split_words(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
}

/// The key of one random node: the user's key, folded with the stream id that the node got where it
/// was written.
constexpr threefry_words stream_key(std::int64_t key, std::int64_t stream) {
  return threefry(split_words(stream), split_words(key));
}

/// 24 bits make an f32 in [0, 1) and 53 bits an f64, each a multiple of 2^-24 or 2^-53: never 1
/// after rounding.
constexpr float uniform_f32(threefry_words bits) {
  return static_cast<float>(bits[0] >> 8) * 0x1p-24f;
}
constexpr double uniform_f64(threefry_words bits) {
  const std::uint64_t wide = static_cast<std::uint64_t>(bits[0]) << 32 | bits[1];
  return static_cast<double>(wide >> 11) * 0x1p-53;
}

/// Element `index` (row-major position) of random_uniform(key, stream): in [0, 1), exactly
/// representable in f32 unless `f64` asks for all 53 bits.
constexpr double uniform(std::int64_t key, std::int64_t stream, std::int64_t index, bool f64) {
  const threefry_words bits = threefry(split_words(index), stream_key(key, stream));
  return f64 ? uniform_f64(bits) : static_cast<double>(uniform_f32(bits));
}

}  // namespace sinter::inline SINTER_ABI::ir
