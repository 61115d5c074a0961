// SPDX-License-Identifier: MIT
// The verifier of plan files: the traced graph is bound again to each class of shapes, and for each
// plan its schedules are compared with that, and everything else with the schedules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sinter/function/bound_class.hpp>
#include <sinter/function/code.hpp>
#include <sinter/function/plan_origin.hpp>
#include <sinter/function/plan_values.hpp>
#include <sinter/function/plan_verification.hpp>
#include <sinter/function/read_plan_file.hpp>
#include <sinter/function/stated_options.hpp>
#include <sinter/function/stated_registers.hpp>
#include <sinter/function/verify_rewrites.hpp>
#include <sinter/function/verify_tile_programs.hpp>
#include <sinter/graph/parse.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/plan/parse_schedule.hpp>
#include <sinter/plan/plan_of_graph.hpp>
#include <sinter/plan/print_schedule.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

class plan_verifier {
 public:
  plan_verifier(span<const ir::custom_op* const> customs, std::int64_t most_work)
      : customs_(customs), most_work_(most_work), code_(all_code()) {}

  plan_verification run(std::string_view text) {
    const plan_file file = plan_file_reader(text).read();
    const plan_origin here = this_origin();
    if (file.origin.version != here.version || file.origin.rules != here.rules)
      raise(io_error("verify_plan: the plans are of version " + file.origin.version +
                     " with other rules"));
    registers_.emplace(file.origin.build);
    for (const program_record& p : file.programs) check(p);
    return found_;
  }

 private:
  void check(const program_record& p) {
    const stated_options options(p);
    const ir::graph traced = ir::parse_graph(p.traced, customs_);
    require_sound(ir::to_text(traced) == p.traced, "the traced graph is not as it was written");
    std::size_t arguments = 0;
    for (int id = 0; id < traced.size(); ++id)
      if (traced[id].code == ir::op::argument)
        arguments = std::max(arguments, static_cast<std::size_t>(traced.attributes(id)[1]) + 1);
    for (const class_record& c : p.classes) {
      require_sound(arguments == c.shapes.size(), "there is one shape per argument");
      const ir::graph bound = bind_class(traced, c).graph;
      for (const ir::output& o : bound.outputs)
        require_sound(
            o.assigned_argument < 0 || !c.frozen[static_cast<std::size_t>(o.assigned_argument)],
            "a frozen argument is assigned");
      for (const plan_record& each : c.plans) check(bound, c.frozen, each, options);
    }
  }

  void check(const ir::graph& bound, const std::vector<bool>& frozen, const plan_record& p,
             const stated_options& options) {
    const std::vector<planning::schedule> schedules = schedules_of(bound, p);
    planning::plan replay = schedules.back().plan;
    replay.may_alias = p.may_alias;
    planning::require_plan_of(bound, schedules.back().symbols, replay,
                              schedules.size() > 1 ? schedules.front().plan : planning::plan{},
                              static_cast<int>(frozen.size()));
    std::size_t nests = 0, notes = 0;
    for (const planning::schedule& s : schedules)
      for (const planning::nest& n : s.plan.nests) ++nests, notes += 1 + n.parts.size();
    require_sound(p.notes.size() == notes, "there must be a note for every nest and part");
    options.check(p, schedules);
    for (const planning::schedule& s : schedules) registers_->check(s);

    const plan_values values = plan_computation(bound, schedules, most_work_).run();
    ++(values.known ? found_.computed : found_.too_large);
    found_.tile_programs += tile_program_verifier(bound, schedules, values).run(p, code_, customs_);
    rewrite_verifier(bound, schedules, values, most_work_, found_).run(p, frozen, customs_);
    ++found_.plans;
    found_.nests += nests;
  }

  // Those of the plan, which the parser has verified, if they are about the graph's outputs and for
  // extents of its class.
  std::vector<planning::schedule> schedules_of(const ir::graph& bound, const plan_record& p) const {
    std::vector<planning::schedule> out = planning::parse_schedules(p.schedules, customs_);
    std::string again;
    for (const planning::schedule& s : out) again += planning::to_text(s);
    require_sound(again == p.schedules, "the schedules are not as they were written");
    require_sound(
        !out.empty() && out.size() <= 2 && !out.back().once && (out.size() == 1 || out[0].once),
        "there must be a schedule of every call, and before it "
        "perhaps one of what is prepared");
    const planning::schedule& replay = out.back();
    const std::vector<std::int64_t>& symbols = replay.symbols;
    require_sound(out.front().symbols == symbols, "the schedules differ in extents");
    require_sound(symbols.size() + (symbols.empty() ? 1 : 0) >= bound.symbol_values.size() &&
                      ir::holds(bound, symbols),
                  "the extents are not of the class");
    std::vector<int> assigned;
    for (const ir::output& o : bound.outputs) assigned.push_back(o.assigned_argument);
    require_sound(replay.assigned == assigned, "outputs are assigned in another way");
    return out;
  }

  span<const ir::custom_op* const> customs_;
  std::int64_t most_work_;
  program_code code_;
  std::optional<stated_registers> registers_;
  plan_verification found_;
};

}  // namespace sinter::inline SINTER_ABI::detail
