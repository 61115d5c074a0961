// SPDX-License-Identifier: MIT
// Runs column nests: a map over [batch][reduced][columns] that ends in a reduction over the middle.
// Blocks of 32 rows are combined into accumulators of all columns: walking down single columns
// would touch a new line per element (1.5 to 1.6 times slower). Long reductions are cut into groups
// of rows whose accumulators combine in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <sinter/exec/bind_tile.hpp>
#include <sinter/exec/lowered.hpp>
#include <sinter/exec/parallel.hpp>
#include <sinter/exec/run_memory.hpp>
#include <sinter/exec/run_tile.hpp>
#include <sinter/plan/division.hpp>

namespace sinter::inline SINTER_ABI::exec {

class column_nest {
 public:
  column_nest(const kernel_table& kernels, const planning::nest& nest)
      : nest_(&nest),
        reduction_(find_reduction(nest)),
        map_(kernels, nest,
             analyze_tile(nullptr, nest, geometry::columns, stores_at(nest, planning::level::full),
                          -1, reduction_)),
        rest_(kernels, nest,
              analyze_tile(nullptr, nest, geometry::block, stores_at(nest, planning::level::row),
                           reduction_, -1)) {}

  memory_need bind(const binding& at) {
    const shape_vector space = at.evaluate(nest_->space);
    batch_ = reduced_ = columns_ = 1;
    shape_vector kept = space;
    for (int axis = 0; axis < static_cast<int>(space.size()); ++axis) {
      if (axis < nest_->column_first)
        batch_ *= space[axis];
      else if (axis >= nest_->column_last)
        columns_ *= space[axis];
      else
        reduced_ *= space[axis], kept[axis] = 1;
    }
    walk_request request;
    request.space = space;
    request.outer_count = static_cast<std::size_t>(nest_->column_last);
    map_.bind(at, request);
    request.space = kept;
    request.block_columns = columns_;
    rest_.bind(at, request);
    divide();
    return need();
  }

  void run(const run_memory& memory) const {
    if (batch_ == 0 || columns_ == 0) return;
    if (row_groups_ == 1)
      run_batches(memory);
    else
      run_groups(memory);
  }

  lowered_columns lowered() const {
    return {
        .map = map_.program(),
        .rest = rest_.program(),
        .batch = batch_,
        .reduced = reduced_,
        .columns = columns_,
        .rows_per_group = row_groups_ == 1 ? std::max<std::int64_t>(1, reduced_) : rows_per_group_,
        .columns_per_task = columns_per_task_,
        .batches_per_task = batches_per_task_};
  }

 private:
  static int find_reduction(const planning::nest& nest) {
    int found = -1, count = 0;
    for (std::size_t i = 0; i < nest.body.size(); ++i)
      if (nest.body[i].kind == planning::step_kind::reduce) found = static_cast<int>(i), ++count;
    detail::require_step(count == 1, nest, "a column nest has one reduction");
    return found;
  }
  static std::vector<int> stores_at(const planning::nest& nest, planning::level level) {
    std::vector<int> out;
    for (std::size_t i = 0; i < nest.stores.size(); ++i)
      if (nest.body[static_cast<std::size_t>(nest.stores[i].step)].level == level)
        out.push_back(static_cast<int>(i));
    return out;
  }

  const reduction_kernels& kernels() const { return *map_.program().reductions.front().kernels; }
  std::size_t result_size() const {
    return size_of(nest_->body[static_cast<std::size_t>(reduction_)].type);
  }
  std::size_t accumulator_bytes() const {
    return round_to_lines(static_cast<std::size_t>(columns_) * kernels().accumulator_bytes);
  }
  std::size_t result_bytes() const {
    return round_to_lines(static_cast<std::size_t>(columns_) * result_size());
  }

  // Into tasks, by shape: whole batches, or parts of the columns, or groups of rows.
  void divide() {
    const planning::column_division d = planning::divide_columns(batch_, reduced_, columns_);
    row_groups_ = d.groups;
    rows_per_group_ = d.group_rows;
    columns_per_task_ = d.columns;
    batches_per_task_ = d.batches;
  }

  memory_need need() const {
    memory_need out;
    out.per_thread = round_to_lines(map_.program().scratch_bytes) +
                     round_to_lines(rest_.program().scratch_bytes) + accumulator_bytes() +
                     result_bytes();
    if (row_groups_ > 1)
      out.shared = static_cast<std::size_t>(batch_ * row_groups_) * accumulator_bytes();
    return out;
  }

  // A thread's memory, cut up.
  std::byte* rest_scratch(std::byte* scratch) const {
    return scratch + round_to_lines(map_.program().scratch_bytes);
  }
  std::byte* own_accumulators(std::byte* scratch) const {
    return rest_scratch(scratch) + round_to_lines(rest_.program().scratch_bytes);
  }
  std::byte* own_results(std::byte* scratch) const {
    return own_accumulators(scratch) + accumulator_bytes();
  }

  void run_batches(const run_memory& memory) const {
    const std::int64_t column_tasks = divide_up(columns_, columns_per_task_);
    const std::int64_t batch_tasks = divide_up(batch_, batches_per_task_);
    parallel_for(
        batch_tasks * column_tasks, nest_->predicted_nanoseconds,
        [&](std::int64_t task, int thread) {
          std::byte* scratch = memory.scratch(thread);
          const std::int64_t column = task % column_tasks * columns_per_task_;
          const std::int64_t column_end = std::min(columns_, column + columns_per_task_);
          const std::int64_t first = task / column_tasks * batches_per_task_;
          tile_runner map(map_.program(), memory.bases, scratch);
          map.begin();
          std::byte* accumulators = own_accumulators(scratch);
          map.set_column_accumulators(accumulators);
          for (std::int64_t b = first; b < std::min(batch_, first + batches_per_task_); ++b) {
            std::byte* here =
                accumulators + static_cast<std::size_t>(column) * kernels().accumulator_bytes;
            kernels().identity(column_end - column, here);
            map.run_all(b * reduced_, (b + 1) * reduced_, column, column_end);
            run_rest(memory, scratch, b, column, column_end, here);
          }
        });
  }

  void run_groups(const run_memory& memory) const {
    parallel_for(
        batch_ * row_groups_, nest_->predicted_nanoseconds, [&](std::int64_t task, int thread) {
          const std::int64_t b = task / row_groups_, row = task % row_groups_ * rows_per_group_;
          tile_runner map(map_.program(), memory.bases, memory.scratch(thread));
          map.begin();
          std::byte* accumulators =
              memory.shared + static_cast<std::size_t>(task) * accumulator_bytes();
          map.set_column_accumulators(accumulators);
          kernels().identity(columns_, accumulators);
          map.run_all(b * reduced_ + row, b * reduced_ + std::min(reduced_, row + rows_per_group_),
                      0, columns_);
        });
    for (std::int64_t b = 0; b < batch_; ++b) {
      std::byte* total =
          memory.shared + static_cast<std::size_t>(b * row_groups_) * accumulator_bytes();
      for (std::int64_t g = 1; g < row_groups_; ++g)
        kernels().combine(columns_, total + static_cast<std::size_t>(g) * accumulator_bytes(),
                          total);
      run_rest(memory, memory.scratch(0), b, 0, columns_, total);
    }
  }

  // What follows the reduction, for one batch.
  void run_rest(const run_memory& memory, std::byte* scratch, std::int64_t b, std::int64_t column,
                std::int64_t column_end, const std::byte* accumulators) const {
    std::byte* results = own_results(scratch);
    kernels().finish(column_end - column, accumulators, results);
    tile_runner rest(rest_.program(), memory.bases, rest_scratch(scratch));
    rest.begin();
    rest.set_external({results, column_end - column, b, column});
    rest.run_all(b, b + 1, column, column_end);
  }

  const planning::nest* nest_;
  int reduction_;
  bound_tile map_, rest_;
  std::int64_t batch_ = 1, reduced_ = 1, columns_ = 1;
  std::int64_t row_groups_ = 1, rows_per_group_ = 1, columns_per_task_ = 1, batches_per_task_ = 1;
};

}  // namespace sinter::inline SINTER_ABI::exec
