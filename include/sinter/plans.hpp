// SPDX-License-Identifier: MIT
// Plans as text: `export_plan`, `save_plans` and `load_plans` of functions, and `verify_plan`. What
// every line of such a text means is in docs/plans.md. Apart from sinter.hpp, because who needs
// none of it need not compile it.
#pragma once

#include <sinter/function/graph_function.hpp>
#ifndef SINTER_SEPARATE
#include <sinter/function/plans_source.hpp>
#endif
