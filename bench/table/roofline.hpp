// SPDX-License-Identifier: MIT
// What the machine allows, measured beside the case: a triad over as much memory as the case moves,
// and its matrix products alone, by Eigen.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "case.hpp"

namespace bench {

/// A resource that a case cannot do without ("memory" or "products"), used on so many threads.
struct limit {
  std::string resource;
  int threads;
  std::function<void()> run;
};

/// The limits of a case on so many threads, and on one: threads that wait for each other longer
/// than they compute do not say what the machine allows.
std::vector<limit> limits_of(const description& of, int threads);

}  // namespace bench
