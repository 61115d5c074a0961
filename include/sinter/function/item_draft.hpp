// SPDX-License-Identifier: MIT
// An item of a schedule while it is made: loops, threads, and the walk of a tile program as the
// executor binds it. Each kind of nest adds its own (tile_item.hpp, product_item.hpp...).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <sinter/exec/executor.hpp>
#include <sinter/exec/reduce.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/support/span.hpp>

namespace sinter::inline SINTER_ABI::detail {

/// Elements of a register, as far as kernels are written in registers.
constexpr std::int64_t lanes_of(dtype type) {
  if (type == dtype::f32) return exec::lanes<float>;
  return type == dtype::f64 ? exec::lanes<double> : 1;
}

class item_draft {
 public:
  /// `at`: the extents at hand; binding an alias may forward memory in it.
  item_draft(const planning::plan& p, const exec::kernel_table& kernels, exec::binding& at,
             const planning::nest& n)
      : plan_(p), kernels_(kernels), at_(at), nest_(n) {}

 protected:
  using extents = shape_vector;
  using role = planning::axis_role;

  /// What was drafted.
  planning::schedule_item take() {
    for (planning::iteration& it : item_.iterations) {
      trim(it);
      // A user's kernel is always said what its rows are, and what is whole.
      if (it.work != planning::work_kind::custom)
        std::erase_if(it.loops, [](const planning::loop& l) { return l.axes.empty(); });
    }
    return std::move(item_);
  }

  const planning::buffer& buffer_at(int b) const {
    return plan_.buffers[static_cast<std::size_t>(b)];
  }

  // ---- loops

  planning::loop make_loop(std::vector<int> axes, std::int64_t task, std::int64_t tile,
                           std::int64_t unit = 1) const {
    const auto step = [](std::int64_t s, std::int64_t most) {
      return std::clamp<std::int64_t>(s, 1, most);
    };
    planning::loop out{std::move(axes), {}};
    task = std::max<std::int64_t>(1, task);
    tile = step(tile, task);
    unit = step(unit, tile);
    using enum planning::mapped_to;
    out.levels = {planning::loop_level{serial, task}, planning::loop_level{serial, tile},
                  planning::loop_level{unit > 1 ? lanes : serial, unit}};
    return out;
  }

  std::int64_t size_of_loop(const planning::iteration& it, const planning::loop& l) const {
    std::int64_t out = 1;
    for (int a : l.axes) out *= at_.evaluate(it.axes[static_cast<std::size_t>(a)].extent);
    return out;
  }
  // No piece is larger than what is cut.
  void trim(planning::iteration& it) const {
    for (planning::loop& l : it.loops) {
      const std::int64_t size = std::max<std::int64_t>(1, size_of_loop(it, l));
      for (planning::loop_level& level : l.levels) level.step = std::min(level.step, size);
      planning::loop_level& unit = l.levels[planning::loop::unit];
      if (unit.step == 1) unit.to = planning::mapped_to::serial;
    }
  }
  std::int64_t tasks_of(const planning::iteration& it) const {
    std::int64_t out = 1;
    for (const planning::loop& l : it.loops)
      out *= planning::pieces_of(size_of_loop(it, l), l.levels[planning::loop::task].step);
    return out;
  }
  // Threads take the tasks of these iterations, all together, where the work pays for them.
  void give_to_threads(span<planning::iteration> iterations, double nanoseconds) const {
    std::int64_t tasks = 0;
    for (const planning::iteration& it : iterations) tasks += tasks_of(it);
    if (!planning::goes_to_threads(tasks, nanoseconds)) return;
    for (planning::iteration& it : iterations)
      for (planning::loop& l : it.loops)
        if (size_of_loop(it, l) > l.levels[planning::loop::task].step)
          l.levels[planning::loop::task].to = planning::mapped_to::threads;
  }
  void give_to_threads(planning::iteration& it, double nanoseconds) const {
    give_to_threads(span(&it, 1), nanoseconds);
  }

  static std::vector<int> range(std::size_t first, std::size_t last) {
    std::vector<int> out(last - first);
    std::iota(out.begin(), out.end(), static_cast<int>(first));
    return out;
  }
  void add_axes(planning::iteration& it, const ir::symbolic_shape& shape,
                const std::string& name) const {
    for (std::size_t i = 0; i < shape.size(); ++i)
      it.axes.push_back({name + std::to_string(i), shape[i], role::parallel});
  }

  // ---- tile programs

  // The rows and columns of a bound tile nest, in terms of the nest's axes.
  planning::iteration tile_iteration(const exec::tile_program& p, const planning::nest& n,
                                     planning::work_kind work, double nanoseconds) const {
    planning::iteration it{work, 0, {}, {}};
    add_axes(it, n.space, "i");
    std::vector<int> rows, columns;
    if (n.inner_axes > 0) {
      std::vector<int> order = range(0, n.space.size());
      if (!n.axis_order.empty()) std::copy(n.axis_order.begin(), n.axis_order.end(), order.begin());
      const auto outer = order.end() - n.inner_axes;
      rows.assign(order.begin(), outer);
      columns.assign(outer, order.end());
    } else {
      find_walked_axes(p, at_.evaluate(n.space), rows, columns);
    }
    const planning::tile_division d = exec::division_of(p, n.inner_axes == 0);
    const dtype type = n.body[static_cast<std::size_t>(n.stores.back().step)].type;
    it.loops = {make_loop(rows, d.rows, p.tile_rows),
                make_loop(columns, d.columns, p.chunk, lanes_of(type))};
    give_to_threads(it, nanoseconds);
    return it;
  }

  // A map walks its axes in the order of its last store, but for one that is moved inward where an
  // operand is transposed: the strides of that store tell which.
  static void find_walked_axes(const exec::tile_program& p, const extents& space,
                               std::vector<int>& rows, std::vector<int>& columns) {
    rows = range(0, space.size());
    if (element_count(space) <= 1) return;
    struct walked {
      std::int64_t extent, stride;
      std::size_t place;
    };
    std::vector<walked> found;
    const exec::stream& s = p.streams.back();
    for (std::size_t i = 0; i < p.axes.outer.size(); ++i)
      found.push_back({p.axes.outer[i], s.outer[i], found.size()});
    for (std::size_t i = 0; i < p.axes.inner.size(); ++i)
      found.push_back({p.axes.inner[i], s.inner[i], found.size()});
    std::ranges::sort(found, std::ranges::greater{}, &walked::stride);
    std::vector<std::vector<int>> groups(found.size());
    std::vector<int> units;
    std::size_t group = 0;
    std::int64_t done = 1;
    for (std::size_t axis = 0; axis < space.size(); ++axis) {
      if (space[axis] == 1) {
        units.push_back(static_cast<int>(axis));
        continue;
      }
      groups[found[group].place].push_back(static_cast<int>(axis));
      done *= space[axis];
      if (done == found[group].extent) ++group, done = 1;
    }
    rows = units;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      std::vector<int>& to = i < p.axes.outer.size() ? rows : columns;
      to.insert(to.end(), groups[i].begin(), groups[i].end());
    }
  }

  // Sums and extremes of floats: blocks of 64 registers, four accumulators of one register each.
  void add_row_reductions(const planning::nest& n, int iteration, std::int64_t partials) {
    for (std::size_t i = 0; i < n.body.size(); ++i) {
      const planning::step& s = n.body[i];
      if (s.kind != planning::step_kind::reduce) continue;
      const dtype type = n.body[static_cast<std::size_t>(s.operands[0])].type;
      const bool plain = lanes_of(type) == 1 || s.code == ir::op::argmax;
      planning::reduction_plan r{iteration, static_cast<int>(i), s.code};
      if (!plain) {
        r.block = exec::reduce_block * lanes_of(type);
        r.accumulators = 4 * lanes_of(type);
        r.order = planning::combination::pairwise;
      }
      r.partials = partials;
      item_.reductions.push_back(r);
    }
  }

  void add_prefetches(const exec::tile_program& p) {
    if (p.is_one_kernel()) return;
    const auto add = [&](const exec::location& l) {
      const exec::stream& s = p.streams[static_cast<std::size_t>(l.index)];
      item_.hints.push_back({planning::hint_kind::prefetch, s.buffer,
                             p.tile_rows * p.chunk * static_cast<std::int64_t>(s.element_size)});
    };
    for (const exec::command& c : p.commands) {
      for (int k = 0; k < c.operand_count; ++k)
        if (c.mode.is_fetched(k)) add(p.operands_of(c)[static_cast<std::size_t>(k)]);
      if (c.mode.is_fetched(ir::run_mode::result)) add(c.target);
    }
  }
  void note_copy(const planning::access& a, std::size_t before, const exec::memory_need& need) {
    if (need.shared > before)
      item_.hints.push_back(
          {planning::hint_kind::copy, a.buffer, static_cast<std::int64_t>(need.shared - before)});
  }

  const planning::plan& plan_;
  const exec::kernel_table& kernels_;
  exec::binding& at_;
  const planning::nest& nest_;
  planning::schedule_item item_;
};

}  // namespace sinter::inline SINTER_ABI::detail
