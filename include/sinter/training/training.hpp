// SPDX-License-Identifier: MIT
// All of training: optimizers, clipping and schedules.
#pragma once

#include <sinter/training/adam.hpp>
#include <sinter/training/clipping.hpp>
#include <sinter/training/lion.hpp>
#include <sinter/training/rmsprop.hpp>
#include <sinter/training/schedules.hpp>
#include <sinter/training/sgd.hpp>
