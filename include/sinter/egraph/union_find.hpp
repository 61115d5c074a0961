// SPDX-License-Identifier: MIT
//
// Union-find over dense ids with path halving. The e-graph chooses which root wins,
// because it knows what the loser costs to repair.
#pragma once

#include <cassert>
#include <cstddef>

#include <sinter/egraph/enode.hpp>
#include <sinter/support/large_vector.hpp>

namespace sinter::inline SINTER_ABI::eqsat {

class union_find {
 public:
  /// A new set with one member.
  class_id make_set() {
    const auto id = static_cast<class_id>(parents_.size());
    parents_.push_back(id);
    return id;
  }

  /// The representative of `id`; leaves the forest as it is, so that several threads may read one
  /// e-graph.
  class_id find(class_id id) const {
    assert(id < parents_.size());
    while (parents_[id] != id) id = parents_[id];
    return id;
  }

  /// The same, halving the path on the way.
  class_id find_and_compress(class_id id) {
    while (parents_[id] != id) {
      parents_[id] = parents_[parents_[id]];
      id = parents_[id];
    }
    return id;
  }

  /// Makes `loser` a member of the set of `winner`; both must be representatives.
  void link(class_id winner, class_id loser) {
    assert(parents_[winner] == winner && parents_[loser] == loser && winner != loser);
    parents_[loser] = winner;
  }

  bool is_root(class_id id) const { return parents_[id] == id; }
  std::size_t size() const { return parents_.size(); }
  void reserve(std::size_t n) { parents_.reserve(n); }

 private:
  large_vector<class_id> parents_;
};

}  // namespace sinter::inline SINTER_ABI::eqsat
