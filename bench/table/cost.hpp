// SPDX-License-Identifier: MIT
// Predicted beside measured time of the nests of cases: how far the cost model can be trusted.
#pragma once

#include <string>
#include <vector>

#include "case.hpp"

namespace bench {

struct nest_times {
  std::string nest;
  double predicted, measured;  // microseconds
};

/// Spearman's: that of the ranks, of which equals share the mean. 0 for fewer than two nests.
double rank_correlation(const std::vector<nest_times>& nests);

/// A row per nest on one thread, and last the rank correlation.
void print_costs(const std::vector<const description*>& cases, const library& sinter);

}  // namespace bench
