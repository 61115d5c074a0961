// SPDX-License-Identifier: MIT
// What keeps and reads plans, compiled once for all tests.
#include <sinter/function/plans_source.hpp>
