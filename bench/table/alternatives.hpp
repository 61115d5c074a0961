// SPDX-License-Identifier: MIT
// Plans that the planner rejected beside the one it chose: was it right?
#pragma once

#include <string>
#include <vector>

#include "case.hpp"

namespace bench {

/// Plans each case without the kinds of fusion, one at a time, and without nests that were chosen:
/// one at a time, then also without those that came in their place. Runs what comes of it in turns
/// with the chosen plan on one thread. A row per plan, and last the worst ratios: the chosen plan's
/// time divided by that of the fastest plan that was rejected.
void print_alternatives(const std::vector<const description*>& cases, const library& sinter);

}  // namespace bench
