// SPDX-License-Identifier: MIT
// The lines of a plan file that say what a plan was made with: options and machine, read again, and
// what they rule out in a plan.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/function/plan_file.hpp>
#include <sinter/function/plan_origin.hpp>
#include <sinter/function/plan_verification.hpp>
#include <sinter/plan/candidate_cost.hpp>
#include <sinter/plan/machine_text.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/support/line_reader.hpp>

namespace sinter::inline SINTER_ABI::detail {

class stated_options {
 public:
  // Throws graph_error unless these are the lines of a program record.
  explicit stated_options(const program_record& p) {
    const line_reader<graph_error> in({}, "verify_plan, options");
    std::string_view left = p.options;
    for (const auto& [name, set] : switches_of(options_)) {
      *set = !left.starts_with("no ");
      if (!*set) in.take(left, "no ");
      in.take(left, name);
      in.take(left, ", ");
    }
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    in.take(left, "budget ");
    options_.memory_budget = in.number<std::size_t>(left, 0, most);
    in.take(left, ", work ");
    options_.extraction_work = in.number<std::size_t>(left, 0, most);
    if (!left.empty()) {
      in.take(left, ", without ");
      in.only_number<std::uint64_t>(left, 16);
    }
    left = p.machine;
    for (const auto& [name, field] : planning::machine_fields) {
      if (name != planning::machine_fields.front().first) in.take(left, ", ");
      in.take(left, name);
      in.take(left, " ");
      machine_.*field = in.real(left);
      require_sound(machine_.*field > 0, "machine: a figure is not positive");
    }
    require_sound(machine_line(machine_) == p.machine, "machine: not as it was written");
  }

  // Throws graph_error where a plan has what the options rule out, or another cost than its nests.
  void check(const plan_record& p, const std::vector<planning::schedule>& schedules) const {
    for (const planning::schedule& s : schedules)
      for (const planning::nest& n : s.plan.nests) {
        check_kind(n);
        for (const planning::nest& part : n.parts) check_kind(part);
        planning::for_each_step(n, [&](const planning::step& each) {
          require_sound(options_.superinstructions || each.fused == nullptr,
                        "options: superinstructions are switched off");
        });
      }
    check_budget(p, schedules.back().plan.arena_bytes);
    check_cost(p, schedules);
    for (int each : p.chosen)
      require_sound(static_cast<std::size_t>(each) < p.candidates,
                    "chosen: no such nest was considered");
  }

 private:
  void check_kind(const planning::nest& n) const {
    using enum planning::nest_kind;
    const auto require = [](bool holds, const char* what) {
      require_sound(holds, std::string("options: ") + what + " nests are switched off");
    };
    require(n.kind != streamed || (options_.nests.streamed && options_.reassociate), "streamed");
    require(n.kind != grouped || options_.nests.grouped, "grouped");
    require(!n.winograd || options_.nests.winograd, "winograd");
    require(
        planning::second_of_pair(n) == nullptr || (options_.nests.moments && options_.reassociate),
        "moments");
    require(std::ranges::none_of(n.stores, &planning::store::summed) || options_.nests.sums,
            "sums");
    require(std::ranges::all_of(n.pieces, planning::is_copied) || options_.nests.pieces, "pieces");
  }

  void check_budget(const plan_record& p, std::size_t arena_bytes) const {
    const planning::budget_report& b = p.budget;
    require_sound(b.budget == options_.memory_budget, "budget: another one than the options'");
    require_sound(b.met == (options_.memory_budget == 0 || arena_bytes <= options_.memory_budget),
                  "budget: whether it is met is stated wrongly");
    require_sound(arena_bytes <= b.unlimited || !b.met || options_.memory_budget == 0,
                  "budget: the arena is larger than without one");
    if (b.plans != 1)
      return require_sound(options_.memory_budget != 0, "budget: there is none to search for");
    require_sound(b.unlimited == arena_bytes && b.epochs == 1 && b.recomputed == 0 && b.price == 0,
                  "budget: of the first plan, it says something else");
  }

  // Every call pays for the nests that it runs, and for its part of what is prepared. Of a packed
  // matrix the launch is not counted, and a copy into an output not at all.
  void check_cost(const plan_record& p, const std::vector<planning::schedule>& schedules) const {
    require_sound(p.cost_bound <= p.cost * (1 + 1e-9), "the bound is above the cost");
    double takes = 0, copies = 0, slack = 0;
    for (const planning::schedule& s : schedules)
      for (const planning::nest& n : s.plan.nests) {
        const bool packs = n.kind == planning::nest_kind::pack;
        const double own = n.predicted_nanoseconds - (packs ? machine_.launch : 0);
        slack += 1e-3 + 1e-9 * own;  // costs are rounded: planning::rounded_cost
        takes += s.once || packs ? own / planning::calls_per_preparation : own;
        if (n.kind == planning::nest_kind::tile && n.body.size() == 1) copies += own;
      }
    require_sound(p.cost <= takes + slack && p.cost >= takes - copies - slack,
                  "the cost is not that of the nests");
  }

  program_options options_;
  planning::machine machine_;
};

}  // namespace sinter::inline SINTER_ABI::detail
