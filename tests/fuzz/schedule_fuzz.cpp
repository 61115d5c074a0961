// SPDX-License-Identifier: MIT
// Schedules as text: what is read prints as a text that is read as the same schedules.
#include <vector>

#include "fuzz.hpp"
#include <sinter/plan/parse_schedule.hpp>
#include <sinter/plan/print_schedule.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::read_or_refuse([&] {
    const auto all = sinter::planning::parse_schedules(fuzz::text_of(data, size));
    try {
      for (const auto& each : all)
        fuzz::require(sinter::planning::parse_schedule(sinter::planning::to_text(each)) == each,
                      "another schedule is read back");
    } catch (const sinter::error& e) {
      fuzz::require(false, e.what());
    }
  });
  return 0;
}
