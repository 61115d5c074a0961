// SPDX-License-Identifier: MIT
//
// The vocabulary of the e-graph engine: class and node ids, the description of an operator, the
// view of an e-node that users see and the 32-byte record that the engine keeps. The engine knows
// nothing of tensors: an e-node is an operator number, a payload number (attributes that the
// language interns; 0 means none) and child classes.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include <sinter/support/abi.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

using class_id = std::uint32_t;
using node_id = std::uint32_t;
/// A term as it was written, apart from what it is equal to: only proofs know of them.
using term_id = std::uint32_t;

inline constexpr std::uint32_t no_id = std::numeric_limits<std::uint32_t>::max();

/// A class, by the id that was given out for it, and the term that it was given out for.
struct class_term {
  class_id id = no_id;
  term_id term = no_id;
};

/// One row of a language's operator table.
struct operator_info {
  std::string_view name;
  int arity = 0;             ///< number of children; -1: any number
  bool commutative = false;  ///< children are kept sorted, and the matcher tries their permutations
};

/// An e-node as users see it. `children` points into the e-graph and is valid until something is
/// added to it.
struct enode_view {
  std::uint16_t op = 0;
  std::uint32_t payload = 0;
  span<const class_id> children;
  node_id id = no_id;  ///< no_id while the node is being made
};

/// What `merge(into, from)` of a language's analysis did (egg's `DidMerge`): whether `into`
/// changed, and whether the result differs from `from`. Claiming too much costs time, claiming too
/// little loses facts.
struct merge_result {
  bool into_changed = false;
  bool from_differs = false;
};

/// Why a union was made or a node was added: 0 for the user, otherwise 1 + the index of the rule.
struct reason {
  std::uint16_t rule = 0;
};

enum node_flags : std::uint16_t {
  node_pending = 1,   ///< a child lost a union; the node waits for rebuild
  node_dead = 2,      ///< a duplicate of another node of its class
  node_unhashed = 4,  ///< congruent to a node of a class that its own must not be united with
  node_analysis_pending = 8,  ///< the data of a child changed
};

/// What the engine keeps of a node: half a cache line. Most nodes of most languages have at most
/// two children, which live in the record; others keep `children[0]` as offset into a pool.
struct node_record {
  std::uint16_t op;
  std::uint16_t arity;
  std::uint32_t payload;
  class_id children[2];
  class_id owner;       ///< always canonical: a union renames the nodes of the class that loses
  node_id next;         ///< next node of the same class, or no_id
  std::uint32_t stamp;  ///< epoch in which the node was last created, moved to another class or
                        ///< given other children
  std::uint16_t origin;
  std::uint16_t flags;

  bool dead() const { return (flags & node_dead) != 0; }
};
static_assert(sizeof(node_record) == 32);

}  // namespace sinter::inline SINTER_ABI::eqsat
