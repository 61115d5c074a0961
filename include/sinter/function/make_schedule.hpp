// SPDX-License-Identifier: MIT
// From a plan and the extents of a call to its schedule. The walks, blocks and layouts are those of
// the executor's own binding; how they are divided among tasks is plan/division.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sinter/exec/executor.hpp>
#include <sinter/exec/gemm.hpp>
#include <sinter/exec/reduce.hpp>
#include <sinter/exec/simd.hpp>
#include <sinter/plan/allocation.hpp>
#include <sinter/plan/dependencies.hpp>
#include <sinter/plan/division.hpp>
#include <sinter/plan/schedule.hpp>
#include <sinter/plan/work.hpp>

namespace sinter::detail {

static_assert(planning::elements_per_task == exec::task_elements);
static_assert(planning::parallel_nanoseconds == exec::parallel_threshold_nanoseconds);

/// Elements of a register, as far as kernels are written in registers.
constexpr std::int64_t lanes_of(dtype type) {
  if (type == dtype::f32) return exec::lanes<float>;
  return type == dtype::f64 ? exec::lanes<double> : 1;
}

class schedule_maker {
 public:
  schedule_maker(const planning::plan& p, const exec::kernel_table& kernels,
                 std::span<const std::int64_t> symbols,
                 std::span<const exec::argument_layout> arguments, std::span<const int> assigned)
      : plan_(p), kernels_(kernels), at_(p), layouts_(arguments) {
    out_.symbols.assign(symbols.begin(), symbols.end());
    out_.assigned.assign(assigned.begin(), assigned.end());
    at_.set(out_.symbols, arguments);
  }

  planning::schedule run() {
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) out_.layouts.push_back(layout_of(i));
    for (std::size_t i = 0; i < plan_.nests.size(); ++i) {
      item_ = {};
      nest_ = &plan_.nests[i];
      add_iterations();
      for (planning::iteration& it : item_.iterations) trim(it);
      out_.items.push_back(std::move(item_));
    }
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
  using role = planning::axis_role;

  // ---- what the plan says already

  // The plan without what only reports need, and with structures in place of code.
  void take_plan() {
    out_.plan = plan_;
    out_.plan.cost = out_.plan.cost_bound = 0;
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
      if (s.kind != iota && s.kind != random && s.kind != product) s.attribute = 0;
      if (s.kind != constant) s.constant = 0;
      if (s.kind != extent) s.extent = {};
      if ((s.kind != map && s.kind != reduce) || s.fused != nullptr) s.code = {};
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
  void give_to_threads(std::span<planning::iteration> iterations, double nanoseconds) const {
    std::int64_t tasks = 0;
    for (const planning::iteration& it : iterations) tasks += tasks_of(it);
    if (!planning::goes_to_threads(tasks, nanoseconds)) return;
    for (planning::iteration& it : iterations)
      for (planning::loop& l : it.loops)
        if (size_of_loop(it, l) > l.levels[planning::loop::task].step)
          l.levels[planning::loop::task].to = planning::mapped_to::threads;
  }
  void give_to_threads(planning::iteration& it, double nanoseconds) const {
    give_to_threads(std::span(&it, 1), nanoseconds);
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

  // ---- iterations, by kind of nest

  void add_iterations() {
    using enum planning::nest_kind;
    switch (nest_->kind) {
      case tile: return add_tile();
      case column: return add_column();
      case matmul:
      case grouped: return add_products();
      case streamed: return add_streamed();
      case assemble: return add_assemble();
      case gather: return add_gather();
      case scatter_add: return add_scatter();
      case alias: return add_alias();
      case pack: return add_pack();
    }
  }

  void add_tile() {
    const planning::nest& n = *nest_;
    const bool free = n.inner_axes == 0;
    exec::bound_tile tile(
        kernels_, n,
        exec::analyze_tile(&plan_, n, free ? exec::geometry::free : exec::geometry::rows,
                           exec::all_stores(n), -1, -1));
    exec::walk_request request;
    request.space = at_.evaluate(n.space);
    const std::size_t rank = request.space.size();
    request.outer_count = rank - static_cast<std::size_t>(n.inner_axes);
    tile.bind(at_, request);
    planning::iteration it =
        tile_iteration(tile.program(), n, planning::work_kind::body, n.predicted_nanoseconds);
    for (const planning::step& s : n.body)
      if (s.kind == planning::step_kind::reduce)
        for (int axis : it.loops[1].axes)
          it.axes[static_cast<std::size_t>(axis)].role = role::reduction;
    const std::int64_t partials = tile.program().split ? tasks_of_loop(it, 1) : 1;
    add_row_reductions(n, static_cast<int>(item_.iterations.size()), partials);
    add_prefetches(tile.program());
    item_.iterations.push_back(std::move(it));
  }
  std::int64_t tasks_of_loop(const planning::iteration& it, std::size_t loop) const {
    return std::max<std::int64_t>(
        1, planning::pieces_of(size_of_loop(it, it.loops[loop]),
                               it.loops[loop].levels[planning::loop::task].step));
  }

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
    const planning::tile_division d = planning::divide_tile(
        p.axes.rows, p.axes.columns, p.tile_rows, p.chunk, p.split, n.inner_axes == 0);
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
      if ((done *= space[axis]) == found[group].extent) ++group, done = 1;
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
        r.block = exec::detail::reduce_block * lanes_of(type);
        r.accumulators = 4 * lanes_of(type);
        r.order = planning::combination::halves;
      }
      r.partials = partials;
      item_.reductions.push_back(r);
    }
  }

  void add_prefetches(const exec::tile_program& p) {
    for (const exec::prefetched_stream& fetched : p.prefetched) {
      const exec::stream& s = p.streams[static_cast<std::size_t>(fetched.stream)];
      item_.hints.push_back({planning::hint_kind::prefetch, s.buffer,
                             p.tile_rows * p.chunk * static_cast<std::int64_t>(s.element_size)});
    }
  }

  void add_column() {
    const planning::nest& n = *nest_;
    const extents space = at_.evaluate(n.space);
    const auto first = static_cast<std::size_t>(n.column_first),
               last = static_cast<std::size_t>(n.column_last);
    int reduction = 0;
    std::vector<int> full;
    for (std::size_t i = 0; i < n.body.size(); ++i)
      if (n.body[i].kind == planning::step_kind::reduce) reduction = static_cast<int>(i);
    for (std::size_t i = 0; i < n.stores.size(); ++i)
      if (n.body[static_cast<std::size_t>(n.stores[i].step)].level == planning::level::full)
        full.push_back(static_cast<int>(i));
    exec::bound_tile map(
        kernels_, n, exec::analyze_tile(nullptr, n, exec::geometry::columns, full, -1, reduction));
    exec::walk_request request;
    request.space = space;
    request.outer_count = last;
    map.bind(at_, request);
    const auto product = [&](std::size_t from, std::size_t to) {
      std::int64_t out = 1;
      for (std::size_t i = from; i < to; ++i) out *= space[i];
      return out;
    };
    const planning::column_division d = planning::divide_columns(
        product(0, first), product(first, last), product(last, space.size()));
    planning::iteration it{planning::work_kind::body, 0, {}, {}};
    add_axes(it, n.space, "i");
    for (std::size_t i = first; i < last; ++i) it.axes[i].role = role::reduction;
    const planning::step& s = n.body[static_cast<std::size_t>(reduction)];
    const dtype type = n.body[static_cast<std::size_t>(s.operands[0])].type;
    const exec::tile_program& p = map.program();
    it.loops = {make_loop(range(0, first), d.batches, 1),
                make_loop(range(first, last), d.group_rows, p.tile_rows),
                make_loop(range(last, space.size()), d.columns, p.chunk, lanes_of(type))};
    give_to_threads(it, n.predicted_nanoseconds);
    planning::reduction_plan r{0, reduction, s.code};
    if (lanes_of(type) > 1 && s.code != ir::op::argmax) r.block = exec::detail::column_block;
    r.accumulators = 1;
    r.partials = d.groups;
    item_.reductions.push_back(r);
    item_.iterations.push_back(std::move(it));
  }

  // ---- products

  // Batches that became rows of the left side are walked with them.
  struct folded_rows {
    std::vector<int> batch, rows;
  };
  static folded_rows fold(std::size_t batch_left, std::size_t rank) {
    return {range(0, batch_left), range(batch_left, rank - 1)};
  }

  void note_copy(const planning::access& a, std::size_t before, const exec::memory_need& need) {
    if (need.shared > before)
      item_.hints.push_back(
          {planning::hint_kind::copy, a.buffer, static_cast<std::int64_t>(need.shared - before)});
  }
  std::int64_t bytes(std::int64_t elements, dtype type) const {
    return elements * static_cast<std::int64_t>(size_of(type));
  }

  void add_products() {
    const planning::nest& n = *nest_;
    std::vector<const planning::nest*> nests;
    for (const planning::nest& part : n.parts) nests.push_back(&part);
    if (nests.empty()) nests.push_back(&n);
    const planning::nest& first = *nests.front();
    const dtype type = exec::product_part::type_of(first);
    exec::product_operand a(kernels_, first, 0, first.transpose_a, type,
                            static_cast<int>(plan_.buffers.size()));
    std::deque<exec::product_part> parts;
    for (const planning::nest* each : nests)
      parts.emplace_back(plan_, kernels_, *each, static_cast<int>(plan_.buffers.size()) + 1);
    const extents space = at_.evaluate(first.space);
    const std::size_t rank = space.size();
    extents batch(space.begin(), space.end() - 2);
    std::int64_t m = space[rank - 2];
    exec::memory_need need;
    a.bind(at_, rank - 2, need);
    note_copy(first.accesses[0], 0, need);
    const std::int64_t k = a.columns();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::size_t before = need.shared;
      parts[i].bind_right(at_, at_.evaluate(nests[i]->space), k, need);
      note_copy(nests[i]->accesses[1], before, need);
    }
    exec::fold_batches_if(batch, m, a, [&](std::size_t axis) {
      return std::ranges::all_of(parts, [&](const auto& p) { return p.is_shared(axis); });
    });
    std::int64_t widest = -1, rows = 1, column_blocks = 0;
    for (exec::product_part& part : parts) {
      part.divide(m, k);
      if (part.columns() > widest) widest = part.columns(), rows = part.block_rows();
      column_blocks += part.column_blocks();
    }
    rows = planning::product_rows(m, rows,
                                  [&](std::int64_t r) { return exec::gemm_packs(type, r, 2, k); });
    const folded_rows folded = fold(batch.size(), rank);
    for (std::size_t i = 0; i < parts.size(); ++i)
      add_product(*nests[i], parts[i], static_cast<int>(i), folded, m, rows, k, type);
    give_to_threads(item_.iterations, n.predicted_nanoseconds);
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (nests[i]->body.size() > 1)
        add_epilogue(*nests[i], static_cast<int>(i), folded, rows, block_columns(parts[i], m, k));
    const bool packs = std::ranges::any_of(
        parts, [&](const exec::product_part& p) { return p.reads_packed(rows); });
    if (!packs) return;
    item_.hints.push_back({planning::hint_kind::pack, first.accesses[0].buffer,
                           bytes(exec::gemm_packed_elements(rows, k), type)});
    if (const std::int64_t kept = bytes(exec::gemm_packed_elements(rows, k), type);
        column_blocks > 1 && kept <= static_cast<std::int64_t>(planning::packed_limit))
      item_.hints.push_back({planning::hint_kind::keep, first.accesses[0].buffer, kept});
  }

  static std::int64_t block_columns(const exec::product_part& part, std::int64_t m,
                                    std::int64_t k) {
    if (part.column_blocks() == 1) return std::max<std::int64_t>(1, part.columns());
    return exec::gemm_block_grid(m, part.columns(), k).columns;
  }

  void add_product(const planning::nest& n, const exec::product_part& part, int number,
                   const folded_rows& folded, std::int64_t m, std::int64_t rows, std::int64_t k,
                   dtype type) {
    const std::size_t rank = n.space.size();
    const std::int64_t columns = block_columns(part, m, k);
    planning::iteration it{planning::work_kind::product, number, {}, {}};
    add_axes(it, n.space, "i");
    const ir::symbolic_shape& left = n.accesses[0].shape;
    it.axes.push_back({"depth", left[left.size() - (n.transpose_a ? 2 : 1)], role::reduction});
    exec::detail::gemm_blocking inner{std::max<std::int64_t>(1, k), columns, rows};
    const std::int64_t some_rows = std::min(rows, m),
                       some_columns = std::min(columns, part.columns());
    if (exec::gemm_packs(type, some_rows, some_columns, k))
      inner = type == dtype::f32 ? exec::detail::blocking_of<float>(some_rows, some_columns, k)
                                 : exec::detail::blocking_of<double>(some_rows, some_columns, k);
    it.loops = {make_loop(folded.batch, 1, 1), make_loop(folded.rows, rows, inner.slab),
                make_loop({static_cast<int>(rank)}, k, inner.depth),
                make_loop({static_cast<int>(rank) - 1}, columns, inner.panel, lanes_of(type))};
    item_.reductions.push_back({static_cast<int>(item_.iterations.size()), -1, ir::op::reduce_sum,
                                std::max<std::int64_t>(1, std::min(inner.depth, k)), 0, 1});
    item_.iterations.push_back(std::move(it));
  }

  // The rest of the tile program, on blocks of the product.
  void add_epilogue(const planning::nest& n, int number, const folded_rows& folded,
                    std::int64_t rows, std::int64_t columns) {
    const int product = exec::find_product(n, "a nest without a product");
    const bool streamed = n.kind == planning::nest_kind::streamed;
    exec::bound_tile tile(
        kernels_, n,
        exec::analyze_tile(&plan_, n, exec::geometry::block, exec::all_stores(n), product, -1));
    exec::walk_request request;
    request.space = at_.evaluate(n.space);
    request.outer_count = n.space.size() - 1;
    request.block_columns = columns;
    request.external_packed = streamed || columns >= request.space.back();
    request.result_is_external = streamed;
    tile.bind(at_, request);
    const exec::tile_program& p = tile.program();
    planning::iteration it{planning::work_kind::epilogue, number, {}, {}};
    add_axes(it, n.space, "i");
    const dtype type = n.body[static_cast<std::size_t>(n.stores.back().step)].type;
    it.loops = {
        make_loop(folded.batch, 1, 1), make_loop(folded.rows, rows, p.tile_rows),
        make_loop({static_cast<int>(n.space.size()) - 1}, columns, p.chunk, lanes_of(type))};
    copy_threads(it);
    if (n.inner_axes > 0) {
      it.axes.back().role = role::reduction;
      add_row_reductions(n, static_cast<int>(item_.iterations.size()), 1);
    }
    item_.iterations.push_back(std::move(it));
  }
  // It runs in the tasks of its product.
  void copy_threads(planning::iteration& it) const {
    for (const planning::iteration& product : item_.iterations) {
      if (product.work != planning::work_kind::product || product.part != it.part) continue;
      for (planning::loop& l : it.loops)
        for (const planning::loop& other : product.loops)
          if (l.axes == other.axes)
            l.levels[planning::loop::task].to = other.levels[planning::loop::task].to;
    }
  }

  void add_streamed() {
    const planning::nest& n = *nest_;
    const int product = exec::find_product(n, "a streamed nest without a product");
    const dtype type = n.body[static_cast<std::size_t>(product)].type;
    const int copies = static_cast<int>(plan_.buffers.size());
    exec::streamed_operand a(kernels_, n, 0, n.transpose_a, type, copies),
        b(kernels_, n, 1, n.transpose_b, type, copies + 1);
    exec::product_operand values(kernels_, n, 2, n.transpose_values, type, copies + 2);
    const extents space = at_.evaluate(n.space);
    const std::size_t rank = space.size();
    extents batch(space.begin(), space.end() - 2);
    std::int64_t rows = space[rank - 2];
    const std::int64_t columns = space[rank - 1];
    exec::memory_need need;
    std::size_t before = 0;
    a.bind(at_, rank - 2, need);
    note_copy(n.accesses[0], before, need);
    before = need.shared;
    b.bind(at_, rank - 2, need);
    note_copy(n.accesses[1], before, need);
    before = need.shared;
    values.bind(at_, rank - 2, need);
    note_copy(n.accesses[2], before, need);
    exec::fold_batches(batch, rows, a, b, values);
    const planning::streamed_division d = planning::divide_scores(rows, columns);
    const folded_rows folded = fold(batch.size(), rank);
    const std::int64_t depth = a.columns(), width = values.columns();

    planning::iteration it{planning::work_kind::product, 0, {}, {}};
    add_axes(it, n.space, "i");
    it.axes.back().role = role::streamed;
    const auto last_axes = [](const planning::access& x, bool transposed) {
      return x.shape[x.shape.size() - (transposed ? 2 : 1)];
    };
    it.axes.push_back({"depth", last_axes(n.accesses[0], n.transpose_a), role::reduction});
    it.axes.push_back({"width", last_axes(n.accesses[2], n.transpose_values), role::parallel});
    const int last = static_cast<int>(rank);
    it.loops = {make_loop(folded.batch, 1, 1), make_loop(folded.rows, d.rows, d.rows),
                make_loop({last - 1}, columns, d.columns), make_loop({last}, depth, depth),
                make_loop({last + 1}, width, width, lanes_of(type))};
    give_to_threads(it, n.predicted_nanoseconds);
    item_.iterations.push_back(std::move(it));
    item_.reductions.push_back(
        {0, -1, ir::op::softmax, std::min(d.columns, std::max<std::int64_t>(1, columns)), 0, 1});
    if (n.body.size() > 1) add_epilogue(n, 0, folded, d.rows, d.columns);
    int number = 0;
    for (const std::size_t operand : {std::size_t{0}, std::size_t{1}})
      for (const planning::operand_part& part : n.prologues[operand])
        add_operand(n, operand, part, number++, operand == 0 ? d.rows : d.columns);

    const std::int64_t row_blocks = planning::pieces_of(std::max<std::int64_t>(1, rows), d.rows);
    const bool hides = n.hidden.any && rows == space[rank - 2];
    const std::int64_t packed = bytes(
        planning::pieces_of(columns, d.columns) * (exec::gemm_packed_elements(d.columns, depth) +
                                                   exec::gemm_packed_elements(width, d.columns)),
        type);
    const bool packs_once = !hides && row_blocks > 1 &&
                            packed <= static_cast<std::int64_t>(planning::packed_scores_limit);
    if (packs_once)
      item_.hints.push_back({planning::hint_kind::keep, n.accesses[2].buffer, packed});
    const std::int64_t keys = bytes(columns * depth, type);
    if (b.is_computed() && !packs_once &&
        keys <= static_cast<std::int64_t>(planning::kept_operand_bytes))
      item_.hints.push_back({planning::hint_kind::keep, n.accesses[1].buffer, keys});
  }

  // Rows of an operand that is computed on the way, as many at a time as its block has.
  void add_operand(const planning::nest& n, std::size_t operand, const planning::operand_part& part,
                   int number, std::int64_t rows) {
    planning::nest program;
    program.space = part.space;
    program.accesses = n.accesses;
    program.body = part.body;
    program.stores = {{static_cast<int>(part.body.size()) - 1, -1}};
    exec::bound_tile tile(kernels_, program,
                          exec::analyze_tile(nullptr, program, exec::geometry::block, {0}, -1, -1));
    exec::walk_request request;
    request.space = at_.evaluate(part.space);
    request.outer_count = request.space.size() - 1;
    request.block_columns = request.space.back();
    request.external_packed = n.prologues[operand].size() == 1;
    request.result_is_external = true;
    tile.bind(at_, request);
    const std::size_t rank = part.space.size();
    planning::iteration it{planning::work_kind::operand, number, {}, {}};
    add_axes(it, part.space, "i");
    it.loops = {make_loop(range(0, rank - 1), rows, tile.program().tile_rows),
                make_loop(range(rank - 1, rank), request.space.back(), tile.program().chunk,
                          lanes_of(part.body.back().type))};
    item_.iterations.push_back(std::move(it));
  }

  // ---- movement

  // A copy of what `source` sees into a block of memory.
  void add_copy(const planning::access& source, dtype type, int target, int number,
                const exec::strided_view& block, double nanoseconds) {
    const planning::nest n = exec::copy_nest(source, type, target, nanoseconds);
    exec::bound_tile tile(
        kernels_, n,
        exec::analyze_tile(nullptr, n, exec::geometry::free, exec::all_stores(n), -1, -1));
    exec::walk_request request;
    request.space = at_.evaluate(n.space);
    request.outer_count = request.space.size();
    request.destination = &block;
    tile.bind(at_, request);
    item_.iterations.push_back(
        tile_iteration(tile.program(), n, planning::work_kind::copy, nanoseconds));
    item_.iterations.back().part = number;
    add_prefetches(tile.program());
  }

  void add_assemble() {
    const planning::nest& n = *nest_;
    const int target = n.stores[0].buffer;
    const exec::strided_view& whole = at_[target];
    const double share = n.predicted_nanoseconds / static_cast<double>(n.pieces.size() + 1);
    std::int64_t covered = 0;
    for (const planning::piece& p : n.pieces)
      covered += element_count(at_.evaluate(p.source.shape));
    if (covered < element_count(whole.shape)) {
      planning::iteration it{planning::work_kind::fill, 0, {}, {}};
      add_axes(it, buffer_at(target).shape, "i");
      it.loops = {make_loop(range(0, it.axes.size()), planning::elements_per_task,
                            planning::elements_per_task)};
      give_to_threads(it, share);
      item_.iterations.push_back(std::move(it));
    }
    for (std::size_t i = 0; i < n.pieces.size(); ++i) {
      exec::strided_view block = whole;
      block.shape = at_.evaluate(n.pieces[i].source.shape);
      for (std::size_t axis = 0; axis < block.shape.size(); ++axis)
        block.offset += at_.evaluate(n.pieces[i].offset[axis]) * block.strides[axis];
      add_copy(n.pieces[i].source, buffer_at(target).type, target, static_cast<int>(i), block,
               share);
    }
  }

  void add_alias() {
    const planning::nest& n = *nest_;
    const int target = n.stores[0].buffer;
    exec::alias_nest alias(plan_, kernels_, n);
    alias.bind(at_);
    if (at_[target].buffer != target) return;
    exec::strided_view block = at_[target];
    block.shape = at_.evaluate(n.accesses[0].shape);
    block.strides = row_major_strides(block.shape);
    add_copy(n.accesses[0], buffer_at(target).type, target, 0, block, n.predicted_nanoseconds);
  }

  void add_gather() {
    const planning::nest& n = *nest_;
    planning::iteration it{planning::work_kind::index, 0, {}, {}};
    add_axes(it, n.space, "i");
    const std::size_t behind = static_cast<std::size_t>(n.axis) + n.accesses[1].shape.size();
    const extents space = at_.evaluate(n.space);
    std::int64_t width = 1;
    for (std::size_t i = behind; i < space.size(); ++i) width *= space[i];
    it.loops = {make_loop(range(0, behind), planning::gathered_rows(width), 1),
                make_loop(range(behind, space.size()), width, width)};
    give_to_threads(it, n.predicted_nanoseconds);
    item_.iterations.push_back(std::move(it));
  }

  void add_scatter() {
    const planning::nest& n = *nest_;
    planning::iteration it{planning::work_kind::index, 0, {}, {}};
    const ir::symbolic_shape& updates = n.accesses[0].shape;
    add_axes(it, updates, "i");
    const auto first = static_cast<std::size_t>(n.axis);
    const std::size_t behind = first + n.accesses[1].shape.size();
    for (std::size_t i = first; i < behind; ++i) it.axes[i].role = role::reduction;
    const extents shape = at_.evaluate(updates);
    std::int64_t before = 1, count = 1, width = 1;
    for (std::size_t i = 0; i < shape.size(); ++i)
      (i < first ? before : i < behind ? count : width) *= shape[i];
    it.loops = {
        make_loop(range(0, first), 1, 1), make_loop(range(first, behind), count, 1),
        make_loop(range(behind, shape.size()), planning::scattered_columns(before, width), width)};
    give_to_threads(it, n.predicted_nanoseconds);
    item_.iterations.push_back(std::move(it));
    item_.reductions.push_back({0, -1, ir::op::reduce_sum, 1, 1, 1});
  }

  // On one thread: it happens once.
  void add_pack() {
    planning::iteration it{planning::work_kind::pack, 0, {}, {}};
    add_axes(it, nest_->space, "i");
    const extents space = at_.evaluate(nest_->space);
    it.loops = {make_loop({0}, space[0], space[0]), make_loop({1}, space[1], space[1])};
    item_.iterations.push_back(std::move(it));
  }

  const planning::plan& plan_;
  const exec::kernel_table& kernels_;
  exec::binding at_;
  std::span<const exec::argument_layout> layouts_;
  const planning::nest* nest_ = nullptr;
  planning::schedule_item item_;
  planning::schedule out_;
};

/// The schedule of a plan at these extents, for arguments that lie like this in memory (without an
/// entry: row-major). assigned[k]: the argument whose memory output k is, or -1. Throws what
/// binding an executor throws.
inline planning::schedule make_schedule(const planning::plan& p, const exec::kernel_table& kernels,
                                        std::span<const std::int64_t> symbols,
                                        std::span<const exec::argument_layout> arguments,
                                        std::span<const int> assigned) {
  return schedule_maker(p, kernels, symbols, arguments, assigned).run();
}

}  // namespace sinter::detail
