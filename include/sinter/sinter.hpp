// SPDX-License-Identifier: MIT
// All of sinter: tensors, the front end, and functions that are fused, planned and run. Pulls in
// xsimd and Eigen; the e-graph engine alone is <sinter/egraph.hpp>, and what needs neither
// (tensors, graphs, expressions, gradients, the engine) <sinter/core.hpp>.
#pragma once

// These first: errors in their templates then name two files, not five or ten.
// clang-format off
#include <sinter/tensor/tensor.hpp>
#include <sinter/function/fuse.hpp>
// clang-format on

#include <sinter/core.hpp>
#include <sinter/files/npy.hpp>
#include <sinter/function/custom.hpp>
#include <sinter/function/evaluate.hpp>
#include <sinter/function/function.hpp>
#include <sinter/function/graph_builder.hpp>
#include <sinter/support/version.hpp>
