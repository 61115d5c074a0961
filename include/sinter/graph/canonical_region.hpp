// SPDX-License-Identifier: MIT
// The canonical form of an element-wise region: operands of commutative ops in an order that
// depends on what they are rather than on how they were written, leaves numbered in the order of
// their first use. Expressions that differ in the order of operands alone then share one kernel.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include <sinter/graph/region.hpp>
#include <sinter/support/hash.hpp>

namespace sinter::inline SINTER_ABI::ir {

namespace detail {

// Two sweeps of colour refinement (what an operand is made of, then where it is used), which tell
// apart all operands of expressions as people write them. Operands that still look alike keep the
// order in which they were written.
class region_canonicaliser {
 public:
  constexpr explicit region_canonicaliser(const region& r) : r_(r) {
    colour_structure();
    add_uses();
    colour_structure();
    out_.type = r.type;
    for (int leaf = 0; leaf < r.leaf_count; ++leaf)
      if (used(leaf)) ++out_.leaf_count;
    if (r.node_count > 0) emit(r.leaf_count + r.node_count - 1);
  }

  constexpr const region& result() const { return out_; }

 private:
  static constexpr std::size_t count = region::max_leaves + region::max_nodes;

  constexpr bool used(int operand) const { return uses_[static_cast<std::size_t>(operand)] != 0; }

  constexpr void colour_structure() {
    for (int leaf = 0; leaf < r_.leaf_count; ++leaf)
      colour_[static_cast<std::size_t>(leaf)] =
          hash_mix(uses_[static_cast<std::size_t>(leaf)] + (r_.is_scalar(leaf) ? 2 : 1));
    for (int i = 0; i < r_.node_count; ++i) {
      const op_info& facts = info(r_.code(i));
      const std::size_t self = static_cast<std::size_t>(r_.leaf_count + i);
      std::uint64_t operands = 0;
      for (int k = 0; k < facts.arity; ++k) {
        const std::uint64_t colour = colour_[static_cast<std::size_t>(r_.operand(i, k))];
        operands = facts.commutative ? operands + hash_mix(colour) : hash_mix(operands + colour);
      }
      colour_[self] =
          hash_mix(operands + uses_[self] + static_cast<std::uint64_t>(facts.code) * hash_seed);
    }
  }

  // Users stand behind what they use, so a node's own uses are complete when its operands get
  // theirs.
  constexpr void add_uses() {
    if (r_.node_count == 0) return;
    uses_[static_cast<std::size_t>(r_.leaf_count + r_.node_count - 1)] = 1;
    for (int i = r_.node_count - 1; i >= 0; --i) {
      const std::size_t self = static_cast<std::size_t>(r_.leaf_count + i);
      if (uses_[self] == 0) continue;
      const op_info& facts = info(r_.code(i));
      const std::uint64_t here = hash_mix(uses_[self] ^ colour_[self]);
      for (int k = 0; k < facts.arity; ++k)
        uses_[static_cast<std::size_t>(r_.operand(i, k))] +=
            hash_mix(here + (facts.commutative ? 0 : static_cast<std::uint64_t>(k)));
    }
  }

  // Nodes before leaves and tensors before scalars: x * s + b reads as one would write it.
  constexpr bool before(int a, int b) const {
    const auto rank = [this](int operand) {
      return operand >= r_.leaf_count ? 0 : r_.is_scalar(operand) ? 2 : 1;
    };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return colour_[static_cast<std::size_t>(a)] < colour_[static_cast<std::size_t>(b)];
  }

  // Depth first; the recursion is at most max_nodes deep. Returns the operand's number in the
  // result.
  constexpr int emit(int operand) {
    std::uint8_t& number = number_[static_cast<std::size_t>(operand)];
    if (number != 0) return number - 1;
    if (operand < r_.leaf_count) {
      if (r_.is_scalar(operand)) out_.scalar_leaves |= 1u << leaves_;
      number = static_cast<std::uint8_t>(++leaves_);
      return number - 1;
    }
    const int node = operand - r_.leaf_count;
    const op_info& facts = info(r_.code(node));
    std::array<int, 3> in{};
    for (int k = 0; k < facts.arity; ++k) in[static_cast<std::size_t>(k)] = r_.operand(node, k);
    if (facts.commutative && before(in[1], in[0])) std::swap(in[0], in[1]);
    for (int k = 0; k < facts.arity; ++k)
      in[static_cast<std::size_t>(k)] = emit(in[static_cast<std::size_t>(k)]);
    number = static_cast<std::uint8_t>(1 + out_.add_node(facts.code, in[0], in[1], in[2]));
    return number - 1;
  }

  const region& r_;
  region out_;
  std::array<std::uint64_t, count> colour_{}, uses_{};
  std::array<std::uint8_t, count> number_{};  // 1 + number in the result; 0: not met yet
  int leaves_ = 0;
};

}  // namespace detail

/// The canonical form of a region: it computes the same bits (but for which of two NaNs is kept),
/// with its leaves in another order. Nodes and leaves that the result does not depend on are
/// dropped.
constexpr region canonical(const region& r) { return detail::region_canonicaliser(r).result(); }

}  // namespace sinter::inline SINTER_ABI::ir
