// SPDX-License-Identifier: MIT
// What needs neither Eigen nor xsimd, and compiles fast: tensors, graphs, expressions, and the
// e-graph with its rules. What is not named here has headers of its own: <sinter/egraph.hpp> for
// extraction and proofs, graph/interpret.hpp, graph/parse.hpp, graph/print.hpp,
// autodiff/expand.hpp.
#pragma once

#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/rule.hpp>
#include <sinter/egraph/runner.hpp>
#include <sinter/expr/expr.hpp>
#include <sinter/graph/build.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>
