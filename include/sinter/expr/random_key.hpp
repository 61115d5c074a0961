// SPDX-License-Identifier: MIT
// Keys made from keys, and permutations: random numbers outside of graphs, from the same generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <sinter/graph/random.hpp>
#include <sinter/support/error.hpp>
#include <sinter/tensor/tensor.hpp>

namespace sinter::inline SINTER_ABI {

/// The key number `n` that is made from a key, n at least 0: one per epoch, step, worker or layer.
/// All are as good as independent of each other, of what is drawn with `key` itself, and of keys
/// derived from others: derive_key(derive_key(seed, epoch), step). (Within one function every
/// random call has numbers of its own anyway.) The same on every machine.
constexpr std::int64_t derive_key(std::int64_t key, std::int64_t n) {
  // Streams count from 0; below 0 they are free for this.
  const ir::threefry_words derived =
      ir::stream_key(key, static_cast<std::int64_t>(static_cast<std::uint64_t>(n) | 1ull << 63));
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(derived[1]) << 32 | derived[0]);
}

/// The numbers from 0 to n - 1 in an order that the key decides, all n! of them equally likely (as
/// far as 64 bits can tell): how a data loader goes through its samples. Linear; the same on every
/// machine. Throws shape_error for n below 0. Fisher and Yates, in the form of Durstenfeld (1964).
inline tensor<std::int64_t, 1> permutation(std::int64_t key, std::int64_t n) {
  if (n < 0) raise(shape_error("permutation: " + std::to_string(n) + " elements"));
  tensor<std::int64_t, 1> out(n);
  std::int64_t* const x = out.data();
  for (std::int64_t i = 0; i < n; ++i) x[i] = i;
  const ir::threefry_words own = ir::stream_key(key, -1);
  std::int64_t counter = 0;
  for (std::int64_t i = n - 1; i > 0; --i) {
    const std::uint64_t choices = static_cast<std::uint64_t>(i) + 1;
    // Numbers beyond the last whole multiple of `choices` would favour small ones.
    const std::uint64_t surplus = (0 - choices) % choices;
    std::uint64_t drawn = 0;
    do {
      const ir::threefry_words bits = ir::threefry(ir::split_words(counter++), own);
      drawn = static_cast<std::uint64_t>(bits[1]) << 32 | bits[0];
    } while (drawn < surplus);
    std::swap(x[i], x[drawn % choices]);
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI
