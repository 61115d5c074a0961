// SPDX-License-Identifier: MIT
// From a plan and the extents of a call to its schedule. Items are drafted by kind of nest, from
// the walks, blocks and layouts of the executor's own binding; how they are divided among tasks is
// plan/division.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sinter/exec/executor.hpp>
#include <sinter/function/custom_item.hpp>
#include <sinter/function/item_draft.hpp>
#include <sinter/function/movement_item.hpp>
#include <sinter/function/product_item.hpp>
#include <sinter/function/tile_item.hpp>
#include <sinter/plan/allocation.hpp>
#include <sinter/plan/dependencies.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/plan/work.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

class schedule_maker {
 public:
  schedule_maker(const planning::plan& p, const exec::kernel_table& kernels,
                 span<const std::int64_t> symbols, span<const exec::argument_layout> arguments,
                 span<const int> assigned)
      : plan_(p), kernels_(kernels), at_(p) {
    out_.symbols.assign(symbols.begin(), symbols.end());
    out_.assigned.assign(assigned.begin(), assigned.end());
    at_.set(out_.symbols, arguments);
  }

  planning::schedule run() {
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) out_.layouts.push_back(layout_of(i));
    for (const planning::nest& n : plan_.nests) out_.items.push_back(item_of(n));
    take_plan();
    count_work();
    out_.allocations = planning::find_allocations(out_.plan);
    const auto waits = planning::find_dependencies(out_.plan, out_.assigned);
    for (std::size_t i = 0; i < waits.size(); ++i) out_.items[i].depends_on = waits[i];
    out_.critical = planning::find_critical_path(out_.plan, waits);
    return std::move(out_);
  }

 private:
  using extents = shape_vector;

 private:
  planning::schedule_item item_of(const planning::nest& n) {
    using enum planning::nest_kind;
    switch (n.kind) {
      case tile:
      case column: return tile_item(plan_, kernels_, at_, n).run();
      case matmul:
      case grouped:
      case streamed: return product_item(plan_, kernels_, at_, n).run();
      case custom: return custom_item(plan_, kernels_, at_, n).run();
      case assemble:
      case gather:
      case scatter_add:
      case scan:
      case alias:
      case pack: break;
    }
    return movement_item(plan_, kernels_, at_, n).run();
  }

  // The plan without what only reports need, and with structures in place of code.
  void take_plan() {
    out_.plan = plan_;
    out_.plan.cost = out_.plan.cost_bound = 0;
    out_.plan.last_level_bytes = planning::nominal_machine.last_level_bytes;
    out_.plan.may_alias.clear();
    planning::detail::fused_store fused;
    for (planning::nest& n : out_.plan.nests) strip(n);
    fused.adopt(out_.plan);
    out_.fused = fused.share();
    for (const planning::buffer& b : plan_.buffers)
      out_.once = out_.once || (b.place == planning::place::prepared && is_written(b.number));
  }
  bool is_written(int prepared) const {
    for (const planning::nest& n : plan_.nests)
      for (const planning::store& s : n.stores) {
        const planning::buffer& b = buffer_at(s.buffer);
        if (b.place == planning::place::prepared && b.number == prepared) return true;
      }
    return false;
  }
  // Fields that a nest or a step of its kind does not have are left as they come.
  static void strip(planning::nest& n) {
    n.label.clear();
    n.enodes.clear();
    if (n.body.empty())
      for (planning::store& st : n.stores) st.step = 0;
    for (planning::nest& part : n.parts) strip(part);
    planning::for_each_step(n, [](planning::step& s) {
      using enum planning::step_kind;
      if (s.kind != load && s.kind != scalar && s.kind != product) s.access = -1;
      if (s.kind != iota && s.kind != random && s.kind != product && s.kind != exponentials)
        s.attribute = 0;
      if (s.kind != constant) s.constant = 0;
      if (s.kind != extent) s.extent = {};
      if ((s.kind != map && s.kind != reduce) || s.fused != nullptr) s.code = {};
      if (s.code != ir::op::custom_map) s.custom = nullptr;
    });
  }

  void count_work() {
    const planning::work_counter counter(out_.plan, out_.symbols);
    for (std::size_t i = 0; i < out_.items.size(); ++i) {
      const planning::nest& n = out_.plan.nests[i];
      const bool forwarded =
          n.kind == planning::nest_kind::alias && out_.items[i].iterations.empty();
      const planning::work w = counter.of(n, forwarded);
      out_.items[i].flops = w.flops;
      out_.items[i].bytes_read = w.bytes_read;
      out_.items[i].bytes_written = w.bytes_written;
    }
  }

  const planning::buffer& buffer_at(int b) const {
    return plan_.buffers[static_cast<std::size_t>(b)];
  }

  planning::layout layout_of(std::size_t i) const {
    const planning::buffer& b = plan_.buffers[i];
    const exec::strided_view& view = at_[static_cast<int>(i)];
    planning::layout out;
    out.strides = view.strides;
    // Kernels ask nothing of the caller's memory but whole elements.
    const bool own = b.place == planning::place::arena || b.place == planning::place::prepared;
    out.alignment = own ? static_cast<std::int64_t>(planning::arena_alignment)
                        : static_cast<std::int64_t>(size_of(b.type));
    out.contiguous = planning::contiguous_axes(view.shape, view.strides);
    out.vector_width = out.contiguous.empty() ? 1 : lanes_of(b.type);
    return out;
  }

  const planning::plan& plan_;
  const exec::kernel_table& kernels_;
  exec::binding at_;
  planning::schedule out_;
};

/// The schedule of a plan at these extents, for arguments that lie like this in memory (without an
/// entry: row-major). assigned[k]: the argument whose memory output k is, or -1. Throws what
/// binding an executor throws.
inline planning::schedule make_schedule(const planning::plan& p, const exec::kernel_table& kernels,
                                        span<const std::int64_t> symbols,
                                        span<const exec::argument_layout> arguments,
                                        span<const int> assigned) {
  return schedule_maker(p, kernels, symbols, arguments, assigned).run();
}

}  // namespace sinter::inline SINTER_ABI::detail
