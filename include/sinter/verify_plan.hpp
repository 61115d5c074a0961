// SPDX-License-Identifier: MIT
// verify_plan: is a plan file sound? Everything in it is read and checked again from the text
// alone: graph, schedule, memory, tile programs and rewrites, and what the three levels compute for
// small random arguments is compared. Nothing of the planner is used, but to lay out memory once
// more.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <sinter/function/plan_verifier.hpp>

namespace sinter::inline SINTER_ABI {

/// Checks a text that export_plan gave, or the contents of a file that save_plans wrote, and says
/// what was checked. Throws io_error for a text that is damaged, of another version or with other
/// rules (processor and instruction set may be others'), graph_error for one that is not sound,
/// saying where. `customs`: the custom ops that the text may name (sinter::custom_ops). Values of
/// plans beyond `most_work` operations and bytes read are not compared: as many as the default take
/// some seconds and, whatever the size of the text, some hundred MB.
inline plan_verification verify_plan(std::string_view text,
                                     std::span<const ir::custom_op* const> customs = {},
                                     std::int64_t most_work = 30'000'000) {
  return detail::plan_verifier(customs, most_work).run(text);
}

}  // namespace sinter::inline SINTER_ABI
