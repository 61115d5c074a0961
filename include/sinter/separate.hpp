// SPDX-License-Identifier: MIT
// The middle of sinter, for the one translation unit of a program that compiles it. See
// support/separate.hpp.
#pragma once

#ifndef SINTER_SEPARATE
#error "sinter/separate.hpp is for programs all of whose units are compiled with SINTER_SEPARATE"
#endif

#include <sinter/files/npy_source.hpp>
#include <sinter/function/arguments_source.hpp>
#include <sinter/function/calibration_source.hpp>
#include <sinter/function/code_source.hpp>
#include <sinter/function/evaluation_cache_source.hpp>
#include <sinter/function/fused_programs_source.hpp>
#include <sinter/function/graph_builder_source.hpp>
#include <sinter/function/graph_function_source.hpp>
#include <sinter/function/middle.hpp>
#include <sinter/function/plan_cache_source.hpp>
#include <sinter/function/plans_source.hpp>
