// SPDX-License-Identifier: MIT
// Which kinds of fusion nests may do. All of them by default: the costs choose. Switching one off
// shows what it brings.
#pragma once

namespace sinter::planning {

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

  friend bool operator==(const nest_policy&, const nest_policy&) = default;
};

}  // namespace sinter::planning
