// SPDX-License-Identifier: MIT
// All mathematical functions of registers, a header per theme.
#pragma once

#include <sinter/exec/error_function.hpp>
#include <sinter/exec/exponential.hpp>
#include <sinter/exec/hyperbolic_tangent.hpp>
#include <sinter/exec/logarithm.hpp>
#include <sinter/exec/power.hpp>
#include <sinter/exec/trigonometric.hpp>
