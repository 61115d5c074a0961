// SPDX-License-Identifier: MIT
// The lowest level of a call: what the executor has bound for it, as values and as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sinter/exec/lowered.hpp>
#include <sinter/exec/lowered_text.hpp>
#include <sinter/function/program_source.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI {

SINTER_INLINE std::vector<exec::lowered_plan> program::lowered(
    const prepared_call& call, span<const detail::argument_memory> arguments,
    span<const std::int64_t> symbols) const {
  std::vector<exec::lowered_plan> out;
  if (call.ready_->kept) {
    // What prepared the kept values ran once and is gone: bound again, not run.
    exec::executor preparing(call.ready_->plan->preparation->plan(), code_.kernels);
    preparing.bind(symbols, arguments);
    out.push_back(preparing.lowered());
  }
  out.push_back((**call.ready_->executor).lowered());
  return out;
}

SINTER_INLINE std::string program::tile_programs(const prepared_call& call,
                                                 span<const detail::argument_memory> arguments,
                                                 span<const std::int64_t> symbols) const {
  const std::vector<exec::lowered_plan> plans = lowered(call, arguments, symbols);
  std::string out;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans.size() > 1)
      out += i == 0 ? "# prepared once from frozen arguments\n" : "# every call\n";
    out += exec::to_text(plans[i]);
  }
  return out;
}

}  // namespace sinter::inline SINTER_ABI
