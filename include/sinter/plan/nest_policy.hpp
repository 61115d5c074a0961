// SPDX-License-Identifier: MIT
// Which kinds of fusion nests may do. All of them by default: the costs choose. Switching one off
// shows what it brings.
#pragma once

#include <vector>

#include <sinter/support/abi.hpp>

namespace sinter::inline SINTER_ABI::planning {

struct nest_policy {
  /// Reductions over rows in one nest with what follows: softmax, layer norm, logsumexp. false: a
  /// reduction ends its nest; what comes before it may still be computed inside.
  bool rows = true;
  /// What is done to a product while its blocks are hot, and two products that one such step reads.
  /// false: products are stored as they are (and attention with a scale or a mask has no nest of
  /// its own).
  bool epilogues = true;
  /// Attention in one nest that never stores its scores.
  bool streamed = true;
  /// Several products with one left side in one nest.
  bool grouped = true;
  /// Convolutions of 3x3 windows by tiles of 2x2 results, with 16 products for 36 (Winograd): the
  /// same numbers but for rounding. false: windows are multiplied as they are.
  bool winograd = true;
  /// Mean and variance from one sweep over the data instead of two, and over leading axes the
  /// largest element and the sum of exponentials that softmax and logsumexp need. false, or without
  /// `reassociate`: the mean first, then the distances from it.
  bool moments = true;
  /// Sums over the rows of what a nest over rows computes, in that nest. false: in nests of their
  /// own.
  bool sums = true;
  /// What a nest over rows reads also gives other results of it: two sums of the same rows. false:
  /// in nests of their own.
  bool siblings = true;
  /// What is put side by side (`concat`) computed where it is put. false: it is stored before, and
  /// copied.
  bool pieces = true;
  /// Values that several nests need, computed in each of them instead of being stored once. false:
  /// they are stored, in a budget of memory, too, wherever a nest can be found that reads them.
  bool recompute = true;
  /// Nests that are not to be chosen, by the numbers that `explain` gives: what would run instead?
  /// Numbers are those of one graph, its extents, and the other members.
  std::vector<int> without{};

  friend bool operator==(const nest_policy&, const nest_policy&) = default;
};

}  // namespace sinter::inline SINTER_ABI::planning
