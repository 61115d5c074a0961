// SPDX-License-Identifier: MIT
// Tensors, the front end, and functions that are fused, planned and run. Pulls in xsimd and Eigen.
// <sinter/core.hpp> needs neither; the engine alone is <sinter/egraph.hpp>. With SINTER_SEPARATE
// the e-graph and all behind it stay out: 0.3 s on top of Eigen and xsimd instead of 11 s (GCC 12).
#pragma once

// These first: errors in their templates then name two files, not five or ten.
// clang-format off
#include <sinter/tensor/tensor.hpp>
#include <sinter/function/fuse.hpp>
// clang-format on

#include <sinter/expr/expr.hpp>
#include <sinter/files/npy.hpp>
#include <sinter/function/custom.hpp>
#include <sinter/function/evaluate.hpp>
#include <sinter/function/function.hpp>
#include <sinter/function/graph_builder.hpp>
#include <sinter/support/version.hpp>
#include <sinter/tensor/view.hpp>
