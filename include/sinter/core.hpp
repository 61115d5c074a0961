// SPDX-License-Identifier: MIT
// What needs neither Eigen nor xsimd: tensors, the graph and its oracle, the front end, gradients,
// and the e-graph.
#pragma once

#include <sinter/autodiff/expand.hpp>
#include <sinter/egraph.hpp>
#include <sinter/expr/expr.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/dot.hpp>
#include <sinter/graph/interpret.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/tensor/tensor.hpp>
#include <sinter/tensor/view.hpp>
