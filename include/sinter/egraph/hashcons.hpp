// SPDX-License-Identifier: MIT
//
// The hash table from canonical e-nodes to node ids: open addressing with linear probing over
// 8-byte entries {node, 32-bit hash}. It keeps no keys; the caller compares nodes. Erasing shifts
// entries back, so there are no tombstones and the table stays as short as its contents however
// often rebuild re-inserts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <sinter/egraph/enode.hpp>
#include <sinter/support/large_vector.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

/// Hash of a canonical node. Multiply-rotate per word (as in FxHash) and one finalising step: the
/// table indexes by the low bits, which a plain multiplication mixes worst.
inline std::uint32_t hash_node(std::uint16_t op, std::uint32_t payload,
                               span<const class_id> children) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15ULL;
  std::uint64_t hash = ((static_cast<std::uint64_t>(op) << 32) | payload) * factor;
  for (const class_id child : children) hash = (std::rotl(hash, 23) ^ child) * factor;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93ULL;
  return static_cast<std::uint32_t>(hash >> 32);
}

class hashcons {
 public:
  /// The node for which `equal(node)` holds among those with this hash, or no_id.
  template <class Equal>
  node_id find(std::uint32_t hash, Equal&& equal) const {
    if (entries_.empty()) return no_id;
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const entry& candidate = entries_[at];
      if (candidate.node == no_id) return no_id;
      if (candidate.hash == hash && equal(candidate.node)) return candidate.node;
    }
  }

  /// Starts loading the place of this hash.
  void prefetch(std::uint32_t hash) const {
    if (!entries_.empty()) __builtin_prefetch(&entries_[hash & mask_]);
  }
  /// The node at this hash's own place, which may have another hash, or no_id.
  node_id first(std::uint32_t hash) const {
    return entries_.empty() ? no_id : entries_[hash & mask_].node;
  }

  /// Adds a node that `find` did not find.
  void insert(std::uint32_t hash, node_id node) {
    if ((count_ + 1) * 4 > entries_.size() * 3) grow();
    place(hash, node);
    ++count_;
  }

  /// Removes `node`, which must be present with this hash.
  void erase(std::uint32_t hash, node_id node) {
    std::size_t hole = hash & mask_;
    while (entries_[hole].node != node) hole = (hole + 1) & mask_;
    // Entries after the hole move back when their own place is not between the hole and them.
    for (std::size_t at = (hole + 1) & mask_; entries_[at].node != no_id; at = (at + 1) & mask_) {
      const std::size_t home = entries_[at].hash & mask_;
      if (((at - home) & mask_) >= ((at - hole) & mask_)) {
        entries_[hole] = entries_[at];
        hole = at;
      }
    }
    entries_[hole].node = no_id;
    --count_;
  }

  std::size_t size() const { return count_; }

 private:
  struct entry {
    node_id node = no_id;
    std::uint32_t hash = 0;
  };

  void place(std::uint32_t hash, node_id node) {
    std::size_t at = hash & mask_;
    while (entries_[at].node != no_id) at = (at + 1) & mask_;
    entries_[at] = {node, hash};
  }

  void grow() {
    large_vector<entry> old(entries_.empty() ? 64 : entries_.size() * 2, entry{});
    old.swap(entries_);
    mask_ = entries_.size() - 1;
    for (const entry& moved : old) {
      if (moved.node != no_id) place(moved.hash, moved.node);
    }
  }

  large_vector<entry> entries_;  // size is a power of two
  std::size_t mask_ = 0;
  std::size_t count_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
