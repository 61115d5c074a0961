// SPDX-License-Identifier: MIT
// The middle of sinter, compiled once for all tests; in two units, which compile side by side.
#include <sinter/function/middle.hpp>
#include <sinter/function/plans_source.hpp>
