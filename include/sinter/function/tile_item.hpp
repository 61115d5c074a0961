// SPDX-License-Identifier: MIT
// Items of tile and column nests: the walk of their body, its reductions, what is prefetched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sinter/function/item_draft.hpp>

namespace sinter::inline SINTER_ABI::detail {

class tile_item : private item_draft {
 public:
  using item_draft::item_draft;

  planning::schedule_item run() {
    nest_.kind == planning::nest_kind::column ? add_column() : add_tile();
    return take();
  }

 private:
  void add_tile() {
    const planning::nest& n = nest_;
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
    add_sums(it);
    add_prefetches(tile.program());
    item_.iterations.push_back(std::move(it));
  }
  // Groups of rows have accumulators of their own.
  void add_sums(const planning::iteration& it) {
    for (const planning::store& s : nest_.stores)
      if (s.summed)
        item_.reductions.push_back({static_cast<int>(item_.iterations.size()), s.step,
                                    ir::op::reduce_sum, exec::column_block_rows, 1,
                                    tasks_of_loop(it, 0)});
    std::ranges::sort(item_.reductions, {}, &planning::reduction_plan::step);
  }
  std::int64_t tasks_of_loop(const planning::iteration& it, std::size_t loop) const {
    return std::max<std::int64_t>(
        1, planning::pieces_of(size_of_loop(it, it.loops[loop]),
                               it.loops[loop].levels[planning::loop::task].step));
  }

  void add_column() {
    const planning::nest& n = nest_;
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
    if (lanes_of(type) > 1 && s.code != ir::op::argmax) r.block = exec::column_block_rows;
    r.accumulators = 1;
    r.partials = d.groups;
    item_.reductions.push_back(r);
    item_.iterations.push_back(std::move(it));
  }
};

}  // namespace sinter::inline SINTER_ABI::detail
