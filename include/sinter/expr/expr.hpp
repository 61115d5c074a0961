// SPDX-License-Identifier: MIT
// The front end: every function and operator that users write on tensors, views, expressions, and
// inside of fused functions on handles. The errors that they are documented to have are compile
// errors where the types of the operands say so already, and are otherwise thrown by the first call
// or by the evaluation that meets them, before anything is written.
#pragma once

#include <sinter/expr/activations.hpp>
#include <sinter/expr/attention.hpp>
#include <sinter/expr/channel_norms.hpp>
#include <sinter/expr/contraction.hpp>
#include <sinter/expr/control.hpp>
#include <sinter/expr/convolution.hpp>
#include <sinter/expr/creation.hpp>
#include <sinter/expr/elementwise.hpp>
#include <sinter/expr/implicit_casts.hpp>
#include <sinter/expr/indexing.hpp>
#include <sinter/expr/losses.hpp>
#include <sinter/expr/movement.hpp>
#include <sinter/expr/nn.hpp>
#include <sinter/expr/operators.hpp>
#include <sinter/expr/pooling.hpp>
#include <sinter/expr/random.hpp>
#include <sinter/expr/random_key.hpp>
#include <sinter/expr/reductions.hpp>
#include <sinter/expr/repetition.hpp>
#include <sinter/expr/rope.hpp>
#include <sinter/expr/split.hpp>
