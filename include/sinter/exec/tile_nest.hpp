// SPDX-License-Identifier: MIT
// Runs tile nests: rows (or parts of long ones) are divided among tasks by shape. Few very long
// rows are walked phase by phase, each phase by many tasks whose accumulators combine in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinter/exec/bind_tile.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/placed_tile.hpp>
#include <sinter/exec/row_sums.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/run_rows.hpp>
#include <sinter/exec/run_tile.hpp>
#include <sinter/exec/sole_copy.hpp>
#include <sinter/exec/sole_map.hpp>
#include <sinter/exec/store_fence.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

class tile_nest {
 public:
  /// `plan`: null for copies, which are part of another nest.
  tile_nest(const planning::plan* plan, const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest),
        tile_(kernels, nest,
              analyze_tile(plan, nest, nest.inner_axes > 0 ? geometry::rows : geometry::free,
                           all_stores(nest), -1, -1)) {
    placed_.reserve(tile_.program());
  }

  /// `destination`: where the only store of a copy goes, if not simply into its buffer.
  memory_need bind(const binding& at, const strided_view* destination = nullptr) {
    walk_request request;
    request.space = at.evaluate(nest_->space);
    const auto inner = static_cast<std::size_t>(nest_->inner_axes);
    request.outer_count = request.space.size() - inner;
    request.destination = destination;
    tile_.bind(at, request);
    divide();
    sums_.bind(tile_.program());
    if (sole_map_.bind(tile_.program()) || sole_copy_.bind(tile_.program())) return {};
    placed_.bind(tile_.program());
    memory_need out;
    out.per_thread = round_to_lines(tile_.program().scratch_bytes);
    out.shared = sums_.bytes(row_tasks_);
    if (tile_.program().split)
      out.shared = round_to_lines(tile_.program().scratch_bytes) +
                   static_cast<std::size_t>(column_tasks_) * bytes_of_part();
    return out;
  }

  /// Behind bind(): can this, which copies a piece of `count` elements of its target's buffer from
  /// `begin` on, write `value` to all of those around it as well?
  bool fill_around(std::int64_t begin, std::int64_t count, std::span<const std::byte> value) {
    const walk& axes = tile_.program().axes;
    return !sole_map_.is_bound() && sole_copy_.is_bound() && column_tasks_ == 1 && axes.rows > 0 &&
           axes.columns > 0 && sole_copy_.fill_around(begin, count, value);
  }

  void run(const run_memory& memory) const {
    const walk& axes = tile_.program().axes;
    if (sums_.any()) return run_sums(memory);
    // A reduction over no elements gives identities; without reductions there is nothing to do.
    if (axes.rows == 0 || (axes.columns == 0 && nest_->inner_axes == 0)) return;
    // One map or copy has no phases: threads cut it anywhere.
    if (tile_.program().split && !sole_map_.is_bound() && !sole_copy_.is_bound())
      return run_split(memory);
    // A thread takes its tasks in one go: what is set up for each was 0.25 µs of the 2.6 that 32 K
    // elements of relu(x + b) take.
    parallel_ranges(row_tasks_ * column_tasks_, nest_->predicted_nanoseconds,
                    [&](std::int64_t first, std::int64_t last, int thread) {
                      run_tasks(memory, first, last, thread);
                      if (tile_.program().streaming) store_fence();
                    });
  }

  lowered_tiles lowered() const { return {tile_.program(), rows_per_task_, columns_per_task_}; }

 private:
  void run_tasks(const run_memory& memory, std::int64_t first, std::int64_t last,
                 int thread) const {
    const tile_program& p = tile_.program();
    if (sole_map_.is_bound())
      return for_each_part(first, last,
                           [&](auto... part) { sole_map_.run(memory.bases, {}, part...); });
    if (sole_copy_.is_bound())
      return for_each_part(first, last,
                           [&](auto... part) { sole_copy_.run(memory.bases, part...); });
    if (placed_.is_bound()) return placed_.run(memory.bases, memory.scratch(thread));
    tile_runner runner(p, memory.bases, memory.scratch(thread));
    runner.begin();
    for_each_part(
        first, last,
        [&](std::int64_t row, std::int64_t row_end, std::int64_t column, std::int64_t column_end) {
          run_part(runner, row, row_end, column, column_end);
        });
  }

  void run_part(tile_runner& runner, std::int64_t row, std::int64_t row_end, std::int64_t column,
                std::int64_t column_end) const {
    if (row_runner::takes(tile_.program(), row_end - row, column_end - column))
      row_runner(runner).run(row, row_end, column, column_end);
    else
      runner.run_all(row, row_end, column, column_end);
  }

  // f(row, row_end, column, column_end) for the parts of the walk that these tasks are; they go
  // along the columns first.
  template <class F>
  void for_each_part(std::int64_t first, std::int64_t last, F f) const {
    const walk& axes = tile_.program().axes;
    if (column_tasks_ == 1)
      return f(first * rows_per_task_, std::min(axes.rows, last * rows_per_task_), std::int64_t{0},
               axes.columns);
    for_each_row_of_tasks(
        first, last, column_tasks_, [&](std::int64_t row, std::int64_t part, std::int64_t end) {
          f(row * rows_per_task_, std::min(axes.rows, (row + 1) * rows_per_task_),
            part * columns_per_task_, std::min(axes.columns, end * columns_per_task_));
        });
  }

  void divide() {
    const tile_program& p = tile_.program();
    const std::int64_t rows = std::max<std::int64_t>(1, p.axes.rows),
                       columns = std::max<std::int64_t>(1, p.axes.columns);
    const planning::tile_division task = division_of(p, nest_->inner_axes == 0);
    rows_per_task_ = task.rows;
    columns_per_task_ = task.columns;
    column_tasks_ = planning::pieces_of(columns, columns_per_task_);
    row_tasks_ = planning::pieces_of(rows, rows_per_task_);
  }

  // Groups of rows, each with accumulators of its own. On one thread a group is combined while it
  // is in L1, and the next one has the same accumulators: the same order.
  void run_sums(const run_memory& memory) const {
    const walk& axes = tile_.program().axes;
    const double nanoseconds = nest_->predicted_nanoseconds;
    std::byte* const total = memory.shared;
    if (threads_for(row_tasks_, nanoseconds) == 1) {
      for (std::int64_t task = 0; task < row_tasks_; ++task) {
        std::byte* const own = sums_.group(total, std::min<std::int64_t>(1, task));
        run_group(memory, task, 0, own);
        if (task > 0) sums_.combine(own, total, 0, axes.columns);
      }
      return sums_.finish(total, 0, axes.columns, memory.bases);
    }
    parallel_for(row_tasks_, nanoseconds, [&](std::int64_t task, int thread) {
      run_group(memory, task, thread, sums_.group(total, task));
    });
    const double combining =
        static_cast<double>(planning::combining_rows * row_tasks_) / static_cast<double>(axes.rows);
    parallel_ranges(planning::pieces_of(axes.columns, planning::combined_columns),
                    nanoseconds * combining, [&](std::int64_t first, std::int64_t last, int) {
                      const std::int64_t column = first * planning::combined_columns,
                                         end = std::min(axes.columns,
                                                        last * planning::combined_columns);
                      for (std::int64_t g = 1; g < row_tasks_; ++g)
                        sums_.combine(sums_.group(total, g), total, column, end);
                      sums_.finish(total, column, end, memory.bases);
                    });
  }

  void run_group(const run_memory& memory, std::int64_t task, int thread, std::byte* own) const {
    const tile_program& p = tile_.program();
    sums_.begin(own);
    tile_runner runner(p, memory.bases, memory.scratch(thread));
    runner.begin();
    runner.sums().begin(own);
    const std::int64_t row = task * rows_per_task_;
    run_part(runner, row, std::min(p.axes.rows, row + rows_per_task_), 0, p.axes.columns);
    runner.sums().end();
    if (p.streaming) store_fence();
  }

  void run_split(const run_memory& memory) const {
    const tile_program& p = tile_.program();
    const auto phases = static_cast<int>(p.phase_lists.size());
    // Row-level steps run here, on all rows at once; the tasks see their values.
    tile_runner rows(p, memory.bases, memory.shared);
    rows.begin();
    rows.seek(0);
    rows.take_rows(0, p.axes.rows);
    for (int phase = 0; phase < phases; ++phase) {
      rows.run_row_list(phase);
      parallel_ranges(p.axes.rows * column_tasks_, nest_->predicted_nanoseconds / phases,
                      [&](std::int64_t first, std::int64_t last, int thread) {
                        tile_runner runner(p, memory.bases, memory.scratch(thread));
                        runner.share(rows.row_values(), nullptr);
                        runner.begin();
                        run_parts(runner, phase, first, last, memory);
                        if (p.streaming) store_fence();
                      });
      rows.reset(phase, rows.accumulators());
      for (std::int64_t part = 0; part < column_tasks_; ++part)
        rows.combine(phase, accumulators_of(part, memory), rows.accumulators());
      rows.finish(phase, rows.accumulators());
    }
    rows.run_row_list(phases);
  }

  // Parts [first, last) of the rows, those of the first one first. (Going to the row for each part
  // was 90 of 550 instructions between two kernels.)
  void run_parts(tile_runner& runner, int phase, std::int64_t first, std::int64_t last,
                 const run_memory& memory) const {
    const std::int64_t columns = tile_.program().axes.columns;
    const auto apart = static_cast<std::int64_t>(bytes_of_part());
    const std::int64_t whole = columns / columns_per_task_;  // the last part may be shorter
    for_each_row_of_tasks(
        first, last, column_tasks_, [&](std::int64_t row, std::int64_t part, std::int64_t end) {
          runner.seek(row);
          runner.take_rows(row, 1, row);
          while (part < end) {
            const std::int64_t count = part < whole ? std::min(end, whole) - part : 1;
            const std::int64_t column = part * columns_per_task_;
            runner.run_parts(phase, column, std::min(columns_per_task_, columns - column), count,
                             accumulators_of(part, memory), apart);
            part += count;
          }
        });
  }

  // What a part of every row is reduced to.
  std::byte* accumulators_of(std::int64_t part, const run_memory& memory) const {
    return memory.shared + round_to_lines(tile_.program().scratch_bytes) +
           static_cast<std::size_t>(part) * bytes_of_part();
  }
  std::size_t bytes_of_part() const { return round_to_lines(tile_.program().accumulators_bytes); }

  const planning::nest* nest_;
  bound_tile tile_;
  sole_map sole_map_;    // of the bound program, if it is one
  sole_copy sole_copy_;  // or this
  placed_tile placed_;   // or all of it, if that is one tile
  row_sums sums_;
  std::int64_t rows_per_task_ = 1, columns_per_task_ = 1, row_tasks_ = 1, column_tasks_ = 1;
};

/// The nest that copies what `source` sees, in row-major order or to a destination given when it is
/// bound.
inline planning::nest copy_nest(const planning::access& source, dtype type, int target,
                                double nanoseconds) {
  planning::nest out;
  out.space = source.shape;
  out.accesses = {source};
  planning::step load;
  load.kind = planning::step_kind::load;
  load.type = type;
  load.access = 0;
  out.body = {load};
  out.stores = {{0, target}};
  out.predicted_nanoseconds = nanoseconds;
  out.label = "copy";
  return out;
}

}  // namespace sinter::inline SINTER_ABI::exec
