// SPDX-License-Identifier: MIT
// The middle of sinter, compiled once for all tests; in two units, which compile side by side.
#include <sinter/function/arguments_source.hpp>
#include <sinter/function/evaluation_cache_source.hpp>
#include <sinter/function/fused_programs_source.hpp>
#include <sinter/function/graph_builder_source.hpp>
#include <sinter/function/graph_function_source.hpp>
#include <sinter/function/middle.hpp>
#include <sinter/function/plan_cache_source.hpp>
#include <sinter/function/plans_source.hpp>
