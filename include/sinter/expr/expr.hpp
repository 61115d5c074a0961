// SPDX-License-Identifier: MIT
// The front end: every function and operator that users write on tensors, views, expressions, and
// inside of fused functions on handles.
#pragma once

#include <sinter/expr/contraction.hpp>
#include <sinter/expr/control.hpp>
#include <sinter/expr/creation.hpp>
#include <sinter/expr/elementwise.hpp>
#include <sinter/expr/movement.hpp>
#include <sinter/expr/nn.hpp>
#include <sinter/expr/operators.hpp>
#include <sinter/expr/random.hpp>
#include <sinter/expr/reductions.hpp>
