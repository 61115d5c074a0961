// SPDX-License-Identifier: MIT
// The narrow waist. A program is a traced function with all that was found out about it: a
// saturated e-graph per shape class, a plan per bucket of extents, an executor per concurrent call.
// Nothing here is a template over user types: traced graph in, plan out, pointers through.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sinter/exec/executor.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/graph/verify.hpp>
#include <sinter/plan/instructions.hpp>
#include <sinter/plan/planner.hpp>
#include <sinter/rules/saturate.hpp>

namespace sinter {

/// What a program may do to a graph, and how much it may spend on it.
struct program_options {
  /// false: only rules that keep every bit of the result.
  bool reassociate = true;
  /// Rules that are switched off, by name.
  std::vector<std::string> disabled_rules;
  /// Superinstructions of the traced function and of the library; without them everything runs on
  /// micro-ops.
  bool superinstructions = true;
};

/// The code a program runs: what was compiled for it. Kernels for the dtypes that occur,
/// superinstructions of its own regions and of the library.
struct program_code {
  exec::kernel_table kernels;
  exec::product_table products;
  std::vector<ir::instruction> instructions;
};

/// Counts over the life of a program, for tests and reports.
struct program_statistics {
  std::size_t calls = 0;
  std::size_t saturations = 0;  ///< one per shape class (same set of extents equal to one)
  std::size_t extractions =
      0;  ///< one per bucket (powers of two of the dynamic extents) of a class
};

namespace detail {

struct argument_memory {
  const void* data = nullptr;
  shape_vector shape;
  shape_vector strides;   // elements
  std::size_t bytes = 0;  // from data to the end of the last element; 0 for strides below zero
};

struct output_memory {
  void* data = nullptr;
  std::size_t bytes = 0;
};

// One plan and the executors that have been made for it.
struct bucket {
  std::vector<std::int64_t> corner;
  planning::planned planned;
  std::vector<std::unique_ptr<exec::executor>> idle;
};

// One class of shapes: the bound graph, its saturated e-graph, a plan per bucket.
struct shape_class {
  ir::graph bound;
  rules::tensor_egraph saturated;
  std::vector<eqsat::class_id> outputs;
  std::size_t traced_nodes = 0;
  rules::saturation_report report;
  int fused_nodes = 0;
  std::vector<std::shared_ptr<bucket>> buckets;
};

}  // namespace detail

class program {
 public:
  // `traced` has its gradients expanded.
  program(ir::graph traced, program_code code, program_options options = {})
      : traced_(std::move(traced)), code_(std::move(code)), options_(std::move(options)) {
    ir::verify(traced_);
    if (!options_.superinstructions) code_.instructions.clear();
    for (int id = 0; id < traced_.size(); ++id)
      if (traced_[id].code == ir::op::argument)
        arguments_ = std::max(arguments_, static_cast<int>(traced_.attributes(id)[1]) + 1);
    for (const ir::output& o : traced_.outputs) assigned_.push_back(o.assigned_argument);
  }

  const ir::graph& traced() const { return traced_; }
  const std::vector<int>& assigned() const { return assigned_; }

  // A call in two steps, because the caller allocates results between them: `prepare` finds (or
  // makes) the plan for the shapes and binds an executor to them; `run` executes it. Throws
  // shape_error, naming op and shapes.
  class prepared_call {
   public:
    prepared_call(program& owner, std::span<const detail::argument_memory> arguments,
                  std::span<const std::int64_t> symbols)
        : owner_(owner) {
      {
        const std::scoped_lock lock(owner.mutex_);
        ++owner.statistics_.calls;
        shapes_ = owner.class_of(arguments, symbols);
        plan_ = owner.bucket_of(*shapes_, symbols);
        if (!plan_->idle.empty()) {
          executor_ = std::move(plan_->idle.back());
          plan_->idle.pop_back();
        }
      }
      if (!executor_)
        executor_ = std::make_unique<exec::executor>(plan_->planned.plan, owner.code_.kernels,
                                                     owner.code_.products);
      bind(arguments, symbols);
    }
    prepared_call(const prepared_call&) = delete;
    prepared_call& operator=(const prepared_call&) = delete;
    ~prepared_call() {
      const std::scoped_lock lock(owner_.mutex_);
      plan_->idle.push_back(std::move(executor_));
    }

    shape_vector output_shape(int k, std::span<const std::int64_t> symbols) const {
      shape_vector out;
      const ir::graph& g = shapes_->bound;
      for (ir::dim d : g[g.outputs[static_cast<std::size_t>(k)].node].shape)
        out.push_back(g.dims.evaluate(d, symbols));
      return out;
    }
    dtype output_type(int k) const {
      return shapes_->bound[shapes_->bound.outputs[static_cast<std::size_t>(k)].node].type;
    }
    const planning::plan& plan() const { return plan_->planned.plan; }
    exec::executor& executor() { return *executor_; }
    const detail::shape_class& shapes() const { return *shapes_; }
    const detail::bucket& bucket() const { return *plan_; }

   private:
    void bind(std::span<const detail::argument_memory> arguments,
              std::span<const std::int64_t> symbols) {
      inline_vector<exec::argument_layout, few> layouts;
      if (arguments.size() <= few) {
        for (const detail::argument_memory& a : arguments) layouts.push_back({a.strides});
        executor_->bind(symbols, layouts);
        return;
      }
      std::vector<exec::argument_layout> all;
      for (const detail::argument_memory& a : arguments) all.push_back({a.strides});
      executor_->bind(symbols, all);
    }

    program& owner_;
    // Shared: a class or bucket that is forgotten while a call uses it lives until the call ends.
    std::shared_ptr<detail::shape_class> shapes_;
    std::shared_ptr<detail::bucket> plan_;
    std::unique_ptr<exec::executor> executor_;
  };

  prepared_call prepare(std::span<const detail::argument_memory> arguments,
                        std::span<const std::int64_t> symbols) {
    return prepared_call(*this, arguments, symbols);
  }

  // outputs[k].data: where output k goes; for an assigned output, the argument's own memory.
  void run(prepared_call& call, std::span<const detail::argument_memory> arguments,
           std::span<const detail::output_memory> outputs) {
    check_overlaps(call, arguments, outputs);
    if (arguments.size() <= few && outputs.size() <= few) {
      inline_vector<const void*, few> in;
      inline_vector<void*, few> out;
      for (const auto& a : arguments) in.push_back(a.data);
      for (const auto& o : outputs) out.push_back(o.data);
      call.executor().run(in, out);
      return;
    }
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const auto& a : arguments) in.push_back(a.data);
    for (const auto& o : outputs) out.push_back(o.data);
    call.executor().run(in, out);
  }

  program_statistics statistics() const {
    const std::scoped_lock lock(mutex_);
    return statistics_;
  }
  const program_options& options() const { return options_; }

 private:
  // Up to so many arguments and outputs a call builds its lists on the stack.
  static constexpr std::size_t few = 32;

  // Classes and buckets are bounded; beyond that the oldest is forgotten (and made again when it is
  // needed). 16 classes cover four dynamic extents in every combination of one and not one; 64
  // buckets cover two in eight powers of two each.
  static constexpr std::size_t class_limit = 16;
  static constexpr std::size_t bucket_limit = 64;

  template <class T>
  static std::shared_ptr<T> keep(std::vector<std::shared_ptr<T>>& kept, std::shared_ptr<T> made,
                                 std::size_t limit) {
    if (kept.size() == limit) kept.erase(kept.begin());
    kept.push_back(made);
    return made;
  }

  std::shared_ptr<detail::shape_class> class_of(std::span<const detail::argument_memory> arguments,
                                                std::span<const std::int64_t> symbols) {
    for (const auto& each : classes_)
      if (ir::holds(each->bound, symbols)) return each;
    auto made = std::make_shared<detail::shape_class>();
    std::vector<shape_vector> shapes;
    for (const detail::argument_memory& a : arguments) shapes.push_back(a.shape);
    made->bound = ir::bind(traced_, shapes);
    ++statistics_.saturations;
    saturate(*made);
    return keep(classes_, std::move(made), class_limit);
  }

  void saturate(detail::shape_class& c) {
    c.outputs = rules::load(c.saturated, c.bound);
    c.traced_nodes = c.saturated.node_count();
    rules::saturate_options options;
    options.reassociate = options_.reassociate;
    options.disabled = options_.disabled_rules;
    c.report = rules::saturate(c.saturated, options);
    c.fused_nodes = planning::add_instructions(c.saturated, code_.instructions);
    // Binding's guards, and behind them what rules had to assume: that restricts the class further.
    const ir::graph& terms = c.saturated.language().terms();
    c.bound.guards = terms.guards;
    c.bound.dims = terms.dims;
  }

  std::shared_ptr<detail::bucket> bucket_of(detail::shape_class& c,
                                            std::span<const std::int64_t> symbols) {
    for (auto& each : c.buckets) {
      bool same = each->corner.size() == symbols.size();
      for (std::size_t i = 0; same && i < symbols.size(); ++i)
        same = each->corner[i] == planning::bucket_corner(symbols[i]);
      if (same && (!each->planned.may_outgrow || planning::fits(each->planned.plan, symbols)))
        return each;
    }
    auto made = std::make_shared<detail::bucket>();
    for (std::int64_t s : symbols) made->corner.push_back(planning::bucket_corner(s));
    ++statistics_.extractions;
    made->planned = planning::make_plan(c.saturated, symbols, c.outputs, assigned_, arguments_,
                                        code_.instructions);
    return keep(c.buckets, std::move(made), bucket_limit);
  }

  // An output may be the memory of an argument only where the plan reads every element before it is
  // written over.
  void check_overlaps(const prepared_call& call, std::span<const detail::argument_memory> arguments,
                      std::span<const detail::output_memory> outputs) const {
    const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
    const auto meets = [&](const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
      return a_bytes != 0 && b_bytes != 0 && address(a) < address(b) + b_bytes &&
             address(b) < address(a) + a_bytes;
    };
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      for (std::size_t other = o + 1; other < outputs.size(); ++other)
        if (meets(outputs[o].data, outputs[o].bytes, outputs[other].data, outputs[other].bytes))
          throw alias_error("into: outputs " + std::to_string(o) + " and " + std::to_string(other) +
                            " overlap");
      for (std::size_t a = 0; a < arguments.size(); ++a) {
        if (assigned_[o] == static_cast<int>(a)) continue;
        if (!meets(outputs[o].data, outputs[o].bytes, arguments[a].data, arguments[a].bytes))
          continue;
        const bool same = outputs[o].data == arguments[a].data &&
                          outputs[o].bytes == arguments[a].bytes && assigned_[o] < 0;
        if (same && call.plan().may_alias[o * static_cast<std::size_t>(arguments_) + a]) continue;
        throw alias_error(
            "into: output " + std::to_string(o) + " overlaps argument " + std::to_string(a) +
            ", which is still read when the output is written; expected separate memory");
      }
    }
  }

  ir::graph traced_;
  program_code code_;
  program_options options_;
  std::vector<int> assigned_;
  int arguments_ = 0;

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<detail::shape_class>> classes_;
  program_statistics statistics_;
};

}  // namespace sinter
