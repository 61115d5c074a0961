// SPDX-License-Identifier: MIT
// What a program keeps: classes of shapes with their e-graphs, plans by bucket, executors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <sinter/exec/executor.hpp>
#include <sinter/function/call_timeline.hpp>
#include <sinter/function/call_times.hpp>
#include <sinter/function/prepared.hpp>
#include <sinter/function/program.hpp>
#include <sinter/graph/bind.hpp>
#include <sinter/plan/planner.hpp>
#include <sinter/rules/saturate.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

// An executor, whose arena counts as long as it lives, and the shapes of the outputs for the
// extents that it is bound to.
class counted_executor {
 public:
  counted_executor(const planning::plan& p, const exec::kernel_table& kernels,
                   std::atomic<std::size_t>& arena_bytes)
      : executor_(p, kernels), arena_bytes_(arena_bytes) {
    arena_bytes_.fetch_add(executor_.arena_bytes(), std::memory_order_relaxed);
  }
  counted_executor(const counted_executor&) = delete;
  counted_executor& operator=(const counted_executor&) = delete;
  ~counted_executor() {
    arena_bytes_.fetch_sub(executor_.arena_bytes(), std::memory_order_relaxed);
  }

  exec::executor& operator*() { return executor_; }
  exec::executor* operator->() { return &executor_; }

  const std::vector<shape_vector>& output_shapes() const { return output_shapes_; }

  // `traced`: bound to the class of the extents.
  void bind(const ir::graph& traced, span<const argument_memory> arguments,
            span<const std::int64_t> symbols) {
    if (executor_.is_bound_to(symbols, arguments)) return;
    executor_.bind(symbols, arguments);
    output_shapes_.resize(traced.outputs.size());
    for (std::size_t k = 0; k < output_shapes_.size(); ++k) {
      output_shapes_[k].clear();
      for (ir::dim d : traced[traced.outputs[k].node].shape)
        output_shapes_[k].push_back(traced.dims.evaluate(d, symbols));
    }
  }

 private:
  exec::executor executor_;
  std::atomic<std::size_t>& arena_bytes_;
  std::vector<shape_vector> output_shapes_;

  friend class idle_executors;
  std::unique_ptr<counted_executor> older_;  // the next one in the list of those that are idle
};

// Executors that wait for a call, those that were used last first. They are linked to each other:
// to give one back must not fail where memory has run out.
class idle_executors {
 public:
  idle_executors() = default;
  idle_executors(const idle_executors&) = delete;
  idle_executors& operator=(const idle_executors&) = delete;
  ~idle_executors() {
    while (pop()) continue;
  }

  std::size_t size() const { return size_; }

  void push(std::unique_ptr<counted_executor> used) noexcept {
    used->older_ = std::move(newest_);
    newest_ = std::move(used);
    ++size_;
  }

  // Null where there is none.
  std::unique_ptr<counted_executor> pop() noexcept {
    std::unique_ptr<counted_executor> out = std::move(newest_);
    if (!out) return out;
    newest_ = std::move(out->older_);
    --size_;
    return out;
  }

  // Requires that there is one. O(size).
  void drop_oldest() noexcept {
    std::unique_ptr<counted_executor>* last = &newest_;
    while ((*last)->older_) last = &(*last)->older_;
    last->reset();
    --size_;
  }

 private:
  std::unique_ptr<counted_executor> newest_;
  std::size_t size_ = 0;
};

// One plan and the executors that have been made for it.
struct bucket {
  std::vector<std::int64_t> symbols;  // the extents that it was planned at
  std::vector<std::int64_t> corner;
  planning::planned planned;
  std::shared_ptr<detail::preparation> preparation;  // null where nothing is prepared
  idle_executors idle;
  std::size_t number = 0;             // of the plan, in messages
  std::shared_ptr<plan_times> times;  // where calls are timed
  std::optional<plan_labels> labels;  // where SINTER_TRACE is set
  std::size_t last_use = 0;
};

// One class of shapes and of frozen arguments: the bound graph, its saturated e-graph, a plan per
// bucket.
struct shape_class {
  std::vector<bool> frozen;          // by argument
  std::vector<shape_vector> shapes;  // by argument, that `bound` is bound to
  // Read from a file: there is no e-graph, and no other plans are made for it than it came with.
  bool loaded = false;
  ir::graph bound;
  rules::tensor_egraph saturated;
  std::vector<eqsat::class_id> outputs;
  std::size_t binding_guards = 0;  // the guards of `bound` before those that rules assumed
  std::size_t traced_nodes = 0;
  rules::saturation_report report;
  int fused_nodes = 0;
  std::vector<std::shared_ptr<bucket>> buckets;
  std::vector<std::shared_ptr<preparation>> preparations;  // of the buckets
  std::size_t last_use = 0;

  bool is_of(span<const argument_memory> arguments, span<const std::int64_t> symbols) const {
    return freezes(arguments) && ir::holds(bound, symbols);
  }
  bool freezes(span<const argument_memory> arguments) const {
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (frozen[i] != arguments[i].is_frozen) return false;
    return true;
  }
};

// The values that frozen arguments fix; the guards of `c.bound` are then those of its binding.
inline ir::fixed_inputs fix_inputs(shape_class& c) {
  ir::fixed_inputs fixed(c.bound, c.frozen);
  for (const ir::guard& g : fixed.guards(c.bound.dims)) c.bound.assume(g.holds, g.a, g.b);
  c.binding_guards = c.bound.guards.size();
  return fixed;
}

// The plan for these extents, if there is one.
inline std::shared_ptr<bucket> find_bucket(const shape_class& c, span<const std::int64_t> symbols) {
  const auto is_corner = [&](const std::vector<std::int64_t>& corner) {
    bool same = corner.size() == symbols.size();
    for (std::size_t i = 0; same && i < symbols.size(); ++i)
      same = corner[i] == planning::bucket_corner(c.bound.dims, i, symbols[i]);
    return same;
  };
  for (const auto& each : c.buckets) {
    if (is_corner(each->corner) &&
        (!each->planned.may_outgrow || (planning::fits(each->planned.plan, symbols) &&
                                        planning::fits(each->planned.preparation, symbols))))
      return each;
  }
  return nullptr;
}

inline rules::saturate_options saturation_options(const program_options& options) {
  rules::saturate_options out;
  out.reassociate = options.reassociate;
  out.disabled = options.disabled_rules;
  return out;
}

}  // namespace sinter::inline SINTER_ABI::detail
