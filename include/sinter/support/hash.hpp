// SPDX-License-Identifier: MIT
//
// 64-bit hashing that gives the same value at compile time, at run time and on every machine: plans
// and tests depend on it, so neither std::hash (unspecified) nor anything keyed by an address is
// used.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI {

inline constexpr std::uint64_t hash_seed = 0x9e3779b97f4a7c15ULL;

/// Finaliser of splitmix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
/// generators"): a bijection in which every input bit changes about half of the output bits.
constexpr std::uint64_t hash_mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return x;
}

/// The 64 bits that stand for a number or an enumerator. Floats go by their bits: 0.0 and -0.0 are
/// different constants.
template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
constexpr std::uint64_t hash_bits(T value) {
  if constexpr (std::same_as<T, double>) {
    return std::bit_cast<std::uint64_t>(value);
  } else if constexpr (std::same_as<T, float>) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

/// Adds `value` to the hash `seed`. Order matters: combining a, b differs from combining b, a.
template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
constexpr std::uint64_t hash_combine(std::uint64_t seed, T value) {
  return hash_mix(std::rotl(seed, 23) + hash_seed + hash_bits(value));
}

/// Hash of the numbers in `range`, its length included.
template <class Range>
constexpr std::uint64_t hash_range(const Range& range, std::uint64_t seed = hash_seed) {
  std::uint64_t length = 0;
  for (const auto& value : range) {
    seed = hash_combine(seed, value);
    ++length;
  }
  return hash_combine(seed, length);
}

constexpr std::uint64_t hash_string(std::string_view text, std::uint64_t seed = hash_seed) {
  return hash_range(text, seed);
}

}  // namespace sinter::inline SINTER_ABI
