// SPDX-License-Identifier: MIT
// The narrow waist. A program is a traced function with all that was found out about it: a
// saturated e-graph per shape class, a plan per bucket of extents, an executor per concurrent call.
// Nothing here is a template over user types: traced graph in, plan out, pointers through. What it
// is made of (binding, rules, planning, running, reports) is in program_source.hpp, which a program
// of several translation units may compile once: see support/separate.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sinter/exec/kernel_table.hpp>
#include <sinter/function/last_call.hpp>
#include <sinter/graph/graph.hpp>
#include <sinter/graph/region.hpp>
#include <sinter/plan/machine.hpp>
#include <sinter/plan/nest_policy.hpp>
#include <sinter/support/separate.hpp>
#include <sinter/support/span.hpp>
#include <sinter/tensor/contents.hpp>
#include <sinter/tensor/extents.hpp>

namespace sinter::inline SINTER_ABI {

/// How much a function keeps. Where it is full, what was used least recently goes, and is made
/// again when it is needed. Numbers below 1 count as 1.
struct cache_limits {
  /// Classes of shapes, each with a saturated e-graph: 16 cover four dynamic extents in every
  /// combination of one and not one.
  std::size_t classes = 16;
  /// Plans per class: 64 cover two extents in eight powers of two each.
  std::size_t buckets = 64;
  /// Executors per plan that wait for a call, each with an arena: as many as threads that call at
  /// one time. (Beside them, of each of up to eight threads, the one that it used last.)
  std::size_t executors = 64;
  /// Sets of values computed from frozen arguments, per plan: as many layers may call one function.
  std::size_t prepared = 256;

  friend bool operator==(const cache_limits&, const cache_limits&) = default;
};

/// What a program may do to a graph, and how much it may spend on it.
struct program_options {
  /// false: only rules that keep every bit of the result.
  bool reassociate = true;
  /// Rules that are switched off, by name.
  std::vector<std::string> disabled_rules{};
  /// Superinstructions of the traced function and of the library; without them everything runs on
  /// micro-ops.
  bool superinstructions = true;
  /// Bytes that intermediate values may take at one time (the arena, for the largest extents of a
  /// plan's bucket; not the scratch memory of the nests); 0: no limit. What does not fit is
  /// computed again where it is read (a training step: activations, during backward propagation);
  /// of the plans tried, at most 48, the cheapest that fits runs. A budget that cannot be met is no
  /// error: the smallest plan found runs, and `explain` says so.
  std::size_t memory_budget = 0;
  /// How hard to search for the cheapest nests, in entries of lists touched, some 10 ns each; 0: by
  /// their number, 2 million and more. That proves training steps of up to 100 ops optimal, and
  /// larger ones within some 1 % of it; `explain` says how far. 20 million prove a training step of
  /// 300 ops. The same work gives the same plan on every machine.
  std::size_t extraction_work = 0;
  /// The machine that costs are predicted for. With the nominal one a function has the same plan
  /// everywhere; `calibrated_machine()` (function/calibration.hpp) is the one at hand.
  planning::machine machine = planning::nominal_machine;
  /// Kinds of fusion that may be chosen: all, unless it shall be seen what one of them brings.
  planning::nest_policy nests{};
  /// How much is kept between calls.
  cache_limits keep{};

  friend bool operator==(const program_options&, const program_options&) = default;
};

/// The code a program runs: what was compiled for it. Kernels for the dtypes that occur,
/// superinstructions of its own regions and of the library.
struct program_code {
  exec::kernel_table kernels;
  std::vector<ir::instruction> instructions;
  /// Of the instructions that were not compiled.
  std::vector<std::shared_ptr<const ir::accumulator_program>> steps{};
};

/// Counts over the life of a program, for tests and reports.
struct program_statistics {
  std::size_t calls = 0;
  /// One per shape class: the extents for which the same guards hold, which extents are one first
  /// of all, but for symbols with a range (graph_builder's `sym`).
  std::size_t saturations = 0;
  /// One per bucket (powers of two of the dynamic extents) of a class, more where extents are
  /// computed and memory is short.
  std::size_t extractions = 0;
  /// How often values were computed that `frozen` arguments let the program keep.
  std::size_t preparations = 0;
  /// Calls (and `prepare`, `explain`) that found their plan, and those that had to make it.
  std::size_t hits = 0, misses = 0;
  /// Classes, plans, executors and sets of prepared values that were dropped for want of room; see
  /// cache_limits.
  std::size_t evictions = 0;
  /// Plans that were read from files (`load_plans`).
  std::size_t loaded = 0;
  /// Plans that are kept, and bytes of the arenas of their executors, those in use included.
  std::size_t plans = 0, arena_bytes = 0;

  program_statistics& operator+=(const program_statistics& other) {
    calls += other.calls;
    saturations += other.saturations;
    extractions += other.extractions;
    preparations += other.preparations;
    hits += other.hits;
    misses += other.misses;
    evictions += other.evictions;
    loaded += other.loaded;
    plans += other.plans;
    arena_bytes += other.arena_bytes;
    return *this;
  }
};

namespace exec {
class executor;
struct lowered_plan;
}  // namespace exec
namespace planning {
struct budget_report;
struct plan;
struct schedule;
}  // namespace planning

namespace detail {

struct explained;
class preparation;
struct plan_file;
struct program_record;
struct class_record;
struct plan_record;

struct argument_memory {
  // Not an aggregate: one by default would be cleared as a whole, 200 bytes, by an instruction that
  // takes 10 ns of a call's 50 (rep stos, where GCC tunes for no processor).
  argument_memory() {}
  argument_memory(const void* at, const shape_vector& extents, const shape_vector& apart,
                  std::size_t size)
      : data(at), shape(extents), strides(apart), bytes(size) {}

  const void* data = nullptr;
  shape_vector shape;
  shape_vector strides;          // elements
  std::size_t bytes = 0;         // from data to the end of the last element; 0 if there is none
  std::size_t bytes_before = 0;  // from the first element to data, which strides below zero pass
  // Frozen: values computed from the same elements before may be used again.
  bool is_frozen = false;
  contents elements{};        // of a tensor
  std::uint64_t version = 0;  // of a view
};

struct output_memory {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// While it lives a function is traced, or what the compiler traced is read: a step on the timeline
// of SINTER_TRACE.
class tracing {
 public:
  tracing();
  tracing(const tracing&) = delete;
  tracing& operator=(const tracing&) = delete;
  ~tracing();

 private:
  std::int64_t begin_;
};

}  // namespace detail

class program {
 public:
  // `traced` has its gradients expanded.
  program(ir::graph traced, program_code code, program_options options = {});
  ~program();
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  const ir::graph& traced() const { return traced_; }
  // By output: the argument it is assigned to, or -1.
  const std::vector<int>& assigned() const { return assigned_; }

  bool assigns(int argument) const {
    return std::ranges::find(assigned_, argument) != assigned_.end();
  }

  // A call in two steps, because the caller allocates results between them: `prepare` finds (or
  // makes) the plan for the shapes, and what frozen arguments let it keep, and binds an executor to
  // them, unless the thread's last call was the same; `run` executes it. Throws shape_error, naming
  // op and shapes, graph_error if a frozen argument is assigned, and what computing the kept values
  // throws.
  class prepared_call {
   public:
    prepared_call(program& owner, span<const detail::argument_memory> arguments,
                  span<const std::int64_t> symbols);
    prepared_call(const prepared_call&) = delete;
    prepared_call& operator=(const prepared_call&) = delete;
    ~prepared_call();

    const shape_vector& output_shape(int k) const;
    dtype output_type(int k) const;
    const planning::plan& plan() const;
    // What came of program_options::memory_budget.
    const planning::budget_report& budget() const;

   private:
    friend class program;

    detail::ready_call find(span<const detail::argument_memory> arguments,
                            span<const std::int64_t> symbols);

    program& owner_;
    detail::taken_place place_;              // none where another call is in the thread's place
    std::optional<detail::ready_call> own_;  // for that case
    detail::ready_call* ready_ = nullptr;
  };

  prepared_call prepare(span<const detail::argument_memory> arguments,
                        span<const std::int64_t> symbols) {
    return prepared_call(*this, arguments, symbols);
  }

  // outputs[k].data: where output k goes; for an assigned output, the argument's own memory.
  void run(prepared_call& call, span<const detail::argument_memory> arguments,
           span<const detail::output_memory> outputs);

  // What the optimizer did, as text. Runs the plan a few times to measure its nests, with results
  // in memory of its own.
  std::string explain(prepared_call& call, span<const detail::argument_memory> arguments,
                      span<const std::int64_t> symbols);

  // The same as a page of HTML, with the graph before and after.
  std::string explain_html(prepared_call& call, span<const detail::argument_memory> arguments,
                           span<const std::int64_t> symbols);

  // The lowest level: what is bound for the call. First what prepares values that frozen arguments
  // let the program keep, if it keeps any, then what every call runs.
  std::vector<exec::lowered_plan> lowered(const prepared_call& call,
                                          span<const detail::argument_memory> arguments,
                                          span<const std::int64_t> symbols) const;
  // The same as text, which exec::parse_lowered reads.
  std::string tile_programs(const prepared_call& call,
                            span<const detail::argument_memory> arguments,
                            span<const std::int64_t> symbols) const;
  const program_code& code() const { return code_; }
  // What runs for these extents: nests mapped to threads, lanes and serial loops, layouts,
  // allocations, dependencies (plan/schedule.hpp). First what prepares values that calls share, if
  // there is such; last what every call runs.
  std::vector<planning::schedule> schedules(const prepared_call& call,
                                            span<const detail::argument_memory> arguments,
                                            span<const std::int64_t> symbols) const;
  // The same as text, which planning::parse_schedules reads.
  std::string schedule(const prepared_call& call, span<const detail::argument_memory> arguments,
                       span<const std::int64_t> symbols) const;

  // The next three are in plans_source.hpp. The call's plan as a plan file (docs/plans.md), with
  // its tile programs and with the rewrites that led to each nest.
  std::string export_plan(const prepared_call& call, span<const detail::argument_memory> arguments,
                          span<const std::int64_t> symbols) const;
  // All plans that are kept, as the part of a plan file for this program.
  detail::program_record saved_plans() const;
  // Takes the plans that a file has for this graph, and says how many; calls then find them. Throws
  // io_error, and takes none, where the file belongs to another version, build, processor or
  // options, or what it holds is no plan of this program.
  std::size_t load_plans(const detail::plan_file& file);

  // The saturated e-graph of the call's shape class as an egglog program.
  std::string egglog(const prepared_call& call) const;

  program_statistics statistics() const;
  const program_options& options() const { return options_; }

 private:
  std::shared_ptr<detail::shape_class> class_of(span<const detail::argument_memory> arguments,
                                                span<const std::int64_t> symbols);
  std::shared_ptr<detail::bucket> bucket_of(detail::shape_class& c,
                                            span<const std::int64_t> symbols);
  void saturate(detail::shape_class& c) const;
  std::shared_ptr<const detail::shape_class> with_egraph(
      const std::shared_ptr<detail::shape_class>& c) const;
  std::shared_ptr<detail::preparation> preparation_for(detail::shape_class& c,
                                                       const planning::plan& p) const;
  std::shared_ptr<detail::shape_class> loaded_class(const detail::class_record& record) const;
  std::shared_ptr<detail::bucket> loaded_bucket(detail::shape_class& c,
                                                const detail::plan_record& record) const;
  detail::program_record empty_record() const;
  std::string rewrites_text(const detail::shape_class& c, const detail::bucket& b) const;
  detail::plan_record record_of(const detail::bucket& b,
                                span<const planning::schedule> schedules) const;
  template <class T>
  std::shared_ptr<T> keep(std::vector<std::shared_ptr<T>>& kept, std::shared_ptr<T> made,
                          std::size_t limit);
  void give_back(detail::ready_call& call);
  void clear(detail::last_call& place);
  void clear_places();
  std::shared_ptr<const detail::prepared_values> values_for(
      detail::bucket& b, span<const detail::argument_memory> arguments,
      span<const std::int64_t> symbols);
  void run_timed(prepared_call& call, span<const detail::argument_memory> arguments,
                 span<const detail::output_memory> outputs);
  detail::explained explained(prepared_call& call, span<const detail::argument_memory> arguments,
                              span<const std::int64_t> symbols);
  void check_overlaps(const prepared_call& call, span<const detail::argument_memory> arguments,
                      span<const detail::output_memory> outputs) const;

  ir::graph traced_;
  program_code code_;
  program_options options_;
  std::vector<int> assigned_;
  int arguments_ = 0;
  int number_ = 0;  // in messages; 0 where there are none

  mutable std::mutex mutex_;
  // In the order in which they were made, whatever their last use: of two classes that hold an
  // extent the older one plans for it, every time.
  std::vector<std::shared_ptr<detail::shape_class>> classes_;
  program_statistics statistics_;  // but for what is counted below, without the lock
  std::atomic<std::size_t> calls_ = 0, arena_bytes_ = 0;
  std::size_t clock_ = 0;  // of uses, for what was used least recently
  // By thread, so that threads do not get into each other's way; more threads share them.
  std::array<detail::last_call, 8> places_;
};

namespace detail {

// The program of a traced graph. Kernels of its own stand in front of the library's: of equals the
// first is taken.
std::shared_ptr<program> make_program(ir::graph traced, span<const ir::instruction> own,
                                      program_code (*library)(), program_options options = {});

// In plans_source.hpp. Throw io_error: where the file cannot be written, or cannot be read, is
// damaged, or belongs to another version, instruction set, processor or other options.
void save_plans(const std::string& path, span<const program* const> programs);
std::shared_ptr<const plan_file> read_plans(const std::string& path,
                                            const program_options& options);

}  // namespace detail

}  // namespace sinter::inline SINTER_ABI
