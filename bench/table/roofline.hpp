// SPDX-License-Identifier: MIT
// What the machine allows, measured beside the case: a triad over as much memory as the case moves,
// and its matrix products alone, by Eigen.
#pragma once

#include <vector>

#include "case.hpp"
#include "measure.hpp"

namespace bench {

/// The limits of a case: its least possible time is the longest of theirs.
std::vector<entrant> limits_of(const description& of, int threads);

}  // namespace bench
