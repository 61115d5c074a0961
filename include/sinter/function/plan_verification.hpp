// SPDX-License-Identifier: MIT
// What a verifier of plans says about the plans that it found to be right.
#pragma once

#include <cstddef>
#include <string>

#include <sinter/support/abi.hpp>
#include <sinter/support/error.hpp>

namespace sinter::inline SINTER_ABI {

/// What a verifier of plans found to be right.
struct plan_verification {
  std::size_t plans = 0, nests = 0;
  /// Rewrites that applying the rule again gave, and those whose two sides had the same values.
  std::size_t replayed = 0, by_value = 0;
  /// What was not checked again: that a rule brought up a value, where it needs more of the e-graph
  /// than what it matched; and rewrites by value of a plan that is too large.
  std::size_t unchecked = 0;
  /// Tile programs that were read and verified.
  std::size_t tile_programs = 0;
  /// Plans whose three levels gave the values of the graph, and those too large to be interpreted.
  std::size_t computed = 0, too_large = 0;

  std::string to_text() const {
    return std::to_string(plans) + " plans, " + std::to_string(nests) + " nests, " +
           std::to_string(replayed) + " rewrites replayed, " + std::to_string(by_value) +
           " compared by value, " + std::to_string(unchecked) + " not checked, " +
           std::to_string(tile_programs) + " tile programs; " + std::to_string(computed) +
           " plans computed, " + std::to_string(too_large) + " too large for that\n";
  }
};

namespace detail {

// For all parts of the verifier.
inline void require_sound(bool holds, const std::string& reason) {
  if (!holds) raise(graph_error("verify_plan: " + reason));
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
