// SPDX-License-Identifier: MIT
// Items of nests without bodies: copies of pieces, other shapes of memory, packing, indices,
// running sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <sinter/function/item_draft.hpp>

namespace sinter::inline SINTER_ABI::detail {

class movement_item : private item_draft {
 public:
  using item_draft::item_draft;

  planning::schedule_item run() {
    using enum planning::nest_kind;
    switch (nest_.kind) {
      case assemble: add_assemble(); break;
      case gather: add_gather(); break;
      case scatter_add: add_scatter(); break;
      case scan: add_scan(); break;
      case alias: add_alias(); break;
      case pack: add_pack(); break;
      case tile:
      case column:
      case matmul:
      case grouped:
      case streamed:
      case custom: break;
    }
    return take();
  }

 private:
  // What a nest makes goes into a block of memory.
  void add_block(const planning::nest& n, int number, const exec::strided_view& block) {
    exec::bound_tile tile(
        kernels_, n,
        exec::analyze_tile(nullptr, n, exec::geometry::free, exec::all_stores(n), -1, -1));
    exec::walk_request request;
    request.space = at_.evaluate(n.space);
    request.outer_count = request.space.size();
    request.destination = &block;
    tile.bind(at_, request);
    item_.iterations.push_back(
        tile_iteration(tile.program(), n, planning::work_kind::copy, n.predicted_nanoseconds));
    item_.iterations.back().part = number;
    add_prefetches(tile.program());
  }

  void add_assemble() {
    const planning::nest& n = nest_;
    const int target = n.stores[0].buffer;
    const exec::strided_view& whole = at_[target];
    std::int64_t covered = 0;
    for (const planning::piece& p : n.pieces) covered += element_count(at_.evaluate(p.space));
    if (covered < element_count(whole.shape)) {
      planning::iteration it{planning::work_kind::fill, 0, {}, {}};
      add_axes(it, buffer_at(target).shape, "i");
      it.loops = {make_loop(range(0, it.axes.size()), planning::elements_per_task,
                            planning::elements_per_task)};
      give_to_threads(it, nanoseconds_of_piece(n));
      item_.iterations.push_back(std::move(it));
    }
    for (std::size_t i = 0; i < n.pieces.size(); ++i)
      add_block(nest_of_piece(n, n.pieces[i]), static_cast<int>(i),
                exec::block_of_piece(at_, whole, n.pieces[i]));
  }

  void add_alias() {
    const planning::nest& n = nest_;
    const int target = n.stores[0].buffer;
    exec::alias_nest alias(plan_, kernels_, n);
    alias.bind(at_);
    if (at_[target].buffer != target) return;
    exec::strided_view block = at_[target];
    block.shape = at_.evaluate(n.accesses[0].shape);
    block.strides = row_major_strides(block.shape);
    add_block(
        exec::copy_nest(n.accesses[0], buffer_at(target).type, target, n.predicted_nanoseconds), 0,
        block);
  }

  void add_gather() {
    const planning::nest& n = nest_;
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
    const planning::nest& n = nest_;
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
        make_loop(range(behind, shape.size()), planning::columns_of_rows(before, width), width)};
    give_to_threads(it, n.predicted_nanoseconds);
    item_.iterations.push_back(std::move(it));
    item_.reductions.push_back({0, -1, ir::op::reduce_sum, 1, 1, 1});
  }

  void add_scan() {
    const planning::nest& n = nest_;
    planning::iteration it{planning::work_kind::scan, 0, {}, {}};
    add_axes(it, n.space, "i");
    const auto axis = static_cast<std::size_t>(n.axis);
    it.axes[axis].role = role::streamed;
    const extents space = at_.evaluate(n.space);
    std::int64_t before = 1, width = 1;
    for (std::size_t i = 0; i < axis; ++i) before *= space[i];
    for (std::size_t i = axis + 1; i < space.size(); ++i) width *= space[i];
    it.loops = {
        make_loop(range(0, axis), 1, 1), make_loop({n.axis}, space[axis], 1),
        make_loop(range(axis + 1, space.size()), planning::columns_of_rows(before, width), width)};
    give_to_threads(it, n.predicted_nanoseconds);
    item_.iterations.push_back(std::move(it));
  }

  // On one thread: it happens once.
  void add_pack() {
    planning::iteration it{planning::work_kind::pack, 0, {}, {}};
    add_axes(it, nest_.space, "i");
    const extents space = at_.evaluate(nest_.space);
    it.loops = {make_loop({0}, space[0], space[0]), make_loop({1}, space[1], space[1])};
    item_.iterations.push_back(std::move(it));
  }
};

}  // namespace sinter::inline SINTER_ABI::detail
