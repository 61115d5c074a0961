// SPDX-License-Identifier: MIT
//
// The e-graph engine by itself: equality saturation over any language. It depends on sinter/support
// alone. Start with egraph/language.hpp (what a language is), egraph/rule.hpp (rewrites) and
// egraph/runner.hpp (`saturate`).
#pragma once

#include <sinter/egraph/check_explanation.hpp>
#include <sinter/egraph/egraph.hpp>
#include <sinter/egraph/explain.hpp>
#include <sinter/egraph/extract.hpp>
#include <sinter/egraph/print.hpp>
#include <sinter/egraph/print_explanation.hpp>
#include <sinter/egraph/proof_recorder.hpp>
#include <sinter/egraph/rule.hpp>
#include <sinter/egraph/runner.hpp>
