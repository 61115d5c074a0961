// SPDX-License-Identifier: MIT
// The middle of sinter, compiled once for all tests; in two units, which compile side by side.
#include <sinter/function/plans_source.hpp>
#include <sinter/function/program_source.hpp>
