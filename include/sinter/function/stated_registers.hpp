// SPDX-License-Identifier: MIT
// Of the instruction set that a plan file names, its registers: loops and layouts of schedules say
// how many elements are in one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sinter/exec/simd.hpp>
#include <sinter/function/plan_verification.hpp>
#include <sinter/plan/schedule.hpp>

namespace sinter::inline SINTER_ABI::detail {

class stated_registers {
 public:
  // Throws graph_error where there is no such instruction set.
  explicit stated_registers(std::string_view instructions) {
    xsimd::all_architectures::for_each([&](auto set) {
      using architecture = decltype(set);
      if (instructions == architecture::name()) bytes_ = architecture::alignment();
    });
    require_sound(bytes_ > 0, "build: there is no such instruction set");
  }

  // Throws graph_error where a schedule has registers of another width.
  void check(const planning::schedule& s) const {
    for (std::size_t b = 0; b < s.layouts.size(); ++b) {
      const planning::layout& l = s.layouts[b];
      const std::int64_t width = l.contiguous.empty() ? 1 : width_of(s.plan.buffers[b].type);
      require_sound(l.vector_width == width, "registers of the instruction set hold " +
                                                 std::to_string(width) + " elements of buffer " +
                                                 std::to_string(b));
    }
    for (const planning::schedule_item& item : s.items)
      for (const planning::iteration& it : item.iterations)
        for (const planning::loop& l : it.loops) check(l);
  }

 private:
  std::int64_t width_of(dtype type) const {
    const bool in_registers = type == dtype::f32 || type == dtype::f64;
    return in_registers ? static_cast<std::int64_t>(bytes_ / size_of(type)) : 1;
  }

  // Lanes are a register, or all of a piece that is shorter.
  void check(const planning::loop& l) const {
    const planning::loop_level& unit = l.levels[planning::loop::unit];
    if (unit.to != planning::mapped_to::lanes) return;
    const std::int64_t piece = l.levels[planning::loop::tile].step;
    require_sound(unit.step == std::min(width_of(dtype::f32), piece) ||
                      unit.step == std::min(width_of(dtype::f64), piece),
                  "a loop has other lanes than the registers of the instruction set");
  }

  std::size_t bytes_ = 0;
};

}  // namespace sinter::inline SINTER_ABI::detail
