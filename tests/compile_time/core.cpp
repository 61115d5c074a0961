// SPDX-License-Identifier: MIT
// What a unit pays that only includes <sinter/core.hpp>.
#include <sinter/core.hpp>
