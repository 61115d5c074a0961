// SPDX-License-Identifier: MIT
// One case on so many threads: sinter beside its peers, which have to compute the same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "case.hpp"
#include "measure.hpp"

namespace bench {

struct timed {
  std::string name;
  timing time;
};

struct timed_limit {
  std::string resource;
  int threads;
  timing time;
};

struct comparison {
  const description* of = nullptr;
  int threads = 1;
  /// sinter first.
  std::vector<timed> libraries;
  std::vector<timed_limit> limits;

  const timing& sinter() const { return libraries.front().time; }
  /// The peer of the least median; none where a case has no peer.
  const timed* best_peer() const;
  /// The least time that all resources allow, in nanoseconds; 0 where none is known.
  double roofline() const;
};

/// How far `found` is from `reference` where that is more than the case tolerates, as text.
std::optional<std::string> difference(const description& of, const problem& operands,
                                      const std::vector<float>& reference,
                                      const std::vector<float>& found);

/// Runs each side once, compares what they computed, and measures. Throws std::runtime_error where
/// a peer computes something else.
comparison compare(const description& of, const std::vector<library>& libraries, int threads,
                   timer by);

}  // namespace bench
