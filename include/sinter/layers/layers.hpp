// SPDX-License-Identifier: MIT
// All layers: structs of parameters with a forward function.
#pragma once

#include <sinter/layers/attention.hpp>
#include <sinter/layers/batch_norm.hpp>
#include <sinter/layers/convolution.hpp>
#include <sinter/layers/embedding.hpp>
#include <sinter/layers/forward_pass.hpp>
#include <sinter/layers/initialiser.hpp>
#include <sinter/layers/linear.hpp>
#include <sinter/layers/norms.hpp>
#include <sinter/layers/recurrent.hpp>
#include <sinter/layers/transformer.hpp>
