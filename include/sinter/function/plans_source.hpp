// SPDX-License-Identifier: MIT
// Plans that a program gives out as records of a plan file, and takes back in another run. What is
// taken back is checked against the graph, the program's code and the rules for schedules and
// memory; what comes of it runs as if it had been planned here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sinter/exec/lowered_text.hpp>
#include <sinter/function/bound_class.hpp>
#include <sinter/function/fused_programs_source.hpp>
#include <sinter/function/graph_function_source.hpp>
#include <sinter/function/make_schedule.hpp>
#include <sinter/function/plan_origin.hpp>
#include <sinter/function/program_state.hpp>
#include <sinter/function/read_plan_file.hpp>
#include <sinter/function/write_rewrites.hpp>
#include <sinter/graph/print.hpp>
#include <sinter/plan/parse_schedule.hpp>
#include <sinter/plan/plan_of_graph.hpp>
#include <sinter/plan/print_schedule.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>
#include <sinter/support/text_file.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// Calls visit(nest) for the nests of a plan, and behind each for its parts.
template <class Plan, class Visit>
void for_each_nest(Plan& p, const Visit& visit) {
  for (auto& n : p.nests) {
    visit(n);
    for (auto& part : n.parts) visit(part);
  }
}

// Puts back into a plan that was read what its schedule does not say.
class plan_restorer {
 public:
  plan_restorer(const program_code& code, const plan_record& record)
      : code_(code), record_(record) {}

  void restore(planning::plan& p, double last_level_bytes) {
    p.last_level_bytes = last_level_bytes;
    for_each_nest(p, [this](planning::nest& n) {
      if (next_ == record_.notes.size()) raise(graph_error("a nest has no note"));
      n.enodes = record_.notes[next_].enodes;
      n.label = record_.notes[next_].label;
      ++next_;
    });
    for (planning::nest& n : p.nests)
      planning::for_each_step(n, [this](planning::step& s) {
        if (s.fused != nullptr) s.fused = find(s.fused->structure);
      });
  }
  void require_all_used() const {
    if (next_ != record_.notes.size()) raise(graph_error("there are more notes than nests"));
  }

 private:
  // Of equals the first is taken, as matching does.
  const ir::instruction* find(const ir::region& structure) const {
    for (const ir::instruction& each : code_.instructions)
      if (each.structure == structure) return &each;
    raise(graph_error("the program has no such superinstruction"));
  }

  const program_code& code_;
  const plan_record& record_;
  std::size_t next_ = 0;
};

}  // namespace detail

SINTER_INLINE detail::program_record program::empty_record() const {
  detail::program_record out;
  out.traced = ir::to_text(traced_);
  out.code = detail::digest_of(code_.instructions, traced_.customs);
  out.options = detail::options_text(options_);
  out.machine = detail::machine_line(options_.machine);
  return out;
}

SINTER_INLINE detail::plan_record program::record_of(
    const detail::bucket& b, span<const planning::schedule> schedules) const {
  const planning::planned& made = b.planned;
  detail::plan_record out;
  out.cost = made.plan.cost;
  out.cost_bound = made.plan.cost_bound;
  out.candidates = made.candidates;
  out.goals = made.goals;
  out.chosen = made.chosen;
  out.budget = made.budget;
  out.may_alias = made.plan.may_alias;
  const auto note = [&](const planning::nest& n) { out.notes.push_back({n.enodes, n.label}); };
  if (schedules.size() > 1) detail::for_each_nest(made.preparation, note);
  detail::for_each_nest(made.plan, note);
  for (const planning::schedule& each : schedules) out.schedules += planning::to_text(each);
  return out;
}

SINTER_INLINE detail::program_record program::saved_plans() const {
  const std::scoped_lock lock(mutex_);
  detail::program_record out = empty_record();
  for (const auto& c : classes_) {
    detail::class_record own{c->shapes, c->frozen, ir::to_text(c->bound), {}};
    for (const auto& b : c->buckets) {
      const auto schedule = [&](const planning::plan& p, span<const int> assigned) {
        return detail::make_schedule(p, code_.kernels, b->symbols, {}, assigned);
      };
      std::vector<planning::schedule> schedules;
      if (b->preparation) schedules.push_back(schedule(b->planned.preparation, {}));
      schedules.push_back(schedule(b->planned.plan, assigned_));
      own.plans.push_back(record_of(*b, schedules));
    }
    out.classes.push_back(std::move(own));
  }
  return out;
}

// Saturates once more. None where the clock stopped the saturation, which need not come out the
// same again.
SINTER_INLINE std::string program::rewrites_text(const detail::shape_class& c,
                                                 const detail::bucket& b) const {
  if (c.report.out_of_time()) return "";
  ir::graph bound = c.bound;
  bound.guards.resize(c.binding_guards);
  const ir::fixed_inputs fixed(bound, c.frozen);
  detail::nest_history history(bound, fixed, detail::saturation_options(options_),
                               code_.instructions);
  detail::rewrite_writer writer(history, bound, fixed, code_.instructions);
  const auto add = [&](const planning::nest& n) {
    for (eqsat::node_id node : n.enodes)
      if (node >= history.graph().node_id_end())
        raise(graph_error("export_plan: a nest has an unknown e-node"));
    writer.add(n);
  };
  if (b.preparation) detail::for_each_nest(b.planned.preparation, add);
  detail::for_each_nest(b.planned.plan, add);
  return to_text(writer.take());
}

SINTER_INLINE std::string program::export_plan(const prepared_call& call,
                                               span<const detail::argument_memory> arguments,
                                               span<const std::int64_t> symbols) const {
  const detail::shape_class& c = *call.ready_->shapes;
  detail::plan_record plan = record_of(*call.ready_->plan, schedules(call, arguments, symbols));
  for (const exec::lowered_plan& each : lowered(call, arguments, symbols))
    plan.tile_programs.push_back(exec::to_text(each));
  plan.rewrites = rewrites_text(c, *call.ready_->plan);
  detail::program_record record = empty_record();
  record.classes.push_back({c.shapes, c.frozen, ir::to_text(c.bound), {std::move(plan)}});
  return detail::plan_file_writer().write({detail::this_origin(), {std::move(record)}});
}

SINTER_INLINE std::shared_ptr<detail::bucket> program::loaded_bucket(
    detail::shape_class& c, const detail::plan_record& record) const {
  auto out = std::make_shared<detail::bucket>();
  std::vector<planning::schedule> schedules =
      planning::parse_schedules(record.schedules, traced_.customs);
  if (schedules.empty() || schedules.size() > 2 || schedules.back().once ||
      (schedules.size() == 2 && !schedules.front().once))
    raise(
        graph_error("there must be a schedule of every call, and before it perhaps one of what "
                    "is prepared once"));
  planning::planned& made = out->planned;
  out->symbols = schedules.back().symbols;
  out->corner = planning::bucket_corner(c.bound.dims, out->symbols);
  detail::plan_restorer notes(code_, record);
  if (schedules.size() == 2) {
    if (schedules.front().symbols != out->symbols)
      raise(graph_error("schedules differ in extents"));
    made.preparation = std::move(schedules.front().plan);
    notes.restore(made.preparation, options_.machine.last_level_bytes);
  }
  made.plan = std::move(schedules.back().plan);
  notes.restore(made.plan, options_.machine.last_level_bytes);
  notes.require_all_used();
  made.plan.cost = record.cost;
  made.plan.cost_bound = record.cost_bound;
  made.plan.may_alias = record.may_alias;
  made.budget = record.budget;
  made.candidates = record.candidates;
  made.goals = record.goals;
  made.chosen = record.chosen;
  made.may_outgrow =
      planning::has_computed_extents(made.plan) || planning::has_computed_extents(made.preparation);
  if (schedules.back().assigned != assigned_) raise(graph_error("other outputs are assigned"));
  planning::require_plan_of(c.bound, out->symbols, made.plan, made.preparation, arguments_);
  out->preparation = preparation_for(c, made.preparation);
  return out;
}

SINTER_INLINE std::shared_ptr<detail::shape_class> program::loaded_class(
    const detail::class_record& record) const {
  if (record.shapes.size() != static_cast<std::size_t>(arguments_))
    raise(graph_error("there are " + std::to_string(record.shapes.size()) +
                      " arguments where the function has " + std::to_string(arguments_)));
  auto out = std::make_shared<detail::shape_class>();
  out->loaded = true;
  out->shapes = record.shapes;
  out->frozen = record.frozen;
  detail::bound_class made = detail::bind_class(traced_, record);
  out->bound = std::move(made.graph);
  out->binding_guards = made.binding_guards;
  for (const detail::plan_record& each : record.plans) {
    out->buckets.push_back(loaded_bucket(*out, each));
    if (!ir::holds(out->bound, out->buckets.back()->symbols))
      raise(graph_error("a plan is for extents of another class"));
  }
  return out;
}

SINTER_INLINE std::size_t program::load_plans(const detail::plan_file& file) {
  std::vector<std::shared_ptr<detail::shape_class>> made;
  const detail::program_record own = empty_record();
  for (const detail::program_record& each : file.programs) {
    if (each.traced != own.traced) continue;
    if (each.code != own.code || each.options != own.options || each.machine != own.machine)
      raise(
          io_error("load_plans: the plans were made with other "
                   "superinstructions or options"));
    std::optional<io_error> damage;  // which says by itself what it is about
    const auto load = [&] {
      for (const detail::class_record& c : each.classes) made.push_back(loaded_class(c));
    };
    attempt<error>(
        [&] { attempt<io_error>(load, [&](const io_error& e) { damage = e; }); },
        [&](const error& e) {
          damage = io_error(std::string("load_plans: the file holds no plan of this function: ") +
                            e.what());
        });
    if (damage) raise(*damage);
  }
  std::size_t plans = 0;
  const std::scoped_lock lock(mutex_);
  for (auto& each : made) {
    if (each->buckets.empty()) continue;
    plans += each->buckets.size();
    for (const auto& b : each->buckets) b->last_use = ++clock_;
    each->last_use = ++clock_;
    keep(classes_, std::move(each), options_.keep.classes);
  }
  statistics_.loaded += plans;
  return plans;
}

SINTER_INLINE std::string graph_function::export_plan(span<const graph_argument> arguments) const {
  call c(*state_, arguments);
  return state_->program->export_plan(c.prepared, c.memory, c.symbols);
}

SINTER_INLINE void graph_function::save_plans(const std::string& path) const {
  const program* const own = state_->program.get();
  detail::save_plans(path, span(&own, 1));
}

SINTER_INLINE void graph_function::load_plans(const std::string& path) const {
  if (state_->program->load_plans(*detail::read_plans(path, state_->program->options())) == 0)
    raise(io_error("load_plans: " + path + " has no plan of this graph"));
}

namespace detail {

SINTER_INLINE void fused_programs::save_plans(const std::string& path) const {
  std::vector<const program*> programs;
  state_->for_each([&](const program& each) { programs.push_back(&each); });
  detail::save_plans(path, programs);
}

SINTER_INLINE void fused_programs::load_plans(const std::string& path, const program_recipe* like) {
  const std::shared_ptr<const plan_file> file = read_plans(path, state_->options);
  const auto take = [](program& p, const plan_file& from) { return p.load_plans(from); };
  program* const wanted = like != nullptr ? &of(*like) : nullptr;
  if (wanted != nullptr && take(*wanted, *file) == 0)
    raise(io_error("load_plans: " + path + " has no plan of this function"));
  state_->for_each([&](program& each) {
    if (&each != wanted) take(each, *file);
  });
  const std::scoped_lock lock(state_->mutex);
  state_->plans = file;
  state_->take_plans = take;
}

SINTER_INLINE void save_plans(const std::string& path, span<const program* const> programs) {
  plan_file file{this_origin(), {}};
  for (const program* each : programs) file.programs.push_back(each->saved_plans());
  if (!replace_text_file(path, plan_file_writer().write(file)))
    raise(io_error("save_plans: cannot write " + path));
}

SINTER_INLINE std::shared_ptr<const plan_file> read_plans(const std::string& path,
                                                          const program_options& options) {
  const std::optional<std::string> text = read_text_file(path);
  if (!text) raise(io_error("load_plans: cannot read " + path));
  using loaded = std::shared_ptr<const plan_file>;
  loaded out = attempt<io_error>(
      [&]() -> loaded { return std::make_shared<const plan_file>(plan_file_reader(*text).read()); },
      [&](const io_error& e) -> loaded {
        raise(io_error("load_plans: " + path + ": " + e.what()));
      });
  const auto require = [&](const std::string& saved, const std::string& here,
                           std::string_view what) {
    if (saved != here)
      raise(io_error("load_plans: " + path + " was saved with " + std::string(what) + " '" + saved +
                     "', here it is '" + here + "'"));
  };
  const plan_origin here = this_origin();
  require(out->origin.version, here.version, "version");
  require(out->origin.rules, here.rules, "rules");
  require(out->origin.build, here.build, "instruction set");
  require(out->origin.processor, here.processor, "processor");
  for (const program_record& each : out->programs) {
    require(each.options, options_text(options), "options");
    require(each.machine, machine_line(options.machine), "machine");
  }
  return out;
}

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
