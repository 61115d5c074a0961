// SPDX-License-Identifier: MIT
// What lies behind the narrow waist of program.hpp, and what reports of it. Headers of it include
// what they need of each other, so that each stands on its own; who calls a program includes
// code.hpp.
#pragma once

#include <sinter/function/debug_report.hpp>
#include <sinter/function/explain.hpp>
#include <sinter/function/explain_html.hpp>
#include <sinter/function/program_source.hpp>
#include <sinter/function/tile_programs.hpp>
