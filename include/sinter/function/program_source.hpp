// SPDX-License-Identifier: MIT
// What a program does: binds its graph to a class of shapes, saturates, plans, runs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sinter/exec/executor.hpp>
#include <sinter/function/call_timeline.hpp>
#include <sinter/function/call_times.hpp>
#include <sinter/function/prepared.hpp>
#include <sinter/function/program.hpp>
#include <sinter/function/program_state.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/plan/instructions.hpp>
#include <sinter/plan/planner_source.hpp>
#include <sinter/rules/saturate_source.hpp>
#include <sinter/support/debug.hpp>
#include <sinter/support/error.hpp>
#include <sinter/support/span.hpp>
#include <sinter/support/steady_time.hpp>
#include <sinter/support/timeline_file.hpp>

namespace sinter::inline SINTER_ABI {

namespace detail {

// In debug_report.hpp, which needs the program.
struct debug_report {
  static void of_trace(int function, const ir::graph& traced);
  static void of_class(int function, std::size_t number, const shape_class& c);
  static void of_plan(int function, std::size_t number, const shape_class& c, const bucket& b,
                      span<const std::int64_t> symbols);
  static void of_preparation(int function, const prepared_values& made);
};

inline span<std::byte* const> kept_values(const std::shared_ptr<const prepared_values>& kept) {
  return kept ? span<std::byte* const>(kept->values) : span<std::byte* const>{};
}

// Would a call with these arguments run on what is ready? The same extents are of the same class
// and bucket.
inline bool repeats(const ready_call& last, span<const argument_memory> arguments,
                    span<const std::int64_t> symbols) {
  if (!last.executor || !(**last.executor).is_bound_to(symbols, arguments) ||
      !last.shapes->freezes(arguments) || (last.kept && !last.kept->is_of(arguments)))
    return false;
#ifndef NDEBUG
  if (last.kept) last.kept->check_promises(arguments);
#endif
  return true;
}

SINTER_INLINE tracing::tracing() : begin_(timeline::on() ? steady_nanoseconds() : -1) {}

SINTER_INLINE tracing::~tracing() {
  if (begin_ >= 0)
    timeline::add(timeline::recorder::instance().keep({"trace", "planning", ""}), begin_,
                  steady_nanoseconds());
}

}  // namespace detail

SINTER_INLINE program::program(ir::graph traced, program_code code, program_options options)
    : traced_(std::move(traced)), code_(std::move(code)), options_(std::move(options)) {
  ir::verify(traced_);
  if (!options_.superinstructions) code_.instructions.clear();
  for (int id = 0; id < traced_.size(); ++id)
    if (traced_[id].code == ir::op::argument)
      arguments_ = std::max(arguments_, static_cast<int>(traced_.attributes(id)[1]) + 1);
  for (const ir::output& o : traced_.outputs) assigned_.push_back(o.assigned_argument);
  if (timeline::on()) timeline::file_at_exit::start();
  if (debug::active() != 0) {
    number_ = debug::next_function();
    detail::debug_report::of_trace(number_, traced_);
  }
}

SINTER_INLINE program::~program() = default;

namespace detail {

// An instruction, and what another one of its structure can do that it cannot.
SINTER_INLINE ir::instruction with_functions_of(ir::instruction mine,
                                                const ir::instruction& other) {
  const auto fill = [](auto& function, auto from) {
    if (function == nullptr) function = from;
  };
  fill(mine.sum, other.sum);
  fill(mine.max, other.max);
  fill(mine.column_sum, other.column_sum);
  fill(mine.column_max, other.column_max);
  fill(mine.run_rows, other.run_rows);
  if (mine.overlapped == nullptr) mine.overlapped = other.overlapped, mine.behind = other.behind;
  return mine;
}

SINTER_INLINE std::shared_ptr<program> make_program(ir::graph traced,
                                                    span<const ir::instruction> own,
                                                    program_code (*library)(),
                                                    program_options options) {
  program_code code = library();
  // Each structure once: plans choose among few forms of a value. The function's own instruction
  // has the reductions that follow in it; the library knows which regions are norms.
  std::vector<ir::instruction> instructions(own.begin(), own.end());
  for (const ir::instruction& known : code.instructions) {
    const auto twin = std::find_if(
        instructions.begin(), instructions.end(),
        [&](const ir::instruction& mine) { return mine.structure == known.structure; });
    if (twin == instructions.end())
      instructions.push_back(known);
    else
      *twin = with_functions_of(*twin, known);
  }
  code.instructions = std::move(instructions);
  return std::make_shared<program>(std::move(traced), std::move(code), std::move(options));
}

}  // namespace detail

SINTER_INLINE program::prepared_call::prepared_call(program& owner,
                                                    span<const detail::argument_memory> arguments,
                                                    span<const std::int64_t> symbols)
    : owner_(owner), place_(owner.places_[detail::thread_number() % owner.places_.size()]) {
  if (place_ && detail::repeats(place_->ready(), arguments, symbols)) {
    ready_ = &place_->ready();
    place_->count_hit();
    return;
  }
  for (int a : owner.assigned_)
    if (a >= 0 && arguments[static_cast<std::size_t>(a)].is_frozen)
      raise(graph_error("assign: argument " + std::to_string(a) +
                        " is frozen; expected an argument that may change"));
  detail::ready_call found = find(arguments, symbols);
  // A class that is for this call alone is not for the next one.
  const bool stays = place_ && !found.shapes->report.out_of_time();
  ready_ = &(stays ? place_->ready() : own_.emplace());
  *ready_ = std::move(found);
}

SINTER_INLINE detail::ready_call program::prepared_call::find(
    span<const detail::argument_memory> arguments, span<const std::int64_t> symbols) {
  detail::ready_call found;
  {
    const std::scoped_lock lock(owner_.mutex_);
    if (place_) owner_.clear(*place_);
    program_statistics& counts = owner_.statistics_;
    const std::size_t extractions = counts.extractions;
    found.shapes = owner_.class_of(arguments, symbols);
    found.plan = owner_.bucket_of(*found.shapes, symbols);
    found.shapes->last_use = found.plan->last_use = ++owner_.clock_;
    ++(extractions == counts.extractions ? counts.hits : counts.misses);
    if (found.plan->preparation) found.kept = owner_.values_for(*found.plan, arguments, symbols);
    found.executor = found.plan->idle.pop();
  }
  if (!found.executor)
    found.executor = std::make_unique<detail::counted_executor>(
        found.plan->planned.plan, owner_.code_.kernels, owner_.arena_bytes_);
  const timeline::span step("bind executor");
  found.executor->bind(found.shapes->bound, arguments, symbols);
  return found;
}

SINTER_INLINE program::prepared_call::~prepared_call() {
  if (!own_) return;
  const std::scoped_lock lock(owner_.mutex_);
  owner_.give_back(*own_);
}

// Under the lock. The executor waits for another call. Allocates nothing: calls end here.
SINTER_INLINE void program::give_back(detail::ready_call& call) {
  detail::idle_executors& idle = call.plan->idle;
  if (idle.size() >= std::max<std::size_t>(1, options_.keep.executors)) {
    idle.drop_oldest();
    ++statistics_.evictions;
  }
  idle.push(std::move(call.executor));
  call = {};
}

// Under the lock, of a place that this thread has taken.
SINTER_INLINE void program::clear(detail::last_call& place) {
  detail::ready_call& call = place.ready();
  if (!call.executor) return;
  if (place.take_used()) call.shapes->last_use = call.plan->last_use = ++clock_;
  give_back(call);
}

// Under the lock: so that what is about to go is not kept by a thread that does not call any more.
// What a call is using just now goes with that thread's next call of another kind.
SINTER_INLINE void program::clear_places() {
  for (detail::last_call& each : places_)
    if (const detail::taken_place taken(each); taken) clear(each);
}

SINTER_INLINE program_statistics program::statistics() const {
  const std::scoped_lock lock(mutex_);
  program_statistics out = statistics_;
  out.calls = calls_.load(std::memory_order_relaxed);
  for (const detail::last_call& each : places_) {
    out.calls += each.calls();
    out.hits += each.hits();
  }
  out.arena_bytes = arena_bytes_.load(std::memory_order_relaxed);
  for (const auto& each : classes_) out.plans += each->buckets.size();
  return out;
}

// Adds to what is kept; what was used least recently makes room.
template <class T>
std::shared_ptr<T> program::keep(std::vector<std::shared_ptr<T>>& kept, std::shared_ptr<T> made,
                                 std::size_t limit) {
  if (kept.size() >= std::max<std::size_t>(1, limit)) {
    clear_places();
    kept.erase(std::ranges::min_element(kept, {}, [](const auto& each) { return each->last_use; }));
    ++statistics_.evictions;
  }
  kept.push_back(made);
  return made;
}

SINTER_INLINE const shape_vector& program::prepared_call::output_shape(int k) const {
  return ready_->executor->output_shapes()[static_cast<std::size_t>(k)];
}

SINTER_INLINE dtype program::prepared_call::output_type(int k) const {
  const ir::graph& g = ready_->shapes->bound;
  return g[g.outputs[static_cast<std::size_t>(k)].node].type;
}

SINTER_INLINE const planning::plan& program::prepared_call::plan() const {
  return ready_->plan->planned.plan;
}

SINTER_INLINE const planning::budget_report& program::prepared_call::budget() const {
  return ready_->plan->planned.budget;
}

SINTER_INLINE void program::run(prepared_call& call, span<const detail::argument_memory> arguments,
                                span<const detail::output_memory> outputs) {
  check_overlaps(call, arguments, outputs);
  if (call.place_)
    call.place_->count_call();
  else
    calls_.fetch_add(1, std::memory_order_relaxed);
  if ((debug::active() & detail::timed_calls) != 0) return run_timed(call, arguments, outputs);
  (**call.ready_->executor).run(arguments, outputs, detail::kept_values(call.ready_->kept));
}

SINTER_INLINE void program::run_timed(prepared_call& call,
                                      span<const detail::argument_memory> arguments,
                                      span<const detail::output_memory> outputs) {
  detail::bucket& b = *call.ready_->plan;
  std::vector<double> nests(b.planned.plan.nests.size());
  double total = 0;
  {
    detail::nest_clock clock(nests, b.labels ? &*b.labels : nullptr);
    (**call.ready_->executor)
        .run(arguments, outputs, detail::kept_values(call.ready_->kept), clock);
    total = clock.total();
  }
  if (!debug::on(debug::topic::time)) return;
  detail::call_times& all = detail::call_times::instance();
  {
    const std::scoped_lock lock(mutex_);
    if (!b.times)
      b.times =
          all.start("function " + std::to_string(number_) + ", plan " + std::to_string(b.number),
                    b.planned.plan);
  }
  all.add(*b.times, nests, total);
}

SINTER_INLINE std::shared_ptr<detail::shape_class> program::class_of(
    span<const detail::argument_memory> arguments, span<const std::int64_t> symbols) {
  for (const auto& each : classes_)
    if (each->is_of(arguments, symbols) &&
        (!each->loaded || detail::find_bucket(*each, symbols) != nullptr))
      return each;
  auto made = std::make_shared<detail::shape_class>();
  for (const detail::argument_memory& a : arguments) {
    made->shapes.push_back(a.shape);
    made->frozen.push_back(a.is_frozen);
  }
  timeline::span step("function " + std::to_string(number_) + ": class of shapes");
  timeline::span binding("bind");
  made->bound = ir::bind(traced_, made->shapes);
  binding.note("nodes", static_cast<std::size_t>(made->bound.size()));
  binding.end();
  ++statistics_.saturations;
  saturate(*made);
  detail::debug_report::of_class(number_, statistics_.saturations, *made);
  if (made->report.out_of_time()) return made;  // for this call alone
  return keep(classes_, std::move(made), options_.keep.classes);
}

SINTER_INLINE void program::saturate(detail::shape_class& c) const {
  timeline::span step("saturate");
  c.saturated.language().fixed() = detail::fix_inputs(c);
  c.outputs = rules::load(c.saturated, c.bound);
  c.traced_nodes = c.saturated.node_count();
  c.report = rules::saturate(c.saturated, detail::saturation_options(options_));
  step.end();
  timeline::span matching("superinstructions");
  c.fused_nodes = planning::add_instructions(c.saturated, code_.instructions);
  matching.end();
  // Binding's guards, and behind them what rules had to assume: that restricts the class further.
  const ir::graph& terms = c.saturated.language().terms();
  c.bound.guards = terms.guards;
  c.bound.dims = terms.dims;
}

SINTER_INLINE std::shared_ptr<detail::bucket> program::bucket_of(detail::shape_class& c,
                                                                 span<const std::int64_t> symbols) {
  if (auto known = detail::find_bucket(c, symbols)) return known;
  const timeline::span step("function " + std::to_string(number_) + ": plan");
  auto made = std::make_shared<detail::bucket>();
  made->symbols.assign(symbols.begin(), symbols.end());
  made->corner = planning::bucket_corner(c.bound.dims, symbols);
  ++statistics_.extractions;
  made->planned = planning::make_plan(c.saturated, symbols, c.outputs, assigned_, arguments_,
                                      code_.instructions,
                                      {.reassociate = options_.reassociate,
                                       .memory_budget = options_.memory_budget,
                                       .extraction_work = options_.extraction_work,
                                       .machine = options_.machine,
                                       .nests = options_.nests});
  made->preparation = preparation_for(c, made->planned.preparation);
  made->number = statistics_.extractions;
  if (timeline::on())
    made->labels.emplace("function " + std::to_string(number_), number_, made->number,
                         made->planned.plan, symbols);
  detail::debug_report::of_plan(number_, made->number, c, *made, symbols);
  made = keep(c.buckets, std::move(made), options_.keep.buckets);
  // What only a plan used that has gone, goes with it: here and in `made` that is two users.
  std::erase_if(c.preparations, [](const auto& each) { return each.use_count() == 1; });
  return made;
}

// Under the lock. Of equal preparing parts a class keeps one.
SINTER_INLINE std::shared_ptr<detail::preparation> program::preparation_for(
    detail::shape_class& c, const planning::plan& p) const {
  if (p.nests.empty()) return nullptr;
  for (const auto& each : c.preparations)
    if (each->plan() == p) return each;
  c.preparations.push_back(std::make_shared<detail::preparation>(p, options_.keep.prepared));
  return c.preparations.back();
}

// Under the lock, as planning is: who comes meanwhile waits, and finds the values.
SINTER_INLINE std::shared_ptr<const detail::prepared_values> program::values_for(
    detail::bucket& b, span<const detail::argument_memory> arguments,
    span<const std::int64_t> symbols) {
  detail::preparation& own = *b.preparation;
  if (auto known = own.find(arguments)) {
#ifndef NDEBUG
    known->check_promises(arguments);
#endif
    return known;
  }
  // First, so that old and new values are not in memory at once.
  clear_places();
  own.drop_stale(arguments);
  ++statistics_.preparations;
  auto made = std::make_shared<detail::prepared_values>(own.plan(), arguments, symbols);
  exec::executor executor(own.plan(), code_.kernels);
  executor.bind(symbols, arguments);
  std::optional<detail::plan_labels> labels;
  if (timeline::on())
    labels.emplace("function " + std::to_string(number_) + ": prepare", number_, b.number,
                   own.plan(), symbols);
  {
    detail::nest_clock clock(made->nanoseconds, labels ? &*labels : nullptr);
    executor.run(arguments, span<const detail::output_memory>{}, made->values, clock);
  }
  detail::debug_report::of_preparation(number_, *made);
  statistics_.evictions += own.keep(made);
  return made;
}

// An output may be the memory of an argument only where the plan reads every element before it is
// written over.
SINTER_INLINE void program::check_overlaps(const prepared_call& call,
                                           span<const detail::argument_memory> arguments,
                                           span<const detail::output_memory> outputs) const {
  struct region {
    std::uintptr_t first, last;
    bool meets(const region& other) const {
      return first < last && other.first < other.last && first < other.last && other.first < last;
    }
  };
  const auto written = [](const detail::output_memory& o) {
    const auto at = reinterpret_cast<std::uintptr_t>(o.data);
    return region{at, at + o.bytes};
  };
  const auto read = [](const detail::argument_memory& a) {
    const auto at = reinterpret_cast<std::uintptr_t>(a.data);
    return region{at - a.bytes_before, at + a.bytes};
  };
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const region own = written(outputs[o]);
    for (std::size_t other = o + 1; other < outputs.size(); ++other)
      if (own.meets(written(outputs[other])))
        raise(alias_error("into: outputs " + std::to_string(o) + " and " + std::to_string(other) +
                          " overlap"));
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      if (!own.meets(read(arguments[a])) || assigned_[o] == static_cast<int>(a)) continue;
      if (arguments[a].is_frozen)
        raise(alias_error("into: output " + std::to_string(o) + " overlaps argument " +
                          std::to_string(a) + ", which is frozen; expected separate memory"));
      // Element by element in the same place: not so for the transposed view of a matrix.
      const bool same = outputs[o].data == arguments[a].data &&
                        outputs[o].bytes == arguments[a].bytes && assigned_[o] < 0 &&
                        arguments[a].strides == row_major_strides(arguments[a].shape);
      if (same && call.plan().may_alias[o * static_cast<std::size_t>(arguments_) + a]) continue;
      raise(alias_error(
          "into: output " + std::to_string(o) + " overlaps argument " + std::to_string(a) +
          ", which is still read when the output is written; expected separate memory"));
    }
  }
}

}  // namespace sinter::inline SINTER_ABI
